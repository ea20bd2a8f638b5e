// SPDX-License-Identifier: BSD-3-Clause
// Reduction over messages, to one rank and to all. Called by coll.c and by other builders. n ranks, m bytes, latency a,
// time per byte b of moving and g of combining:
//   reduce     binomial  log2 n (a + m (b + g))          any operation; one that does not commute goes to rank 0 first
//              ring      2 n a + 2 m b + m g              commutative: ring reduce-scatter, blocks sent to the root
//   allreduce  doubling  log2 n (a + m (b + g))          any operation, combined in the order of the ranks
//              ring      2 n a + 2 m b + m g              commutative: ring reduce-scatter, ring allgather
// Operands are combined in an order that depends on the number of ranks alone: every run gives the same bits, on every
// rank.
#include "coll/build.h"
#include "coll/choose.h"

struct span {
    MPI_Count at, count;
};

// Block i of the n that count elements are cut into.
static struct span cut_span(MPI_Count count, int n, int i)
{
    MPI_Count base = count / n, more = count % n;
    return (struct span){base * i + (i < more ? i : more), base + (i < more)};
}

// Leaves in out, on rank `home`, the combination in the order of the ranks (commutative: of the ranks rotated so that
// root is first).
static void binomial(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type,
                     int home)
{
    int n = s->view.size, me = (s->view.rank - home + n) % n;
    void *acc = out, *other = uno_scratch_typed(s, count, type);
    uno_copy_block(s, uno_block(in, count, type), uno_block(acc, count, type));
    for (int mask = 1; mask < n; mask *= 2) {
        if (me & mask) {
            uno_emit_send(s, (me - mask + home) % n, acc, count, type);
            break;
        }
        if (me + mask >= n) continue;
        uno_emit_recv(s, (me + mask + home) % n, other, count, type);
        uno_emit_fence(s);
        uno_emit_reduce(s, acc, other, other, count, type);
        void *t = acc;
        acc = other;
        other = t;
    }
    if (me == 0) uno_copy_block(s, uno_block(acc, count, type), uno_block(out, count, type));
}

// Ring reduce-scatter on acc (this rank's contribution on entry): at the end block (rank + 1) % n is complete here.
static void ring_combine(struct uno_sched *s, void *acc, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    int n = s->view.size, me = s->view.rank, left = (me - 1 + n) % n, right = (me + 1) % n;
    void *tmp = uno_scratch_typed(s, cut_span(count, n, 0).count, type);
    for (int i = 0; i < n - 1; i++) {
        struct span out = cut_span(count, n, (me - i + n) % n), in = cut_span(count, n, (me - i - 1 + n) % n);
        uno_emit_send(s, right, uno_offset(acc, out.at, type), out.count, type);
        uno_emit_recv(s, left, tmp, in.count, type);
        uno_emit_fence(s);
        uno_emit_reduce(s, tmp, uno_offset(acc, in.at, type), uno_offset(acc, in.at, type), in.count, type);
    }
}

static void reduce_ring(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type,
                        int root)
{
    int n = s->view.size, me = s->view.rank;
    void *acc = me == root ? out : uno_scratch_typed(s, count, type);
    uno_copy_block(s, uno_block(in, count, type), uno_block(acc, count, type));
    ring_combine(s, acc, count, type);
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
    if (!ordered && uno_choose_for(s, UNO_REDUCE, (size_t)(count * type->size)) == UNO_ALG_RING) {
        reduce_ring(s, in, out, count, type, root);
        return;
    }
    int home = ordered ? 0 : root;
    void *acc = here ? out : uno_scratch_typed(s, count, type);
    binomial(s, in, acc, count, type, home);
    if (home == root) return;
    uno_emit_fence(s);
    if (s->view.rank == home) uno_emit_send(s, root, acc, count, type);
    if (here) uno_emit_recv(s, home, out, count, type);
}

// Ranks below 2 * odd pair up first, so that a power of two is left; they get the result back at the end.
static void doubling(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    int n = s->view.size, me = s->view.rank, pow = 1;
    while (pow * 2 <= n) pow *= 2;
    int odd = n - pow, pos = me < 2 * odd ? me / 2 : me - odd;
    bool out_of_it = me < 2 * odd && !(me & 1);
    void *acc = out, *other = uno_scratch_typed(s, count, type);
    uno_copy_block(s, uno_block(in, count, type), uno_block(acc, count, type));
    if (me < 2 * odd) {
        if (out_of_it)
            uno_emit_send(s, me + 1, acc, count, type);
        else
            uno_emit_recv(s, me - 1, other, count, type);
        uno_emit_fence(s);
        if (!out_of_it) uno_emit_reduce(s, other, acc, acc, count, type);
    }
    for (int mask = 1; mask < pow && !out_of_it; mask *= 2) {
        int to = pos ^ mask, peer = to < odd ? 2 * to + 1 : to + odd;
        uno_emit_send(s, peer, acc, count, type);
        uno_emit_recv(s, peer, other, count, type);
        uno_emit_fence(s);
        if (to < pos) {
            uno_emit_reduce(s, other, acc, acc, count, type);
        } else {
            uno_emit_reduce(s, acc, other, other, count, type);
            void *t = acc;
            acc = other;
            other = t;
        }
    }
    if (!out_of_it) uno_copy_block(s, uno_block(acc, count, type), uno_block(out, count, type));
    if (me >= 2 * odd) return;
    if (out_of_it)
        uno_emit_recv(s, me + 1, out, count, type);
    else
        uno_emit_send(s, me - 1, out, count, type);
}

static void allreduce_ring(struct uno_sched *s, const void *in, void *out, MPI_Count count,
                           struct MPI_ABI_Datatype *type)
{
    int n = s->view.size, me = s->view.rank, left = (me - 1 + n) % n, right = (me + 1) % n;
    uno_copy_block(s, uno_block(in, count, type), uno_block(out, count, type));
    ring_combine(s, out, count, type);
    for (int i = 0; i < n - 1; i++) {
        struct span give = cut_span(count, n, (me + 1 - i + n) % n), take = cut_span(count, n, (me - i + n) % n);
        uno_emit_send(s, right, uno_offset(out, give.at, type), give.count, type);
        uno_emit_recv(s, left, uno_offset(out, take.at, type), take.count, type);
        uno_emit_fence(s);
    }
}

void uno_build_allreduce(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type)
{
    if (in == MPI_IN_PLACE) in = out;
    if (count == 0) return;
    if (s->view.size == 1) {
        uno_copy_block(s, uno_block(in, count, type), uno_block(out, count, type));
        return;
    }
    size_t bytes = (size_t)(count * type->size);
    if (s->op->commutative && uno_choose_for(s, UNO_ALLREDUCE, bytes) == UNO_ALG_RING)
        allreduce_ring(s, in, out, count, type);
    else
        doubling(s, in, out, count, type);
}
