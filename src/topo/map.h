// SPDX-License-Identifier: BSD-3-Clause
// Which process takes which node of a graph, so that nodes that talk much are near each other in the machine.
#pragma once
#include <stddef.h>

#include "topo/parts.h"

struct uno_link {
    int source, dest, weight;
};

// order[node] = rank, for n nodes and the places spot[rank] of n ranks. false: nothing is gained, ranks stay as they
// are.
bool uno_graph_order(int n, const struct uno_spot *spot, size_t nlinks, const struct uno_link *link, int *order);

// The sum over all links of their weight times the distance between the ends (order NULL: node i is rank i). The
// farther two places are, the less they share: a core's cache costs 1, another host 64.
long long uno_graph_cost(const struct uno_spot *spot, size_t nlinks, const struct uno_link *link, const int *order);
