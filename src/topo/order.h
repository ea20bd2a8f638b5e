// SPDX-License-Identifier: BSD-3-Clause
// Which process takes which place of a grid, so that neighbours share hosts where they can.
#pragma once
#include <stdbool.h>

struct uno_grid {
    int ndims;
    const int *dims;
};

// order[place] = rank, for the n places of a grid and host[rank] of n ranks. false: nothing is gained, ranks stay as
// they are. Hosts that hold equally many ranks get a block of the grid each, of the shape that cuts the fewest edges.
bool uno_cart_order(const struct uno_grid *g, int n, const int *host, int *order);

// How many edges between neighbouring places join two hosts (order NULL: rank i at place i).
long uno_cart_cut(const struct uno_grid *g, int n, const int *host, const int *order);
