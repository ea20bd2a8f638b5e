// SPDX-License-Identifier: BSD-3-Clause
// Large alltoall, alltoallv and alltoallw in a host (large.h). With n ranks, m bytes from each to each, latency a of a
// phase, c of a call that copies across memory, time per byte b:
//   2 a + (n - 1) c + n m b    every rank reads its block of all others and copies its own
// The v and w forms: a table of addresses instead of one; what fits the slot of a rank beside its table is read there.
#include "coll/large.h"

void uno_large_alltoall(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    struct uno_block from = uno_send_block(j->c, u->me), to = uno_recv_block(j->c, u->me);
    size_t bytes = uno_block_bytes(to);
    uint64_t k = uno_large_tell(u, uno_large_all_readable(j), bytes * (size_t)u->n);
    bool last = uno_large_own_last(u, bytes);
    if (!last) uno_block_copy_own(u->n, to, from);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + (last ? u->n - i : i)) % u->n;
        uint64_t there = uno_large_told(u, r, k).addr;
        uno_large_pull_block(j, r, there ? there + (uint64_t)u->me * bytes : 0, uno_recv_block(j->c, r));
    }
    if (last) uno_block_copy_own(u->n, to, from);
    uno_seg_done(u, k);
    uno_large_wait_done(u, k);
}

void uno_large_alltoallv(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    struct uno_block to = uno_recv_block(j->c, u->me), from = uno_send_block(j->c, u->me);
    uint64_t k = ++u->phase;
    uno_large_lay_table(j, k, UNO_SEG_SLOT);
    bool lent = false;
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        struct uno_large_entry *e = uno_large_entry_of(j, u->me, k, r);
        uno_large_describe(j, r, e, uno_large_line(j));
        lent |= e->addr != 0;
    }
    uno_seg_post(u, k);
    bool last = lent && uno_large_own_last(u, SIZE_MAX);
    if (!last) uno_block_copy_own(u->n, to, from);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + (last ? u->n - i : i)) % u->n;
        uno_seg_wait(u, r, k);
        uno_large_take_block(j, r, uno_large_entry_of(j, r, k, u->me));
    }
    if (last) uno_block_copy_own(u->n, to, from);
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
    if (lent) uno_large_wait_done(u, k);
}
