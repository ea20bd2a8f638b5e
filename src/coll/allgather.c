// SPDX-License-Identifier: BSD-3-Clause
// Allgather and allgatherv over messages. Called by coll.c. n ranks, m bytes per rank, latency a, time per byte b:
//   bruck   ceil(log2 n) a + (n - 1) m b       small blocks of one size: packed, doubled each round
//   ring    (n - 1) (a + m b)                  large blocks and the v form: neighbours only
//   linear  a + (n - 1) m b                    all at once: few ranks
#include "coll/build.h"
#include "coll/choose.h"

static void bruck(struct uno_sched *s, const struct uno_call *c, size_t bytes)
{
    int n = s->view.size, me = s->view.rank;
    bool in_place = c->sbuf == MPI_IN_PLACE;
    struct uno_block mine = in_place ? uno_recv_block(c, me) : uno_send_block(c, 0);
    char *all = uno_scratch_bytes(s, bytes * (size_t)n);
    if (s->error) return;
    uno_copy_block(s, mine, uno_packed(all, bytes));
    for (int k = 1; k < n; k *= 2) {
        size_t part = bytes * (size_t)(2 * k < n ? k : n - k);
        uno_send_to(s, (me - k + n) % n, uno_packed(all, part));
        uno_recv_from(s, (me + k) % n, uno_packed(all + bytes * (size_t)k, part));
        uno_emit_fence(s);
    }
    for (int i = in_place; i < n; i++)
        uno_copy_block(s, uno_packed(all + bytes * (size_t)i, bytes), uno_recv_block(c, (me + i) % n));
}

// Own: where this rank's block is to be read; it is copied to its place while the first message is on its way.
static void ring(struct uno_sched *s, const struct uno_call *c, struct uno_block own)
{
    int n = s->view.size, me = s->view.rank, left = (me - 1 + n) % n, right = (me + 1) % n;
    for (int i = 0; i < n - 1; i++) {
        uno_recv_from(s, left, uno_recv_block(c, (me - i - 1 + n) % n));
        uno_send_to(s, right, i ? uno_recv_block(c, (me - i + n) % n) : own);
        if (i == 0) uno_copy_block(s, own, uno_recv_block(c, me));
        uno_emit_fence(s);
    }
}

static void linear(struct uno_sched *s, const struct uno_call *c, struct uno_block own)
{
    int n = s->view.size, me = s->view.rank;
    for (int i = 1; i < n; i++) uno_recv_from(s, (me - i + n) % n, uno_recv_block(c, (me - i + n) % n));
    for (int i = 1; i < n; i++) uno_send_to(s, (me + i) % n, own);
    uno_copy_block(s, own, uno_recv_block(c, me));
}

void uno_build_allgather(struct uno_sched *s, const struct uno_call *c)
{
    int me = s->view.rank;
    size_t bytes = c->kind == UNO_ALLGATHER ? uno_block_bytes(uno_recv_block(c, 0)) : 0;
    enum uno_alg alg = uno_choose_for(s, c->kind, bytes);
    struct uno_block own = c->sbuf == MPI_IN_PLACE ? uno_recv_block(c, me) : uno_send_block(c, 0);
    if (s->view.size == 1)
        uno_copy_block(s, own, uno_recv_block(c, me));
    else if (alg == UNO_ALG_BRUCK)
        bruck(s, c, bytes);
    else if (alg == UNO_ALG_LINEAR)
        linear(s, c, own);
    else
        ring(s, c, own);
}
