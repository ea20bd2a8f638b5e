// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2,3,5 chan=shm,tcp
// Graph and distributed graph topologies: neighbours as given, edges that other ranks name, weights, and wrong input.
#include "../check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };
static int rank, size;

// As a variable: gcc takes the constant for an array too small to read.
static int *volatile unweighted = MPI_UNWEIGHTED, *volatile empty = MPI_WEIGHTS_EMPTY;

// Node i is joined to all nodes up to i.
static void graph(void)
{
    int index[MOST], edges[MOST * MOST], n = 0, got_index[MOST], got_edges[MOST * MOST], kind, a, b, mapped;
    for (int i = 0; i < size; i++) {
        for (int k = 0; k <= i; k++) edges[n++] = k;
        index[i] = n;
    }
    MPI_Comm c, d;
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 1, &c) == MPI_SUCCESS);
    MPI_Topo_test(c, &kind);
    MPI_Graphdims_get(c, &a, &b);
    CHECK(kind == MPI_GRAPH && a == size && b == n);
    MPI_Graph_get(c, size, n, got_index, got_edges);
    CHECK(memcmp(index, got_index, (size_t)size * sizeof *index) == 0 &&
          memcmp(edges, got_edges, (size_t)n * sizeof *edges) == 0);
    for (int r = 0; r < size; r++) {
        MPI_Graph_neighbors_count(c, r, &a);
        MPI_Graph_neighbors(c, r, a, got_edges);
        CHECK(a == r + 1);
        for (int k = 0; k <= r; k++) CHECK(got_edges[k] == k);
    }
    got_edges[1] = -77;
    MPI_Graph_neighbors(c, size - 1, 1, got_edges);    // room for one
    CHECK(got_edges[0] == 0 && got_edges[1] == -77);
    MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &mapped);
    CHECK(mapped >= 0 && mapped < size);
    // Fewer nodes than processes.
    MPI_Graph_create(MPI_COMM_WORLD, 1, (int[]){1}, (int[]){0}, 0, &d);
    CHECK((d != MPI_COMM_NULL) == (rank == 0));
    if (d != MPI_COMM_NULL) MPI_Comm_free(&d);
    MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &d);
    CHECK(d == MPI_COMM_NULL);
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size + 1, index, edges, 0, &d) == MPI_ERR_ARG);
    edges[0] = size;
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &d) == MPI_ERR_ARG);
    index[size - 1] = -1;
    CHECK(MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &d) == MPI_ERR_ARG);
    CHECK(MPI_Graph_neighbors_count(c, size, &a) == MPI_ERR_RANK);
    CHECK(MPI_Cartdim_get(c, &a) == MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&c);
}

static void adjacent(int weighted)
{
    MPI_Comm c, d;
    int left = (rank + size - 1) % size, right = (rank + 1) % size, in, out, w, kind;
    int from[3] = {left, right, rank}, to[2] = {right, left}, fw[3] = {1, 2, 3}, tw[2] = {5, 6};
    int got[3], gw[3] = {-1, -1, -1}, got2[2], gw2[2] = {-1, -1};
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, from, weighted ? fw : unweighted, 2, to,
                                         weighted ? tw : unweighted, MPI_INFO_NULL, 1, &c) == MPI_SUCCESS);
    MPI_Comm_dup(c, &d);
    MPI_Comm_free(&c);
    MPI_Topo_test(d, &kind);
    MPI_Dist_graph_neighbors_count(d, &in, &out, &w);
    CHECK(kind == MPI_DIST_GRAPH && in == 3 && out == 2 && w == weighted);
    MPI_Dist_graph_neighbors(d, 3, got, weighted ? gw : unweighted, 2, got2, weighted ? gw2 : unweighted);
    CHECK(memcmp(got, from, sizeof from) == 0 && memcmp(got2, to, sizeof to) == 0);
    if (weighted) CHECK(memcmp(gw, fw, sizeof fw) == 0 && memcmp(gw2, tw, sizeof tw) == 0);
    MPI_Comm_free(&d);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, empty, 0, NULL, empty, MPI_INFO_NULL, 0, &c);
    MPI_Dist_graph_neighbors_count(c, &in, &out, &w);
    CHECK(in == 0 && out == 0 && w == 1);
    MPI_Comm_free(&c);
}

// A random graph, the same on every rank; each edge is told by a rank that need not have part in it.
static void general(unsigned seed, int weighted)
{
    static int count[MOST][MOST];
    memset(count, 0, sizeof count);
    srand(seed);
    int n = 0, sources[200], degrees[200], dests[200], weights[200];
    for (int e = 0; e < 40 * size; e++) {
        int s = rand() % size, d = rand() % size, teller = rand() % size;
        count[s][d]++;
        if (teller != rank) continue;
        sources[n] = s;
        degrees[n] = 1;
        dests[n] = d;
        weights[n++] = 100 * s + d;
    }
    MPI_Comm c;
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, dests, weighted ? weights : unweighted,
                                MPI_INFO_NULL, 0, &c) == MPI_SUCCESS);
    int in, out, w;
    MPI_Dist_graph_neighbors_count(c, &in, &out, &w);
    CHECK(w == weighted);
    int *from = malloc(sizeof(int) * (size_t)(2 * in + 1)), *to = malloc(sizeof(int) * (size_t)(2 * out + 1));
    MPI_Dist_graph_neighbors(c, in, from, from + in, out, to, to + out);
    for (int k = 0; k < size; k++) {
        int ins = 0, outs = 0;
        for (int i = 0; i < in; i++) {
            ins += from[i] == k;
            if (weighted) CHECK(from[in + i] == 100 * from[i] + rank);
        }
        for (int i = 0; i < out; i++) {
            outs += to[i] == k;
            if (weighted) CHECK(to[out + i] == 100 * rank + to[i]);
        }
        CHECK(ins == count[k][rank] && outs == count[rank][k]);
    }
    free(from);
    free(to);
    MPI_Comm_free(&c);
}

static void wrong_input(void)
{
    MPI_Comm c;
    int bad = size, zero = 0, minus = -1;
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &bad, unweighted, 0, NULL, unweighted, MPI_INFO_NULL, 0,
                                         &c) == MPI_ERR_RANK);
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, -1, &bad, unweighted, 0, NULL, unweighted, MPI_INFO_NULL, 0,
                                         &c) == MPI_ERR_ARG);
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, &minus, 0, NULL, empty, MPI_INFO_NULL, 0, &c) ==
          MPI_ERR_ARG);
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, unweighted, 0, NULL, empty, MPI_INFO_NULL, 0, &c) ==
          MPI_ERR_ARG);
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &minus, &zero, unweighted, MPI_INFO_NULL, 0, &c) ==
          MPI_ERR_ARG);
    CHECK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, NULL, &zero, unweighted, MPI_INFO_NULL, 0, &c) ==
          MPI_ERR_ARG);
    CHECK(MPI_Dist_graph_neighbors_count(MPI_COMM_WORLD, &zero, &zero, &zero) == MPI_ERR_TOPOLOGY);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    graph();
    adjacent(0);
    adjacent(1);
    for (unsigned seed = 1; seed < 6; seed++) {
        general(seed, 0);
        general(seed, 1);
    }
    wrong_input();
    MPI_Finalize();
    return 0;
}
