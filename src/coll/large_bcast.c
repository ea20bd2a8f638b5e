// SPDX-License-Identifier: BSD-3-Clause
// A large broadcast in a host (large.h). With n ranks, m bytes, latency a of a phase, c of a call that copies across
// memory, time per byte b:
//   2 a + (n - 1) c + m b (n - 1) / n    the root writes the start of every copy while the others read the rest
#include "base/huge.h"
#include "coll/large.h"
#include "coll/shm.h"

// The root's part: it lends its copy; where it has a share, all have told where theirs are, and it writes the start.
static void give(struct uno_large *j, struct uno_block b, size_t share)
{
    struct uno_coll *u = j->u;
    uint64_t k = uno_large_lend(j, b, 0, 0);
    struct uno_large_place mine = uno_large_told(u, u->me, k);
    for (int i = 1; i < u->n && share && !mine.in_slot; i++) {
        int r = (u->me + i) % u->n;
        uint64_t to = uno_large_told(u, r, k).addr;
        if (mine.addr && to) uno_large_keep(j, uno_seg_push(u, r, to, (const void *)(uintptr_t)mine.addr, share));
    }
    uno_seg_done(u, k);
    if (!mine.in_slot) uno_seg_wait_all_done(u, k);
}

// The others': they read the rest, or all of it where the root had to pack it and did so into its slot.
static void take_rest(struct uno_large *j, struct uno_block b, size_t share)
{
    struct uno_coll *u = j->u;
    int root = j->c->root;
    size_t bytes = uno_block_bytes(b);
    char *at = uno_large_writable(j, b);
    uint64_t k = uno_large_tell(u, at, bytes);
    struct uno_large_place there = uno_large_told(u, root, k);
    u->packs |= there.packed;
    if (there.in_slot) {
        uno_large_drop_copies(j);
        uno_large_take_packed(j, root, k, there, 0, b);
    } else if (at && there.addr) {
        uno_large_keep(j, uno_seg_pull(u, root, at + share, there.addr + share, bytes - share));
    }
    uno_seg_done(u, k);
    if (!there.in_slot) uno_seg_wait_done(u, root, k);
}

int uno_large_bcast(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    struct uno_large j = {.u = u, .c = c};
    struct uno_block b = uno_recv_block(c, 0);
    size_t share = uno_large_root_share(u, bytes);
    if (u->packs) uno_seg_widen(u, bytes);
    if (u->me == c->root) {
        give(&j, b, share);
    } else if (share) {
        take_rest(&j, b, share);
    } else {
        if (uno_large_is_plain(b)) uno_huge_use(b.at, bytes);
        uint64_t k = ++u->phase;
        uno_large_take_lent(&j, c->root, k, 0, b);
        uno_seg_done(u, k);
    }
    return uno_large_finish(&j);
}
