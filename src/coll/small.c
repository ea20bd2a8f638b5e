// SPDX-License-Identifier: BSD-3-Clause
// Small collectives in shared memory: every rank that has something posts it in one phase of the segment, and every
// rank that needs it reads. Called by shm.c. Cost: one cache line's way for up to 56 bytes.
//
// Reductions fold from the last rank to the first on every rank, so that all get the same bits. Where all ranks would
// combine much, each combines a part and posts it in a second phase.
#include "base/param.h"
#include "coll/build.h"
#include "coll/shm.h"
#include "coll/slot_copy.h"

static struct uno_param split_min = UNO_PARAM_INT(
    "coll_split", 16384, 0, 1 << 30, "bytes a rank combines in a small allreduce before the ranks share the work");
UNO_PARAM_DECLARE(split_min);

// Block i of a buffer of equal blocks (passed on as slot_copy.h says).
static inline char *nth(const void *base, int i, MPI_Count count, const struct MPI_ABI_Datatype *type)
{
    return (char *)(uintptr_t)base + i * count * type->extent;
}

static inline void get(const char *from, void *at, MPI_Count count, const struct MPI_ABI_Datatype *type, size_t lines)
{
    uno_seg_take_block(at, count, type, from, (size_t)(count * type->size), lines);
}

// This rank's own block: from block i of what it sends to block j of what it receives.
static void keep_own(const struct uno_call *c, int i, int j)
{
    uno_seg_keep(nth(c->rbuf, j, c->rcount, c->rtype), c->rcount, c->rtype, nth(c->sbuf, i, c->scount, c->stype),
                 c->scount, c->stype);
}

// A phase in which every rank posted and was seen ends here.
static void all_done(struct uno_coll *u, uint64_t k)
{
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
}

// Where ranks outnumber cores, rank 0 leaves first: mostly it has something for the others to go on with, and those who
// left before it would only wait for that (4 ranks on 2 cores: barrier 1.6 to 2.1 us, a broadcast after it 0.75 to
// 0.11).
static void barrier(struct uno_coll *u)
{
    uint64_t k = uno_seg_begin(u, 0);
    if (!u->crowded) {
        uno_seg_post(u, k);
        uno_seg_wait_all(u, k, 0);
    } else if (u->me == 0) {
        uno_seg_wait_all(u, k, 0);
        uno_seg_post(u, k);
    } else {
        uno_seg_post(u, k);
        uno_seg_wait(u, 0, k);
    }
    all_done(u, k);
}

// In quarters, so that the root writes the next one while others read (8 ranks, Emerald Rapids: 8 KiB 2.8 to 2.4 us, 16
// KiB 4.5 to 3.6). Layouts may differ between ranks; pieces are of the packed bytes.
static void bcast_in_pieces(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    size_t piece = bytes / 4 > UNO_SEG_SLOT ? UNO_SEG_SLOT : bytes / 4 / 64 * 64;
    bool plain = c->rtype->flags & UNO_TYPE_PLAIN, root = u->me == c->root;
    struct uno_packer p;
    uno_packer_init(&p, c->rbuf, c->rcount, c->rtype);
    if (piece < u->piece) piece = u->piece;
    for (size_t at = 0; at < bytes; at += piece) {
        size_t n = bytes - at < piece ? bytes - at : piece;
        uint64_t k = root ? uno_seg_begin(u, n) : ++u->phase;
        char *slot = uno_seg_slot(u, c->root, k, n), *mine = (char *)c->rbuf + at;
        if (!root) uno_seg_wait_soon(u, c->root, k, slot, n);
        if (root && plain)
            uno_seg_put(slot, mine, n, UNO_SEG_EXCHANGE);
        else if (root)
            uno_pack(&p, slot, n);
        else if (plain)
            uno_seg_take(mine, slot, n, UNO_SEG_EXCHANGE);
        else
            uno_unpack(&p, slot, n);
        if (root) uno_seg_post(u, k);
        uno_seg_done(u, k);
    }
}

static void bcast(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (bytes > u->piece) {
        bcast_in_pieces(u, c, bytes);
        return;
    }
    if (u->me != c->root) {
        uint64_t k = ++u->phase;
        const char *slot = uno_seg_slot(u, c->root, k, bytes);
        uno_seg_wait_soon(u, c->root, k, slot, bytes);
        get(slot, c->rbuf, c->rcount, c->rtype, UNO_SEG_ONE_WAY);
        uno_seg_done(u, k);
        return;
    }
    uint64_t k = uno_seg_begin(u, bytes);
    uno_seg_put_block(uno_seg_slot(u, u->me, k, bytes), c->rbuf, c->rcount, c->rtype, UNO_SEG_ONE_WAY);
    uno_seg_post(u, k);
    uno_seg_done(u, k);
}

// Elements at .. at + count of what the ranks posted in phase k (bytes: a whole contribution). own: this rank's, not
// read from its slot: a load wider than the store just made there would wait until the line is this core's.
struct fold {
    uint64_t k;
    size_t bytes, skip;
    MPI_Count count;
    const char *own;
};

static struct fold whole(const struct uno_coll *u, const struct uno_call *c, uint64_t k, size_t bytes)
{
    // In place the result would overwrite what is needed later, except by a predefined operation with two ranks.
    bool in_place = c->sbuf == MPI_IN_PLACE, spoilt = u->n > 2 || !c->op->predefined || c->kind != UNO_ALLREDUCE;
    const char *own = !in_place ? c->sbuf : spoilt ? uno_seg_slot(u, u->me, k, bytes) : c->rbuf;
    return (struct fold){k, bytes, 0, c->rcount, own};
}

static inline const char *operand(const struct uno_coll *u, const struct fold *f, int r)
{
    return (r == u->me ? f->own : uno_seg_slot(u, r, f->k, f->bytes)) + f->skip;
}

// out = the contributions of ranks first .. last.
static inline void fold(const struct uno_coll *u, const struct uno_call *c, const struct fold *f, int first, int last,
                        void *out)
{
    const char *top = operand(u, f, last);
    if (first == last) {
        if (out != top) uno_seg_copy(out, top, (size_t)(f->count * c->rtype->size));
        return;
    }
    uno_op_apply3(c->op, operand(u, f, last - 1), top, out, f->count, c->rtype);
    for (int r = last - 2; r >= first; r--) uno_op_apply(c->op, operand(u, f, r), out, f->count, c->rtype);
}

static uint64_t post_contribution(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    size_t lines = c->kind == UNO_REDUCE ? UNO_SEG_ONE_WAY : UNO_SEG_EXCHANGE;
    uint64_t k = uno_seg_begin(u, bytes);
    uno_seg_put(uno_seg_slot(u, u->me, k, bytes), c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf, bytes, lines);
    uno_seg_post(u, k);
    return k;
}

// The root posts nothing: what it has stays where it is, or waits in its slot where the result comes.
static void reduce(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (u->me != c->root) {
        uno_seg_done(u, post_contribution(u, c, bytes));
        return;
    }
    bool in_place = c->sbuf == MPI_IN_PLACE;
    uint64_t k = in_place ? uno_seg_begin(u, bytes) : ++u->phase;
    if (in_place) uno_seg_copy(uno_seg_slot(u, u->me, k, bytes), c->rbuf, bytes);
    uno_seg_wait_all(u, k, bytes);
    struct fold f = whole(u, c, k, bytes);
    fold(u, c, &f, 0, u->n - 1, c->rbuf);
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
}

static MPI_Count cut_count(MPI_Count count, int n, int i)
{
    return count * i / n;
}

static void allreduce_by_root(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    struct uno_call half = *c;
    half.root = 0;
    half.kind = UNO_REDUCE;
    reduce(u, &half, bytes);
    half.kind = UNO_BCAST;
    bcast(u, &half, bytes);
}

// To share the work costs ranks that share cores one more turn of all, and n * n pieces to take: of as many bytes, one
// rank has combined all by then (Emerald Rapids, us, shared and so, calls in a row in brackets: 8 ranks 4 KiB 19.7 and
// 15.1 (19.4 and 12.9), 16 KiB 26.7 and 25.2 (25.5 and 27.8); 16 ranks 2 KiB 49 and 34 (64 and 34), 32 KiB 91 and 73
// (114 and 87); 40 ranks 1 KiB 229 and 110 (239 and 99), 64 KiB 594 and 415 (674 and 510)).
#define BY_ROOT 192

static void allreduce(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    size_t n = (size_t)u->n;
    bool shared = (n - 2) * bytes > (size_t)split_min.num && c->rcount >= u->n;
    if (shared && u->crowded && bytes <= n * n * BY_ROOT) {
        allreduce_by_root(u, c, bytes);
        return;
    }
    uint64_t k = post_contribution(u, c, bytes);
    uno_seg_wait_all(u, k, bytes);
    uno_seg_all_seen(u, k);
    struct fold f = whole(u, c, k, bytes);
    if (!shared) {
        fold(u, c, &f, 0, u->n - 1, c->rbuf);
        uno_seg_done(u, k);
        return;
    }
    size_t size = (size_t)c->rtype->size, most = bytes > u->narrow ? bytes : u->narrow;
    MPI_Count at = cut_count(c->rcount, u->n, u->me), end = cut_count(c->rcount, u->n, u->me + 1);
    uint64_t next = uno_seg_begin(u, most);
    f.skip = (size_t)at * size;
    f.count = end - at;
    char *mine = (char *)c->rbuf + f.skip;
    fold(u, c, &f, 0, u->n - 1, mine);
    uno_seg_put(uno_seg_slot(u, u->me, next, most), mine, (size_t)f.count * size, UNO_SEG_EXCHANGE);
    uno_seg_post(u, next);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        at = cut_count(c->rcount, u->n, r);
        end = cut_count(c->rcount, u->n, r + 1);
        uno_seg_wait(u, r, next);
        uno_seg_take((char *)c->rbuf + (size_t)at * size, uno_seg_slot(u, r, next, most), (size_t)(end - at) * size,
                     UNO_SEG_EXCHANGE);
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
    if (mine == 0) {    // a rank that gets nothing waits for nobody
        uno_seg_done(u, k);
        return;
    }
    uno_seg_wait_all(u, k, bytes);
    struct fold f = whole(u, c, k, bytes);
    f.skip = (size_t)(at * c->rtype->size);
    f.count = mine;
    fold(u, c, &f, 0, u->n - 1, c->rbuf);
    all_done(u, k);
}

// The first rank of an exclusive scan gets nothing.
static void scan(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    uint64_t k = post_contribution(u, c, bytes);
    int last = c->kind == UNO_SCAN ? u->me : u->me - 1;
    for (int r = last; r >= 0; r--)
        if (r != u->me) uno_seg_wait_soon(u, r, k, uno_seg_slot(u, r, k, bytes), bytes);
    struct fold f = whole(u, c, k, bytes);
    if (last >= 0) fold(u, c, &f, 0, last, c->rbuf);
    uno_seg_done(u, k);
}

static void gather(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (u->me != c->root) {
        uint64_t k = uno_seg_begin(u, bytes);
        uno_seg_put_block(uno_seg_slot(u, u->me, k, bytes), c->sbuf, c->scount, c->stype, UNO_SEG_ONE_WAY);
        uno_seg_post(u, k);
        uno_seg_done(u, k);
        return;
    }
    uint64_t k = ++u->phase;
    if (c->sbuf != MPI_IN_PLACE) keep_own(c, 0, u->me);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        const char *from = uno_seg_slot(u, r, k, bytes);
        uno_seg_wait_soon(u, r, k, from, bytes);
        get(from, nth(c->rbuf, r, c->rcount, c->rtype), c->rcount, c->rtype, UNO_SEG_ONE_WAY);
    }
    uno_seg_done(u, k);
}

// Where rank r's slot has the block for rank i (scatter, alltoall): its own one is not among them.
static inline size_t place_for(int r, int i, size_t bytes)
{
    return (size_t)(i < r ? i : i - 1) * bytes;
}

static void scatter(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    size_t all = bytes * (size_t)(u->n - 1);
    if (u->me != c->root) {
        uint64_t k = ++u->phase;
        const char *from = uno_seg_slot(u, c->root, k, all) + place_for(c->root, u->me, bytes);
        uno_seg_wait_soon(u, c->root, k, from, bytes);
        get(from, c->rbuf, c->rcount, c->rtype, UNO_SEG_ONE_WAY);
        uno_seg_done(u, k);
        return;
    }
    uint64_t k = uno_seg_begin(u, all);
    char *slot = uno_seg_slot(u, u->me, k, all);
    for (int i = 0; i < u->n; i++) {
        if (i == u->me) continue;
        uno_seg_put_block(slot + place_for(u->me, i, bytes), nth(c->sbuf, i, c->scount, c->stype), c->scount, c->stype,
                          UNO_SEG_ONE_WAY);
    }
    uno_seg_post(u, k);
    if (c->rbuf != MPI_IN_PLACE) keep_own(c, u->me, 0);
    uno_seg_done(u, k);
}

static void allgather(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool in_place = c->sbuf == MPI_IN_PLACE;
    uint64_t k = uno_seg_begin(u, bytes);
    char *slot = uno_seg_slot(u, u->me, k, bytes);
    if (in_place)
        uno_seg_put_block(slot, nth(c->rbuf, u->me, c->rcount, c->rtype), c->rcount, c->rtype, UNO_SEG_EXCHANGE);
    else
        uno_seg_put_block(slot, c->sbuf, c->scount, c->stype, UNO_SEG_EXCHANGE);
    uno_seg_post(u, k);
    if (!in_place) keep_own(c, 0, u->me);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        const char *from = uno_seg_slot(u, r, k, bytes);
        uno_seg_wait_soon(u, r, k, from, bytes);
        get(from, nth(c->rbuf, r, c->rcount, c->rtype), c->rcount, c->rtype, UNO_SEG_EXCHANGE);
    }
    all_done(u, k);
}

// All ranks know all counts: bytes is the largest block.
static void allgatherv(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool in_place = c->sbuf == MPI_IN_PLACE;
    MPI_Count mine = uno_at(c->rcounts, u->me);
    char *own = nth(c->rbuf, 1, uno_at(c->rdispls, u->me), c->rtype);
    uint64_t k = uno_seg_begin(u, bytes);
    char *slot = uno_seg_slot(u, u->me, k, bytes);
    if (in_place)
        uno_seg_put_block(slot, own, mine, c->rtype, UNO_SEG_EXCHANGE);
    else
        uno_seg_put_block(slot, c->sbuf, c->scount, c->stype, UNO_SEG_EXCHANGE);
    uno_seg_post(u, k);
    if (!in_place && c->stype->flags & UNO_TYPE_PLAIN)
        get(c->sbuf, own, mine, c->rtype, UNO_SEG_EXCHANGE);
    else if (!in_place)
        get(slot, own, mine, c->rtype, UNO_SEG_EXCHANGE);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        const char *from = uno_seg_slot(u, r, k, bytes);
        uno_seg_wait_soon(u, r, k, from, bytes);
        get(from, nth(c->rbuf, 1, uno_at(c->rdispls, r), c->rtype), uno_at(c->rcounts, r), c->rtype, UNO_SEG_EXCHANGE);
    }
    all_done(u, k);
}

static void alltoall(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool in_place = c->sbuf == MPI_IN_PLACE;
    const void *out = in_place ? c->rbuf : c->sbuf;
    MPI_Count count = in_place ? c->rcount : c->scount;
    const struct MPI_ABI_Datatype *type = in_place ? c->rtype : c->stype;
    size_t all = bytes * (size_t)(u->n - 1);
    uint64_t k = uno_seg_begin(u, all);
    char *slot = uno_seg_slot(u, u->me, k, all);
    for (int i = 0; i < u->n; i++)
        if (i != u->me)
            uno_seg_put_block(slot + place_for(u->me, i, bytes), nth(out, i, count, type), count, type,
                              UNO_SEG_EXCHANGE);
    uno_seg_post(u, k);
    if (!in_place) keep_own(c, u->me, u->me);
    for (int i = 1; i < u->n; i++) {
        int r = (u->me + i) % u->n;
        const char *from = uno_seg_slot(u, r, k, all) + place_for(r, u->me, bytes);
        uno_seg_wait_soon(u, r, k, from, bytes);
        get(from, nth(c->rbuf, r, c->rcount, c->rtype), c->rcount, c->rtype, UNO_SEG_EXCHANGE);
    }
    all_done(u, k);
}

static bool on_tree(const struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool kind = c->kind == UNO_BARRIER || c->kind == UNO_REDUCE || c->kind == UNO_ALLREDUCE || c->kind == UNO_BCAST;
    return u->tree.line && kind && bytes <= UNO_SEG_INLINE;
}

// The layout of a broadcast may differ between the ranks: what is not plain goes packed.
static void tree(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (c->kind != UNO_BCAST || c->rtype->flags & UNO_TYPE_PLAIN) {
        uno_tree_run(u, c, bytes);
        return;
    }
    char packed[UNO_SEG_INLINE];
    struct uno_call plain = *c;
    plain.rbuf = packed;
    if (u->me == c->root) uno_seg_pack(packed, c->rbuf, c->rcount, c->rtype);
    uno_tree_run(u, &plain, bytes);
    if (u->me != c->root) uno_seg_unpack(c->rbuf, c->rcount, c->rtype, packed, bytes);
}

int uno_small_run(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (on_tree(u, c, bytes)) {
        tree(u, c, bytes);
        return MPI_SUCCESS;
    }
    switch (c->kind) {
    case UNO_BARRIER: barrier(u); break;
    case UNO_BCAST: bcast(u, c, bytes); break;
    case UNO_REDUCE: reduce(u, c, bytes); break;
    case UNO_ALLREDUCE: allreduce(u, c, bytes); break;
    case UNO_GATHER: gather(u, c, bytes); break;
    case UNO_SCATTER: scatter(u, c, bytes); break;
    case UNO_ALLGATHER: allgather(u, c, bytes); break;
    case UNO_ALLGATHERV: allgatherv(u, c, bytes); break;
    case UNO_ALLTOALL: alltoall(u, c, bytes); break;
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: reduce_scatter(u, c, bytes); break;
    case UNO_SCAN:
    case UNO_EXSCAN: scan(u, c, bytes); break;
    default: return UNO_SHM_DECLINED;
    }
    return MPI_SUCCESS;
}
