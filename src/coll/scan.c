// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan over messages, any operation, combined in the order of the ranks. Called by coll.c. n ranks, m bytes,
// latency a, time per byte b of moving and g of combining:
//   doubling  ceil(log2 n) (a + m (b + 2 g))    small: in round k a rank hears from the one 2^k below
//   direct    2 a + 2 m b + m g                 a rank combines one block of all, and tells each its result
//   chain     n (a + m (b + g)), in segments    large: a pipeline through the ranks
#include "coll/build.h"
#include "coll/choose.h"
#include "coll/fold.h"

#define SEGMENT ((MPI_Count)64 << 10)

// What rank `me` hears goes before its own. Of an exscan that is combined apart, where the result goes, and the value
// with its own only as long as there is a rank to hear it.
static void doubling(struct uno_sched *s, const struct uno_call *c, const void *in)
{
    int n = s->view.size, me = s->view.rank;
    bool exclusive = c->kind == UNO_EXSCAN;
    struct MPI_ABI_Datatype *type = c->rtype;
    MPI_Count count = c->rcount;
    struct uno_fold f = {.s = s, .acc = in, .room = {c->rbuf}, .is_there = {!exclusive}, .count = count, .type = type};
    for (int k = 1; k < n; k *= 2) {
        bool first = k == 1, goes_on = me + 2 * k < n;
        if (me + k < n) uno_emit_send(s, me + k, f.acc, count, type);
        if (me - k < 0) continue;
        void *other = exclusive && first && in != c->rbuf ? c->rbuf : uno_fold_room(&f);
        uno_emit_recv(s, me - k, other, count, type);
        uno_emit_fence(s);
        if (!exclusive || goes_on) uno_fold_below(&f, other);
        if (!exclusive) continue;
        if (first)
            uno_copy_block(s, uno_block(other, count, type), uno_block(c->rbuf, count, type));
        else
            uno_emit_reduce(s, other, c->rbuf, c->rbuf, count, type);
    }
    if (!exclusive) uno_fold_end(&f);
}

static void direct(struct uno_sched *s, const struct uno_call *c, const void *in)
{
    int n = s->view.size, me = s->view.rank, first = c->kind == UNO_EXSCAN;    // of those who get a result
    struct MPI_ABI_Datatype *type = c->rtype;
    const MPI_Count *at = uno_even_parts(s, c->rcount);
    char *all = uno_share_out(s, at, in, type);
    if (s->error) return;
    MPI_Count mine = at[me + 1] - at[me];
    const void *own = uno_offset(in, at[me], type), *acc = me ? all : own;
    for (int r = 0; r < n; r++) {
        void *sum = uno_offset(all, r * mine, type);
        const void *before = acc;
        if (r > 0 && (!first || r < n - 1)) {
            uno_emit_reduce(s, acc, r == me ? own : sum, sum, mine, type);
            acc = sum;
        }
        const void *result = first ? before : acc;
        if (r >= first && r == me)
            uno_copy_block(s, uno_block(result, mine, type), uno_block(uno_offset(c->rbuf, at[me], type), mine, type));
        else if (r >= first)
            uno_emit_send(s, r, result, mine, type);
    }
    for (int r = 0; r < n && me >= first; r++)
        if (r != me) uno_emit_recv(s, r, uno_offset(c->rbuf, at[r], type), at[r + 1] - at[r], type);
}

// Each rank hears of all before it, one segment after the other, and tells the next one.
static void chain(struct uno_sched *s, const struct uno_call *c, const void *in)
{
    int n = s->view.size, me = s->view.rank;
    bool exclusive = c->kind == UNO_EXSCAN, in_place = in == c->rbuf, goes_on = me + 1 < n;
    struct MPI_ABI_Datatype *type = c->rtype;
    MPI_Count unit = type->size && SEGMENT > type->size ? SEGMENT / type->size : 1;
    if (unit > c->rcount) unit = c->rcount;
    char *tmp = me && (!exclusive || in_place) ? uno_scratch_typed(s, unit, type) : NULL;
    char *sum = me && exclusive && goes_on ? uno_scratch_typed(s, unit, type) : NULL;
    if (s->error) return;
    for (MPI_Count at = 0; at < c->rcount; at += unit) {
        MPI_Count now = c->rcount - at < unit ? c->rcount - at : unit;
        const char *own = uno_offset(in, at, type);
        char *out = uno_offset(c->rbuf, at, type), *come = exclusive && !in_place ? out : tmp;
        char *with_own = exclusive ? sum : out;
        if (me) uno_emit_recv(s, me - 1, come, now, type);
        uno_emit_fence(s);    // also: the segment before has left
        if (me && (!exclusive || goes_on)) uno_emit_reduce(s, come, own, with_own, now, type);
        if (goes_on) uno_emit_send(s, me + 1, me ? with_own : own, now, type);
        if (!me && !exclusive) uno_copy_block(s, uno_block(own, now, type), uno_block(out, now, type));
        if (me && exclusive) uno_copy_block(s, uno_block(come, now, type), uno_block(out, now, type));
    }
}

void uno_build_scan(struct uno_sched *s, const struct uno_call *c)
{
    const void *in = c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf;
    if (c->rcount == 0) return;
    enum uno_alg alg = s->view.size > 1 ? uno_choose_for(s, UNO_SCAN, (size_t)(c->rcount * c->rtype->size)) : 0;
    if (alg == UNO_ALG_CHAIN)
        chain(s, c, in);
    else if (alg == UNO_ALG_DIRECT)
        direct(s, c, in);
    else
        doubling(s, c, in);
}
