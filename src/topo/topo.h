// SPDX-License-Identifier: BSD-3-Clause
// Virtual topologies: what a communicator's topo points to, one block of memory that may be copied as it is.
//
// Neighbourhood collectives ask for the lists of sources and destinations only, whatever the kind (uno_topo_sources,
// _dests).
#pragma once
#include <mpi.h>

#include "core/comm.h"

struct uno_topo {
    int kind;                   // MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH
    int ndims;                  // cart
    int nnodes, nedges;         // graph
    int indegree, outdegree;    // of this process, any kind
    int weighted;               // dist graph
    int sources, dests;         // where these lists begin in data; the same place for cart and graph
    int data[];                 // cart: dims, periods, coords, neighbours; graph: index, edges; dist graph: sources,
};                              // their weights, destinations, their weights

// In a cart MPI_PROC_NULL stands where there is no neighbour; the order is -1, +1 in the first dimension, then the
// next.
static inline const int *uno_topo_sources(const struct uno_topo *t)
{
    return t->data + t->sources;
}

static inline const int *uno_topo_dests(const struct uno_topo *t)
{
    return t->data + t->dests;
}

static inline int *uno_cart_dims(struct uno_topo *t)
{
    return t->data;
}
static inline int *uno_cart_periods(struct uno_topo *t)
{
    return t->data + t->ndims;
}
static inline int *uno_cart_coords(struct uno_topo *t)
{
    return t->data + 2 * t->ndims;
}
static inline int *uno_graph_index(struct uno_topo *t)
{
    return t->data;
}
static inline int *uno_graph_edges(struct uno_topo *t)
{
    return t->data + t->nnodes;
}
static inline int *uno_dist_weights(struct uno_topo *t, bool of_dests)
{
    return of_dests ? t->data + t->dests + t->outdegree : t->data + t->indegree;
}

// Attach a topology to a communicator that has none: 0 or MPI_ERR_NO_MEM. Arguments are checked and copied.
int uno_topo_cart(struct MPI_ABI_Comm *c, int ndims, const int *dims, const int *periods);
int uno_topo_graph(struct MPI_ABI_Comm *c, int nnodes, const int *index, const int *edges);

// One end of the edges of a dist graph: n neighbours with weights (NULL: all 1).
struct uno_edges {
    int n;
    const int *rank, *weight;
};
int uno_topo_dist(struct MPI_ABI_Comm *c, const struct uno_edges *in, const struct uno_edges *out, bool weighted);

void uno_cart_place(const struct uno_topo *t, int rank, int *coords);    // coordinates of a rank
int uno_cart_rank(struct uno_topo *t, const int *coords);                // MPI_UNDEFINED when outside, not periodic

// Source and destination of a shift, MPI_PROC_NULL outside.
void uno_cart_shift(struct uno_topo *t, int direction, int disp, int *source, int *dest);

// dims.c: fills the zeros of dims with factors of nnodes as close to each other as can be, not increasing. 0 or
// MPI_ERR_DIMS.
int uno_dims_create(int nnodes, int ndims, int *dims);
