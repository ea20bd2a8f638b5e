// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 chan=shm,tcp set=check_collectives=1
// The checking mode on an intercommunicator: a rank that calls another collective, names another root, operation or
// amount of data than the rest is told, on all ranks of both groups; what agrees works, in all three forms.
#include "mismatch.h"

static int me, n, in_a, na;
static MPI_Comm inter;

// Rank 0 of the first group is the root.
static int root(void)
{
    return !in_a ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static void what_agrees(enum mode mode)
{
    int x = 1, y = -1, all[8], got[8];
    int others = in_a ? n - na : na;
    CALL(mode, 2, Barrier, Ibarrier, inter);
    CALL(mode, 2, Allreduce, Iallreduce, &x, &y, 1, MPI_INT, MPI_SUM, inter);
    CHECK(y == others);
    y = root() == MPI_ROOT ? 42 : -1;
    CALL(mode, 2, Bcast, Ibcast, &y, 1, MPI_INT, root(), inter);
    CHECK(y == (in_a && me ? -1 : 42));
    y = -1;
    CALL(mode, 2, Reduce, Ireduce, &x, &y, 1, MPI_INT, MPI_SUM, root(), inter);
    CHECK(y == (root() == MPI_ROOT ? others : -1));
    // The two groups may move different amounts.
    for (int i = 0; i < 8; i++) all[i] = in_a;
    CALL(mode, 2, Allgather, Iallgather, all, in_a ? 1 : 0, MPI_INT, got, in_a ? 0 : 1, MPI_INT, inter);
    for (int i = 0; i < others && !in_a; i++) CHECK(got[i] == 1);
}

static void what_differs(int odd)
{
    int x[4] = {0}, y[4];
    MPI_Request q;
    expect(odd ? MPI_Barrier(inter) : MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_OTHER, "MPI_Barrier",
           "MPI_Allreduce");
    expect(MPI_Allreduce(x, y, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, inter), MPI_ERR_OP, "group calls", "op");
    expect(MPI_Allreduce(x, y, 1 + odd, MPI_INT, MPI_SUM, inter), MPI_ERR_COUNT, "4 bytes", "8 bytes");
    expect(MPI_Bcast(x, 1 + odd, MPI_INT, root(), inter), MPI_ERR_COUNT, "MPI_ROOT", "8 bytes");
    // One of the second group makes itself a root too; then nobody is one.
    expect(MPI_Bcast(x, 1, MPI_INT, odd ? MPI_ROOT : root(), inter), MPI_ERR_ROOT, "MPI_ROOT", "MPI_Bcast");
    expect(MPI_Bcast(x, 1, MPI_INT, in_a ? MPI_PROC_NULL : 0, inter), MPI_ERR_ROOT, "MPI_PROC_NULL", "root 0");
    if (odd)
        CHECK(MPI_Ibarrier(inter, &q) == MPI_SUCCESS);
    else
        CHECK(MPI_Iallreduce(x, y, 1, MPI_INT, MPI_SUM, inter, &q) == MPI_SUCCESS);
    expect(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "MPI_Ibarrier", "MPI_Iallreduce");
    CHECK(MPI_Allreduce_init(x, y, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, inter, MPI_INFO_NULL, &q) == MPI_SUCCESS);
    for (int k = 0; k < 2; k++) {
        CHECK(MPI_Start(&q) == MPI_SUCCESS);
        expect(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_OP, "MPI_Allreduce_init", "op");
    }
    CHECK(MPI_Request_free(&q) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    int world;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    na = n / 2;
    in_a = world < na;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, in_a, world, &half) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, in_a ? na : 0, 7, &inter) == MPI_SUCCESS);
    MPI_Comm_rank(inter, &me);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    for (enum mode mode = 0; mode < MODES; mode++) what_agrees(mode);
    what_differs(world == n - 1);
    for (enum mode mode = 0; mode < MODES; mode++) what_agrees(mode);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
