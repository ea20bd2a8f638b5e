// SPDX-License-Identifier: BSD-3-Clause
// A graph of pairs that talk much, r and r + half, on a ring that talks little; and how much of it crosses the parts
// that a communicator was split into. Included by tests/topo/machine.c and tests/hosts/graph.c.
#pragma once
#include "../check.h"

#include <stdlib.h>

enum { HEAVY = 100 };

// The two neighbours of node r and the weights of the links to them.
static inline void pair_links(int r, int size, int *to, int *weight)
{
    to[0] = (r + size / 2) % size;
    to[1] = (r + 1) % size;
    weight[0] = HEAVY;
    weight[1] = 1;
}

// The weight of the links of the graph of pairs on c whose ends are in different parts (numbered alike on all).
static inline int crossing(MPI_Comm c, int part)
{
    int size, rank, sum = 0, to[2], weight[2];
    MPI_Comm_size(c, &size);
    MPI_Comm_rank(c, &rank);
    int *parts = malloc((size_t)size * sizeof *parts);
    MPI_Allgather(&part, 1, MPI_INT, parts, 1, MPI_INT, c);
    pair_links(rank, size, to, weight);
    for (int i = 0; i < 2; i++) sum += parts[to[i]] != part ? weight[i] : 0;
    free(parts);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, c);
    return sum;
}

// The graph made in three ways, each allowed to change ranks. Afterwards every rank has the neighbours of its new rank,
// in order, and no heavy link crosses parts any more.
static inline void check_pairs(int part)
{
    int size, rank, to[2], weight[2], from[2], from_weight[2], got[2], got_weight[2], back[2], back_weight[2];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(crossing(MPI_COMM_WORLD, part) >= HEAVY * size);
    pair_links(rank, size, to, weight);
    from[0] = to[0];
    from[1] = (rank + size - 1) % size;
    from_weight[0] = HEAVY;
    from_weight[1] = 1;
    MPI_Comm c[3];
    int one = 2, *index = malloc(3 * (size_t)size * sizeof *index), *edges = index + size;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, from_weight, 2, to, weight, MPI_INFO_NULL, 1, &c[0]);
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, to, weight, MPI_INFO_NULL, 1, &c[1]);
    for (int r = 0; r < size; r++) {    // a plain graph has no weights: the pairs alone
        index[r] = r + 1;
        edges[r] = (r + size / 2) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &c[2]);
    for (int i = 0; i < 3; i++) {
        CHECK(crossing(c[i], part) < HEAVY);
        MPI_Comm_rank(c[i], &rank);
        pair_links(rank, size, to, weight);
        if (i < 2) {
            MPI_Dist_graph_neighbors(c[i], 2, back, back_weight, 2, got, got_weight);
            CHECK(back_weight[0] + back_weight[1] == HEAVY + 1 && got_weight[0] == HEAVY && got_weight[1] == 1);
            CHECK(got[0] == to[0] && got[1] == to[1]);
            CHECK(back[back_weight[0] == HEAVY ? 1 : 0] == (rank + size - 1) % size);
        }
        if (i == 0) CHECK(back_weight[0] == HEAVY);    // said in this order
        if (i == 2) {
            MPI_Graph_neighbors(c[i], rank, 1, got);
            CHECK(got[0] == to[0]);
        }
        MPI_Comm_free(&c[i]);
    }
    free(index);
}
