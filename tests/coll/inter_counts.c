// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 chan=shm,tcp
// Gatherv and scatterv over an intercommunicator, again and again with the same arrays holding other counts: nothing of
// an earlier call is used again.
#include "../check.h"

#include <string.h>

enum { MOST = 64, ROUNDS = 6 };
static int rank, low, others;    // rank in the own group; whether this is the first group; ranks of the other

static int count_of(int r, int round)
{
    return (r + round) % 3 + round;
}

// The first group's rank 0 is root; its array of counts is the same all the time.
static int set_counts(int round, int *counts, int *displs)
{
    int total = 0;
    for (int r = 0; r < others; r++) {
        counts[r] = count_of(r, round);
        displs[r] = total;
        total += counts[r];
    }
    return total;
}

int main(void)
{
    MPI_Comm half, inter;
    int world, size, counts[MOST], displs[MOST], data[MOST * 10], root;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    low = world < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 1, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &others);
    root = low ? rank == 0 ? MPI_ROOT : MPI_PROC_NULL : 0;
    for (int round = 0; round < ROUNDS; round++) {
        int total = set_counts(round, counts, displs), mine = low ? 0 : count_of(rank, round);
        for (int i = 0; i < mine; i++) data[i] = 100 * rank + i;
        MPI_Gatherv(data, mine, MPI_INT, data, counts, displs, MPI_INT, root, inter);
        for (int r = 0; r < others && root == MPI_ROOT; r++)
            for (int i = 0; i < counts[r]; i++) CHECK(data[displs[r] + i] == 100 * r + i);
        if (root == MPI_ROOT)
            for (int i = 0; i < total; i++) data[i] = -i;
        MPI_Scatterv(data, counts, displs, MPI_INT, data, mine, MPI_INT, root, inter);
        int before = 0;
        for (int r = 0; r < rank; r++) before += count_of(r, round);
        for (int i = 0; i < mine; i++) CHECK(data[i] == -(before + i));
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
