// SPDX-License-Identifier: BSD-3-Clause
// Virtual topologies: graphs, where every process knows all edges, and distributed graphs, where each knows its own.
// Always holds: a call on a communicator of another kind is MPI_ERR_TOPOLOGY; outputs are written on success only.
#include "api/check.h"
#include "coll/construct.h"
#include "topo/dist.h"
#include "topo/map.h"
#include "topo/topo.h"

#include <stdlib.h>

static int get_topo(MPI_Comm comm, int kind, struct uno_topo **t)
{
    int err = uno_check_comm(comm);
    if (err) return err;
    *t = uno_comm(comm)->topo;
    if (*t && (*t)->kind == kind) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_TOPOLOGY, "comm has no %sgraph topology", kind == MPI_GRAPH ? "" : "distributed ");
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

// The communicator of a graph with n nodes, in an order of ranks that shortens the links where there is one. All
// processes of c know all links.
static int place_graph(struct MPI_ABI_Comm *c, int n, size_t nlinks, const struct uno_link *link,
                       struct MPI_ABI_Comm **out)
{
    int err;
    struct uno_spot *spot = uno_spots(c, uno_spot_if_bound(), &err);
    int *order = err ? NULL : malloc(((size_t)n + 1) * sizeof *order);
    if (!err && !order) err = uno_fail(MPI_ERR_NO_MEM, "no memory for the order of a graph");
    if (!err) err = uno_comm_reorder(c, n, uno_graph_order(n, spot, nlinks, link, order) ? order : NULL, out);
    free(spot);
    free(order);
    return err;
}

// ---- graph ----

static int reorder_graph(struct MPI_ABI_Comm *c, int n, const int *index, const int *edges, struct MPI_ABI_Comm **out)
{
    int nedges = n ? index[n - 1] : 0;
    struct uno_link *link = malloc(((size_t)nedges + 1) * sizeof *link);
    if (!link) return uno_fail(MPI_ERR_NO_MEM, "no memory for the edges of a topology");
    for (int i = 0, k = 0; i < n; i++)
        for (; k < index[i]; k++) link[k] = (struct uno_link){i, edges[k], 1};
    int err = place_graph(c, n, (size_t)nedges, link, out);
    free(link);
    return err;
}

static int check_graph(const struct MPI_ABI_Comm *c, int nnodes, const int *index, const int *edges)
{
    if (nnodes < 0 || nnodes > c->size) {
        return uno_fail(MPI_ERR_ARG, "nnodes %d is not a number of processes (0 .. %d allowed)", nnodes, c->size);
    }
    int err = nnodes ? uno_check_pointer(index, "index") : MPI_SUCCESS;
    if (!err && nnodes && index[nnodes - 1] > 0) err = uno_check_pointer(edges, "edges");
    for (int i = 0; i < nnodes && !err; i++) {
        int before = i ? index[i - 1] : 0;
        if (index[i] < before) err = uno_fail(MPI_ERR_ARG, "index[%d] is %d (%d or more allowed)", i, index[i], before);
        for (int k = before; k < index[i] && !err; k++) {
            if (edges[k] >= 0 && edges[k] < nnodes) continue;
            err = uno_fail(MPI_ERR_ARG, "edges[%d] is %d, not a node (0 .. %d allowed)", k, edges[k], nnodes - 1);
        }
    }
    return err;
}

int MPI_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[], int reorder,
                     MPI_Comm *comm_graph)
{
    static const char call[] = "MPI_Graph_create";
    uno_enter(call);
    int err = uno_check_intracomm(comm_old);
    if (!err) err = check_graph(uno_comm(comm_old), nnodes, indx, edges);
    if (!err) err = uno_check_pointer(comm_graph, "comm_graph");
    struct MPI_ABI_Comm *child = NULL;
    if (!err && reorder)
        err = reorder_graph(uno_comm(comm_old), nnodes, indx, edges, &child);
    else if (!err)
        err = uno_comm_reorder(uno_comm(comm_old), nnodes, NULL, &child);
    if (!err && child) err = uno_topo_graph(child, nnodes, indx, edges);
    if (!err) *comm_graph = child ? child->handle : MPI_COMM_NULL;
    return uno_finish_comm(comm_old, call, err);
}

int MPI_Graph_map(MPI_Comm comm, int nnodes, const int indx[], const int edges[], int *newrank)
{
    static const char call[] = "MPI_Graph_map";
    uno_enter(call);
    int err = uno_check_intracomm(comm);
    if (!err) err = check_graph(uno_comm(comm), nnodes, indx, edges);
    if (!err) err = uno_check_pointer(newrank, "newrank");
    if (!err) *newrank = uno_comm(comm)->rank < nnodes ? uno_comm(comm)->rank : MPI_UNDEFINED;
    return uno_finish_comm(comm, call, err);
}

int MPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    static const char call[] = "MPI_Graphdims_get";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_topo(comm, MPI_GRAPH, &t);
    if (!err) err = uno_check_pointer(nnodes, "nnodes");
    if (!err) err = uno_check_pointer(nedges, "nedges");
    if (!err) {
        *nnodes = t->nnodes;
        *nedges = t->nedges;
    }
    return uno_finish_comm(comm, call, err);
}

int MPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int indx[], int edges[])
{
    static const char call[] = "MPI_Graph_get";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_topo(comm, MPI_GRAPH, &t);
    if (!err && maxindex < 0) err = uno_fail(MPI_ERR_ARG, "maxindex %d is negative", maxindex);
    if (!err && maxedges < 0) err = uno_fail(MPI_ERR_ARG, "maxedges %d is negative", maxedges);
    if (!err && maxindex) err = uno_check_pointer(indx, "index");
    if (!err && maxedges) err = uno_check_pointer(edges, "edges");
    for (int i = 0; !err && i < least(maxindex, t->nnodes); i++) indx[i] = uno_graph_index(t)[i];
    for (int i = 0; !err && i < least(maxedges, t->nedges); i++) edges[i] = uno_graph_edges(t)[i];
    return uno_finish_comm(comm, call, err);
}

// The neighbours of a rank: *list and how many.
static int neighbours_of(MPI_Comm comm, int rank, const int **list, int *count)
{
    struct uno_topo *t;
    int err = get_topo(comm, MPI_GRAPH, &t);
    if (err) return err;
    if (rank < 0 || rank >= t->nnodes) {
        return uno_fail(MPI_ERR_RANK, "rank %d is not a node (0 .. %d allowed)", rank, t->nnodes - 1);
    }
    int first = rank ? uno_graph_index(t)[rank - 1] : 0;
    *list = uno_graph_edges(t) + first;
    *count = uno_graph_index(t)[rank] - first;
    return MPI_SUCCESS;
}

int MPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
    static const char call[] = "MPI_Graph_neighbors_count";
    uno_enter(call);
    const int *list;
    int count = 0, err = neighbours_of(comm, rank, &list, &count);
    if (!err) err = uno_check_pointer(nneighbors, "nneighbors");
    if (!err) *nneighbors = count;
    return uno_finish_comm(comm, call, err);
}

int MPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
    static const char call[] = "MPI_Graph_neighbors";
    uno_enter(call);
    const int *list;
    int count = 0, err = neighbours_of(comm, rank, &list, &count);
    if (!err && maxneighbors < 0) err = uno_fail(MPI_ERR_ARG, "maxneighbors %d is negative", maxneighbors);
    if (!err && maxneighbors) err = uno_check_pointer(neighbors, "neighbors");
    for (int i = 0; !err && i < least(maxneighbors, count); i++) neighbors[i] = list[i];
    return uno_finish_comm(comm, call, err);
}

// ---- dist graph ----

// n ranks and, unless unweighted, as many weights.
static int check_ends(const struct MPI_ABI_Comm *c, const char *name, int n, const int *rank, const char *weights,
                      const int *weight)
{
    if (n < 0) return uno_fail(MPI_ERR_ARG, "the number of %s, %d, is negative", name, n);
    int err = n ? uno_check_pointer(rank, name) : MPI_SUCCESS;
    for (int i = 0; i < n && !err; i++) {
        if (rank[i] >= 0 && rank[i] < c->size) continue;
        err = uno_fail(MPI_ERR_RANK, "%s[%d] is %d, not a rank (0 .. %d allowed)", name, i, rank[i], c->size - 1);
    }
    if (err || n == 0 || weight == MPI_UNWEIGHTED) return err;
    if (weight == NULL || weight == MPI_WEIGHTS_EMPTY) {
        return uno_fail(MPI_ERR_ARG, "%s is %s, with %d %s", weights, weight ? "MPI_WEIGHTS_EMPTY" : "NULL", n, name);
    }
    for (int i = 0; i < n && !err; i++) {
        if (weight[i] < 0) err = uno_fail(MPI_ERR_ARG, "weight %d of %s is %d (0 or more allowed)", i, name, weight[i]);
    }
    return err;
}

// Every process says both ends of its edges. When ranks change, a process takes over what was said for its new rank.
static int adjacent_graph(struct MPI_ABI_Comm *c, const struct uno_edges *in, const struct uno_edges *out,
                          bool weighted, bool reorder, struct MPI_ABI_Comm **child)
{
    if (!reorder || c->size < 3) {
        int err = uno_comm_reorder(c, c->size, NULL, child);
        return err ? err : uno_topo_dist(*child, in, out, weighted);
    }
    struct uno_link_table from = {0}, to = {0};
    int err = uno_links_collect(c, &(struct uno_edge_list){1, &c->rank, &in->n, in->rank, in->weight, weighted}, &from);
    if (!err)
        err =
            uno_links_collect(c, &(struct uno_edge_list){1, &c->rank, &out->n, out->rank, out->weight, weighted}, &to);
    if (!err) err = place_graph(c, c->size, to.first[c->size], to.all, child);
    if (!err) err = uno_topo_said(*child, &from, &to, weighted);
    uno_links_free(&from);
    uno_links_free(&to);
    return err;
}

// What a side says of weights: 1 that there are some, -1 that there are none, 0 nothing (no edges, and NULL).
static int word_on_weights(int n, const int *weight)
{
    if (weight == MPI_UNWEIGHTED) return -1;
    return n || weight ? 1 : 0;
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                                   int outdegree, const int destinations[], const int destweights[], MPI_Info info,
                                   int reorder, MPI_Comm *comm_dist_graph)
{
    static const char call[] = "MPI_Dist_graph_create_adjacent";
    uno_enter(call);
    int err = uno_check_intracomm(comm_old);
    if (!err) err = check_ends(uno_comm(comm_old), "sources", indegree, sources, "sourceweights", sourceweights);
    if (!err) err = check_ends(uno_comm(comm_old), "destinations", outdegree, destinations, "destweights", destweights);
    int in_word = word_on_weights(indegree, sourceweights), out_word = word_on_weights(outdegree, destweights);
    if (!err && in_word * out_word < 0) {
        err = uno_fail(MPI_ERR_ARG, "only one of sourceweights and destweights is MPI_UNWEIGHTED");
    }
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(comm_dist_graph, "comm_dist_graph");
    struct MPI_ABI_Comm *child = NULL;
    if (!err) {
        bool weighted = in_word + out_word >= 0;
        struct uno_edges in = {indegree, sources, weighted ? sourceweights : NULL};
        struct uno_edges out = {outdegree, destinations, weighted ? destweights : NULL};
        err = adjacent_graph(uno_comm(comm_old), &in, &out, weighted, reorder != 0, &child);
    }
    if (!err) *comm_dist_graph = child->handle;
    return uno_finish_comm(comm_old, call, err);
}

static int check_list(const struct MPI_ABI_Comm *c, int n, const int *sources, const int *degrees, const int *dest,
                      const int *weight)
{
    int err = check_ends(c, "sources", n, sources, "weights", MPI_UNWEIGHTED), total = 0;
    if (!err && n) err = uno_check_pointer(degrees, "degrees");
    for (int i = 0; i < n && !err; i++) {
        if (degrees[i] < 0)
            err = uno_fail(MPI_ERR_ARG, "degrees[%d] is %d (0 or more allowed)", i, degrees[i]);
        else
            total += degrees[i];
    }
    return err ? err : check_ends(c, "destinations", total, dest, "weights", weight);
}

static int general_graph(struct MPI_ABI_Comm *c, const struct uno_edge_list *list, bool reorder,
                         struct MPI_ABI_Comm **child)
{
    struct uno_link_table table;
    int err = uno_links_collect(c, list, &table);
    if (err) return err;
    size_t n = table.first[c->size];
    err = reorder ? place_graph(c, c->size, n, table.all, child) : uno_comm_reorder(c, c->size, NULL, child);
    if (!err) err = uno_topo_keep(*child, table.all, n, table.weighted);
    uno_links_free(&table);
    return err;
}

int MPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                          const int weights[], MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
    static const char call[] = "MPI_Dist_graph_create";
    uno_enter(call);
    int err = uno_check_intracomm(comm_old);
    if (!err) err = check_list(uno_comm(comm_old), n, sources, degrees, destinations, weights);
    if (!err) err = uno_check_info(info);
    if (!err) err = uno_check_pointer(comm_dist_graph, "comm_dist_graph");
    struct MPI_ABI_Comm *child = NULL;
    if (!err) {
        bool weighted = weights && weights != MPI_UNWEIGHTED;
        struct uno_edge_list list = {n, sources, degrees, destinations, weighted ? weights : NULL, weighted};
        err = general_graph(uno_comm(comm_old), &list, reorder != 0, &child);
    }
    if (!err) *comm_dist_graph = child->handle;
    return uno_finish_comm(comm_old, call, err);
}

int MPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted)
{
    static const char call[] = "MPI_Dist_graph_neighbors_count";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_topo(comm, MPI_DIST_GRAPH, &t);
    if (!err) err = uno_check_pointer(indegree, "indegree");
    if (!err) err = uno_check_pointer(outdegree, "outdegree");
    if (!err) err = uno_check_pointer(weighted, "weighted");
    if (!err) {
        *indegree = t->indegree;
        *outdegree = t->outdegree;
        *weighted = t->weighted;
    }
    return uno_finish_comm(comm, call, err);
}

// Weights are written when the graph has some and the caller gave room.
static int hand_out(const char *name, int room, int n, const int *rank, const int *weight, int *out, int *out_weight)
{
    if (room < 0) return uno_fail(MPI_ERR_ARG, "the room for %s, %d, is negative", name, room);
    if (room > n) room = n;
    int err = room ? uno_check_pointer(out, name) : MPI_SUCCESS;
    bool want = out_weight && out_weight != MPI_UNWEIGHTED && out_weight != MPI_WEIGHTS_EMPTY;
    for (int i = 0; i < room && !err; i++) {
        out[i] = rank[i];
        if (want && weight) out_weight[i] = weight[i];
    }
    return err;
}

int MPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int sourceweights[], int maxoutdegree,
                             int destinations[], int destweights[])
{
    static const char call[] = "MPI_Dist_graph_neighbors";
    uno_enter(call);
    struct uno_topo *t;
    int err = get_topo(comm, MPI_DIST_GRAPH, &t);
    if (!err) {
        const int *weight = t->weighted ? uno_dist_weights(t, false) : NULL;
        err = hand_out("sources", maxindegree, t->indegree, uno_topo_sources(t), weight, sources, sourceweights);
    }
    if (!err) {
        const int *weight = t->weighted ? uno_dist_weights(t, true) : NULL;
        err =
            hand_out("destinations", maxoutdegree, t->outdegree, uno_topo_dests(t), weight, destinations, destweights);
    }
    return uno_finish_comm(comm, call, err);
}
