// SPDX-License-Identifier: BSD-3-Clause
// Large nonblocking and persistent collectives inside a host as schedules: ranks send each other addresses,
// copy straight between their buffers by cross-memory attach, each rank its share, and tell each other when they are
// done. Called by coll.c. n ranks, m bytes, latency a, time per byte b of moving and g of combining:
//   allreduce, reduce, reduce_scatter   2 a + 2 m (n - 1) / n b + m g     a rank combines one part and writes it out
//   scan, exscan                        2 a + 2 m (n - 1) / n b + m g     likewise, to each rank its own result
//   allgather, alltoall                 2 a + (n - 1) m b                 a rank reads what is for it
//
// Always holds: the same as in large.c and large_reduce.c, whose blocking forms go through the segment. Parts fold from
// the last rank to the first (of scans from the first on), one rank each: same bits on every rank and in every run.
#include <limits.h>

#include "base/huge.h"
#include "base/param.h"
#include "base/thresholds.h"
#include "coll/build.h"
#include "coll/large.h"
#include "coll/segment.h"

static struct uno_param least = UNO_PARAM_BY_MACHINE(
    "coll_direct_min", 8192, 0, 1 << 30,
    "bytes (reductions: of the vector, else of a block) from which a nonblocking collective inside a host "
    "copies straight between the ranks' buffers");
UNO_PARAM_DECLARE(least);

#define MOST_RANKS 32                // each tells each
#define PIECE ((size_t)128 << 10)    // combined at a time: stays in the cache

struct direct {
    struct uno_sched *s;
    const struct uno_call *c;
    int n, me;
    uint64_t *word;    // [n][2] what each rank sent: addresses, 0 for none
};

// As a step: others will copy from or to this buffer, now and at every later start.
static int use(const void *at, int bytes)
{
    uno_huge_use(at, (size_t)bytes);
    return MPI_SUCCESS;
}

static void emit_use(struct uno_sched *s, const void *at, size_t bytes)
{
    uno_emit_check(s, use, at, bytes < INT_MAX ? (int)bytes : INT_MAX);
}

// Every rank learns the two addresses of every other.
static bool tell_addresses(struct direct *d, const void *a, const void *b)
{
    size_t bytes = 2 * sizeof *d->word;
    d->word = uno_scratch_bytes(d->s, (size_t)d->n * bytes);
    if (!d->word) return false;
    d->word[2 * d->me] = (uint64_t)(uintptr_t)a;
    d->word[2 * d->me + 1] = (uint64_t)(uintptr_t)b;
    for (int i = 1; i < d->n; i++) {
        int from = (d->me - i + d->n) % d->n, to = (d->me + i) % d->n;
        uno_recv_from(d->s, from, uno_packed(d->word + 2 * from, bytes));
        uno_send_to(d->s, to, uno_packed(d->word + 2 * d->me, bytes));
    }
    uno_emit_fence(d->s);
    return true;
}

// Every buffer is free, and what others write has come, once each has said so to each.
static void let_go(struct direct *d)
{
    for (int i = 1; i < d->n; i++) uno_emit_signal(d->s, (d->me + i) % d->n, (d->me - i + d->n) % d->n);
    uno_emit_fence(d->s);
}

// ---- reductions ----

struct reduction {
    struct direct d;
    size_t size;    // of an element
    const char *in;
    char *sum, *pull;
};

static struct uno_remote remote(const struct direct *d, int r, int which, size_t skip)
{
    return (struct uno_remote){.rank = r, .at = &d->word[2 * r + which], .skip = skip};
}

static const char *contribution(struct reduction *x, int r, size_t skip, size_t bytes, char *room)
{
    if (r == x->d.me) return x->in + skip;
    uno_emit_pull(x->d.s, remote(&x->d, r, 0, skip), room, bytes);
    return room;
}

// The fold of one piece into dst; a user's operation must not find its first operand where the result goes.
static void combine_piece(struct reduction *x, size_t skip, MPI_Count count, char *dst)
{
    size_t bytes = (size_t)count * x->size;
    struct MPI_ABI_Datatype *type = x->d.c->rtype;
    const char *acc = contribution(x, x->d.n - 1, skip, bytes, x->sum);
    for (int r = x->d.n - 2; r >= 0; r--) {
        const char *next = contribution(x, r, skip, bytes, x->pull);
        char *out = r > 0 || next == dst ? x->sum : dst;
        uno_emit_reduce(x->d.s, next, acc, out, count, type);
        acc = out;
    }
    uno_copy_block(x->d.s, uno_packed((char *)(uintptr_t)acc, bytes), uno_packed(dst, bytes));
    for (int i = 1; i < x->d.n; i++) {
        int r = (x->d.me + i) % x->d.n;
        if (x->d.c->kind == UNO_ALLREDUCE || (x->d.c->kind == UNO_REDUCE && r == x->d.c->root))
            uno_emit_push(x->d.s, remote(&x->d, r, 1, skip), dst, bytes);
    }
}

// One piece of a scan, from the first rank on. What a rank gets may lie where its contribution was, which is used
// first.
static void scan_piece(struct reduction *x, size_t skip, MPI_Count count)
{
    const struct uno_call *c = x->d.c;
    size_t bytes = (size_t)count * x->size;
    const char *acc = contribution(x, 0, skip, bytes, x->sum);
    for (int r = 1; r < x->d.n; r++) {
        const char *before = acc;
        char *room = acc == x->pull ? x->sum : x->pull;
        if (c->kind == UNO_SCAN || r < x->d.n - 1) {
            const char *next = contribution(x, r, skip, bytes, room);
            uno_emit_reduce(x->d.s, acc, next, room, count, c->rtype);
            acc = room;
        }
        const char *result = c->kind == UNO_SCAN ? acc : before;
        if (r == x->d.me)
            uno_copy_block(x->d.s, uno_packed((char *)(uintptr_t)result, bytes),
                           uno_packed((char *)c->rbuf + skip, bytes));
        else
            uno_emit_push(x->d.s, remote(&x->d, r, 1, skip), result, bytes);
    }
}

// First element of part i.
static MPI_Count part(const struct reduction *x, int i)
{
    const struct uno_call *c = x->d.c;
    MPI_Count at = 0;
    if (c->kind == UNO_REDUCE_SCATTER_BLOCK) return c->rcount * i;
    for (int r = 0; r < i && c->kind == UNO_REDUCE_SCATTER; r++) at += uno_at(c->rcounts, r);
    if (c->kind == UNO_REDUCE_SCATTER) return at;
    return uno_large_part(c->comm->coll, c, i);
}

static void reduction(struct direct d)
{
    const struct uno_call *c = d.c;
    bool scattered = c->kind == UNO_REDUCE_SCATTER || c->kind == UNO_REDUCE_SCATTER_BLOCK;
    bool scan = c->kind == UNO_SCAN || c->kind == UNO_EXSCAN;
    bool everywhere = scan || c->kind == UNO_ALLREDUCE, keeps = scattered || everywhere || c->root == d.me;
    struct reduction x = {.d = d, .size = (size_t)c->rtype->size};
    x.in = c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf;
    MPI_Count first = part(&x, d.me), end = part(&x, d.me + 1), step = (MPI_Count)(PIECE / x.size);
    if (end - first < step) step = end - first;
    x.sum = uno_scratch_bytes(d.s, 2 * (size_t)step * x.size);
    emit_use(d.s, x.in, (size_t)part(&x, d.n) * x.size);
    if (everywhere && x.in != c->rbuf) emit_use(d.s, c->rbuf, (size_t)c->rcount * x.size);
    if (!x.sum || !tell_addresses(&x.d, x.in, keeps ? c->rbuf : NULL)) return;
    x.pull = x.sum + (size_t)step * x.size;
    if (c->kind == UNO_SCAN && d.me == 0)
        uno_copy_block(d.s, uno_block(x.in, c->rcount, c->rtype), uno_block(c->rbuf, c->rcount, c->rtype));
    for (MPI_Count at = first; at < end; at += step) {
        MPI_Count count = end - at < step ? end - at : step;
        if (scan) {
            scan_piece(&x, (size_t)at * x.size, count);
            continue;
        }
        char *dst = keeps ? (char *)c->rbuf + (size_t)(scattered ? at - first : at) * x.size : x.sum;
        combine_piece(&x, (size_t)at * x.size, count, dst);
    }
    let_go(&x.d);
}

// ---- movement ----

static bool is_plain(struct uno_block b)
{
    return b.type->flags & UNO_TYPE_PLAIN;
}

// An address with the bytes of b, packed aside at the start if they are not plain.
static const char *readable(struct uno_sched *s, struct uno_block b)
{
    if (is_plain(b)) {
        emit_use(s, b.at, uno_block_bytes(b));
        return b.at;
    }
    struct uno_block aside = uno_packed(uno_scratch_bytes(s, uno_block_bytes(b)), uno_block_bytes(b));
    uno_copy_block(s, b, aside);
    return aside.at;
}

static void pull_block(struct direct *d, int r, size_t skip, struct uno_block to)
{
    size_t bytes = uno_block_bytes(to);
    char *at = is_plain(to) ? to.at : uno_scratch_bytes(d->s, bytes);
    uno_emit_pull(d->s, remote(d, r, 0, skip), at, bytes);
    if (at != to.at) uno_copy_block(d->s, uno_packed(at, bytes), to);
}

static void allgather(struct direct d)
{
    const struct uno_call *c = d.c;
    bool in_place = c->sbuf == MPI_IN_PLACE;
    struct uno_block own = in_place ? uno_recv_block(c, d.me) : uno_send_block(c, 0);
    if (!tell_addresses(&d, readable(d.s, own), NULL)) return;
    if (!in_place) uno_copy_block(d.s, own, uno_recv_block(c, d.me));
    for (int i = 1; i < d.n; i++) pull_block(&d, (d.me + i) % d.n, 0, uno_recv_block(c, (d.me + i) % d.n));
    let_go(&d);
}

static void alltoall(struct direct d)
{
    const struct uno_call *c = d.c;
    struct uno_block all = uno_block(c->sbuf, c->scount * d.n, c->stype);
    if (!tell_addresses(&d, readable(d.s, all), NULL)) return;
    uno_copy_block(d.s, uno_send_block(c, d.me), uno_recv_block(c, d.me));
    for (int i = 1; i < d.n; i++) {
        struct uno_block to = uno_recv_block(c, (d.me + i) % d.n);
        pull_block(&d, (d.me + i) % d.n, (size_t)d.me * uno_block_bytes(to), to);
    }
    let_go(&d);
}

static bool fits(const struct uno_call *c)
{
    bool in_place = c->sbuf == MPI_IN_PLACE;
    switch (c->kind) {
    case UNO_REDUCE:
    case UNO_ALLREDUCE: return true;
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return !in_place;    // the result would come where others still read
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV: return true;
    case UNO_SCAN:
    case UNO_EXSCAN: return c->comm->size > 2;    // of two ranks one sends to the other, and that is all
    case UNO_ALLTOALL: return !in_place;
    default: return false;
    }
}

// Where ranks outnumber cores, telling the addresses and that all is done takes two turns of all of them, which
// messages do not: those were faster, for 4, 8 and 16 ranks on two cores, up to 64, 32 and less than 16 KiB of an
// allgather (Zen 4, whose least is twice Zen 3's: to 128, 64 and 32 KiB), 64, 32 and 32 KiB of an alltoall, and 128,
// 256 and 32 to 128 KiB of a reduction (Zen 4, allreduces since they are direct over messages, too: to 128, 256 and
// 256); for 4 and 8, up to 256 and 128 KiB of a scan (docs/design/collectives.md, 11).
//
// Where lines are dear to write, messages go on for longer (Emerald Rapids, us, by messages and direct): reductions to
// all as long as the parts of a vector go at once (4 ranks allreduce 64 KiB 28 and 36, 100,000 B 55 and 42, scan 27 and
// 33, 65 and 40; 8 ranks scan 128 KiB 127 and 112; 16 ranks allreduce 256 KiB 812 and 838), allgathers of 4 ranks at
// any size (1 MiB 506 and 691), of more to 384 KiB (8 ranks 256 KiB 517 and 846, 512 KiB 2,180 and 1,610), alltoalls
// always (16 ranks 64 KiB 894 and 1,052), scattered reductions to 256 KiB per rank (4 ranks 64 KiB 11 and 24, 1 MiB 195
// and 191).
//
// A reduction of two ranks reads and writes a half of what one message each way carries: two calls and two meetings
// (Xeon 167, us, by messages and direct: reduce_scatter 16 KiB 1.32 and 1.63, allreduce 2.2 and 2.6, Emerald Rapids 32
// KiB 3.9 and 4.0). To one root that takes all in one call it is better from where messages are copied across, too
// (Emerald Rapids: 16,400 B 3.2 and 2.3, 32 KiB 5.3 and 3.6; by halves 24 KB 4.4).
#define FEW 4    // ranks

static size_t least_where_dear(enum uno_coll_kind kind, size_t bytes, size_t n)
{
    switch (kind) {
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV: return n > FEW ? 24 * bytes : SIZE_MAX;
    case UNO_ALLTOALL: return SIZE_MAX;
    case UNO_REDUCE: return 8 * bytes;
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return n * 16 * bytes;
    default: return n * (size_t)uno_thresholds_eager_few(&uno_thresholds_told, true);
    }
}

static size_t least_of_two(enum uno_coll_kind kind, size_t bytes)
{
    if (!uno_coll_reduces(kind)) return bytes;
    size_t at_once = (size_t)uno_thresholds_told.eager;
    return kind != UNO_REDUCE ? 2 * bytes + 1 : bytes > at_once ? bytes : at_once + 1;
}

static size_t least_of(const struct uno_coll *u, enum uno_coll_kind kind)
{
    size_t bytes = (size_t)least.num, n = u->n > FEW ? (size_t)u->n : FEW;
    if (least.origin != UNO_PARAM_FROM_MACHINE) return bytes;
    if (!u->crowded) return u->n == 2 ? least_of_two(kind, bytes) : bytes;
    if (uno_thresholds_told.ahead) return least_where_dear(kind, bytes, n);
    switch (kind) {
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV: return n < 16 ? 24 * bytes / n : bytes;
    case UNO_ALLTOALL: return n < 32 ? 32 * bytes / n : bytes;
    case UNO_SCAN:
    case UNO_EXSCAN: return n < 16 ? 128 * bytes / n : 8 * bytes;
    case UNO_ALLREDUCE: return n > FEW ? 16 * bytes : 8 * bytes;
    default: return 8 * bytes;
    }
}

bool uno_build_direct(struct uno_sched *s, const struct uno_call *c)
{
    const struct uno_coll *u = c->comm->coll;
    struct direct d = {.s = s, .c = c, .n = s->view.size, .me = s->view.rank};
    unsigned plain = UNO_TYPE_PREDEFINED | UNO_TYPE_PLAIN;
    if (!u || !u->on || !u->cma || d.n > MOST_RANKS || !fits(c) || uno_call_bytes(c) < least_of(u, c->kind))
        return false;
    // A blocking call that comes here goes by messages (shm.c).
    if (s->form == UNO_BLOCKING || uno_seg_by_messages(u, c->kind, uno_call_bytes(c))) return false;
    if (c->op && (c->rtype->flags & plain) != plain) return false;
    if (c->kind == UNO_ALLGATHER || c->kind == UNO_ALLGATHERV)
        allgather(d);
    else if (c->kind == UNO_ALLTOALL)
        alltoall(d);
    else
        reduction(d);
    return true;
}
