// SPDX-License-Identifier: BSD-3-Clause
// Mapping of graphs onto the machine (map.h). Called by MPI_Graph_create and MPI_Dist_graph_create(_adjacent) when the
// user allows ranks to change. Nodes are placed one after the other along the machine, each time the one that talks
// most with those placed nearby; then pairs swap places as long as that pays. Always holds: the answer depends on the
// arguments alone, so all processes that see the same tables agree on it.
#include "topo/map.h"

#include <limits.h>
#include <stdlib.h>

#define NODES_MAX 4096    // greater graphs are left alone: placing costs nodes times links
#define SWAPS_MAX 512     // nodes up to which all pairs are tried
#define PASSES 8          // over all pairs
#define FAR 64            // distance of two hosts

// The links of node i to others are end[first[i]] .. end[first[i + 1] - 1].
struct map {
    int n;
    const struct uno_spot *spot;
    size_t *first;
    struct end {
        int node, weight;
    } * end;
    int *rank;    // [n] of each node; -1: not placed yet
    int *slot;    // [n] the ranks, neighbours in the machine side by side
};

static int distance(const struct uno_spot *a, const struct uno_spot *b)
{
    static const struct {
        enum uno_hw_level level;
        int far;
    } step[] = {
        {UNO_HW_PACKAGE, 16},
        {UNO_HW_NUMA, 8},
        {UNO_HW_L3, 4},
        {UNO_HW_CORE, 2},
    };
    if (a->host != b->host) return FAR;
    for (size_t i = 0; i < sizeof step / sizeof step[0]; i++) {
        int x = a->part[step[i].level], y = b->part[step[i].level];
        if (x >= 0 && y >= 0 && x != y) return step[i].far;
    }
    return 1;
}

long long uno_graph_cost(const struct uno_spot *spot, size_t nlinks, const struct uno_link *link, const int *order)
{
    long long sum = 0;
    for (size_t i = 0; i < nlinks; i++) {
        int a = link[i].source, b = link[i].dest;
        if (a != b)
            sum += (long long)link[i].weight * distance(&spot[order ? order[a] : a], &spot[order ? order[b] : b]);
    }
    return sum;
}

static void list_ends(struct map *m, size_t nlinks, const struct uno_link *link)
{
    for (int i = 0; i <= m->n; i++) m->first[i] = 0;
    for (size_t i = 0; i < nlinks; i++) {
        m->first[link[i].source + 1]++;
        m->first[link[i].dest + 1]++;
    }
    for (int i = 0; i < m->n; i++) m->first[i + 1] += m->first[i];
    for (size_t i = 0; i < nlinks; i++) {    // first[] serves as where the next one goes, and is moved back below
        m->end[m->first[link[i].source]++] = (struct end){link[i].dest, link[i].weight};
        m->end[m->first[link[i].dest]++] = (struct end){link[i].source, link[i].weight};
    }
    for (int i = m->n; i > 0; i--) m->first[i] = m->first[i - 1];
    m->first[0] = 0;
}

// Insertion, stable: ranks that cannot be told apart keep their order.
static void sort_slots(struct map *m)
{
    for (int i = 0; i < m->n; i++) {
        int at = i;
        for (int best = INT_MAX, k = i; i > 0 && k < m->n; k++) {
            int d = distance(&m->spot[m->slot[i - 1]], &m->spot[m->slot[k]]);
            if (d >= best) continue;
            best = d;
            at = k;
        }
        int rank = m->slot[at];
        for (; at > i; at--) m->slot[at] = m->slot[at - 1];
        m->slot[i] = rank;
    }
}

// How much the node would like to be the rank, for the others that have a place.
static long long pull(const struct map *m, int node, int rank)
{
    long long sum = 0;
    for (size_t k = m->first[node]; k < m->first[node + 1]; k++) {
        int other = m->end[k].node;
        if (other == node || m->rank[other] < 0) continue;
        sum += (long long)m->end[k].weight * (FAR - distance(&m->spot[rank], &m->spot[m->rank[other]]));
    }
    return sum;
}

static void place_all(struct map *m)
{
    for (int i = 0; i < m->n; i++) m->rank[i] = -1;
    for (int i = 0; i < m->n; i++) {
        long long most = -1;
        int chosen = 0;
        for (int node = 0; node < m->n; node++) {
            long long p = m->rank[node] < 0 ? pull(m, node, m->slot[i]) : -1;
            if (p <= most) continue;
            most = p;
            chosen = node;
        }
        m->rank[chosen] = m->slot[i];
    }
}

static void swap(struct map *m, int a, int b)
{
    int rank = m->rank[a];
    m->rank[a] = m->rank[b];
    m->rank[b] = rank;
}

static bool try_swap(struct map *m, int a, int b)
{
    long long before = pull(m, a, m->rank[a]) + pull(m, b, m->rank[b]);
    swap(m, a, b);
    if (pull(m, a, m->rank[a]) + pull(m, b, m->rank[b]) > before) return true;
    swap(m, a, b);
    return false;
}

static void improve(struct map *m)
{
    bool moved = m->n <= SWAPS_MAX;
    for (int pass = 0; moved && pass < PASSES; pass++) {
        moved = false;
        for (int a = 0; a < m->n; a++)
            for (int b = a + 1; b < m->n; b++) moved = try_swap(m, a, b) || moved;
    }
}

bool uno_graph_order(int n, const struct uno_spot *spot, size_t nlinks, const struct uno_link *link, int *order)
{
    long long stay = uno_graph_cost(spot, nlinks, link, NULL);
    if (n < 3 || n > NODES_MAX || uno_spot_level(spot, n) == UNO_HW_LEVELS) return false;
    struct map m = {.n = n, .spot = spot, .rank = order};
    m.first = malloc(((size_t)n + 2) * sizeof *m.first);
    m.end = malloc((2 * nlinks + 1) * sizeof *m.end);
    m.slot = malloc((size_t)n * sizeof *m.slot);
    bool better = m.first && m.end && m.slot;
    if (better) {
        list_ends(&m, nlinks, link);
        for (int i = 0; i < n; i++) m.slot[i] = i;
        sort_slots(&m);
        place_all(&m);
        if (uno_graph_cost(spot, nlinks, link, order) >= stay)
            for (int i = 0; i < n; i++) order[i] = i;
        improve(&m);
        better = uno_graph_cost(spot, nlinks, link, order) < stay;
    }
    free(m.first);
    free(m.end);
    free(m.slot);
    return better;
}
