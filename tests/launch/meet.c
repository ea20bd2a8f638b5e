// SPDX-License-Identifier: BSD-3-Clause
// Two jobs that meet, in what way the words say: accept COUNT prints its port; connect COUNT PORT. All that two groups
// can do together is checked in the first meeting, part of it in the others. Further ways: refused SECONDS PORT (prints
// the error of a connect), serve COUNT (as accept, all at once) and visit PORT [large], outlive and die PORT, forsaken
// and vanish PORT (is killed) or quit PORT (ends in order), leftover (prints a port and ends), cancel (accepts are
// taken back). Used by test_meeting.py.
#include <dirent.h>
#include <mpi_ext.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../check.h"

#define LARGE (3 << 20)

static int rank, size;

static void fill(unsigned char *p, size_t n, int seed)
{
    for (size_t i = 0; i < n; i++) p[i] = (unsigned char)(i * 31 + (size_t)seed * 7);
}

static bool is_filled(const unsigned char *p, size_t n, int seed)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(i * 31 + (size_t)seed * 7)) return false;
    return true;
}

// Every rank of one side with every rank of the other.
static void check_pairs(MPI_Comm c, size_t bytes)
{
    int others, inter;
    MPI_Comm_test_inter(c, &inter);
    CHECK(inter);
    MPI_Comm_remote_size(c, &others);
    unsigned char *out = malloc(bytes), *in = malloc(bytes);
    fill(out, bytes, rank);
    for (int i = 0; i < others; i++) {
        MPI_Request r[2];
        MPI_Irecv(in, (int)bytes, MPI_BYTE, i, 5, c, &r[0]);
        MPI_Isend(out, (int)bytes, MPI_BYTE, i, 5, c, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        CHECK(is_filled(in, bytes, i));
        memset(in, 0, bytes);
    }
    free(out);
    free(in);
}

static void check_collectives(MPI_Comm c, bool first)
{
    int others, word = first && rank == 0 ? 4711 : -1, sum = -1, mine = rank + 1;
    MPI_Comm_remote_size(c, &others);
    int root = first ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Bcast(&word, 1, MPI_INT, root, c);
    CHECK(first || word == 4711);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, c);
    CHECK(sum == others * (others + 1) / 2);
    MPI_Barrier(c);
}

static void check_merged(MPI_Comm m, int all)
{
    int me, n, sum = -1, *ranks = malloc((size_t)all * sizeof *ranks);
    MPI_Comm_rank(m, &me);
    MPI_Comm_size(m, &n);
    CHECK(n == all);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, m);
    CHECK(sum == all * (all - 1) / 2);
    MPI_Allgather(&me, 1, MPI_INT, ranks, 1, MPI_INT, m);
    for (int i = 0; i < all; i++) CHECK(ranks[i] == i);
    MPI_Comm odd, copy;
    MPI_Comm_split(m, me % 2, -me, &odd);
    int odd_size, odd_rank;
    MPI_Comm_size(odd, &odd_size);
    MPI_Comm_rank(odd, &odd_rank);
    CHECK(odd_size == (all + 1 - me % 2) / 2 && odd_rank == odd_size - 1 - me / 2);
    MPI_Comm_dup(odd, &copy);
    MPI_Bcast(ranks, all, MPI_INT, 0, copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&odd);
    free(ranks);
}

// How many of the first `before` ranks are where this one is: processes that are numbered together (hosts are played by
// containers).
static int nearer(MPI_Comm m, int before)
{
    struct stat numbering;
    int all, count = 0;
    MPI_Comm_size(m, &all);
    unsigned long mine = stat("/proc/self/ns/pid", &numbering) == 0 ? numbering.st_ino : 0;
    unsigned long *where = malloc((size_t)all * sizeof *where);
    MPI_Allgather(&mine, 1, MPI_UNSIGNED_LONG, where, 1, MPI_UNSIGNED_LONG, m);
    for (int i = 0; i < before; i++) count += where[i] == mine;
    free(where);
    return count;
}

// Those on one host share memory; a file is one for all.
static void check_shared(MPI_Comm m, int all)
{
    MPI_Comm near;
    MPI_Win w;
    int me, n, m_rank, *base, *first, unit, disp_unit;
    MPI_Aint bytes;
    MPI_Comm_split_type(m, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_rank(near, &me);
    MPI_Comm_size(near, &n);
    MPI_Comm_rank(m, &m_rank);
    CHECK(n == nearer(m, all) && me == nearer(m, m_rank));
    MPI_Win_allocate_shared(sizeof *base, sizeof *base, MPI_INFO_NULL, near, &base, &w);
    *base = me;
    MPI_Win_fence(0, w);
    MPI_Win_shared_query(w, n - 1, &bytes, &disp_unit, &first);
    CHECK(*first == n - 1);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
    MPI_Comm_free(&near);
    char path[512] = "";
    const char *folder = getenv("TMPDIR");    // that all hosts see
    if (m_rank == 0) snprintf(path, sizeof path, "%.400s/unisono-meet-%d", folder ? folder : "/tmp", (int)getpid());
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, m);
    MPI_File f;
    int in = -1;
    CHECK(MPI_File_open(m, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f) ==
          MPI_SUCCESS);
    MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_write_at_all(f, m_rank, &m_rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(f);
    MPI_Barrier(m);
    MPI_File_read_at(f, all - 1 - m_rank, &in, 1, MPI_INT, MPI_STATUS_IGNORE);
    CHECK(in == all - 1 - m_rank);
    MPI_Barrier(m);
    unit = 1;
    MPI_File_write_shared(f, &unit, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&f);
}

static void check_window(MPI_Comm m)
{
    int me, n, *base, zero = 0;
    MPI_Win w;
    MPI_Comm_rank(m, &me);
    MPI_Comm_size(m, &n);
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, m, &base, &w);
    *base = zero;
    MPI_Win_fence(0, w);
    for (int i = 0; i < n; i++) MPI_Accumulate(&me, 1, MPI_INT, i, 0, 1, MPI_INT, MPI_SUM, w);
    MPI_Win_fence(0, w);
    CHECK(*base == n * (n - 1) / 2);
    MPI_Win_free(&w);
}

// A process that is met twice is the same one.
static void check_same(MPI_Comm a, MPI_Comm b)
{
    MPI_Group one, two, both;
    int result, n, others;
    MPI_Comm_remote_group(a, &one);
    MPI_Comm_remote_group(b, &two);
    MPI_Group_compare(one, two, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_union(one, two, &both);
    MPI_Group_size(both, &n);
    MPI_Comm_remote_size(a, &others);
    CHECK(n == others);
    MPI_Comm_compare(a, b, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Group_free(&one);
    MPI_Group_free(&two);
    MPI_Group_free(&both);
}

// A third group's view: the leaders of halves of the merged communicator meet over it.
static void check_intercomm(MPI_Comm m)
{
    int me, n;
    MPI_Comm half, again;
    MPI_Comm_rank(m, &me);
    MPI_Comm_size(m, &n);
    bool even = me % 2 == 0;
    MPI_Comm_split(m, even, 0, &half);
    MPI_Intercomm_create(half, 0, m, even ? 1 : 0, 9, &again);
    int others, sum = -1, one = 1;
    MPI_Comm_remote_size(again, &others);
    CHECK(others == (even ? n / 2 : (n + 1) / 2));
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, again);
    CHECK(sum == others);
    MPI_Comm_free(&half);
    MPI_Comm_free(&again);
}

static MPI_Comm meet(const char *port, bool accept)
{
    MPI_Comm c = MPI_COMM_NULL;
    if (accept)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c);
    return c;
}

static void check_all(MPI_Comm c, const char *port, bool accept)
{
    int others;
    MPI_Comm merged, second;
    MPI_Comm_remote_size(c, &others);
    check_pairs(c, LARGE);
    check_collectives(c, accept);
    MPI_Intercomm_merge(c, accept, &merged);
    check_merged(merged, size + others);
    check_window(merged);
    check_shared(merged, size + others);
    check_intercomm(merged);
    second = meet(port, accept);
    check_same(c, second);
    MPI_Comm_disconnect(&second);
    check_pairs(c, 100);
    MPI_Comm_disconnect(&merged);
}

static int open_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static int mappings(void)
{
    int n = 0, c;
    FILE *f = fopen("/proc/self/maps", "r");
    while ((c = getc(f)) != EOF) n += c == '\n';
    fclose(f);
    return n;
}

static void meet_often(const char *port, bool accept, int count)
{
    int files = 0, maps = 0;
    for (int i = 0; i < count; i++) {
        MPI_Comm c = meet(port, accept);
        if (i == 0)
            check_all(c, port, accept);
        else
            check_pairs(c, 1 + (size_t)i % 3 * 5000);
        MPI_Comm_disconnect(&c);
        if (i == count / 2) files = open_files(), maps = mappings();
    }
    CHECK(count < 4 || (open_files() <= files + 2 && mappings() <= maps + 8));
}

static void print_class(const char *what, int err)
{
    int class;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(err, &class);
    MPI_Error_string(err, text, &class);
    printf("%s: %s\n", what, err == MPI_SUCCESS ? "done" : text);
}

static void be_refused(const char *seconds, const char *port)
{
    MPI_Comm c;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", seconds);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int err = MPI_Comm_connect(port, info, 0, MPI_COMM_WORLD, &c);
    MPI_Info_free(&info);
    if (rank == 0) print_class("connect", err);
    CHECK(err == MPI_ERR_PORT);
}

// Accepts that are taken back, and one that still comes to its end among them.
static void cancel_some(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm c[3], d;
    MPI_Request r[4];
    MPI_Status s;
    int flag, result;
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    for (int i = 0; i < 3; i++) MPIX_Comm_iaccept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c[i], &r[i]);
    MPI_Cancel(&r[1]);
    MPI_Wait(&r[1], &s);
    MPI_Test_cancelled(&s, &flag);
    CHECK(flag && c[1] == MPI_COMM_NULL && r[1] == MPI_REQUEST_NULL);
    MPI_Cancel(&r[0]);
    MPI_Cancel(&r[2]);
    MPI_Waitall(1, &r[0], MPI_STATUSES_IGNORE);
    MPI_Waitall(1, &r[2], MPI_STATUSES_IGNORE);
    CHECK(c[0] == MPI_COMM_NULL && c[2] == MPI_COMM_NULL);
    // A port that is open and at which nobody accepts: the connect is taken back.
    MPIX_Comm_iconnect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &d, &r[3]);
    flag = 0;
    if (rank == 0) MPI_Test(&r[3], &flag, &s);
    CHECK(!flag);
    MPI_Cancel(&r[3]);
    MPI_Wait(&r[3], &s);
    MPI_Test_cancelled(&s, &flag);
    CHECK(flag && d == MPI_COMM_NULL);
    // A closed port fails who accepts at it.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPIX_Comm_iaccept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &d, &r[3]);
    if (rank == 0) MPI_Close_port(port);
    result = MPI_Wait(&r[3], MPI_STATUS_IGNORE);
    CHECK(result == MPI_ERR_PORT);
}

// Accepts of several callers, under way at once; each is answered in turn.
static void serve(const char *port, int count)
{
    MPI_Comm *c = malloc((size_t)count * sizeof *c);
    MPI_Request *r = malloc((size_t)count * sizeof *r);
    for (int i = 0; i < count; i++) MPIX_Comm_iaccept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &c[i], &r[i]);
    MPI_Waitall(count, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; i++) check_pairs(c[i], 100);
    for (int i = 0; i < count; i++) MPI_Comm_disconnect(&c[i]);
    free(c);
    free(r);
}

// Memory that both sides share, after one meeting there.
static MPI_Win share_memory(MPI_Comm c, bool high, MPI_Comm *merged)
{
    MPI_Win w;
    int *base;
    MPI_Intercomm_merge(c, high, merged);
    MPI_Comm_set_errhandler(*merged, MPI_ERRORS_RETURN);
    MPI_Barrier(*merged);
    MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, *merged, &base, &w);
    MPI_Win_set_errhandler(w, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, w);
    return w;
}

// Who waits for a dead process by a word of shared memory hears of it, too.
static void outlive_in_memory(MPI_Win w, MPI_Comm merged)
{
    int class;
    MPI_Error_class(MPI_Win_fence(0, w), &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    MPI_Error_class(MPI_Barrier(merged), &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    MPI_Win_free(&w);
    MPI_Comm_free(&merged);
}

// The other side dies: an error on its communicator alone. What it had sent before counts; then all goes on.
static void outlive(const char *port)
{
    MPI_Comm c = meet(port, true);
    MPI_Request r[3];
    int in = -1, never, one = 1, sum = 0, class;
    static unsigned char large[LARGE];
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Recv(&never, 1, MPI_INT, 0, 9, c, MPI_STATUS_IGNORE);    // the one before it, with tag 1, is here
    MPI_Comm merged;
    MPI_Win w = share_memory(c, false, &merged);
    outlive_in_memory(w, merged);
    // It may be known already when an operation begins.
    int err[3] = {MPI_Irecv(&in, 1, MPI_INT, 0, 1, c, &r[0]), MPI_Irecv(&never, 1, MPI_INT, 0, 2, c, &r[1]),
                  MPI_Isend(large, LARGE, MPI_BYTE, 0, 3, c, &r[2])};
    for (int i = 0; i < 3; i++) {
        MPI_Error_class(err[i] ? err[i] : MPI_Wait(&r[i], MPI_STATUS_IGNORE), &class);
        CHECK(i == 0 ? class == MPI_SUCCESS && in == 4711 : class == MPIX_ERR_PROC_FAILED);
    }
    MPI_Error_class(MPI_Send(&one, 1, MPI_INT, 0, 1, c), &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    MPI_Error_class(MPI_Barrier(c), &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    MPI_Comm_disconnect(&c);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    c = meet(port, true);
    check_pairs(c, LARGE);
    MPI_Comm_disconnect(&c);
}

static void die(const char *port)
{
    MPI_Comm c = meet(port, false);
    int others, word = 4711;
    MPI_Comm_remote_size(c, &others);
    for (int i = 0; i < others; i++) {
        MPI_Send(&word, 1, MPI_INT, i, 1, c);
        MPI_Ssend(&word, 1, MPI_INT, i, 9, c);
    }
    MPI_Comm merged;
    share_memory(c, true, &merged);
    raise(SIGKILL);
}

// The other side leaves without a word, and nothing was ever sent: who waits for it hears of that.
static void be_forsaken(const char *port)
{
    MPI_Comm c = meet(port, true);
    int in, class, one = 1, sum = 0;
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Recv(&in, 1, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE), &class);
    CHECK(class == MPIX_ERR_PROC_FAILED);
    MPI_Comm_disconnect(&c);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
}

static void visit(const char *port, size_t bytes)
{
    MPI_Comm c = meet(port, false);
    check_pairs(c, bytes);
    MPI_Comm_disconnect(&c);
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *way = argc > 1 ? argv[1] : "";
    bool accept = strcmp(way, "accept") == 0, serves = strcmp(way, "serve") == 0;
    bool outlives = strcmp(way, "outlive") == 0, forsaken = strcmp(way, "forsaken") == 0;
    if (rank == 0 && (accept || serves || outlives || forsaken || strcmp(way, "leftover") == 0)) {
        MPI_Open_port(MPI_INFO_NULL, port);
        printf("%s\n", port);
        fflush(stdout);
    }
    if (accept) meet_often(port, true, atoi(argv[2]));
    if (serves) serve(port, atoi(argv[2]));
    if (rank == 0 && (accept || serves)) MPI_Close_port(port);
    if (strcmp(way, "visit") == 0) visit(argv[2], argc > 3 ? LARGE : 100);
    if (outlives) outlive(port);
    if (outlives && rank == 0) MPI_Close_port(port);
    if (forsaken) be_forsaken(port);
    if (strcmp(way, "vanish") == 0 || strcmp(way, "quit") == 0) (void)meet(argv[2], false);
    if (strcmp(way, "vanish") == 0) raise(SIGKILL);
    if (strcmp(way, "die") == 0) die(argv[2]);
    if (strcmp(way, "connect") == 0) meet_often(argv[3], false, atoi(argv[2]));
    if (strcmp(way, "refused") == 0) be_refused(argv[2], argv[3]);
    if (strcmp(way, "cancel") == 0) cancel_some();
    MPI_Finalize();
    return 0;
}
