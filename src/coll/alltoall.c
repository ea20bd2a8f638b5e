// SPDX-License-Identifier: BSD-3-Clause
// Alltoall, v and w over messages. Called by coll.c. n ranks, m bytes per pair, latency a, time per byte b:
//   bruck     log2 n (a + n/2 m b)             small blocks of one size, many ranks
//   linear    a + (n - 1) m b                  all messages at once, each rank begins with its next neighbour
//   pairwise  (n - 1) (a + m b)                large blocks: one partner per round, no crowd
// In place, what leaves is packed aside first.
#include "coll/build.h"
#include "coll/choose.h"

// Copies the blocks out of the receive buffer, so that they can be sent from aside; block i at out[i].
static struct uno_block *set_aside(struct uno_sched *s, const struct uno_call *c)
{
    int n = s->view.size;
    size_t total = 0;
    for (int i = 0; i < n; i++) total += uno_block_bytes(uno_recv_block(c, i));
    struct uno_block *out = uno_scratch_bytes(s, (size_t)n * sizeof *out);
    char *data = uno_scratch_bytes(s, total);
    if (s->error) return NULL;
    for (int i = 0; i < n; i++) {
        struct uno_block b = uno_recv_block(c, i);
        out[i] = uno_packed(data, uno_block_bytes(b));
        data += uno_block_bytes(b);
        if (i != s->view.rank) uno_copy_block(s, b, out[i]);
    }
    return out;
}

// Round k moves, packed, all blocks whose distance to their owner has bit k.
static void bruck(struct uno_sched *s, const struct uno_call *c, const struct uno_block *out, size_t bytes)
{
    int n = s->view.size, me = s->view.rank;
    char *all = uno_scratch_bytes(s, bytes * (size_t)n), *go = uno_scratch_bytes(s, bytes * (size_t)n);
    char *come = uno_scratch_bytes(s, bytes * (size_t)n);
    if (s->error) return;
    for (int i = 1; i < n; i++) {
        int to = (me + i) % n;
        uno_copy_block(s, out ? out[to] : uno_send_block(c, to), uno_packed(all + bytes * (size_t)i, bytes));
    }
    for (int k = 1; k < n; k *= 2) {
        size_t part = 0;
        for (int i = k; i < n; i++) {
            if (!(i & k)) continue;
            uno_copy_block(s, uno_packed(all + bytes * (size_t)i, bytes), uno_packed(go + part, bytes));
            part += bytes;
        }
        uno_send_to(s, (me + k) % n, uno_packed(go, part));
        uno_recv_from(s, (me - k + n) % n, uno_packed(come, part));
        uno_emit_fence(s);
        part = 0;
        for (int i = k; i < n; i++) {
            if (!(i & k)) continue;
            uno_copy_block(s, uno_packed(come + part, bytes), uno_packed(all + bytes * (size_t)i, bytes));
            part += bytes;
        }
    }
    for (int i = 1; i < n; i++)
        uno_copy_block(s, uno_packed(all + bytes * (size_t)i, bytes), uno_recv_block(c, (me - i + n) % n));
}

void uno_build_alltoall(struct uno_sched *s, const struct uno_call *c)
{
    int n = s->view.size, me = s->view.rank;
    bool in_place = c->sbuf == MPI_IN_PLACE;
    size_t bytes = c->kind == UNO_ALLTOALL ? uno_block_bytes(uno_recv_block(c, 0)) : 0;
    enum uno_alg alg = uno_choose_for(s, c->kind, bytes);
    struct uno_block *out = in_place ? set_aside(s, c) : NULL;
    if (s->error) return;
    if (!in_place && (n == 1 || alg == UNO_ALG_BRUCK)) uno_copy_block(s, uno_send_block(c, me), uno_recv_block(c, me));
    if (alg == UNO_ALG_BRUCK) {
        bruck(s, c, out, bytes);
        return;
    }
    for (int i = 1; i < n; i++) {
        int to = (me + i) % n, from = (me - i + n) % n;
        uno_recv_from(s, from, uno_recv_block(c, from));
        uno_send_to(s, to, in_place ? out[to] : uno_send_block(c, to));
        if (i == 1 && !in_place) uno_copy_block(s, uno_send_block(c, me), uno_recv_block(c, me));
        if (alg == UNO_ALG_PAIRWISE) uno_emit_fence(s);
    }
}
