// SPDX-License-Identifier: BSD-3-Clause
// Reduce_scatter and its block form over messages. Called by coll.c. n ranks, m bytes in all, latency a, time per byte
// b of moving and g of combining:
//   direct  a + m b + m g            every rank gets its block from all and combines them in the order of the ranks
//   reduce  2 log2 n a + ...         small: reduce to rank 0, scatter
//   ring    (n - 1) a + m b + m g    commutative, large: partial results travel round
#include "coll/build.h"
#include "coll/choose.h"
#include "coll/fold.h"

struct parts {
    const struct uno_call *c;
    MPI_Count *at;
};    // at[i]: first element of block i, at[n]: all

static MPI_Count part(const struct parts *p, int i)
{
    return p->at[i + 1] - p->at[i];
}

static void through_root(struct uno_sched *s, const struct parts *p, const void *in, void *out)
{
    int n = s->view.size, me = s->view.rank;
    struct MPI_ABI_Datatype *type = p->c->rtype;
    void *sum = me == 0 ? uno_scratch_typed(s, p->at[n], type) : NULL;
    if (s->error) return;
    uno_build_reduce(s, in, sum, p->at[n], type, 0);
    uno_emit_fence(s);
    if (me)
        uno_emit_recv(s, 0, out, part(p, me), type);
    else
        uno_copy_block(s, uno_block(sum, part(p, 0), type), uno_block(out, part(p, 0), type));
    for (int i = 1; i < n && me == 0; i++) uno_emit_send(s, i, uno_offset(sum, p->at[i], type), part(p, i), type);
}

// The block that ends here starts at the next rank and is combined on its way round.
static void ring(struct uno_sched *s, const struct parts *p, const void *in, void *out)
{
    int n = s->view.size, me = s->view.rank, left = (me - 1 + n) % n, right = (me + 1) % n;
    struct MPI_ABI_Datatype *type = p->c->rtype;
    MPI_Count most = 0;
    for (int i = 0; i < n; i++) most = part(p, i) > most ? part(p, i) : most;
    char *come = uno_scratch_typed(s, most, type), *other = uno_scratch_typed(s, most, type);
    if (s->error) return;
    const void *go = uno_offset(in, p->at[(me - 1 + n) % n], type);
    for (int i = 1; i < n; i++) {
        int out_block = (me - i + n) % n, in_block = (me - i - 1 + n) % n;
        void *to = i < n - 1 || in == out ? come : out;
        uno_emit_send(s, right, go, part(p, out_block), type);
        uno_emit_recv(s, left, come, part(p, in_block), type);
        uno_emit_fence(s);
        uno_emit_reduce(s, uno_offset(in, p->at[in_block], type), come, to, part(p, in_block), type);
        go = to;
        come = other;
        other = to;
    }
    uno_copy_block(s, uno_block(go, part(p, me), type), uno_block(out, part(p, me), type));
}

void uno_build_reduce_scatter(struct uno_sched *s, const struct uno_call *c)
{
    int n = s->view.size;
    struct parts p = {c, uno_scratch_bytes(s, (size_t)(n + 1) * sizeof(MPI_Count))};
    if (s->error) return;
    p.at[0] = 0;
    for (int i = 0; i < n; i++)
        p.at[i + 1] = p.at[i] + (c->kind == UNO_REDUCE_SCATTER ? uno_at(c->rcounts, i) : c->rcount);
    const void *in = c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf;
    enum uno_alg alg = uno_choose_for(s, UNO_REDUCE_SCATTER, (size_t)(p.at[n] * c->rtype->size));
    if (n == 1)
        uno_copy_block(s, uno_block(in, p.at[1], c->rtype), uno_block(c->rbuf, p.at[1], c->rtype));
    else if (alg == UNO_ALG_RING && s->op->commutative)
        ring(s, &p, in, c->rbuf);
    else if (alg == UNO_ALG_REDUCE)
        through_root(s, &p, in, c->rbuf);
    else
        uno_fold_part(s, p.at, in, c->rbuf, in == c->rbuf, c->rtype);
}
