// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4
// Messages and collectives of 5 to 50 KiB, which go by copies across processes until these take much longer than the
// machine's costs say, and then another way: all data are right before, meanwhile and after. The suite 31-machine runs
// this with costs that say copies are nearly free, so that each one is dear; there two ranks must have noticed.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "counted.h"

enum { TURNS = 1200, SIZES = 4, MOST = 13000 };    // ints
static const int sizes[SIZES] = {1400, 2048, 4001, MOST};
static int me, n, out[4 * MOST], in[4 * MOST];

static int value_of(int turn, int from, int to, int i)
{
    return turn * 31 + from * 7 + to * 3 + i;
}

static void fill(int turn, int to, int count)
{
    for (int i = 0; i < count; i++) out[to * count + i] = value_of(turn, me, to, i);
}

static void check(int turn, const int *at, int from, int to, int count)
{
    for (int i = 0; i < count; i++) CHECK(at[i] == value_of(turn, from, to, i));
}

// To the next rank, one after the other, and then all at once.
static void send_on(int turn, int count)
{
    int next = (me + 1) % n, before = (me + n - 1) % n;
    fill(turn, 0, count);
    if (me % 2 == 0) CHECK(MPI_Send(out, count, MPI_INT, next, turn, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(in, count, MPI_INT, before, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (me % 2) CHECK(MPI_Send(out, count, MPI_INT, next, turn, MPI_COMM_WORLD) == MPI_SUCCESS);
    check(turn, in, before, 0, count);
    CHECK(MPI_Sendrecv(out, count, MPI_INT, before, turn, in, count, MPI_INT, next, turn, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check(turn, in, next, 0, count);
}

static void move(int turn, int count)
{
    int root = turn % n;
    for (int r = 0; r < n; r++) fill(turn, r, count);
    CHECK(MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n && me == root; r++) check(turn, in + r * count, r, 0, count);
    CHECK(MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++) check(turn, in + r * count, r, me, count);
    CHECK(MPI_Bcast(me == root ? out : in, count, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (me != root) check(turn, in, root, 0, count);
    CHECK(MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < count; i += 97) {
        int sum = 0;
        for (int r = 0; r < n; r++) sum += value_of(turn, r, 0, i);
        CHECK(in[i] == sum);
    }
}

// Whichever way they go, sums are the same bits each time.
static void reduce(int size, int root)
{
    enum { HALF = MOST / 2 };
    static double mine[HALF], sum[HALF], first[2][SIZES][HALF];
    static bool known[2][SIZES];
    int count = sizes[size] / 2;
    for (int i = 0; i < count; i++) mine[i] = 1.0 / (1 + i + 10007 * me);
    for (int all = 0; all < 2; all++) {
        CHECK((all ? MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)
                   : MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD)) == MPI_SUCCESS);
        if (!all && me != root) continue;
        if (!known[all][size]) memcpy(first[all][size], sum, (size_t)count * sizeof *sum);
        known[all][size] = true;
        CHECK(memcmp(first[all][size], sum, (size_t)count * sizeof *sum) == 0);
    }
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    unsigned long long before = counted("shm_dear");
    for (int turn = 0; turn < TURNS; turn++) {
        send_on(turn, sizes[turn / 100 % SIZES]);
        move(turn, sizes[turn / 100 % SIZES]);
        reduce(turn / 100 % SIZES, n - 1);
    }
    if (getenv("UNO_TEST_DEAR") && n == 2 && sysconf(_SC_NPROCESSORS_ONLN) > 1) CHECK(counted("shm_dear") > before);
    MPI_Finalize();
    return 0;
}
