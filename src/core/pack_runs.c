// SPDX-License-Identifier: BSD-3-Clause
// The runs of a layout as a list, for copies without packing (src/p2p/direct.c) and for the checking mode
// (src/api/p2p_check.c). Always holds: the runs are in the order of the type map, and neighbours that touch are one.
#include <stdlib.h>

#include "chan/chan.h"
#include "core/pack.h"
#include "core/pack_program.h"

struct list {
    struct uno_run *run;
    size_t n, bytes;
};

static void add_run(struct list *l, char *at, size_t bytes)
{
    struct uno_run *last = l->n ? &l->run[l->n - 1] : NULL;
    size_t start = l->n > 1 ? l->run[l->n - 2].end : 0;
    l->bytes += bytes;
    if (last && last->at + (last->end - start) == at)
        last->end = l->bytes;
    else
        l->run[l->n++] = (struct uno_run){at, l->bytes};
}

static void walk_runs(struct list *l, const struct uno_pack *g, char *base)
{
    base += g->at;
    for (size_t i = 0; i < (g->kind == UNO_PACK_RUN ? 1 : g->n); i++) {
        switch (g->kind) {
        case UNO_PACK_RUN: add_run(l, base, g->bytes); break;
        case UNO_PACK_LOOP: walk_runs(l, g->kid, base + (ptrdiff_t)i * g->stride); break;
        case UNO_PACK_GATHER: add_run(l, base + g->disp[i], g->len); break;
        case UNO_PACK_RUNS: add_run(l, base + g->disp[i], g->offset[i + 1] - g->offset[i]); break;
        case UNO_PACK_SEQ: walk_runs(l, g->kids[i], base + g->disp[i]); break;
        }
    }
}

size_t uno_packer_runs(const struct uno_packer *p)
{
    return p->type->flags & UNO_TYPE_PLAIN ? 1 : (size_t)p->count * p->type->pack->runs;
}

size_t uno_packer_list(const struct uno_packer *p, struct uno_run *list)
{
    struct list l = {.run = list};
    if (p->type->flags & UNO_TYPE_PLAIN) {
        add_run(&l, p->buf, p->total);
        return l.n;
    }
    for (MPI_Count i = 0; i < p->count; i++) walk_runs(&l, p->type->pack, p->buf + i * p->type->extent);
    return l.n;
}

// The part of an irregular list that holds packed byte pos.
static size_t part_of(const struct uno_pack *g, size_t pos)
{
    size_t low = 0, high = g->n;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (g->offset[middle] <= pos)
            low = middle;
        else
            high = middle;
    }
    return low;
}

char *uno_packer_run(const struct uno_packer *p, size_t pos, size_t *len)
{
    if (p->type->flags & UNO_TYPE_PLAIN) {
        *len = p->total - pos;
        return p->buf + pos;
    }
    size_t size = (size_t)p->type->size, i;
    char *at = p->buf + (ptrdiff_t)(pos / size) * p->type->extent;
    const struct uno_pack *g = p->type->pack;
    for (pos %= size;;) {
        at += g->at;
        switch (g->kind) {
        case UNO_PACK_RUN: *len = g->bytes - pos; return at + pos;
        case UNO_PACK_LOOP:
            at += (ptrdiff_t)(pos / g->kid->bytes) * g->stride;
            pos %= g->kid->bytes;
            g = g->kid;
            break;
        case UNO_PACK_GATHER:
            i = pos / g->len;
            pos -= i * g->len;
            *len = g->len - pos;
            return at + g->disp[i] + pos;
        case UNO_PACK_RUNS:
            i = part_of(g, pos);
            *len = g->offset[i + 1] - pos;
            return at + g->disp[i] + (pos - g->offset[i]);
        case UNO_PACK_SEQ:
            i = part_of(g, pos);
            at += g->disp[i];
            pos -= g->offset[i];
            g = g->kids[i];
            break;
        }
    }
}

struct place {
    char *at, *end;
};

static int by_address(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

bool uno_packer_overlaps(const struct uno_packer *p, ptrdiff_t *at)
{
    size_t most = uno_packer_runs(p);
    if (p->type->flags & UNO_TYPE_PLAIN || p->total == 0) return false;
    struct uno_run *list = malloc(most * sizeof *list);
    struct place *place = malloc(most * sizeof *place);
    size_t n = list && place ? uno_packer_list(p, list) : 0;
    for (size_t i = 0; i < n; i++)
        place[i] = (struct place){list[i].at, list[i].at + (list[i].end - (i ? list[i - 1].end : 0))};
    if (n) qsort(place, n, sizeof *place, by_address);
    bool found = false;
    for (size_t i = 1; i < n && !found; i++) {
        found = place[i].at < place[i - 1].end;
        if (found) *at = place[i].at - p->buf;
    }
    free(list);
    free(place);
    return found;
}
