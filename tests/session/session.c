// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2,3,5 chan=shm,tcp
// Sessions: alone, several, around MPI_Init and MPI_Finalize, again after all ended; process sets; communicators from
// groups.
#include "../check.h"

#include <string.h>

static int handled, processes;

static void on_session(MPI_Session *s, int *code, ...)
{
    (void)s;
    handled = *code;
}

static void ring(MPI_Comm c)
{
    int r, n, in = -1;
    MPI_Comm_rank(c, &r);
    MPI_Comm_size(c, &n);
    MPI_Sendrecv(&r, 1, MPI_INT, (r + 1) % n, 4, &in, 1, MPI_INT, (r + n - 1) % n, 4, c, MPI_STATUS_IGNORE);
    CHECK(in == (r + n - 1) % n);
}

static MPI_Comm from_pset(MPI_Session s, const char *pset, const char *tag)
{
    MPI_Group g;
    MPI_Comm c;
    CHECK(MPI_Group_from_session_pset(s, pset, &g) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    MPI_Group_free(&g);
    MPI_Errhandler e;
    MPI_Comm_get_errhandler(c, &e);
    CHECK(e == MPI_ERRORS_RETURN);
    return c;
}

// All a library needs, without MPI_Init.
static void use(MPI_Session s)
{
    int n, rank, size;
    MPI_Comm world = from_pset(s, "mpi://WORLD", "tests.session.world"),
             self = from_pset(s, "mpi://SELF", "tests.session.self");
    MPI_Comm_size(self, &n);
    CHECK(n == 1);
    ring(world);
    ring(self);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(processes == 0 || processes == size);
    processes = size;
    // The even ranks alone, while the odd ones do the same with the same tag.
    MPI_Group all, part;
    MPI_Comm c;
    int range[1][3] = {{rank % 2, size - 1, 2}};
    MPI_Group_from_session_pset(s, "mpi://WORLD", &all);
    MPI_Group_range_incl(all, 1, range, &part);
    CHECK(MPI_Comm_create_from_group(part, "tests.session.part", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    MPI_Comm_size(c, &n);
    CHECK(n == (size + 1 - rank % 2) / 2);
    ring(c);
    if (size > 1) {
        MPI_Group other;
        MPI_Comm inter;
        range[0][0] = 1 - rank % 2;
        MPI_Group_range_incl(all, 1, range, &other);
        CHECK(MPI_Intercomm_create_from_groups(part, 0, other, 0, "tests.session.inter", MPI_INFO_NULL,
                                               MPI_ERRORS_RETURN, &inter) == MPI_SUCCESS);
        MPI_Comm_remote_size(inter, &n);
        CHECK(n == size - (size + 1 - rank % 2) / 2);
        MPI_Comm merged;
        MPI_Intercomm_merge(inter, rank % 2, &merged);
        ring(merged);
        MPI_Comm_free(&merged);
        MPI_Comm_free(&inter);
        MPI_Group_free(&other);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&part);
    MPI_Comm_free(&c);
    MPI_Comm_free(&world);
    MPI_Comm_free(&self);
}

static void psets(MPI_Session s)
{
    int n, len, flag;
    char name[MPI_MAX_PSET_NAME_LEN], value[16];
    CHECK(MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n) == MPI_SUCCESS && n >= 2);
    int world = 0, self = 0;
    for (int i = 0; i < n; i++) {
        len = 0;
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, NULL);
        CHECK(len > 1 && len <= MPI_MAX_PSET_NAME_LEN);
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, name);
        CHECK((int)strlen(name) == len - 1);
        world += strcmp(name, "mpi://WORLD") == 0;
        self += strcmp(name, "mpi://SELF") == 0;
        len = 4;
        MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &len, name);
        CHECK(strcmp(name, "mpi") == 0 && len > 4);
    }
    CHECK(world == 1 && self == 1);
    MPI_Info info;
    CHECK(MPI_Session_get_pset_info(s, "mpi://SELF", &info) == MPI_SUCCESS);
    len = sizeof value;
    MPI_Info_get_string(info, "mpi_size", &len, value, &flag);
    CHECK(flag && strcmp(value, "1") == 0);
    MPI_Info_free(&info);
}

static void wrong_input(MPI_Session s)
{
    MPI_Errhandler h;
    MPI_Group g;
    MPI_Info info;
    int n, len = 0;
    MPI_Session_create_errhandler(on_session, &h);
    CHECK(MPI_Session_set_errhandler(s, h) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(s, "none", &g) == MPI_ERR_ARG && handled == MPI_ERR_ARG);
    CHECK(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, 99, &len, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Session_get_pset_info(s, "none", &info) == MPI_ERR_ARG);
    CHECK(MPI_Session_get_num_psets(s, MPI_INFO_NULL, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Session_call_errhandler(s, MPI_ERR_IO) == MPI_SUCCESS && handled == MPI_ERR_IO);
    MPI_Errhandler got;
    MPI_Session_get_errhandler(s, &got);
    CHECK(got == h);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&h);
    MPI_Comm c;
    MPI_Group_from_session_pset(s, "mpi://SELF", &g);
    CHECK(MPI_Comm_create_from_group(g, NULL, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_ERR_ARG &&
          handled == MPI_ERR_IO);    // the handler given to the call has it, not the session's
    CHECK(MPI_Comm_create_from_group(g, "t", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &c) == MPI_ERR_ERRHANDLER);
    MPI_Group_free(&g);
    n = 0;
    MPI_Session_set_errhandler(s, MPI_ERRORS_RETURN);
    CHECK(MPI_Session_get_nth_pset(s, MPI_INFO_NULL, n, NULL, NULL) == MPI_ERR_ARG);
}

static MPI_Session open_one(const char *level)
{
    MPI_Session s;
    MPI_Info info;
    char value[64];
    int flag, n = sizeof value;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_Session_get_info(s, &info) == MPI_SUCCESS);
    MPI_Info_get_string(info, "thread_level", &n, value, &flag);
    CHECK(flag && strncmp(value, "MPI_THREAD_", 11) == 0);
    MPI_Info_free(&info);
    return s;
}

static void close_one(MPI_Session *s)
{
    CHECK(MPI_Session_finalize(s) == MPI_SUCCESS && *s == MPI_SESSION_NULL);
}

int main(void)
{
    MPI_Session a = open_one("MPI_THREAD_SINGLE"), b = open_one("MPI_THREAD_MULTIPLE");
    int up, down, rank;
    MPI_Initialized(&up);
    CHECK(!up);
    psets(a);
    use(a);
    use(b);
    wrong_input(a);
    close_one(&a);
    use(b);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    use(b);
    ring(MPI_COMM_WORLD);
    MPI_Finalize();
    MPI_Finalized(&down);
    CHECK(down);
    use(b);    // the session outlives the world model
    close_one(&b);
    for (int i = 0; i < 3; i++) {    // and all may start again
        a = open_one("MPI_THREAD_SINGLE");
        use(a);
        close_one(&a);
    }
    return 0;
}
