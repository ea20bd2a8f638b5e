// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2 chan=shm,tcp
// Reads MPI_T in the order in which tools do (TAU, Caliper, mpi_t variable lists): everything is listed before
// MPI_Init, every performance variable gets a handle of a session, is started if it is not continuous, and is read
// around messages. The values must be what the program did.
#include "../check.h"

#include <string.h>

#define MOST 512

struct variable {
    char name[128];
    int class, continuous, readonly;
    MPI_Datatype type;
    MPI_T_pvar_handle handle;
};

static struct variable list[MOST];
static int count;
static MPI_T_pvar_session session;

static void list_controls(void)
{
    int n, writable = 0;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_SUCCESS && n > 30);
    for (int i = 0; i < n; i++) {
        char name[128], desc[1024], text[1024];
        int name_len = sizeof name, desc_len = sizeof desc, verbosity, bind, scope, elements, index;
        MPI_Datatype type;
        MPI_T_enum enumtype;
        MPI_T_cvar_handle handle;
        CHECK(MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &enumtype, desc, &desc_len, &bind, &scope) ==
              MPI_SUCCESS);
        CHECK(name_len == (int)strlen(name) + 1 && desc_len == (int)strlen(desc) + 1 && bind == MPI_T_BIND_NO_OBJECT);
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS && index == i);
        CHECK(MPI_T_cvar_handle_alloc(i, NULL, &handle, &elements) == MPI_SUCCESS);
        CHECK(type == MPI_CHAR ? elements > 1 && elements <= (int)sizeof text : elements == 1);
        CHECK(MPI_T_cvar_read(handle, text) == MPI_SUCCESS);
        CHECK(type != MPI_CHAR || memchr(text, 0, (size_t)elements));
        CHECK(MPI_T_cvar_handle_free(&handle) == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL);
        writable += scope > MPI_T_SCOPE_READONLY;
    }
    CHECK(writable > 20);
}

static void list_counters(void)
{
    CHECK(MPI_T_pvar_get_num(&count) == MPI_SUCCESS && count > 30 && count <= MOST);
    for (int i = 0; i < count; i++) {
        struct variable *v = &list[i];
        char desc[1024];
        int name_len = sizeof v->name, desc_len = sizeof desc, verbosity, bind, atomic, index;
        MPI_T_enum enumtype;
        CHECK(MPI_T_pvar_get_info(i, v->name, &name_len, &verbosity, &v->class, &v->type, &enumtype, desc, &desc_len,
                                  &bind, &v->readonly, &v->continuous, &atomic) == MPI_SUCCESS);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && (v->type == MPI_UNSIGNED_LONG_LONG || v->type == MPI_DOUBLE));
        CHECK(MPI_T_pvar_get_index(v->name, v->class, &index) == MPI_SUCCESS && index == i);
    }
}

// What Caliper does: objects that are not bound are NULL, and a count above 1 is left alone.
static void take_handles(void)
{
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    for (int i = 0; i < count; i++) {
        int elements;
        CHECK(MPI_T_pvar_handle_alloc(session, i, NULL, &list[i].handle, &elements) == MPI_SUCCESS && elements == 1);
        int err = MPI_T_pvar_start(session, list[i].handle);
        CHECK(list[i].continuous ? err == MPI_T_ERR_PVAR_NO_STARTSTOP : err == MPI_SUCCESS);
    }
}

static double value(const char *name)
{
    for (int i = 0; i < count; i++) {
        unsigned long long n;
        double seconds;
        if (strcmp(list[i].name, name) != 0) continue;
        CHECK(MPI_T_pvar_read(session, list[i].handle, list[i].type == MPI_DOUBLE ? (void *)&seconds : &n) ==
              MPI_SUCCESS);
        return list[i].type == MPI_DOUBLE ? seconds : (double)n;
    }
    CHECK(!"there is no such variable");
    return 0;
}

// Over all channels: each has variables of its own, which end alike.
static double sent(const char *what)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        size_t n = strlen(list[i].name), m = strlen(what);
        if (n > m && list[i].name[n - m - 1] == '_' && strcmp(list[i].name + n - m, what) == 0)
            sum += value(list[i].name);
    }
    return sum;
}

static void small_messages(int peer)
{
    double messages = sent("eager_messages"), bytes = sent("eager_bytes");
    for (int i = 0; i < 100; i++) {
        long out = i, in = -1;
        MPI_Request r;
        MPI_Irecv(&in, 1, MPI_LONG, peer, 1, MPI_COMM_WORLD, &r);
        MPI_Send(&out, 1, MPI_LONG, peer, 1, MPI_COMM_WORLD);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        CHECK(in == i);
    }
    CHECK(sent("eager_messages") - messages == 100);
    CHECK(sent("eager_bytes") - bytes == 100 * sizeof(long));
    CHECK(value("posted_receives") == 0);
}

static void large_messages(int peer)
{
    enum { BYTES = 4 << 20 };
    static char out[BYTES], in[BYTES];
    double messages = sent("direct_messages") + sent("stream_messages");
    double bytes = sent("direct_bytes") + sent("stream_bytes"), time = sent("direct_time") + sent("stream_time");
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(out, BYTES, MPI_CHAR, peer, 2, in, BYTES, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(sent("direct_messages") + sent("stream_messages") - messages == 3);
    CHECK(sent("direct_bytes") + sent("stream_bytes") - bytes == 3.0 * BYTES);
    CHECK(sent("direct_time") + sent("stream_time") > time);
}

static void unexpected_messages(int rank, int peer)
{
    int in[2] = {0, 0}, out = rank;
    MPI_Status s;
    MPI_Send(&out, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
    MPI_Send(&out, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
    MPI_Probe(peer, 3, MPI_COMM_WORLD, &s);
    MPI_Probe(peer, 4, MPI_COMM_WORLD, &s);
    CHECK(value("unexpected_messages") >= 2 && value("unexpected_bytes") >= 2 * sizeof(int));
    CHECK(value("unexpected_bytes_most") >= 2 * sizeof(int));
    MPI_Recv(&in[0], 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &s);
    MPI_Recv(&in[1], 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &s);
    CHECK(in[0] == peer && in[1] == peer);
    CHECK(value("unexpected_arrivals") >= 2);
}

static void collectives(void)
{
    MPI_Request r;
    int out = 1, in = 0, size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double reused = value("coll_schedules_reused"), built = value("coll_schedules_built");
    for (int i = 0; i < 5; i++) {
        MPI_Iallreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    int all = size > 1 ? 5 : 0;    // a rank alone needs none
    CHECK(value("coll_schedules_built") + value("coll_schedules_reused") - built - reused == all);
    CHECK(value("coll_schedules_reused") - reused == (all ? 4 : 0));
}

static void windows(void)
{
    MPI_Win win;
    char memory[100];
    double before = value("window_bytes");
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CHECK(value("window_bytes") - before == sizeof memory);
    MPI_Win_free(&win);
    CHECK(value("window_bytes") == before);
}

int main(int argc, char **argv)
{
    int provided, size, rank;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS && provided == MPI_THREAD_SINGLE);
    list_controls();
    list_counters();
    take_handles();
    for (int i = 0; i < count; i++) CHECK(list[i].continuous || value(list[i].name) == 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int peer = size == 2 ? 1 - rank : rank;
    small_messages(peer);
    large_messages(peer);
    unexpected_messages(rank, peer);
    collectives();
    windows();
    MPI_Finalize();
    CHECK(sent("eager_messages") >= 102 && value("posted_receives") == 0);
    CHECK(value("unexpected_messages") == 0 && value("unexpected_bytes") == 0);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS && session == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    return 0;
}
