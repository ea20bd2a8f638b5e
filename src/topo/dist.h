// SPDX-License-Identifier: BSD-3-Clause
// The edges of a distributed graph, which any process may name: gathered, so that every process may compute the same
// order of ranks, and given to the processes they belong to.
#pragma once
#include "topo/map.h"
#include "topo/topo.h"

// What all ranks said: the links of rank r are all[first[r]] .. all[first[r + 1] - 1], in the order they were said in.
struct uno_link_table {
    struct uno_link *all;
    size_t *first;
    bool weighted;    // some rank gave weights
};

// n sources with degrees[] edges each to dests[]. Collective over c. weight NULL: none, which with weighted set means
// that the rank has no edges. A rank without edges may say nothing of weights; what the others say holds for it too.
struct uno_edge_list {
    int n;
    const int *source, *degree, *dest, *weight;
    bool weighted;
};
int uno_links_collect(struct MPI_ABI_Comm *c, const struct uno_edge_list *list, struct uno_link_table *out);

void uno_links_free(struct uno_link_table *table);

// Attach a dist graph to child: of n links those that touch its rank ...
int uno_topo_keep(struct MPI_ABI_Comm *child, const struct uno_link *link, size_t n, bool weighted);

// ... or the neighbours (ends of links) that were given by the process whose place child's rank now has, in their
// order.
int uno_topo_said(struct MPI_ABI_Comm *child, const struct uno_link_table *in, const struct uno_link_table *out,
                  bool weighted);
