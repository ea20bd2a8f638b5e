// SPDX-License-Identifier: BSD-3-Clause
// Gathers the edges of distributed graphs and hands each process its own (dist.h). Called by src/api/graph.c.
// Always holds: links lie in the order in which they were said, those of lower ranks first.
#include "topo/dist.h"

#include <stdlib.h>

#include "base/fail.h"
#include "p2p/team.h"

static int no_memory(void)
{
    return uno_fail(MPI_ERR_NO_MEM, "no memory for the edges of a topology");
}

void uno_links_free(struct uno_link_table *table)
{
    free(table->all);
    free(table->first);
    *table = (struct uno_link_table){0};
}

// Room for the links of all; the caller fills in its own n before gather_links. What travels is twice the number of
// links, and one more where they have weights.
static int make_table(struct MPI_ABI_Comm *c, size_t n, bool weighted, struct uno_link_table *t)
{
    *t = (struct uno_link_table){.first = malloc(((size_t)c->size + 1) * sizeof *t->first)};
    if (!t->first) return no_memory();
    t->first[c->rank] = 2 * n + weighted;
    struct uno_team team = uno_team_all(c, 0);
    int err = uno_team_allgather(&team, t->first, sizeof *t->first);
    size_t total = 0;
    for (int i = 0; i < c->size && !err; i++) {
        size_t count = t->first[i] / 2;
        t->weighted |= t->first[i] % 2;
        t->first[i] = total;
        total += count;
    }
    t->first[c->size] = total;
    if (!err) t->all = malloc((total + 1) * sizeof *t->all);
    if (!err && !t->all) err = no_memory();
    if (err) uno_links_free(t);
    return err;
}

static int gather_links(struct MPI_ABI_Comm *c, struct uno_link_table *t)
{
    size_t *offset = malloc(((size_t)c->size + 1) * sizeof *offset);
    int err = offset ? MPI_SUCCESS : no_memory();
    for (int i = 0; i <= c->size && !err; i++) offset[i] = t->first[i] * sizeof *t->all;
    struct uno_team team = uno_team_all(c, 0);
    if (!err) err = uno_team_allgatherv(&team, t->all, offset);
    free(offset);
    if (err) uno_links_free(t);
    return err;
}

int uno_links_collect(struct MPI_ABI_Comm *c, const struct uno_edge_list *list, struct uno_link_table *out)
{
    size_t mine = 0;
    for (int i = 0; i < list->n; i++) mine += (size_t)list->degree[i];
    int err = make_table(c, mine, list->weighted, out);
    if (err) return err;
    struct uno_link *to = out->all + out->first[c->rank];
    for (int i = 0, k = 0; i < list->n; i++) {
        for (int j = 0; j < list->degree[i]; j++, k++)
            to[k] = (struct uno_link){list->source[i], list->dest[k], list->weight ? list->weight[k] : 1};
    }
    return gather_links(c, out);
}

// Splits the links into those that end and those that begin at the rank of child.
int uno_topo_keep(struct MPI_ABI_Comm *child, const struct uno_link *link, size_t n, bool weighted)
{
    size_t nin = 0, nout = 0;
    for (size_t i = 0; i < n; i++) {
        nin += link[i].dest == child->rank;
        nout += link[i].source == child->rank;
    }
    int *list = malloc((2 * (nin + nout) + 1) * sizeof *list);
    if (!list) return no_memory();
    int *in = list, *in_weight = in + nin, *out = in_weight + nin, *out_weight = out + nout;
    nin = nout = 0;
    for (size_t i = 0; i < n; i++) {
        if (link[i].dest == child->rank) {
            in[nin] = link[i].source;
            in_weight[nin++] = link[i].weight;
        }
        if (link[i].source == child->rank) {
            out[nout] = link[i].dest;
            out_weight[nout++] = link[i].weight;
        }
    }
    struct uno_edges ends[2] = {{(int)nin, in, in_weight}, {(int)nout, out, out_weight}};
    int err = uno_topo_dist(child, &ends[0], &ends[1], weighted);
    free(list);
    return err;
}

int uno_topo_said(struct MPI_ABI_Comm *child, const struct uno_link_table *in, const struct uno_link_table *out,
                  bool weighted)
{
    const struct uno_link_table *side[2] = {in, out};
    struct uno_edges ends[2];
    int *list[2], err = MPI_SUCCESS;
    for (int k = 0; k < 2; k++) {
        size_t from = side[k]->first[child->rank], n = side[k]->first[child->rank + 1] - from;
        list[k] = malloc((2 * n + 1) * sizeof *list[k]);
        for (size_t i = 0; list[k] && i < n; i++) {
            list[k][i] = side[k]->all[from + i].dest;
            list[k][n + i] = side[k]->all[from + i].weight;
        }
        ends[k] = (struct uno_edges){(int)n, list[k], list[k] ? list[k] + n : NULL};
        if (!list[k]) err = no_memory();
    }
    if (!err) err = uno_topo_dist(child, &ends[0], &ends[1], weighted);
    free(list[0]);
    free(list[1]);
    return err;
}
