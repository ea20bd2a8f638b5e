// SPDX-License-Identifier: BSD-3-Clause
// Large scatter and scatterv in a host (large.h). With n ranks, m bytes for each, latency a of a phase, c of a call
// that copies across memory, time per byte b; all ranks at once:
//   2 a + c + m b                        the owners read while the root copies its own block
//   2 a + (n - 1) c + m b (n - 1) / n    in place: the root writes the start of each block, too
// scatterv: blocks that fit the slot of the root wait there; of few ranks, if all do, dense.c has done it.
#include "base/huge.h"
#include "coll/large.h"

// Every rank posts where its block is. The owners read theirs; the root copies its own or, in place, takes a share.
void uno_large_scatter(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me == c->root) {
        struct uno_block own = uno_send_block(c, u->me);
        size_t bytes = uno_block_bytes(own), share = c->rbuf == MPI_IN_PLACE ? uno_large_root_share(u, bytes) : 0;
        const char *all = uno_large_all_readable(j);
        uno_huge_use(all, bytes * (size_t)u->n);
        uint64_t k =
            uno_large_tell_place(u, (struct uno_large_place){.addr = (uint64_t)(uintptr_t)all, .share = share});
        if (c->rbuf != MPI_IN_PLACE) uno_block_copy_own(c->kind, u->n, uno_recv_block(c, 0), own);
        for (int i = 1; i < u->n && share; i++) {
            int r = (u->me + i) % u->n;
            uint64_t to = uno_large_told(u, r, k).addr;
            if (all && to) uno_large_keep(j, uno_seg_push(u, r, to, all + (size_t)r * bytes, share));
        }
        uno_seg_done(u, k);
        uno_seg_wait_all_done(u, k);
        return;
    }
    struct uno_block to = uno_recv_block(c, 0);
    size_t bytes = uno_block_bytes(to);
    char *at = uno_large_writable(j, to);
    uint64_t k = uno_large_tell(u, at, bytes);
    struct uno_large_place p = uno_large_told(u, c->root, k);
    uint64_t from = p.addr + (uint64_t)u->me * bytes + p.share;
    if (at && p.addr) uno_large_keep(j, uno_seg_pull(u, c->root, at + p.share, from, bytes - p.share));
    uno_seg_done(u, k);
    if (p.share) uno_seg_wait_done(u, c->root, k);
}

// ---- a table ----

// What is too large for the slot is read from where it lies; where the root writes a share, it is told where to.
static void scatterv_take(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    struct uno_block to = uno_recv_block(j->c, 0);
    char *at = uno_large_writable(j, to);
    uint64_t k = u->phase;
    uno_seg_wait(u, root, k);
    const struct uno_large_entry *e = uno_large_entry_of(j, root, k, u->me);
    bool shared = e->share > 0;
    if (shared) {
        uno_large_lay_table(j, k, 0);
        *uno_large_entry_of(j, u->me, k, 0) =
            (struct uno_large_entry){.addr = (uint64_t)(uintptr_t)at, .bytes = uno_block_bytes(to)};
        uno_seg_post(u, k);
    }
    if (uno_large_fits(j, root, e, uno_block_bytes(to))) uno_large_take_bytes(j, root, e, at);
    uno_seg_done(u, k);
    if (shared) uno_seg_wait_done(u, root, k);
}

static size_t all_bytes(const struct uno_large *j)
{
    size_t all = 0;
    for (int r = 0; r < j->u->n; r++)
        if (r != j->u->me) all += uno_large_padded(uno_block_bytes(uno_send_block(j->c, r)));
    return all;
}

// In the phase that dense.c has begun.
void uno_large_scatterv(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    if (u->me != c->root) {
        scatterv_take(j);
        return;
    }
    bool in_place = c->rbuf == MPI_IN_PLACE;
    struct uno_block to = uno_recv_block(c, 0), from = uno_send_block(c, u->me);
    uint64_t k = u->phase;
    uno_large_lay_table(j, k, all_bytes(j));
    bool lent = false;
    for (int r = 0; r < u->n; r++) {
        if (r == u->me) continue;
        struct uno_large_entry *e = uno_large_entry_of(j, u->me, k, r);
        uno_large_describe(j, r, e, uno_large_line(j));
        lent |= e->addr != 0;
        if (in_place && e->addr) e->share = (uint32_t)(uno_large_root_share(u, e->bytes) / UNO_SHARE_UNIT);
    }
    uno_seg_post(u, k);
    if (!in_place) uno_block_copy_own(c->kind, u->n, to, from);
    for (int i = 1; i < u->n && lent; i++) {
        int r = (u->me + i) % u->n;
        const struct uno_large_entry *e = uno_large_entry_of(j, u->me, k, r);
        size_t share = (size_t)e->share * UNO_SHARE_UNIT;
        if (!share) continue;
        uno_seg_wait(u, r, k);
        const struct uno_large_entry *there = uno_large_entry_of(j, r, k, 0);
        if (there->addr && there->bytes >= e->bytes)
            uno_large_keep(j, uno_seg_push(u, r, there->addr, (const void *)(uintptr_t)e->addr, share));
    }
    uno_seg_done(u, k);
    if (lent) uno_seg_wait_all_done(u, k);
}
