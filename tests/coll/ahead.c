// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4,8
// run: np=4 set=coll_shm=0
// Ranks that get nothing from a collective may leave it early and run ahead through later ones: what the others get is
// right all the same. A reduce_scatter whose result belongs to one rank, other collectives of small blocks between; and
// long rows of calls in which data goes one way, small and large ones mixed, one root and then another.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"

#define TURNS 400

static int me, n;

// All elements go to rank `who`.
static void scatter_to(int turn, int who)
{
    int counts[64] = {0}, in[3], out[3] = {-1, -1, -1};
    counts[who] = 3;
    for (int i = 0; i < 3; i++) in[i] = turn * 100 + me + i;
    CHECK(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) CHECK(out[i] == (me == who ? n * (turn * 100 + i) + n * (n - 1) / 2 : -1));
}

// Blocks of `words` integers for each rank, by MPI_Scatter from `root`, MPI_Alltoall and MPI_Alltoallv.
static void blocks(int turn, int root, int words)
{
    int in[64 * 16], out[64 * 16], counts[64], displs[64];
    for (int r = 0; r < n; r++) {
        counts[r] = words;
        displs[r] = r * words;
        for (int i = 0; i < words; i++) in[r * words + i] = turn + me * 1000 + r * 100 + i;
    }
    CHECK(MPI_Scatter(in, words, MPI_INT, out, words, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < words; i++) CHECK(out[i] == turn + root * 1000 + me * 100 + i);
    CHECK(MPI_Alltoall(in, words, MPI_INT, out, words, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < words; i++) CHECK(out[r * words + i] == turn + r * 1000 + me * 100 + i);
    memset(out, 0, sizeof out);
    CHECK(MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int r = 0; r < n; r++)
        for (int i = 0; i < words; i++) CHECK(out[r * words + i] == turn + r * 1000 + me * 100 + i);
}

static unsigned char byte_of(int turn, int rank, size_t i)
{
    return (unsigned char)(turn * 31 + rank * 7 + (int)(i % 251));
}

static void fill(unsigned char *at, int turn, int rank, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) at[i] = byte_of(turn, rank, i);
}

static void compare(const unsigned char *at, int turn, int rank, size_t bytes)
{
    size_t i = 0;
    while (i < bytes && at[i] == byte_of(turn, rank, i)) i++;
    CHECK(i == bytes);
}

#define ROW_MOST 20000

// One call of `bytes` to or from each rank: from the root, a bcast, scatter or scatterv; to it, a gather or gatherv.
// The v forms give rank r so many bytes less one per rank.
static void one_way(int turn, int what, int root, int bytes)
{
    static unsigned char all[8 * ROW_MOST], own[ROW_MOST];
    int counts[8], displs[8];
    for (int r = 0; r < n; r++) {
        counts[r] = what == 2 || what == 4 ? bytes - r % 8 : bytes;
        displs[r] = r * ROW_MOST;
    }
    bool down = what <= 2;
    if (!down) fill(own, turn, me, (size_t)counts[me]);
    for (int r = 0; r < n && me == root && down; r++)
        fill(all + (what == 1 ? r * bytes : displs[r]), turn, r, (size_t)counts[r]);
    switch (what) {
    case 0: CHECK(MPI_Bcast(me == root ? all : own, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS); break;
    case 1: CHECK(MPI_Scatter(all, bytes, MPI_BYTE, own, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS); break;
    case 2:
        CHECK(MPI_Scatterv(all, counts, displs, MPI_BYTE, own, counts[me], MPI_BYTE, root, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        break;
    case 3: CHECK(MPI_Gather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, MPI_COMM_WORLD) == MPI_SUCCESS); break;
    default:
        CHECK(MPI_Gatherv(own, counts[me], MPI_BYTE, all, counts, displs, MPI_BYTE, root, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        break;
    }
    if (what == 0 && me != root) compare(own, turn, 0, (size_t)bytes);
    if (what == 1 || what == 2) compare(own, turn, me, (size_t)counts[me]);
    for (int r = 0; r < n && me == root && !down; r++)
        compare(all + (what == 3 ? r * bytes : displs[r]), turn, r, (size_t)counts[r]);
}

// The root changes after a row of calls, so that ranks are ahead by as much as there is room for.
static void rows(void)
{
    static const int sizes[] = {8, 40, 56, 57, 300, 600, 2040, 2048, 2049, 5000, 8192, 8193, 9000, ROW_MOST};
    uint32_t dice = 1;
    for (int turn = 0; turn < 6000; turn++) {
        dice = dice * 1664525 + 1013904223;
        bool small = turn / 100 % 3 == 0;    // these alone, and all of a kind
        int what = small ? turn / 100 % 5 : (int)((dice >> 8) % 5);
        one_way(turn, what, turn / 50 % n, sizes[(dice >> 16) % (small ? 8 : 14)]);
    }
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(n <= 8);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < turn % 7; i++) scatter_to(turn, turn / 7 % n);
        blocks(turn, turn % n, 1 + turn % 16);
    }
    rows();
    MPI_Finalize();
    return 0;
}
