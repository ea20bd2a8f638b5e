// SPDX-License-Identifier: BSD-3-Clause
// The index of a long queue (match_index.h). Entries and tags are cells of one size, taken from blocks that live as
// long as the index. Called by match.c under the library lock.
#include "core/match_index.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CELLS 128    // per block
#define LEAST 64u    // buckets of a new table; always a power of two

struct shelf {
    struct shelf *next;    // in its bucket
    int tag;
    struct uno_entry *first, *last;
};

struct uno_entry {
    struct uno_entry *next, *prev;    // of the same tag
    struct shelf *shelf;
    void *what;
};

union cell {
    union cell *next;    // free
    struct shelf shelf;
    struct uno_entry entry;
};

struct block {
    struct block *next;
    union cell cell[CELLS];
};

struct uno_index {
    struct shelf **bucket;
    uint32_t nbuckets, nshelves;
    union cell *unused;
    struct block *blocks;
};

struct uno_index *uno_index_new(void)
{
    struct uno_index *ix = calloc(1, sizeof *ix);
    if (!ix) return NULL;
    ix->nbuckets = LEAST;
    ix->bucket = calloc(ix->nbuckets, sizeof *ix->bucket);
    if (ix->bucket) return ix;
    free(ix);
    return NULL;
}

void uno_index_drop(struct uno_index *ix)
{
    for (struct block *b = ix->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(ix->bucket);
    free(ix);
}

static union cell *take_cell(struct uno_index *ix)
{
    if (!ix->unused) {
        struct block *b = malloc(sizeof *b);
        if (!b) return NULL;
        b->next = ix->blocks;
        ix->blocks = b;
        for (int i = 0; i < CELLS; i++) b->cell[i].next = i + 1 < CELLS ? &b->cell[i + 1] : NULL;
        ix->unused = b->cell;
    }
    union cell *c = ix->unused;
    ix->unused = c->next;
    return c;
}

static void give_cell(struct uno_index *ix, void *cell)
{
    union cell *c = cell;
    c->next = ix->unused;
    ix->unused = c;
}

// Fibonacci hashing: neighbouring tags lie apart, multiples of a power of two too.
static struct shelf **bucket_of(const struct uno_index *ix, int tag)
{
    uint32_t h = (uint32_t)tag * 2654435769u;
    return &ix->bucket[(h ^ h >> 16) & (ix->nbuckets - 1)];
}

static struct shelf *find_shelf(const struct uno_index *ix, int tag)
{
    struct shelf *s = *bucket_of(ix, tag);
    while (s && s->tag != tag) s = s->next;
    return s;
}

static void link_shelf(struct uno_index *ix, struct shelf *s)
{
    struct shelf **b = bucket_of(ix, s->tag);
    s->next = *b;
    *b = s;
}

// Twice the buckets. Without memory the old ones serve, more slowly.
static void grow(struct uno_index *ix)
{
    uint32_t n = ix->nbuckets;
    struct shelf **old = ix->bucket, **wide = calloc((size_t)n * 2, sizeof *wide);
    if (!wide) return;
    ix->bucket = wide;
    ix->nbuckets = 2 * n;
    for (uint32_t i = 0; i < n; i++) {
        for (struct shelf *s = old[i], *next; s; s = next) {
            next = s->next;
            link_shelf(ix, s);
        }
    }
    free(old);
}

static struct shelf *add_shelf(struct uno_index *ix, int tag)
{
    union cell *c = take_cell(ix);
    if (!c) return NULL;
    c->shelf = (struct shelf){.tag = tag};
    if (++ix->nshelves > ix->nbuckets) grow(ix);
    link_shelf(ix, &c->shelf);
    return &c->shelf;
}

static void drop_shelf(struct uno_index *ix, struct shelf *s)
{
    struct shelf **at = bucket_of(ix, s->tag);
    while (*at != s) at = &(*at)->next;
    *at = s->next;
    ix->nshelves--;
    give_cell(ix, s);
}

struct uno_entry *uno_index_add(struct uno_index *ix, int tag, void *what)
{
    struct shelf *s = find_shelf(ix, tag);
    if (!s) s = add_shelf(ix, tag);
    union cell *c = s ? take_cell(ix) : NULL;
    if (!c) {
        if (s && !s->first) drop_shelf(ix, s);
        return NULL;
    }
    struct uno_entry *e = &c->entry;
    *e = (struct uno_entry){.prev = s->last, .shelf = s, .what = what};
    if (s->last)
        s->last->next = e;
    else
        s->first = e;
    s->last = e;
    return e;
}

void uno_index_remove(struct uno_index *ix, struct uno_entry *e)
{
    struct shelf *s = e->shelf;
    if (e->prev)
        e->prev->next = e->next;
    else
        s->first = e->next;
    if (e->next)
        e->next->prev = e->prev;
    else
        s->last = e->prev;
    give_cell(ix, e);
    if (!s->first) drop_shelf(ix, s);
}

void *uno_index_first(const struct uno_index *ix, int tag)
{
    const struct shelf *s = find_shelf(ix, tag);
    return s ? s->first->what : NULL;
}
