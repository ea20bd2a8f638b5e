// SPDX-License-Identifier: BSD-3-Clause
// Family neigh: neighbourhood collectives on a graph where every rank has the --depth nearest ranks on either side
// (default 1), or on the edges of --graph FILE: one line `FROM TO` per edge, # begins a comment, edges of absent ranks
// are left out. Size is the block for one neighbour. The graph's creation is timed once, by the row `topo`.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

struct neigh {
    struct coll c;    // first: the shared rows' code sees it as its own
    MPI_Comm graph;
    int in, out, from[MOST], to[MOST];    // neighbours that send to this rank, and that it sends to
    int counts[MOST], displs[MOST];
    MPI_Aint bytes[MOST];
    MPI_Datatype types[MOST];
};

static void allgather(struct run *r, MPI_Request *q)
{
    struct neigh *g = r->priv;
    int n = r->count;
    switch (r->mode) {
    case BLOCKING: MPI_Neighbor_allgather(r->sbuf, n, r->type, r->rbuf, n, r->type, g->graph); break;
    case NONBLOCKING: MPI_Ineighbor_allgather(r->sbuf, n, r->type, r->rbuf, n, r->type, g->graph, q); break;
    case PERSISTENT:
        MPI_Neighbor_allgather_init(r->sbuf, n, r->type, r->rbuf, n, r->type, g->graph, MPI_INFO_NULL, q);
        break;
    }
}

static void allgatherv(struct run *r, MPI_Request *q)
{
    struct neigh *g = r->priv;
    int n = r->count, *c = g->counts, *d = g->displs;
    switch (r->mode) {
    case BLOCKING: MPI_Neighbor_allgatherv(r->sbuf, n, r->type, r->rbuf, c, d, r->type, g->graph); break;
    case NONBLOCKING: MPI_Ineighbor_allgatherv(r->sbuf, n, r->type, r->rbuf, c, d, r->type, g->graph, q); break;
    case PERSISTENT:
        MPI_Neighbor_allgatherv_init(r->sbuf, n, r->type, r->rbuf, c, d, r->type, g->graph, MPI_INFO_NULL, q);
        break;
    }
}

static void alltoall(struct run *r, MPI_Request *q)
{
    struct neigh *g = r->priv;
    int n = r->count;
    switch (r->mode) {
    case BLOCKING: MPI_Neighbor_alltoall(r->sbuf, n, r->type, r->rbuf, n, r->type, g->graph); break;
    case NONBLOCKING: MPI_Ineighbor_alltoall(r->sbuf, n, r->type, r->rbuf, n, r->type, g->graph, q); break;
    case PERSISTENT:
        MPI_Neighbor_alltoall_init(r->sbuf, n, r->type, r->rbuf, n, r->type, g->graph, MPI_INFO_NULL, q);
        break;
    }
}

static void alltoallv(struct run *r, MPI_Request *q)
{
    struct neigh *g = r->priv;
    int *c = g->counts, *d = g->displs;
    switch (r->mode) {
    case BLOCKING: MPI_Neighbor_alltoallv(r->sbuf, c, d, r->type, r->rbuf, c, d, r->type, g->graph); break;
    case NONBLOCKING: MPI_Ineighbor_alltoallv(r->sbuf, c, d, r->type, r->rbuf, c, d, r->type, g->graph, q); break;
    case PERSISTENT:
        MPI_Neighbor_alltoallv_init(r->sbuf, c, d, r->type, r->rbuf, c, d, r->type, g->graph, MPI_INFO_NULL, q);
        break;
    }
}

static void alltoallw(struct run *r, MPI_Request *q)
{
    struct neigh *g = r->priv;
    int *c = g->counts;
    MPI_Aint *d = g->bytes;
    MPI_Datatype *t = g->types;
    switch (r->mode) {
    case BLOCKING: MPI_Neighbor_alltoallw(r->sbuf, c, d, t, r->rbuf, c, d, t, g->graph); break;
    case NONBLOCKING: MPI_Ineighbor_alltoallw(r->sbuf, c, d, t, r->rbuf, c, d, t, g->graph, q); break;
    case PERSISTENT: MPI_Neighbor_alltoallw_init(r->sbuf, c, d, t, r->rbuf, c, d, t, g->graph, MPI_INFO_NULL, q); break;
    }
}

static void near_ranks(struct run *r, struct neigh *g)
{
    int radius = r->o->depth ? r->o->depth : 1;
    for (int d = 1; d <= radius && g->out + 2 <= MOST && 2 * d < r->size; d++) {
        g->from[g->in++] = g->to[g->out++] = (r->rank + d) % r->size;
        g->from[g->in++] = g->to[g->out++] = (r->rank - d + r->size) % r->size;
    }
}

// Every rank reads the file and takes its own edges. 0, or -1 with the reason.
static int graph_file(struct run *r, struct neigh *g)
{
    FILE *f = fopen(r->o->graph, "r");
    char line[256], *end;
    if (!f) return snprintf(r->skip, sizeof r->skip, "--graph %.200s cannot be read", r->o->graph), -1;
    for (int number = 1; fgets(line, sizeof line, f); number++) {
        line[strcspn(line, "#\n")] = 0;
        if (!line[strspn(line, " \t\r")]) continue;
        long from = strtol(line, &end, 10), to = strtol(end, &end, 10);
        if (end[strspn(end, " \t\r")] || from < 0 || to < 0) {
            snprintf(r->skip, sizeof r->skip, "--graph %.160s, line %d: FROM TO is needed", r->o->graph, number);
            fclose(f);
            return -1;
        }
        if (from >= r->size || to >= r->size) continue;
        if (to == r->rank && g->in < MOST) g->from[g->in++] = (int)from;
        if (from == r->rank && g->out < MOST) g->to[g->out++] = (int)to;
    }
    fclose(f);
    return 0;
}

static int setup(struct run *r)
{
    int *volatile unweighted = MPI_UNWEIGHTED;    // gcc takes the constant for an array too short to read
    struct neigh *g = calloc(1, sizeof *g);
    r->priv = g;
    g->graph = MPI_COMM_NULL;
    r->type = MPI_BYTE;
    r->count = (int)r->bytes;
    int bad = 0, any;
    if (r->o->graph)
        bad = graph_file(r, g);
    else
        near_ranks(r, g);
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MIN, r->comm);
    if (any) return -1;
    for (int i = 0; i < MOST; i++) {
        g->counts[i] = r->count;
        g->displs[i] = i * r->count;
        g->bytes[i] = (MPI_Aint)i * r->count;
        g->types[i] = MPI_BYTE;
    }
    MPI_Dist_graph_create_adjacent(r->comm, g->in, g->from, unweighted, g->out, g->to, unweighted, MPI_INFO_NULL, 0,
                                   &g->graph);
    bench_guard(g->graph);
    int most = 1;
    MPI_Allreduce(&g->out, &most, 1, MPI_INT, MPI_MAX, r->comm);
    r->payload = (double)r->bytes * most;    // of the rank that sends most
    return bench_coll_setup(r, (size_t)r->bytes * (size_t)(g->out + 1), (size_t)r->bytes * (size_t)(g->in + 1));
}

static void end(struct run *r)
{
    struct neigh *g = r->priv;
    if (!g) return;
    MPI_Comm graph = g->graph;
    bench_coll_end(r);
    if (graph && graph != MPI_COMM_NULL) MPI_Comm_free(&graph);
}

static void fill(struct run *r)
{
    struct neigh *g = r->priv;
    int one = strstr(r->k->name, "gather") != NULL;
    for (int i = 0; i < (one ? 1 : g->out); i++)
        bench_fill(r->sbuf + (long)i * r->count, (size_t)r->bytes,
                   (unsigned long)(r->rank * 4099 + (one ? 0 : g->to[i])) + 1);
    memset(r->rbuf, 0, (size_t)r->bytes * (size_t)g->in);
}

static long check(struct run *r)
{
    struct neigh *g = r->priv;
    int one = strstr(r->k->name, "gather") != NULL;
    for (int i = 0; i < g->in; i++) {
        long bad = bench_check(r->rbuf + (long)i * r->count, (size_t)r->bytes,
                               (unsigned long)(g->from[i] * 4099 + (one ? 0 : r->rank)) + 1);
        if (bad >= 0) return (long)i * r->count + bad;
    }
    return -1;
}

#define NEIGH                                                                                                          \
    .family = "neigh", .min_ranks = 3, .flags = SPAN | MODES | VECTOR, .op = bench_coll_op, .setup = setup,            \
    .fill = fill, .check = check, .teardown = end
const struct kernel bench_neigh_rows[] = {
    {.name = "n-allgather", NEIGH, .what = "a block to all neighbours", .call = allgather},
    {.name = "n-allgatherv", NEIGH, .what = "the same with counts", .call = allgatherv},
    {.name = "n-alltoall", NEIGH, .what = "a block to each neighbour", .call = alltoall},
    {.name = "n-alltoallv", NEIGH, .what = "the same with counts", .call = alltoallv},
    {.name = "n-alltoallw", NEIGH, .what = "the same with counts and types", .call = alltoallw},
    {0},
};
