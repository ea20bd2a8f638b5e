// SPDX-License-Identifier: BSD-3-Clause
// Gather and scatter (and v) over messages. Called by coll.c. n ranks, m bytes per rank, latency a, time per byte b:
//   linear    (n - 1) (a + m b) at the root            large blocks, few ranks, and the v forms
//   binomial  log2 n a + (n - 1) m b                   small blocks: subtrees travel packed
#include "coll/build.h"
#include "coll/choose.h"

static int limb(int me, int n)
{
    int mask = 1;
    while (mask < n && !(me & mask)) mask *= 2;
    return mask;
}

static void gather_linear(struct uno_sched *s, const struct uno_call *c)
{
    if (s->view.rank != c->root) {
        uno_send_to(s, c->root, uno_send_block(c, 0));
        return;
    }
    for (int i = 0; i < s->view.size; i++)
        if (i != c->root) uno_recv_from(s, i, uno_recv_block(c, i));
    if (c->sbuf != MPI_IN_PLACE) uno_copy_block(s, uno_send_block(c, 0), uno_recv_block(c, c->root));
}

// tree holds the blocks of ranks me .. me + mask - 1 (relative to the root), packed.
static void gather_binomial(struct uno_sched *s, const struct uno_call *c, size_t bytes)
{
    int n = s->view.size, root = c->root, me = (s->view.rank - root + n) % n, reach = limb(me, n);
    int held = me + reach < n ? reach : n - me;
    char *tree = uno_scratch_bytes(s, bytes * (size_t)held);
    if (s->error) return;
    if (me == 0 && c->sbuf != MPI_IN_PLACE) uno_copy_block(s, uno_send_block(c, 0), uno_recv_block(c, root));
    if (me) uno_copy_block(s, uno_send_block(c, 0), uno_packed(tree, bytes));
    for (int mask = 1; mask < reach; mask *= 2) {
        if (me + mask >= n) break;
        int blocks = me + 2 * mask < n ? mask : n - me - mask;
        uno_recv_from(s, (me + mask + root) % n, uno_packed(tree + (size_t)mask * bytes, bytes * (size_t)blocks));
    }
    uno_emit_fence(s);
    if (me)
        uno_send_to(s, (me - reach + root) % n, uno_packed(tree, bytes * (size_t)held));
    else
        for (int i = 1; i < n; i++)
            uno_copy_block(s, uno_packed(tree + (size_t)i * bytes, bytes), uno_recv_block(c, (i + root) % n));
}

void uno_build_gather(struct uno_sched *s, const struct uno_call *c)
{
    size_t bytes = 0;
    if (c->kind == UNO_GATHER)
        bytes = uno_block_bytes(s->view.rank == c->root ? uno_recv_block(c, 0) : uno_send_block(c, 0));
    if (c->kind == UNO_GATHER && s->view.size > 1 && uno_choose_for(s, UNO_GATHER, bytes) == UNO_ALG_BINOMIAL)
        gather_binomial(s, c, bytes);
    else
        gather_linear(s, c);
}

static void scatter_linear(struct uno_sched *s, const struct uno_call *c)
{
    if (s->view.rank != c->root) {
        uno_recv_from(s, c->root, uno_recv_block(c, 0));
        return;
    }
    for (int i = 0; i < s->view.size; i++)
        if (i != c->root) uno_send_to(s, i, uno_send_block(c, i));
    if (c->rbuf != MPI_IN_PLACE) uno_copy_block(s, uno_send_block(c, c->root), uno_recv_block(c, 0));
}

static void scatter_binomial(struct uno_sched *s, const struct uno_call *c, size_t bytes)
{
    int n = s->view.size, root = c->root, me = (s->view.rank - root + n) % n, reach = limb(me, n);
    int held = me + reach < n ? reach : n - me;
    char *tree = uno_scratch_bytes(s, bytes * (size_t)held);
    if (s->error) return;
    if (me) {
        uno_recv_from(s, (me - reach + root) % n, uno_packed(tree, bytes * (size_t)held));
        uno_emit_fence(s);
    } else {
        for (int i = 1; i < n; i++)
            uno_copy_block(s, uno_send_block(c, (i + root) % n), uno_packed(tree + (size_t)i * bytes, bytes));
    }
    for (int mask = reach / 2; mask; mask /= 2) {
        if (me + mask >= n) continue;
        int blocks = me + 2 * mask < n ? mask : n - me - mask;
        uno_send_to(s, (me + mask + root) % n, uno_packed(tree + (size_t)mask * bytes, bytes * (size_t)blocks));
    }
    if (me)
        uno_copy_block(s, uno_packed(tree, bytes), uno_recv_block(c, 0));
    else if (c->rbuf != MPI_IN_PLACE)
        uno_copy_block(s, uno_send_block(c, root), uno_recv_block(c, 0));
}

void uno_build_scatter(struct uno_sched *s, const struct uno_call *c)
{
    size_t bytes = 0;
    if (c->kind == UNO_SCATTER)
        bytes = uno_block_bytes(s->view.rank == c->root ? uno_send_block(c, 0) : uno_recv_block(c, 0));
    if (c->kind == UNO_SCATTER && s->view.size > 1 && uno_choose_for(s, UNO_SCATTER, bytes) == UNO_ALG_BINOMIAL)
        scatter_binomial(s, c, bytes);
    else
        scatter_linear(s, c);
}
