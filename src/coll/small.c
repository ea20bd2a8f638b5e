// SPDX-License-Identifier: BSD-3-Clause
// Small collectives in shared memory: everybody who has something posts it in one phase of the segment, everybody who
// needs it reads. Called by shm.c. Cost: one cache line's way for up to 56 bytes.
//
// Reductions fold from the last rank to the first on every rank, so that all get the same bits. Where all ranks would
// combine much, each combines a part and posts it in a second phase.
#include "base/param.h"
#include "coll/build.h"
#include "coll/shm.h"
#include "core/pack.h"

static struct uno_param split_min = UNO_PARAM_INT(
    "coll_split", 16384, 0, 1 << 30, "bytes a rank combines in a small allreduce before the ranks share the work");
UNO_PARAM_DECLARE(split_min);

static void put(char *to, struct uno_block b)
{
    if (b.type->flags & UNO_TYPE_PLAIN) {
        memcpy(to, b.at, uno_block_bytes(b));
        return;
    }
    struct uno_packer p;
    uno_packer_init(&p, b.at, b.count, b.type);
    uno_pack(&p, to, p.total);
}

static void get(const char *from, struct uno_block b)
{
    if (b.type->flags & UNO_TYPE_PLAIN) {
        memcpy(b.at, from, uno_block_bytes(b));
        return;
    }
    struct uno_packer p;
    uno_packer_init(&p, b.at, b.count, b.type);
    uno_unpack(&p, from, p.total);
}

// A phase in which every rank posted and was seen ends here.
static void all_done(struct uno_coll *u, uint64_t k)
{
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
}

static void barrier(struct uno_coll *u)
{
    uint64_t k = uno_seg_begin(u);
    uno_seg_post(u, k);
    uno_seg_wait_all(u, k);
    all_done(u, k);
}

static void bcast(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    struct uno_block b = uno_recv_block(c, 0);
    if (u->me != c->root) {
        uint64_t k = ++u->phase;
        uno_seg_wait(u, c->root, k);
        get(uno_seg_slot(u, c->root, k, bytes), b);
        uno_seg_done(u, k);
        return;
    }
    uint64_t k = uno_seg_begin(u);
    put(uno_seg_slot(u, u->me, k, bytes), b);
    uno_seg_post(u, k);
    uno_seg_done(u, k);
}

// out = the contributions of ranks first .. last, elements at .. at + count, as posted in phase k (bytes: of a whole
// contribution).
struct fold {
    uint64_t k;
    size_t bytes;
    MPI_Count at, count;
    int first, last;
};

static void fold(struct uno_coll *u, const struct uno_call *c, const struct fold *f, void *out)
{
    size_t skip = (size_t)(f->at * c->rtype->size);
    const char *top = uno_seg_slot(u, f->last, f->k, f->bytes) + skip;
    if (f->first == f->last) {
        memcpy(out, top, (size_t)(f->count * c->rtype->size));
        return;
    }
    const char *below = uno_seg_slot(u, f->last - 1, f->k, f->bytes) + skip;
    uno_op_apply3(c->op, below, top, out, f->count, c->rtype);
    for (int r = f->last - 2; r >= f->first; r--)
        uno_op_apply(c->op, uno_seg_slot(u, r, f->k, f->bytes) + skip, out, f->count, c->rtype);
}

static uint64_t post_contribution(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    uint64_t k = uno_seg_begin(u);
    memcpy(uno_seg_slot(u, u->me, k, bytes), c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf, bytes);
    uno_seg_post(u, k);
    return k;
}

static void reduce(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    uint64_t k = post_contribution(u, c, bytes);
    if (u->me == c->root) {
        uno_seg_wait_all(u, k);
        fold(u, c, &(struct fold){k, bytes, 0, c->rcount, 0, u->n - 1}, c->rbuf);
        uno_seg_all_seen(u, k);
    }
    uno_seg_done(u, k);
}

static MPI_Count cut(MPI_Count count, int n, int i)
{
    return count * i / n;
}

static void allreduce(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    uint64_t k = post_contribution(u, c, bytes);
    uno_seg_wait_all(u, k);
    uno_seg_all_seen(u, k);
    if ((size_t)(u->n - 2) * bytes <= (size_t)split_min.num || c->rcount < u->n) {
        fold(u, c, &(struct fold){k, bytes, 0, c->rcount, 0, u->n - 1}, c->rbuf);
        uno_seg_done(u, k);
        return;
    }
    size_t size = (size_t)c->rtype->size;
    MPI_Count at = cut(c->rcount, u->n, u->me), end = cut(c->rcount, u->n, u->me + 1);
    uint64_t next = uno_seg_begin(u);
    fold(u, c, &(struct fold){k, bytes, at, end - at, 0, u->n - 1}, uno_seg_slot(u, u->me, next, UNO_SEG_SLOT));
    uno_seg_post(u, next);
    for (int i = 0; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        at = cut(c->rcount, u->n, r);
        end = cut(c->rcount, u->n, r + 1);
        uno_seg_wait(u, r, next);
        memcpy((char *)c->rbuf + (size_t)at * size, uno_seg_slot(u, r, next, UNO_SEG_SLOT), (size_t)(end - at) * size);
    }
    all_done(u, next);
}

static void reduce_scatter(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    MPI_Count at = 0, mine = c->rcount;
    if (c->kind == UNO_REDUCE_SCATTER) {
        for (int i = 0; i < u->me; i++) at += uno_at(c->rcounts, i);
        mine = uno_at(c->rcounts, u->me);
    } else {
        at = c->rcount * u->me;
    }
    uint64_t k = post_contribution(u, c, bytes);
    uno_seg_wait_all(u, k);
    if (mine) fold(u, c, &(struct fold){k, bytes, at, mine, 0, u->n - 1}, c->rbuf);
    all_done(u, k);
}

// The first rank of an exclusive scan gets nothing.
static void scan(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    uint64_t k = post_contribution(u, c, bytes);
    int last = c->kind == UNO_SCAN ? u->me : u->me - 1;
    for (int r = last; r >= 0; r--)
        if (r != u->me) uno_seg_wait(u, r, k);
    if (last >= 0) fold(u, c, &(struct fold){k, bytes, 0, c->rcount, 0, last}, c->rbuf);
    uno_seg_done(u, k);
}

static void gather(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (u->me != c->root) {
        uint64_t k = uno_seg_begin(u);
        put(uno_seg_slot(u, u->me, k, bytes), uno_send_block(c, 0));
        uno_seg_post(u, k);
        uno_seg_done(u, k);
        return;
    }
    uint64_t k = ++u->phase;
    if (c->sbuf != MPI_IN_PLACE) {
        struct uno_block from = uno_send_block(c, 0), to = uno_recv_block(c, u->me);
        struct uno_packer a, b;
        uno_packer_init(&a, from.at, from.count, from.type);
        uno_packer_init(&b, to.at, to.count, to.type);
        uno_pack_copy(&b, &a);
    }
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        uno_seg_wait(u, r, k);
        get(uno_seg_slot(u, r, k, bytes), uno_recv_block(c, r));
    }
    uno_seg_done(u, k);
}

// One block a rank, or (scatter, alltoall) one a pair: block i at i * bytes of the slot.
static void scatter(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    size_t all = bytes * (size_t)u->n;
    uint64_t k = u->me == c->root ? uno_seg_begin(u) : ++u->phase;
    if (u->me == c->root) {
        char *slot = uno_seg_slot(u, u->me, k, all);
        for (int i = 0; i < u->n; i++)
            if (i != u->me || c->rbuf != MPI_IN_PLACE) put(slot + (size_t)i * bytes, uno_send_block(c, i));
        uno_seg_post(u, k);
    } else {
        uno_seg_wait(u, c->root, k);
    }
    if (c->rbuf != MPI_IN_PLACE || u->me != c->root)
        get(uno_seg_slot(u, c->root, k, all) + (size_t)u->me * bytes, uno_recv_block(c, 0));
    uno_seg_done(u, k);
}

static void allgather(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool in_place = c->sbuf == MPI_IN_PLACE;
    uint64_t k = uno_seg_begin(u);
    put(uno_seg_slot(u, u->me, k, bytes), in_place ? uno_recv_block(c, u->me) : uno_send_block(c, 0));
    uno_seg_post(u, k);
    for (int i = in_place; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        if (i) uno_seg_wait(u, r, k);
        get(uno_seg_slot(u, r, k, bytes), uno_recv_block(c, r));
    }
    all_done(u, k);
}

static void alltoall(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool in_place = c->sbuf == MPI_IN_PLACE;
    size_t all = bytes * (size_t)u->n;
    uint64_t k = uno_seg_begin(u);
    char *slot = uno_seg_slot(u, u->me, k, all);
    for (int i = 0; i < u->n; i++)
        if (!in_place || i != u->me)
            put(slot + (size_t)i * bytes, in_place ? uno_recv_block(c, i) : uno_send_block(c, i));
    uno_seg_post(u, k);
    for (int i = in_place; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        if (i) uno_seg_wait(u, r, k);
        get(uno_seg_slot(u, r, k, all) + (size_t)u->me * bytes, uno_recv_block(c, r));
    }
    all_done(u, k);
}

int uno_small_run(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    switch (c->kind) {
    case UNO_BARRIER: barrier(u); break;
    case UNO_BCAST: bcast(u, c, bytes); break;
    case UNO_REDUCE: reduce(u, c, bytes); break;
    case UNO_ALLREDUCE: allreduce(u, c, bytes); break;
    case UNO_GATHER: gather(u, c, bytes); break;
    case UNO_SCATTER: scatter(u, c, bytes); break;
    case UNO_ALLGATHER: allgather(u, c, bytes); break;
    case UNO_ALLTOALL: alltoall(u, c, bytes); break;
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: reduce_scatter(u, c, bytes); break;
    case UNO_SCAN:
    case UNO_EXSCAN: scan(u, c, bytes); break;
    default: return UNO_SHM_DECLINED;
    }
    return MPI_SUCCESS;
}
