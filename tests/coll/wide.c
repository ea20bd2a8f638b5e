// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5,8 set=coll_force=bcast=slots+gather=slots+scatter=slots+allreduce=slots+allgather=slots+alltoall=slots
// run: np=3,5 set=coll_crowded=0 set=coll_force=bcast=slots+allreduce=slots+allgather=slots
// run: np=3 set=coll_force=bcast=slots+gather=slots+scatter=slots set=shm_cma=0
// run: np=3 set=coll_force=allreduce=slots+allgather=slots+alltoall=slots set=shm_cma=0
// Slots of all widths in turn, with ranks that run ahead: a slot is not filled anew before everybody has
// read it. The wide slots of a communicator are given back with it: after more communicators than there is memory for,
// the last one still has some; and so has the last of many that there are at once.
#include <string.h>

#include "../check.h"
#include "counted.h"

enum { MOST = 10000, TURNS = 300, COMMS = 3000, AT_ONCE = 200, BLOCK = 2500 };    // ints
static int me, n;
static int data[MOST], all[8 * BLOCK], out[8 * BLOCK];

// The calls that went through slots.
static unsigned long long through_slots(void)
{
    return counted("coll_shm_small");
}

static int value_of(int turn, int i)
{
    return turn * 31 + i;
}

// Roots that go on at once, lengths on both sides of every border, readers that come late.
static void run_ahead(MPI_Comm comm)
{
    static const int lengths[] = {1, 14, 15, 2048, 2049, 2100, 5000, MOST};
    volatile long busy = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        int count = lengths[turn * 5 % 8], root = turn / 50 % n;
        for (int i = 0; i < count; i++) data[i] = me == root ? value_of(turn, i) : -1;
        for (long k = 0; me != root && k < (turn * 7 + me) % 5 * 20000; k++) busy += k;
        CHECK(MPI_Bcast(data, count, MPI_INT, root, comm) == MPI_SUCCESS);
        for (int i = 0; i < count; i++) CHECK(data[i] == value_of(turn, i));
        if (turn % 3) continue;
        int block = count < BLOCK ? count : BLOCK;
        for (int i = 0; i < n * block; i++) all[i] = me * 1000003 + i + turn;
        memset(out, -1, sizeof out);
        CHECK(MPI_Alltoall(all, block, MPI_INT, out, block, MPI_INT, comm) == MPI_SUCCESS);
        for (int r = 0; r < n; r++)
            for (int i = 0; i < block; i++) CHECK(out[r * block + i] == r * 1000003 + me * block + i + turn);
        CHECK(MPI_Gather(all, block, MPI_INT, out, block, MPI_INT, root, comm) == MPI_SUCCESS);
        for (int r = 0; r < n && me == root; r++)
            for (int i = 0; i < block; i++) CHECK(out[r * block + i] == r * 1000003 + i + turn);
        CHECK(MPI_Scatter(all, block, MPI_INT, out, block, MPI_INT, root, comm) == MPI_SUCCESS);
        for (int i = 0; i < block; i++) CHECK(out[i] == root * 1000003 + me * block + i + turn);
    }
}

static void sums(MPI_Comm comm, int count)
{
    for (int i = 0; i < count; i++) all[i] = me + i;
    CHECK(MPI_Allreduce(all, out, count, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    for (int i = 0; i < count; i++) CHECK(out[i] == n * i + n * (n - 1) / 2);
}

static void at_once(void)
{
    static MPI_Comm comm[AT_ONCE];
    for (int i = 0; i < AT_ONCE; i++) CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]) == MPI_SUCCESS);
    for (int i = 0; i < AT_ONCE; i++) {
        unsigned long long before = through_slots();
        sums(comm[i], 3000);
        CHECK(through_slots() == before + 1);
    }
    for (int i = 0; i < AT_ONCE; i++) CHECK(MPI_Comm_free(&comm[i]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    run_ahead(MPI_COMM_WORLD);
    unsigned long long before = 0;
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm comm;
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
        before = through_slots();
        sums(comm, 3000);
        CHECK(through_slots() == before + 1);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    }
    at_once();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
