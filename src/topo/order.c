// SPDX-License-Identifier: BSD-3-Clause
// Reordering of grids over hosts (order.h). Called by MPI_Cart_create when a job spans hosts and the user allows it.
// Always holds: the answer depends on its arguments alone, so all processes that see the same table come to the same
// order.
#include "topo/order.h"

#include <stddef.h>
#include <stdlib.h>

#define DIMS_MAX 16    // grids with more dimensions are left alone

// The search for a block of `ranks` places: shape[] is the one looked at, best[] the best so far with its cut.
struct search {
    const struct uno_grid *g;
    int ranks, shape[DIMS_MAX], best[DIMS_MAX];
    double cut;
};

// Edges between blocks of the shape: the planes that separate them, times the edges through a plane.
static double cut_of(const struct search *s)
{
    double places = 1, sum = 0;
    for (int d = 0; d < s->g->ndims; d++) places *= s->g->dims[d];
    for (int d = 0; d < s->g->ndims; d++) {
        int planes = s->g->dims[d] / s->shape[d] - 1;
        sum += planes * (places / s->g->dims[d]);
    }
    return sum;
}

// Tries every divisor of dimension d that leaves a whole number of places for the rest.
static void try_shapes(struct search *s, int d, int left)
{
    if (d == s->g->ndims) {
        double cut = cut_of(s);
        if (left != 1 || (s->cut >= 0 && cut >= s->cut)) return;
        s->cut = cut;
        for (int i = 0; i < d; i++) s->best[i] = s->shape[i];
        return;
    }
    for (int b = 1; b <= s->g->dims[d] && b <= left; b++) {
        if (s->g->dims[d] % b || left % b) continue;
        s->shape[d] = b;
        try_shapes(s, d + 1, left / b);
    }
}

// first[h]: ranks of the h-th host (in order of appearance) are list[h * m .. h * m + m - 1]. Returns m, 0 when hosts
// differ.
static int group_by_host(int n, const int *host, int *list)
{
    int m = 0, filled = 0;
    char *seen = calloc((size_t)n, 1);
    for (int i = 0; seen && i < n; i++) {
        if (seen[i]) continue;
        int begin = filled;
        for (int k = i; k < n; k++) {
            if (host[k] != host[i]) continue;
            seen[k] = 1;
            list[filled++] = k;
        }
        if (m && m != filled - begin) m = n + 1;
        if (!m) m = filled - begin;
    }
    free(seen);
    return m > n ? 0 : m;
}

// The rank for a place: its block names the host, its place inside the block the rank there.
static int rank_at(const struct search *s, const int *list, int place)
{
    int block = 0, inside = 0, x[DIMS_MAX];
    for (int d = s->g->ndims - 1; d >= 0; d--) {
        x[d] = place % s->g->dims[d];
        place /= s->g->dims[d];
    }
    for (int d = 0; d < s->g->ndims; d++) {
        block = block * (s->g->dims[d] / s->best[d]) + x[d] / s->best[d];
        inside = inside * s->best[d] + x[d] % s->best[d];
    }
    return list[block * s->ranks + inside];
}

long uno_cart_cut(const struct uno_grid *g, int n, const int *host, const int *order)
{
    long cut = 0;
    for (int place = 0; place < n; place++) {
        int step = 1;
        for (int d = g->ndims - 1; d >= 0; d--) {
            if (place / step % g->dims[d] + 1 < g->dims[d]) {
                int a = order ? order[place] : place, b = order ? order[place + step] : place + step;
                cut += host[a] != host[b];
            }
            step *= g->dims[d];
        }
    }
    return cut;
}

bool uno_cart_order(const struct uno_grid *g, int n, const int *host, int *order)
{
    if (g->ndims < 1 || g->ndims > DIMS_MAX || n < 2) return false;
    int *list = calloc((size_t)n, sizeof *list);
    if (!list) return false;
    struct search s = {.g = g, .ranks = group_by_host(n, host, list), .cut = -1};
    for (int d = 0; d < g->ndims; d++) s.best[d] = 1;
    if (s.ranks > 1 && s.ranks < n) try_shapes(&s, 0, s.ranks);
    bool better = s.cut >= 0;
    for (int place = 0; better && place < n; place++) order[place] = rank_at(&s, list, place);
    free(list);
    return better && uno_cart_cut(g, n, host, order) < uno_cart_cut(g, n, host, NULL);
}
