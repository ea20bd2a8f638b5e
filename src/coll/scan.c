// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan over messages, any operation, combined in the order of the ranks. Called by coll.c. n ranks, m bytes,
// latency a, time per byte b of moving and g of combining:
//   doubling  ceil(log2 n) (a + m (b + 2 g))    small: in round k a rank hears from the one 2^k below
//   chain     n (a + m (b + g)), in segments    large: a pipeline through the ranks
#include "coll/build.h"
#include "coll/choose.h"

#define SEGMENT ((MPI_Count)64 << 10)

static void doubling(struct uno_sched *s, const struct uno_call *c, const void *in)
{
    int n = s->view.size, me = s->view.rank;
    bool exclusive = c->kind == UNO_EXSCAN, have = false;
    struct MPI_ABI_Datatype *type = c->rtype;
    MPI_Count count = c->rcount;
    void *tmp = uno_scratch_typed(s, count, type);
    void *sum = exclusive ? uno_scratch_typed(s, count, type) : c->rbuf;    // of this rank and those heard of
    uno_copy_block(s, uno_block(in, count, type), uno_block(sum, count, type));
    for (int k = 1; k < n; k *= 2) {
        if (me + k < n) uno_emit_send(s, me + k, sum, count, type);
        if (me - k >= 0) uno_emit_recv(s, me - k, tmp, count, type);
        uno_emit_fence(s);
        if (me - k < 0) continue;
        uno_emit_reduce(s, tmp, sum, sum, count, type);
        if (!exclusive) continue;
        if (have)
            uno_emit_reduce(s, tmp, c->rbuf, c->rbuf, count, type);
        else
            uno_copy_block(s, uno_block(tmp, count, type), uno_block(c->rbuf, count, type));
        have = true;
    }
}

static void chain(struct uno_sched *s, const struct uno_call *c, const void *in)
{
    int n = s->view.size, me = s->view.rank;
    bool exclusive = c->kind == UNO_EXSCAN;
    struct MPI_ABI_Datatype *type = c->rtype;
    MPI_Count unit = type->size && SEGMENT > type->size ? SEGMENT / type->size : 1;
    char *tmp = uno_scratch_typed(s, unit, type), *sum = uno_scratch_typed(s, unit, type);
    if (s->error) return;
    for (MPI_Count at = 0; at < c->rcount; at += unit) {
        MPI_Count now = c->rcount - at < unit ? c->rcount - at : unit;
        const char *own = uno_offset(in, at, type);
        char *out = uno_offset(c->rbuf, at, type);
        if (me) uno_emit_recv(s, me - 1, tmp, now, type);
        uno_emit_fence(s);    // also: the segment before has left sum
        uno_copy_block(s, uno_block(own, now, type), uno_block(sum, now, type));
        if (me) uno_emit_reduce(s, tmp, sum, sum, now, type);
        if (me + 1 < n) uno_emit_send(s, me + 1, sum, now, type);
        if (!exclusive)
            uno_copy_block(s, uno_block(sum, now, type), uno_block(out, now, type));
        else if (me)
            uno_copy_block(s, uno_block(tmp, now, type), uno_block(out, now, type));
    }
}

void uno_build_scan(struct uno_sched *s, const struct uno_call *c)
{
    const void *in = c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf;
    if (c->rcount == 0) return;
    if (s->view.size > 1 && uno_choose_for(s, UNO_SCAN, (size_t)(c->rcount * c->rtype->size)) == UNO_ALG_CHAIN)
        chain(s, c, in);
    else
        doubling(s, c, in);
}
