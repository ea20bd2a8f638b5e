// SPDX-License-Identifier: BSD-3-Clause
// Reduction over messages, to one rank and to all. Called by coll.c and by other builders. n ranks, m bytes, latency a,
// time per byte b of moving and g of combining:
//   reduce     binomial  log2 n (a + m (b + g))          any operation; one that does not commute goes to rank 0 first
//              ring      2 n a + 2 m b + m g              commutative: ring reduce-scatter, blocks sent to the root
//              linear    a + n m (b + g)                  any: the root gets all and combines in the order of the ranks
//   allreduce  doubling  log2 n (a + m (b + g))          any operation, combined in the order of the ranks
//              ring      2 n a + 2 m b + m g              commutative: ring reduce-scatter, ring allgather
//              direct    2 a + 2 m b + m g                any: a rank combines one block of all, in their order
//              linear    2 a + n m (2 b + g)              any: to rank 0, which gives all the result
// Operands are combined in an order that depends on the number of ranks alone: every run gives the same bits, on every
// rank.
#include "coll/build.h"
#include "coll/choose.h"
#include "coll/fold.h"

struct span {
    MPI_Count at, count;
};

// Block i of the n that count elements are cut into.
static struct span cut_span(MPI_Count count, int n, int i)
{
    MPI_Count at = uno_part_at(count, n, i);
    return (struct span){at, uno_part_at(count, n, i + 1) - at};
}

// On rank `home` the value is then the combination in the order of the ranks (commutative: of the ranks rotated so that
// root is first).
static void binomial(struct uno_fold *f, int home)
{
    struct uno_sched *s = f->s;
    int n = s->view.size, me = (s->view.rank - home + n) % n;
    for (int mask = 1; mask < n; mask *= 2) {
        if (me & mask) {
            uno_emit_send(s, (me - mask + home) % n, f->acc, f->count, f->type);
            return;
        }
        if (me + mask >= n) continue;
        void *other = uno_fold_room(f);
        uno_emit_recv(s, (me + mask + home) % n, other, f->count, f->type);
        uno_emit_fence(s);
        uno_fold_above(f, other);
    }
}

// Ring reduce-scatter of in into acc, which may be in: at the end block (rank + 1) % n is complete there.
static void ring_combine(struct uno_sched *s, const void *in, void *acc, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    int n = s->view.size, me = s->view.rank, left = (me - 1 + n) % n, right = (me + 1) % n;
    void *tmp = uno_scratch_typed(s, cut_span(count, n, 0).count, type);
    for (int i = 0; i < n - 1; i++) {
        struct span give = cut_span(count, n, (me - i + n) % n), take = cut_span(count, n, (me - i - 1 + n) % n);
        uno_emit_send(s, right, uno_offset(i ? acc : in, give.at, type), give.count, type);
        uno_emit_recv(s, left, tmp, take.count, type);
        uno_emit_fence(s);
        uno_emit_reduce(s, tmp, uno_offset(in, take.at, type), uno_offset(acc, take.at, type), take.count, type);
    }
}

static void reduce_ring(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type,
                        int root)
{
    int n = s->view.size, me = s->view.rank;
    void *acc = me == root ? out : uno_scratch_typed(s, count, type);
    ring_combine(s, in, acc, count, type);
    struct span mine = cut_span(count, n, (me + 1) % n);
    if (me != root) {
        uno_emit_send(s, root, uno_offset(acc, mine.at, type), mine.count, type);
        return;
    }
    for (int i = 0; i < n; i++) {
        struct span block = cut_span(count, n, (i + 1) % n);
        if (i != me) uno_emit_recv(s, i, uno_offset(acc, block.at, type), block.count, type);
    }
}

// Rank `home` has the only part of those that are shared out.
static void linear(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type,
                   int home)
{
    MPI_Count *at = uno_scratch_bytes(s, (size_t)(s->view.size + 1) * sizeof *at);
    for (int i = 0; at && i <= s->view.size; i++) at[i] = i > home ? count : 0;
    uno_fold_part(s, at, in, out, in == out, type);
}

void uno_build_reduce(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type,
                      int root)
{
    int n = s->view.size;
    bool here = s->view.rank == root, ordered = !s->op->commutative;
    if (in == MPI_IN_PLACE) in = out;
    if (count == 0) return;
    if (n == 1) {
        uno_copy_block(s, uno_block(in, count, type), uno_block(out, count, type));
        return;
    }
    enum uno_alg alg = uno_choose_for(s, UNO_REDUCE, (size_t)(count * type->size));
    if (alg == UNO_ALG_LINEAR) {
        linear(s, in, out, count, type, root);
        return;
    }
    if (alg == UNO_ALG_RING && !ordered) {
        reduce_ring(s, in, out, count, type, root);
        return;
    }
    int home = ordered ? 0 : root;
    struct uno_fold f = {
        .s = s, .acc = in, .room = {here ? out : NULL}, .is_there = {here}, .count = count, .type = type};
    binomial(&f, home);
    if (here && home == root) uno_fold_end(&f);
    if (home == root) return;
    uno_emit_fence(s);
    if (s->view.rank == home) uno_emit_send(s, root, f.acc, count, type);
    if (here) uno_emit_recv(s, home, out, count, type);
}

// Ranks below 2 * odd pair up first, so that a power of two is left; they get the result back at the end.
static void doubling(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    int n = s->view.size, me = s->view.rank, pow = 1;
    while (pow * 2 <= n) pow *= 2;
    int odd = n - pow, pos = me < 2 * odd ? me / 2 : me - odd;
    struct uno_fold f = {.s = s, .acc = in, .room = {out}, .is_there = {true}, .count = count, .type = type};
    if (me < 2 * odd && !(me & 1)) {
        uno_emit_send(s, me + 1, in, count, type);
        uno_emit_fence(s);
        uno_emit_recv(s, me + 1, out, count, type);
        return;
    }
    if (me < 2 * odd) {
        void *other = uno_fold_room(&f);
        uno_emit_recv(s, me - 1, other, count, type);
        uno_emit_fence(s);
        uno_fold_below(&f, other);
    }
    for (int mask = 1; mask < pow; mask *= 2) {
        int to = pos ^ mask, peer = to < odd ? 2 * to + 1 : to + odd;
        void *other = uno_fold_room(&f);
        uno_emit_send(s, peer, f.acc, count, type);
        uno_emit_recv(s, peer, other, count, type);
        uno_emit_fence(s);
        if (to < pos)
            uno_fold_below(&f, other);
        else
            uno_fold_above(&f, other);
    }
    uno_fold_end(&f);
    if (me < 2 * odd) uno_emit_send(s, me - 1, out, count, type);
}

static void allreduce_ring(struct uno_sched *s, const void *in, void *out, MPI_Count count,
                           struct MPI_ABI_Datatype *type)
{
    int n = s->view.size, me = s->view.rank, left = (me - 1 + n) % n, right = (me + 1) % n;
    ring_combine(s, in, out, count, type);
    for (int i = 0; i < n - 1; i++) {
        struct span give = cut_span(count, n, (me + 1 - i + n) % n), take = cut_span(count, n, (me - i + n) % n);
        uno_emit_send(s, right, uno_offset(out, give.at, type), give.count, type);
        uno_emit_recv(s, left, uno_offset(out, take.at, type), take.count, type);
        uno_emit_fence(s);
    }
}

static void allreduce_direct(struct uno_sched *s, const void *in, void *out, MPI_Count count,
                             struct MPI_ABI_Datatype *type)
{
    int n = s->view.size, me = s->view.rank;
    const MPI_Count *at = uno_even_parts(s, count);
    if (s->error) return;
    MPI_Count mine = at[me + 1] - at[me];
    void *place = uno_offset(out, at[me], type);
    uno_fold_part(s, at, in, place, in == out, type);
    for (int i = 1; i < n; i++) {
        int from = (me - i + n) % n;
        uno_emit_recv(s, from, uno_offset(out, at[from], type), at[from + 1] - at[from], type);
        uno_emit_send(s, (me + i) % n, place, mine, type);
    }
}

static void allreduce_linear(struct uno_sched *s, const void *in, void *out, MPI_Count count,
                             struct MPI_ABI_Datatype *type)
{
    linear(s, in, out, count, type, 0);
    uno_emit_fence(s);
    uno_build_bcast_linear(s, out, count, type, 0);
}

void uno_build_allreduce(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    if (in == MPI_IN_PLACE) in = out;
    if (count == 0) return;
    if (s->view.size == 1) {
        uno_copy_block(s, uno_block(in, count, type), uno_block(out, count, type));
        return;
    }
    enum uno_alg alg = uno_choose_for(s, UNO_ALLREDUCE, (size_t)(count * type->size));
    if (s->op->commutative && alg == UNO_ALG_RING)
        allreduce_ring(s, in, out, count, type);
    else if (alg == UNO_ALG_DIRECT)
        allreduce_direct(s, in, out, count, type);
    else if (alg == UNO_ALG_LINEAR)
        allreduce_linear(s, in, out, count, type);
    else
        doubling(s, in, out, count, type);
}
