// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4 chan=shm,tcp
// run: np=2,4 set=rma_path=2
// run: np=2,4 set=shm_cma=0
// Accumulates are atomic per element, whatever forms meet at an element: one element or a megabyte, plain or strided at
// either side, fetching or not. All ranks add ones in all forms at once to all elements of rank 0; nothing is lost.
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { N = 20011, BASE = 3, TURNS = 12, SINGLES = 64 };    // an odd number of elements, from an odd place on
enum { EDGE = 2047 - BASE };    // the last element before 16 KiB, where another lock begins (src/rma/stripe.h)

static int me, n;
static char *mem;
static int64_t *ones, *old;

static void single(MPI_Win win, int turn, MPI_Aint at)
{
    int64_t one = 1, before = -1, next;
    for (int k = 0; k < SINGLES; k++) {
        int i = (turn * SINGLES + k) * 37 % N;
        if (k % 2) {
            MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, at + i, MPI_SUM, win);
            MPI_Win_flush(0, win);
            continue;
        }
        do {    // by compare and swap
            MPI_Fetch_and_op(NULL, &before, MPI_INT64_T, 0, at + i, MPI_NO_OP, win);
            MPI_Win_flush(0, win);
            next = before + 1;
            int64_t expected = before;
            MPI_Compare_and_swap(&next, &expected, &before, MPI_INT64_T, 0, at + i, win);
            MPI_Win_flush(0, win);
        } while (before != next - 1);
    }
}

static int pair_at(int turn, int k)
{
    return k % 8 ? (turn * SINGLES + k) * 41 % (N - 1) : EDGE;
}

// Two elements in one call, plain and fetching, some of them in two blocks.
static void pairs(MPI_Win win, int turn, MPI_Aint at)
{
    int64_t before[2] = {-1, -1};
    for (int k = 0; k < SINGLES; k++) {
        MPI_Aint i = at + pair_at(turn, k);
        if (k % 2)
            MPI_Accumulate(ones, 2, MPI_INT64_T, 0, i, 2, MPI_INT64_T, MPI_SUM, win);
        else
            MPI_Get_accumulate(ones, 2, MPI_INT64_T, before, 2, MPI_INT64_T, 0, i, 2, MPI_INT64_T, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(k % 2 || (before[0] >= 0 && before[1] >= 0));
    }
}

// Everything once: plain, fetching, every second element at the target, every second one at the origin.
static void bulk(MPI_Win win, MPI_Aint at, MPI_Datatype second)
{
    MPI_Accumulate(ones, N, MPI_INT64_T, 0, at, N, MPI_INT64_T, MPI_SUM, win);
    MPI_Get_accumulate(ones, N, MPI_INT64_T, old, N, MPI_INT64_T, 0, at, N, MPI_INT64_T, MPI_SUM, win);
    MPI_Accumulate(ones, N / 2, MPI_INT64_T, 0, at, 1, second, MPI_SUM, win);
    MPI_Accumulate(ones, 1, second, 0, at + 1, 1, second, MPI_SUM, win);
    MPI_Win_flush(0, win);
    for (int i = 1; i < N; i++) CHECK(old[i] >= 0);
}

static void add_all(MPI_Win win, MPI_Aint at)
{
    MPI_Datatype second;
    MPI_Type_vector(N / 2, 1, 2, MPI_INT64_T, &second);
    MPI_Type_commit(&second);
    memset(mem, 0, 8 * (N + 8));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int t = 0; t < TURNS; t++) {
        single(win, t, at);
        pairs(win, t, at);
        if (t % n == me || t % 3 == 0) bulk(win, at, second);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&second);
}

// How often all ranks together have called bulk().
static int64_t bulks(void)
{
    int64_t sum = 0;
    for (int r = 0; r < n; r++)
        for (int t = 0; t < TURNS; t++) sum += t % n == r || t % 3 == 0;
    return sum;
}

static void count(MPI_Win win, const char *part)
{
    static int64_t want[N];
    for (int i = 0; i < N; i++) want[i] = bulks() * (2 + (i < N / 2 * 2));
    for (int t = 0; t < TURNS; t++)
        for (int k = 0; k < SINGLES; k++) {
            want[(t * SINGLES + k) * 37 % N] += n;
            want[pair_at(t, k)] += n;
            want[pair_at(t, k) + 1] += n;
        }
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    for (int i = 0; me == 0 && i < N; i++) {
        int64_t v;
        memcpy(&v, part + 8 * i, 8);
        CHECK(v == want[i]);
    }
    MPI_Win_unlock(me, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    ones = malloc(8 * (N + 8));
    old = malloc(8 * (N + 8));
    for (int i = 0; i < N + 8; i++) ones[i] = 1;
    MPI_Aint bytes = 8 * (N + 8);
    MPI_Win win;
    MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    add_all(win, BASE);
    count(win, mem + 8 * BASE);
    MPI_Win_free(&win);
    mem = malloc((size_t)bytes);
    MPI_Win_create(mem, bytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    add_all(win, BASE);
    count(win, mem + 8 * BASE);
    MPI_Win_free(&win);
    free(mem);
    free(ones);
    free(old);
    MPI_Finalize();
    return 0;
}
