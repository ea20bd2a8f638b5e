// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 chan=shm,tcp
// Distributed graphs in which some ranks say nothing: all agree on whether the graph is weighted, whatever a rank
// without edges gives for its weights.
#include "../check.h"

#include <stdbool.h>

static int rank, size;

static void agree(MPI_Comm c, bool want)
{
    int in, out, weighted = -1, sources[16], weights[16], dests[16], dest_weights[16];
    CHECK(MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted) == MPI_SUCCESS && weighted == want);
    CHECK(MPI_Dist_graph_neighbors(c, in, sources, weights, out, dests, dest_weights) == MPI_SUCCESS);
    for (int i = 0; i < in && want; i++) CHECK(weights[i] == 10 * sources[i] + rank);
    for (int i = 0; i < out && want; i++) CHECK(dest_weights[i] == 10 * rank + dests[i]);
    MPI_Comm_free(&c);
}

// Rank 0 says all edges, a ring; the others give nothing, in each of the ways.
static void said_by_one(bool weighted, int *nothing, int reorder)
{
    int from[16], degree[16], to[16], weight[16];
    MPI_Comm c;
    for (int i = 0; i < size; i++) {
        from[i] = i;
        degree[i] = 1;
        to[i] = (i + 1) % size;
        weight[i] = 10 * i + to[i];
    }
    if (rank == 0)
        CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, size, from, degree, to, weighted ? weight : MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, reorder, &c) == MPI_SUCCESS);
    else
        CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, nothing, MPI_INFO_NULL, reorder, &c) ==
              MPI_SUCCESS);
    agree(c, weighted);
}

// The last rank has no sources and the first one no destinations; each says NULL for those weights: the other side's
// word holds.
static void one_sided(bool weighted)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, n_in = rank != size - 1, n_out = rank != 0;
    int in = 10 * next + rank, out = 10 * rank + last;
    MPI_Comm c;
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_in, &next,
                                         !n_in      ? NULL
                                         : weighted ? &in
                                                    : MPI_UNWEIGHTED,
                                         n_out, &last,
                                         !n_out     ? NULL
                                         : weighted ? &out
                                                    : MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &c) == MPI_SUCCESS);
    agree(c, weighted);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int reorder = 0; reorder < 2 && size == 2; reorder++) {
        said_by_one(true, NULL, reorder);
        said_by_one(true, MPI_WEIGHTS_EMPTY, reorder);
        said_by_one(false, NULL, reorder);
        said_by_one(false, MPI_UNWEIGHTED, reorder);
    }
    said_by_one(true, NULL, 0);
    said_by_one(true, MPI_WEIGHTS_EMPTY, 0);
    said_by_one(false, NULL, 0);
    if (size > 2) {
        one_sided(true);
        one_sided(false);
    }
    MPI_Finalize();
    return 0;
}
