// SPDX-License-Identifier: BSD-3-Clause
// Type-stable pools (pool.h): objects come in slabs that are never returned, so a stale handle may always be looked at.
// Called wherever a handle is made or freed, with the library lock held. A free object has magic 0 and hangs in
// pool->free.
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"

#define OBJECT_ALIGN 64
#define SLAB_BYTES 16384

// Kept in the pool because debuggers walk it too (tools/gdb/unisono-gdb.py).
static void lay_out(struct uno_pool *p)
{
    p->stride = (p->bytes + OBJECT_ALIGN - 1) / OBJECT_ALIGN * OBJECT_ALIGN;
    size_t count = SLAB_BYTES / p->stride;
    p->per_slab = count ? count : 1;
}

// The list of slabs doubles at each power of two.
static int grow_list(struct uno_pool *p)
{
    lay_out(p);
    if ((p->slabs & (p->slabs - 1)) == 0) {
        char **more = realloc(p->slab, (p->slabs ? 2 * p->slabs : 1) * sizeof *more);
        if (!more) return 0;
        p->slab = more;
    }
    char *slab = aligned_alloc(OBJECT_ALIGN, p->per_slab * p->stride);
    if (!slab) return 0;
    p->slab[p->slabs++] = slab;
    for (size_t i = p->per_slab; i-- > 0;) {
        struct uno_head *h = (struct uno_head *)(slab + i * p->stride);
        h->magic = 0;
        h->refs = 0;
        h->next_free = p->free;
        p->free = h;
    }
    return 1;
}

void *uno_pool_get(struct uno_pool *p)
{
    uno_assert(p->bytes >= sizeof(struct uno_head));
    if (!p->free && !grow_list(p)) return NULL;
    struct uno_head *h = p->free;
    uno_assert(h->magic == 0 && h->refs == 0);
    p->free = h->next_free;
    memset(h, 0, p->bytes);
    h->magic = p->magic;
    h->refs = 1;
    p->live++;
    return h;
}

void uno_pool_put(struct uno_pool *p, void *object)
{
    struct uno_head *h = object;
    uno_assert(h->magic == p->magic && p->live > 0);
    h->magic = 0;
    h->refs = 0;
    h->next_free = p->free;
    p->free = h;
    p->live--;
}

void uno_pool_each(const struct uno_pool *p, void (*fn)(void *object, void *arg), void *arg)
{
    for (size_t s = 0; s < p->slabs; s++) {
        for (size_t i = 0; i < p->per_slab; i++) {
            struct uno_head *h = (struct uno_head *)(p->slab[s] + i * p->stride);
            if (h->magic == p->magic) fn(h, arg);
        }
    }
}
