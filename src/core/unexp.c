// SPDX-License-Identifier: BSD-3-Clause
// Memory of messages that arrived before their receives (match.h): blocks, aligned to their size, of which the first
// line is the head. Of the blocks that are empty one is kept, and of parcels some: malloc gives what is free at its end
// back to the system, whose pages are dear to get anew (4 ranks on two cores, a sweep over a grid with messages of 32
// KiB, 720 us, and 200 since parcels are kept). Called by p2p/deliver.c, p2p/flow.c and match.c.
#include <stdlib.h>
#include <string.h>

#include "chan/chan.h"
#include "core/match.h"

// What an aligned block loses at its ends is two pages, a hundredth. Pages that no message touched take no memory.
#define BLOCK ((size_t)1 << 20)
#define CELLS (BLOCK / sizeof(struct uno_unexp))    // the head among them

_Static_assert(sizeof(struct uno_unexp) == 64 || sizeof(void *) != 8, "a line each");
_Static_assert(sizeof(struct uno_rts) > UNO_UNEXP_HERE, "announcements have parcels");

struct places {
    struct uno_entry *of[CELLS][UNO_UNEXP_LISTS];
};

// A block with room is in a list.
struct block {
    struct block *next, *prev;
    struct uno_unexp *unused;    // by `next`
    struct places *places;       // made when the first index needs one
    uint32_t used, fresh;        // messages; cells that were never taken begin at `fresh`
};
_Static_assert(sizeof(struct block) <= sizeof(struct uno_unexp), "the head is one cell");

static struct block *roomy;    // those with room

static struct block *block_of(const struct uno_unexp *u)
{
    return (struct block *)(void *)((uintptr_t)u & ~(BLOCK - 1));
}

static void link_block(struct block *b)
{
    b->prev = NULL;
    b->next = roomy;
    if (roomy) roomy->prev = b;
    roomy = b;
}

static void unlink_block(struct block *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        roomy = b->next;
    if (b->next) b->next->prev = b->prev;
}

static bool is_full(const struct block *b)
{
    return !b->unused && b->fresh == CELLS;
}

static struct block *new_block(void)
{
    void *at;
    if (posix_memalign(&at, BLOCK, BLOCK) != 0) return NULL;
    struct block *b = at;
    *b = (struct block){.fresh = 1};
    link_block(b);
    return b;
}

static struct uno_unexp *take_cell(void)
{
    struct block *b = roomy ? roomy : new_block();
    if (!b) return NULL;
    struct uno_unexp *u = b->unused;
    if (u)
        b->unused = u->next;
    else
        u = (struct uno_unexp *)(void *)b + b->fresh++;
    b->used++;
    if (is_full(b)) unlink_block(b);
    return u;
}

static void give_cell(struct uno_unexp *u)
{
    struct block *b = block_of(u);
    if (is_full(b)) link_block(b);
    u->next = b->unused;
    b->unused = u;
    if (--b->used > 0 || (!b->next && !b->prev)) return;
    unlink_block(b);
    free(b->places);
    free(b);
}

// ---- parcels: free ones of a size are kept, up to KEPT bytes of all sizes ----

#define KEPT ((size_t)4 << 20)
#define KEPT_LEAST 10     // bits of the longest size that is too short to be kept,
#define KEPT_BEYOND 20    // and of the longest one that is
#define STEPS 4           // sizes per power of two

struct spare {
    struct spare *next;
};

static struct spare *spares[(KEPT_BEYOND - KEPT_LEAST) * STEPS];
static size_t spare_bytes;

// The size of a parcel for so many bytes of data, and which one that is; COUNT: it is not kept.
#define COUNT (sizeof spares / sizeof *spares)
static size_t parcel_size(size_t bytes, size_t *which)
{
    size_t size = sizeof(struct uno_parcel) + bytes;
    *which = COUNT;
    if (size <= (size_t)1 << KEPT_LEAST || size > (size_t)1 << KEPT_BEYOND) return size;
    unsigned bits = 63u - (unsigned)__builtin_clzll(size - 1);
    size_t step = ((size_t)1 << bits) / STEPS, steps = (size - ((size_t)1 << bits) + step - 1) / step;
    *which = (bits - KEPT_LEAST) * STEPS + steps - 1;
    return ((size_t)1 << bits) + steps * step;
}

static struct uno_parcel *new_parcel(size_t bytes)
{
    size_t which, size = parcel_size(bytes, &which);
    struct spare *s = which < COUNT ? spares[which] : NULL;
    if (!s) return malloc(size);
    spares[which] = s->next;
    spare_bytes -= size;
    return (struct uno_parcel *)(void *)s;
}

static void give_parcel(struct uno_parcel *p, size_t bytes)
{
    size_t which, size = parcel_size(bytes, &which);
    if (which == COUNT || spare_bytes + size > KEPT) {
        free(p);
        return;
    }
    struct spare *s = (struct spare *)(void *)p;
    s->next = spares[which];
    spares[which] = s;
    spare_bytes += size;
}

size_t uno_unexp_spare(void)
{
    return spare_bytes;
}

void uno_unexp_trim(void)
{
    for (size_t i = 0; i < COUNT; i++)
        for (struct spare *s = spares[i], *next; s; s = next) {
            next = s->next;
            free(s);
        }
    memset(spares, 0, sizeof spares);
    spare_bytes = 0;
}

struct uno_unexp *uno_unexp_new(size_t bytes, bool parcel)
{
    struct uno_parcel *p = parcel ? new_parcel(bytes) : NULL;
    struct uno_unexp *u = p || !parcel ? take_cell() : NULL;
    if (!u) {
        free(p);
        return NULL;
    }
    u->parcelled = parcel;
    u->announced = 0;
    u->bytes = (uint32_t)bytes;
    if (parcel) u->parcel = p;
    return u;
}

void uno_unexp_give(struct uno_unexp *u)
{
    if (u->parcelled) give_parcel(u->parcel, u->bytes);
    give_cell(u);
}

size_t uno_unexp_bytes(const struct uno_unexp *u)
{
    return u->announced ? ((const struct uno_rts *)uno_unexp_data(u))->bytes : u->bytes;
}

struct uno_entry **uno_unexp_place(struct uno_unexp *u, enum uno_unexp_list list)
{
    struct block *b = block_of(u);
    if (!b->places) b->places = malloc(sizeof *b->places);
    return b->places ? &b->places->of[u - (struct uno_unexp *)(void *)b][list] : NULL;
}
