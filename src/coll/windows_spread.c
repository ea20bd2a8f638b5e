// SPDX-License-Identifier: BSD-3-Clause
// Large broadcasts and allgathers in a host whose ranks outnumber its cores: blocks are handed round in windows
// (windows.h). Called by shm.c.
//
// The owner of a block copies a window of it, all others copy it out. So a block is read once from where it lies, and
// then out of a cache; ranks that read it across processes, a slice of a processor each, read it out of memory again
// each time. With n ranks on p cores, m bytes of a block, r and w to read and write a byte in memory, c in a cache, t a
// turn of a core:
//   (m (r + (n - 1) (c + w)) + n m t / window) / p    per block
//
// Always holds: a window is filled anew when all others have taken it; all ranks walk all windows in the same order.
#include "coll/choose.h"
#include "coll/large.h"
#include "coll/shm.h"
#include "coll/windows.h"

struct spread {
    struct uno_large j;
    struct uno_windows w;
    uint64_t i;            // the window at hand
    int ahead;             // the block of the window that will lie where this one does
    uint64_t ahead_end;    // and of how many that is the last
};

static int blocks(const struct spread *s)
{
    return s->j.c->kind == UNO_BCAST ? 1 : s->j.u->n;
}

static int owner_of(const struct spread *s, int block)
{
    return s->j.c->kind == UNO_BCAST ? s->j.c->root : block;
}

static uint64_t windows_of(const struct spread *s, int block)
{
    size_t each = s->j.u->flow.bytes;
    return (uno_block_bytes(uno_recv_block(s->j.c, block)) + each - 1) / each;
}

// Who waits for the window at hand to be taken, as it fills it anew; -1: nobody.
static int next_owner(struct spread *s)
{
    while (s->ahead < blocks(s) && s->i + s->w.depth >= s->ahead_end + windows_of(s, s->ahead))
        s->ahead_end += windows_of(s, s->ahead++);
    return s->ahead < blocks(s) ? owner_of(s, s->ahead) : -1;
}

static void give(struct spread *s, const char *from, size_t bytes)
{
    struct uno_coll *u = s->j.u;
    for (int r = 0; r < u->n && s->i >= s->w.depth; r++)
        if (r != u->me) uno_windows_await(&s->w, UNO_WINDOWS_TAKEN, r, s->i - s->w.depth);
    if (u->comm->broken) return;
    if (from) uno_windows_put(&s->w, -1, s->i, uno_windows_at(&s->w, s->i), from, bytes);
    uno_windows_tell(&s->w, UNO_WINDOWS_READY, s->i);
    uno_windows_tell(&s->w, UNO_WINDOWS_TAKEN, s->i);
    for (int r = 0; r < u->n; r++)
        if (r != u->me) uno_seg_ring(u, r);
}

static void get(struct spread *s, int owner, char *to, size_t bytes)
{
    struct uno_coll *u = s->j.u;
    uno_windows_await(&s->w, UNO_WINDOWS_READY, owner, s->i);
    if (u->comm->broken) return;
    if (to) uno_windows_get(&s->w, owner, s->i, to, uno_windows_at(&s->w, s->i), bytes);
    uno_windows_tell(&s->w, UNO_WINDOWS_TAKEN, s->i);
    int next = next_owner(s);
    if (next >= 0) uno_seg_ring(u, next);
}

static void one_block(struct spread *s, int block)
{
    const struct uno_call *c = s->j.c;
    struct uno_block to = uno_recv_block(c, block), from = to;
    size_t bytes = uno_block_bytes(to), each = s->j.u->flow.bytes;
    int owner = owner_of(s, block);
    bool own = owner == s->j.u->me;
    if (own && c->kind != UNO_BCAST && c->sbuf != MPI_IN_PLACE) {
        from = uno_send_block(c, 0);
        uno_block_copy_own(c->kind, s->j.u->n, to, from);
    }
    const char *here = own ? uno_large_readable(&s->j, from) : uno_large_writable(&s->j, to);
    for (size_t at = 0; at < bytes && !s->j.u->comm->broken; at += each, s->i++) {
        size_t part = bytes - at < each ? bytes - at : each;
        char *there = here ? (char *)(uintptr_t)here + at : NULL;
        if (own)
            give(s, there, part);
        else
            get(s, owner, there, part);
    }
}

int uno_windows_spread(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool past = bytes * uno_choose_footprint(c->kind, u->n) > u->flow.cached;
    struct spread s = {.j = {.u = u, .c = c}};
    s.w = uno_windows_begin(u, c->kind != UNO_BCAST || u->me == c->root, past);
    for (int b = 0; b < blocks(&s) && !u->comm->broken; b++) one_block(&s, b);
    uno_seg_done(u, s.w.phase);
    return uno_large_finish(&s.j);
}
