// SPDX-License-Identifier: BSD-3-Clause
// Large allgather and allgatherv in a host (large.h). With n ranks, m bytes of each, latency a of a phase, c of a call
// that copies across memory, time per byte b:
//   2 a + (n - 1) c + n m b    every rank reads the blocks of all others and copies its own
#include "coll/large.h"

void uno_large_allgather(struct uno_large *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    bool in_place = c->sbuf == MPI_IN_PLACE;
    struct uno_block own = in_place ? uno_recv_block(c, u->me) : uno_send_block(c, 0);
    if (u->packs && c->kind == UNO_ALLGATHER) uno_seg_widen(u, uno_block_bytes(own));
    uint64_t k = uno_large_lend(j, own, 0, 0);
    bool last = uno_large_own_last(u, uno_block_bytes(own));
    if (!in_place && !last) uno_block_copy_own(c->kind, u->n, uno_recv_block(c, u->me), own);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + (last ? u->n - i : i)) % u->n;
        uno_large_take_lent(j, r, k, 0, uno_recv_block(c, r));
    }
    if (!in_place && last) uno_block_copy_own(c->kind, u->n, uno_recv_block(c, u->me), own);
    uno_seg_done(u, k);
    uno_seg_wait_all_done(u, k);
}
