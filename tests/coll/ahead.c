// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4,8
// run: np=4 set=coll_shm=0
// Ranks that get nothing from a collective may leave it early and run ahead through later ones: what the others get is
// right all the same. A reduce_scatter whose result belongs to one rank, other collectives of small blocks between.
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

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(n <= 64);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < turn % 7; i++) scatter_to(turn, turn / 7 % n);
        blocks(turn, turn % n, 1 + turn % 16);
    }
    MPI_Finalize();
    return 0;
}
