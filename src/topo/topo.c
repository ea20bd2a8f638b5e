// SPDX-License-Identifier: BSD-3-Clause
// Topology blocks: built here, read by src/api/topo.c and the neighbourhood collectives.
// Always holds: a block is complete when it is attached, and never changes.
#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

static struct uno_topo *new_topo(struct MPI_ABI_Comm *c, int kind, size_t ints)
{
    size_t bytes = sizeof(struct uno_topo) + ints * sizeof(int);
    struct uno_topo *t = calloc(1, bytes);
    if (!t) {
        uno_fail(MPI_ERR_NO_MEM, "no memory for a topology");
        return NULL;
    }
    t->kind = kind;
    c->topo = t;
    c->topo_bytes = bytes;
    return t;
}

static void copy_ints(int *to, const int *from, int n)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

// ---- cart ----

void uno_cart_place(const struct uno_topo *t, int rank, int *coords)
{
    for (int d = t->ndims - 1; d >= 0; d--) {
        int extent = t->data[d] > 0 ? t->data[d] : 1;    // always above 0: checked when the topology was made
        coords[d] = rank % extent;
        rank /= extent;
    }
}

int uno_cart_rank(struct uno_topo *t, const int *coords)
{
    const int *dims = uno_cart_dims(t), *periods = uno_cart_periods(t);
    int rank = 0;
    for (int d = 0; d < t->ndims; d++) {
        int x = coords[d];
        if (periods[d]) x = (x % dims[d] + dims[d]) % dims[d];
        if (x < 0 || x >= dims[d]) return MPI_UNDEFINED;
        rank = rank * dims[d] + x;
    }
    return rank;
}

// The rank `disp` further along a direction, MPI_PROC_NULL outside.
static int beside(struct uno_topo *t, int direction, long disp)
{
    int *at = uno_cart_coords(t) + direction, here = *at, size = uno_cart_dims(t)[direction];
    long x = here + disp;
    if (uno_cart_periods(t)[direction]) x = (x % size + size) % size;
    if (x < 0 || x >= size) return MPI_PROC_NULL;
    *at = (int)x;
    int rank = uno_cart_rank(t, uno_cart_coords(t));
    *at = here;
    return rank;
}

void uno_cart_shift(struct uno_topo *t, int direction, int disp, int *source, int *dest)
{
    *source = beside(t, direction, -(long)disp);
    *dest = beside(t, direction, disp);
}

int uno_topo_cart(struct MPI_ABI_Comm *c, int ndims, const int *dims, const int *periods)
{
    struct uno_topo *t = new_topo(c, MPI_CART, 5 * (size_t)ndims);
    if (!t) return MPI_ERR_NO_MEM;
    t->ndims = ndims;
    copy_ints(uno_cart_dims(t), dims, ndims);
    for (int d = 0; d < ndims; d++) uno_cart_periods(t)[d] = periods[d] != 0;
    uno_cart_place(t, c->rank, uno_cart_coords(t));
    t->indegree = t->outdegree = 2 * ndims;
    t->sources = t->dests = 3 * ndims;
    for (int d = 0; d < ndims; d++)
        uno_cart_shift(t, d, 1, &t->data[t->sources + 2 * d], &t->data[t->sources + 2 * d + 1]);
    return MPI_SUCCESS;
}

// ---- graph ----

int uno_topo_graph(struct MPI_ABI_Comm *c, int nnodes, const int *index, const int *edges)
{
    int nedges = index[nnodes - 1];
    struct uno_topo *t = new_topo(c, MPI_GRAPH, (size_t)nnodes + (size_t)nedges);
    if (!t) return MPI_ERR_NO_MEM;
    t->nnodes = nnodes;
    t->nedges = nedges;
    copy_ints(uno_graph_index(t), index, nnodes);
    copy_ints(uno_graph_edges(t), edges, nedges);
    int first = c->rank ? index[c->rank - 1] : 0;
    t->indegree = t->outdegree = index[c->rank] - first;
    t->sources = t->dests = nnodes + first;
    return MPI_SUCCESS;
}

// ---- dist graph ----

int uno_topo_dist(struct MPI_ABI_Comm *c, const struct uno_edges *in, const struct uno_edges *out, bool weighted)
{
    struct uno_topo *t = new_topo(c, MPI_DIST_GRAPH, 2 * ((size_t)in->n + (size_t)out->n));
    if (!t) return MPI_ERR_NO_MEM;
    t->indegree = in->n;
    t->outdegree = out->n;
    t->weighted = weighted;
    t->dests = 2 * in->n;
    const struct uno_edges *end[2] = {in, out};
    for (int k = 0; k < 2; k++) {
        int *weight = uno_dist_weights(t, k == 1);
        copy_ints(weight - end[k]->n, end[k]->rank, end[k]->n);
        for (int i = 0; i < end[k]->n; i++) weight[i] = end[k]->weight ? end[k]->weight[i] : 1;
    }
    return MPI_SUCCESS;
}
