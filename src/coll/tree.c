// SPDX-License-Identifier: BSD-3-Clause
// Barrier, bcast, reduce and allreduce of a line's data among many ranks of a host: up and down a tree of lines in the
// segment, so that no rank looks at more than a few others. Called by small.c and segment_copy.c in communicators of
// many ranks (coll_flat).
// Cost: log8 n lines' ways up and as many down, 7 looks per level; in one flat phase each rank looks at n - 1.
//
// A rank that is a multiple of 8^l leads the 8^l ranks from itself on: subtrees are runs of ranks, and are folded from
// the last to the first, so operations need not commute and every run gives the same bits. Always holds: operations of
// a communicator are numbered; a line is filled anew only when its readers are done with what it held: a rank's `done`
// line says up to which operation it reads nothing any more.
#include "base/copy.h"
#include "base/invariant.h"
#include "coll/shm.h"

#define RADIX 8

static struct uno_line *up(const struct uno_coll *u, int r)
{
    return &u->tree.line[3 * (size_t)r];
}

static struct uno_line *down(const struct uno_coll *u, int r)
{
    return &u->tree.line[3 * (size_t)r + 1];
}

static struct uno_line *done(const struct uno_coll *u, int r)
{
    return &u->tree.line[3 * (size_t)r + 2];
}

// What r leads: 1, 8, 64, ... the largest of them that divides it (for rank 0: the first that is not below n).
static int reach(const struct uno_coll *u, int r)
{
    int width = 1;
    while (r % (width * RADIX) == 0 && width < u->n) width *= RADIX;
    return width;
}

static int parent(const struct uno_coll *u, int r)
{
    int width = reach(u, r) * RADIX;
    return r / width * width;
}

static void stamp(const struct uno_coll *u, struct uno_line *line, uint64_t t)
{
    if (__builtin_expect(u->comm->broken, 0)) return;    // it may not be the right data
    // Relaxed: this rank alone writes it.
    uno_assert(atomic_load_explicit(&line->stamp, memory_order_relaxed) < t);
    // Release: pairs with the acquire of uno_seg_wait_line; what the line holds, or was read before, comes first.
    atomic_store_explicit(&line->stamp, t, memory_order_release);
}

// Calls fn for each child: the leaders of the parts of each level.
static void each_child(struct uno_coll *u, void (*fn)(struct uno_coll *u, int child, uint64_t t), uint64_t t)
{
    for (int width = reach(u, u->me) / RADIX; width >= 1; width /= RADIX)
        for (int i = 1; i < RADIX && u->me + i * width < u->n; i++) fn(u, u->me + i * width, t);
}

static void wait_up(struct uno_coll *u, int child, uint64_t t)
{
    uno_seg_wait_line(u, child, up(u, child), t);
}

static void wait_done(struct uno_coll *u, int r, uint64_t t)
{
    uno_seg_wait_line(u, r, done(u, r), t);
}

static void ring(struct uno_coll *u, int child, uint64_t t)
{
    (void)t;
    uno_seg_ring(u, child);
}

// The fold of what this rank leads, left in its up line.
static void fold(struct uno_coll *u, const struct uno_call *c, size_t bytes, uint64_t t)
{
    unsigned char *acc = up(u, u->me)->data, sum[64] __attribute__((aligned(64)));
    uno_copy_small(acc, c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf, bytes);
    for (int width = 1; width < reach(u, u->me); width *= RADIX) {
        int i = RADIX - 1;
        while (i > 0 && u->me + i * width >= u->n) i--;
        if (i == 0) break;
        wait_up(u, u->me + i * width, t);
        uno_copy_small(sum, up(u, u->me + i * width)->data, bytes);
        while (--i > 0) {
            wait_up(u, u->me + i * width, t);
            uno_op_apply(c->op, up(u, u->me + i * width)->data, sum, c->rcount, c->rtype);
        }
        uno_op_apply(c->op, acc, sum, c->rcount, c->rtype);
        uno_copy_small(acc, sum, bytes);
    }
}

// A line of this rank is free when its reader is done with the operation that it was last filled for. Barrier and
// allreduce know that anyway: all ranks have come.
static void claim_up(struct uno_coll *u)
{
    struct uno_tree *tree = &u->tree;
    if (tree->up_at) wait_done(u, tree->up_reader, tree->up_at);
    tree->up_at = 0;
}

static void claim_down(struct uno_coll *u)
{
    struct uno_tree *tree = &u->tree;
    if (tree->down_at && tree->down_reader >= 0)
        wait_done(u, tree->down_reader, tree->down_at);
    else if (tree->down_at)
        each_child(u, wait_done, tree->down_at);
}

static void send_up(struct uno_coll *u, int reader, uint64_t t)
{
    stamp(u, up(u, u->me), t);
    u->tree.up_at = t;
    u->tree.up_reader = reader;
    uno_seg_ring(u, reader);
}

static void send_down(struct uno_coll *u, const void *data, size_t bytes, uint64_t t)
{
    uno_copy_small(down(u, u->me)->data, data, bytes);
    stamp(u, down(u, u->me), t);
    u->tree.down_at = t;
    u->tree.down_reader = -1;
    each_child(u, ring, t);
}

// The parent's line, when it is there.
static const unsigned char *from_above(struct uno_coll *u, uint64_t t)
{
    int from = parent(u, u->me);
    uno_seg_wait_line(u, from, down(u, from), t);
    return down(u, from)->data;
}

static void all(struct uno_coll *u, const struct uno_call *c, size_t bytes, uint64_t t)
{
    claim_up(u);
    const unsigned char *result = up(u, 0)->data;
    if (bytes)
        fold(u, c, bytes, t);
    else
        each_child(u, wait_up, t);
    if (u->me) {
        send_up(u, parent(u, u->me), t);
        result = from_above(u, t);
        u->tree.up_at = 0;    // a rank that has answered has read it
    }
    uno_copy_small(c->rbuf, result, bytes);
    if (reach(u, u->me) > 1) send_down(u, result, bytes, t);
    u->safe = u->phase;    // every rank has come here: it is done with whatever was before
}

static void reduce(struct uno_coll *u, const struct uno_call *c, size_t bytes, uint64_t t)
{
    claim_up(u);
    fold(u, c, bytes, t);
    if (u->me) send_up(u, parent(u, u->me), t);
    if (u->me == 0 && c->root) {    // all have come, so the line is free
        uno_copy_small(down(u, 0)->data, up(u, 0)->data, bytes);
        stamp(u, down(u, 0), t);
        u->tree.down_at = t;
        u->tree.down_reader = c->root;
        uno_seg_ring(u, c->root);
    }
    if (u->me != c->root) return;
    if (u->me) uno_seg_wait_line(u, 0, down(u, 0), t);
    uno_copy_small(c->rbuf, u->me ? down(u, 0)->data : up(u, 0)->data, bytes);
}

// The root serves its own children and hands a copy to rank 0, which serves the others.
static void bcast(struct uno_coll *u, const struct uno_call *c, size_t bytes, uint64_t t)
{
    const void *data = c->rbuf;
    if (u->me == c->root && u->me) {
        claim_up(u);
        uno_copy_small(up(u, u->me)->data, data, bytes);
        send_up(u, 0, t);
    } else if (u->me == 0 && c->root) {
        uno_seg_wait_line(u, c->root, up(u, c->root), t);
        data = up(u, c->root)->data;
    } else if (u->me) {
        data = from_above(u, t);
    }
    if (reach(u, u->me) > 1) {
        claim_down(u);
        send_down(u, data, bytes, t);
    }
    if (u->me != c->root) uno_copy_small(c->rbuf, data, bytes);
}

void uno_tree_run(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    uint64_t t = ++u->tree.ops;
    if (c->kind == UNO_REDUCE)
        reduce(u, c, bytes, t);
    else if (c->kind == UNO_BCAST)
        bcast(u, c, bytes, t);
    else
        all(u, c, bytes, t);
    stamp(u, done(u, u->me), t);
    each_child(u, ring, t);
    if (u->me) uno_seg_ring(u, parent(u, u->me));
    if (u->me) uno_seg_ring(u, 0);
    if (c->kind != UNO_BARRIER && c->kind != UNO_ALLREDUCE && c->root != u->me) uno_seg_ring(u, c->root);
}
