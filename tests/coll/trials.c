// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,4,8 set=coll_trials=2
// run: np=4 set=coll_trials=2 set=coll_window=4096 set=shm_cma=0
// run: np=2,4 set=coll_trials=0
// Collectives that try another way every other call: all data are right, whichever way they went, roots and late ranks
// change, sizes alternate, and a reduction gives the same bits each time. Without trials there are none. An alltoallv
// is tried where it does not go by messages anyway.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "counted.h"

// TURNS_EACH: of one size, so many that kinds that the rules send by copies, which come to their first trial last, are
// tried one after the other; then sizes alternate.
enum { TURNS_EACH = 200, TURNS = 200, SIZES = 4, MOST = 300 << 10 };
static const int sizes[SIZES] = {4 << 10, 20000, 130 << 10, MOST};    // bytes
static int me, n, *out, *in;
static double *sums, *first[SIZES][3];

static unsigned long long made(void)
{
    return counted("coll_trials_made");
}

static int value_of(int turn, int from, int to, int i)
{
    return turn * 1009 + from * 131 + to * 17 + i;
}

// Blocks of `count` from one rank: to is the rank that gets it, 0 where all get the same.
static void fill(int turn, int blocks, int count)
{
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < count; i += 1 + (i > 64 ? 61 : 0)) out[b * count + i] = value_of(turn, me, b, i);
}

static void check(int turn, const int *at, int from, int to, int count)
{
    for (int i = 0; i < count; i += 1 + (i > 64 ? 61 : 0)) CHECK(at[i] == value_of(turn, from, to, i));
}

static void move(int turn, int count)
{
    int root = turn / 7 % n;
    fill(turn, n, count);
    CHECK(MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++) check(turn, in + r * count, r, me, count);
    CHECK(MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++) check(turn, in + r * count, r, 0, count);
    CHECK(MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n && me == root; r++) check(turn, in + r * count, r, 0, count);
    CHECK(MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    check(turn, in, root, me, count);
    CHECK(MPI_Bcast(me == root ? out : in, count, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (me != root) check(turn, in, root, 0, count);
}

// Blocks that differ, from call to call, too: of `count`, or a third of it, and a few more.
static int count_of(int turn, int from, int to, int count)
{
    return ((turn + from + to) % 5 ? count : count / 3) + from * 3 + to;
}

static void move_differing(int turn, int count)
{
    int counts[2][8], at[2][8], ends[2] = {0, 0};
    for (int r = 0; r < n; r++) {
        counts[0][r] = count_of(turn, me, r, count);
        counts[1][r] = count_of(turn, r, me, count);
        for (int i = 0; i < 2; i++) at[i][r] = ends[i], ends[i] += counts[i][r];
        for (int i = 0; i < counts[0][r]; i++) out[at[0][r] + i] = value_of(turn, me, r, i);
    }
    CHECK(MPI_Alltoallv(out, counts[0], at[0], MPI_INT, in, counts[1], at[1], MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < counts[1][r]; i++) CHECK(in[at[1][r] + i] == value_of(turn, r, me, i));
}

static void same_bits(double **kept, const double *now, int count)
{
    size_t bytes = (size_t)count * sizeof(double);
    if (!*kept) {
        *kept = malloc(bytes);
        memcpy(*kept, now, bytes);
    }
    CHECK(memcmp(now, *kept, bytes) == 0);
}

// Sums that round: the same bits as in the first call of that kind and size.
static void reduce(int size, int count)
{
    double *all = sums + count;
    int each = count / n, root = size % n;
    for (int i = 0; i < count; i++) sums[i] = 1.0 / (1 + i % 1000 + 3 * me);
    CHECK(MPI_Allreduce(sums, all, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    same_bits(&first[size][0], all, count);
    memset(all, 0, (size_t)count * sizeof(double));
    CHECK(MPI_Reduce(sums, all, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (me == root) same_bits(&first[size][1], all, count);
    CHECK(MPI_Reduce_scatter_block(sums, all, each, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    same_bits(&first[size][2], all, each);
}

static bool is_off(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "0") == 0;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    out = malloc((size_t)n * (MOST + 256));
    in = malloc((size_t)n * (MOST + 256));
    sums = malloc((size_t)2 * MOST);
    CHECK(made() == 0);
    volatile long busy = 0;
    for (int turn = 0; turn < SIZES * TURNS_EACH + TURNS; turn++) {
        int size = turn < SIZES * TURNS_EACH ? turn / TURNS_EACH : turn % SIZES;
        for (long k = 0; k < (turn * 7 + me) % 5 * 3000; k++) busy += k;
        move(turn, sizes[size] / (int)sizeof(int));
        move_differing(turn, sizes[size] / (int)sizeof(int));
        reduce(size, sizes[size] / (int)sizeof(double));
    }
    bool tried = !is_off("UNISONO_COLL_TRIALS");
    CHECK((made() > 0) == tried);
    bool varied = tried && !is_off("UNISONO_SHM_CMA");
    unsigned long long before = made();
    // A way that has lost five times is left out of 31 trials, of 16 calls each.
    for (int turn = 0; turn < (varied ? 1000 : TURNS) && made() == before; turn++)
        move_differing(turn, sizes[1] / (int)sizeof(int));
    CHECK((made() > before) == varied);
    for (int i = 0; i < 3 * SIZES; i++) free(first[i / 3][i % 3]);
    free(out);
    free(in);
    free(sums);
    MPI_Finalize();
    return 0;
}
