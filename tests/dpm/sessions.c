// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 chan=shm,tcp
// run: np=0
// Programs of sessions, without MPI_COMM_WORLD, spawn and meet. Spawned processes begin with MPI_Init, as the standard
// has it, before or after sessions of their own; one that has sessions alone has no parents and does not complete the
// spawn. The library ends with the last session, its ports with it, and begins anew.
#include "../check.h"

#include <stdbool.h>
#include <string.h>

static MPI_Comm make_comm(MPI_Session s, const char *pset, const char *tag)
{
    MPI_Group g;
    MPI_Comm c;
    CHECK(MPI_Group_from_session_pset(s, pset, &g) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(g, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &c) == MPI_SUCCESS);
    MPI_Group_free(&g);
    return c;
}

static MPI_Session begin(void)
{
    MPI_Session s;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s) == MPI_SUCCESS);
    return s;
}

static int sum_of_ones(MPI_Comm c)
{
    int one = 1, sum = -1;
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS);
    return sum;
}

// All of both sides together, then parts.
static void talk(MPI_Comm inter, bool high)
{
    int mine, others;
    MPI_Comm all;
    MPI_Comm_size(inter, &mine);
    MPI_Comm_remote_size(inter, &others);
    CHECK(sum_of_ones(inter) == others);
    CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS);
    CHECK(sum_of_ones(all) == mine + others);
    MPI_Comm_free(&all);
    CHECK(MPI_Comm_disconnect(&inter) == MPI_SUCCESS);
}

// ---- what a spawned process does ----

static int be_child(int argc, char **argv)
{
    MPI_Comm parent, mine;
    MPI_Session s = MPI_SESSION_NULL;
    bool first = strcmp(argv[1], "session first") == 0;
    if (strcmp(argv[1], "session alone") == 0) {
        s = begin();
        mine = make_comm(s, "mpi://WORLD", "children");
        CHECK(sum_of_ones(mine) == 2);
        MPI_Comm_free(&mine);
        MPI_Session_finalize(&s);
        return 0;
    }
    if (first) s = begin();
    MPI_Init(&argc, &argv);
    if (!first) s = begin();
    mine = make_comm(s, "mpi://WORLD", "children");
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL && sum_of_ones(mine) == 2);
    talk(parent, true);
    if (first) MPI_Finalize();
    CHECK(sum_of_ones(mine) == 2);    // a session outlives the world, and the other way round
    MPI_Comm_free(&mine);
    MPI_Session_finalize(&s);
    if (!first) MPI_Finalize();
    return 0;
}

// ---- the parents ----

static void spawn(char *self, MPI_Comm c, const char *how, int expected)
{
    char word[32], *args[] = {word, NULL};
    int codes[2] = {-1, -1}, class;
    MPI_Comm children = MPI_COMM_NULL;
    snprintf(word, sizeof word, "%s", how);
    MPI_Error_class(MPI_Comm_spawn(self, args, 2, MPI_INFO_NULL, 0, c, &children, codes), &class);
    CHECK(class == expected);
    if (expected == MPI_SUCCESS) {
        CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
        talk(children, false);
    } else {
        CHECK(children == MPI_COMM_NULL);
    }
}

// Two communicators of one process each meet, the second connects.
static void meet(MPI_Comm all)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int rank, size;
    MPI_Comm half, other = MPI_COMM_NULL;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    if (size == 1) return;
    MPI_Comm_split(all, rank > 0, 0, &half);
    if (rank == 0) CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, all);
    if (rank == 0)
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other) == MPI_SUCCESS);
    else
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other) == MPI_SUCCESS);
    talk(other, rank > 0);
    MPI_Comm_free(&half);
}

// A port of before is closed: what connects to it now is told so.
static void use_old_port(MPI_Comm c, const char *port)
{
    MPI_Comm other = MPI_COMM_NULL;
    int class;
    MPI_Error_class(MPI_Comm_connect(port, MPI_INFO_NULL, 0, c, &other), &class);
    CHECK(class == MPI_ERR_PORT && other == MPI_COMM_NULL);
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";
    int flag;
    if (argc > 1) return be_child(argc, argv);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Session s = begin();
        MPI_Comm all = make_comm(s, "mpi://WORLD", "parents"), own = make_comm(s, "mpi://SELF", "alone");
        if (turn > 0) use_old_port(own, port);
        spawn(argv[0], all, "session first", MPI_SUCCESS);
        spawn(argv[0], own, "session last", MPI_SUCCESS);
        if (turn == 0) spawn(argv[0], all, "session alone", MPI_ERR_SPAWN);
        meet(all);
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        MPI_Comm_free(&own);
        MPI_Comm_free(&all);
        CHECK(MPI_Session_finalize(&s) == MPI_SUCCESS);
    }
    MPI_Initialized(&flag);
    CHECK(!flag);
    return 0;
}
