// SPDX-License-Identifier: BSD-3-Clause
// Broadcast over messages. Called by coll.c and by other builders. With n ranks, m bytes, latency a, time per byte b:
//   binomial  ceil(log2 n) (a + m b)                   small messages
//   scatter   log2 n a + n a + 2 m b                   scatter down the tree, ring allgather: large messages
//   chain     (n + m / segment) (a + segment b)        pipeline through all ranks: very large messages
//   linear    (n - 1) (a + m b)                        root sends to each
// All but binomial and linear move bytes: a type that is not plain is packed once at the root and unpacked once
// elsewhere.
#include "coll/build.h"
#include "coll/choose.h"

#define SEGMENT ((size_t)128 << 10)

static void binomial(struct uno_sched *s, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, int root)
{
    int n = s->view.size, me = (s->view.rank - root + n) % n, mask = 1;
    while (mask < n && !(me & mask)) mask *= 2;
    if (me) {
        uno_emit_recv(s, (me - mask + root) % n, buf, count, type);
        uno_emit_fence(s);
    }
    while (mask /= 2)
        if (me + mask < n) uno_emit_send(s, (me + mask + root) % n, buf, count, type);
}

void uno_build_bcast_linear(struct uno_sched *s, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, int root)
{
    if (s->view.rank != root) {
        uno_emit_recv(s, root, buf, count, type);
        return;
    }
    for (int i = 0; i < s->view.size; i++)
        if (i != root) uno_emit_send(s, i, buf, count, type);
}

static void chain(struct uno_sched *s, char *buf, size_t bytes, int root)
{
    int n = s->view.size, me = (s->view.rank - root + n) % n;
    int from = me ? (s->view.rank - 1 + n) % n : MPI_PROC_NULL,
        to = me < n - 1 ? (s->view.rank + 1) % n : MPI_PROC_NULL;
    size_t last = 0, part = 0;    // the segment received in the round before
    for (size_t at = 0; at < bytes; at += part) {
        size_t now = bytes - at < SEGMENT ? bytes - at : SEGMENT;
        if (me == 0) {
            uno_emit_send(s, to, buf + at, (MPI_Count)now, uno_bytes());
        } else {
            uno_emit_recv(s, from, buf + at, (MPI_Count)now, uno_bytes());
            if (at) uno_emit_send(s, to, buf + last, (MPI_Count)part, uno_bytes());
        }
        uno_emit_fence(s);
        last = at;
        part = now;
    }
    if (me) uno_emit_send(s, to, buf + last, (MPI_Count)part, uno_bytes());
}

// Block i of the n that the bytes are cut into.
static void cut_bytes(size_t bytes, int n, int i, size_t *at, size_t *len)
{
    size_t unit = (bytes + (size_t)n - 1) / (size_t)n;
    *at = unit * (size_t)i < bytes ? unit * (size_t)i : bytes;
    *len = bytes - *at < unit ? bytes - *at : unit;
}

static void scatter(struct uno_sched *s, char *buf, size_t bytes, int root)
{
    int n = s->view.size, me = (s->view.rank - root + n) % n, mask = 1;
    size_t at, len, end, from;
    while (mask < n && !(me & mask)) mask *= 2;
    if (me) {
        cut_bytes(bytes, n, me, &from, &len);
        cut_bytes(bytes, n, (me + mask < n ? me + mask : n) - 1, &at, &len);
        uno_emit_recv(s, (me - mask + root) % n, buf + from, (MPI_Count)(at + len - from), uno_bytes());
        uno_emit_fence(s);
    }
    while (mask /= 2) {
        if (me + mask >= n) continue;
        cut_bytes(bytes, n, me + mask, &from, &len);
        cut_bytes(bytes, n, (me + 2 * mask < n ? me + 2 * mask : n) - 1, &end, &len);
        uno_emit_send(s, (me + mask + root) % n, buf + from, (MPI_Count)(end + len - from), uno_bytes());
    }
    uno_emit_fence(s);
    int left = (s->view.rank - 1 + n) % n, right = (s->view.rank + 1) % n;
    for (int i = 0; i < n - 1; i++) {
        cut_bytes(bytes, n, (me - i + n) % n, &at, &len);
        uno_emit_send(s, right, buf + at, (MPI_Count)len, uno_bytes());
        cut_bytes(bytes, n, (me - i - 1 + n) % n, &at, &len);
        uno_emit_recv(s, left, buf + at, (MPI_Count)len, uno_bytes());
        uno_emit_fence(s);
    }
}

void uno_build_bcast(struct uno_sched *s, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, int root)
{
    size_t bytes = (size_t)(count * type->size);
    if (s->view.size == 1 || bytes == 0) return;
    enum uno_alg alg = uno_choose_for(s, UNO_BCAST, bytes);
    if (alg == UNO_ALG_BINOMIAL) {
        binomial(s, buf, count, type, root);
        return;
    }
    if (alg == UNO_ALG_LINEAR) {
        uno_build_bcast_linear(s, buf, count, type, root);
        return;
    }
    bool plain = type->flags & UNO_TYPE_PLAIN;
    char *data = plain ? buf : uno_scratch_bytes(s, bytes);
    if (!data && s->error) return;
    if (!plain && s->view.rank == root)
        uno_copy_block(s, uno_block(buf, count, type), uno_block(data, (MPI_Count)bytes, uno_bytes()));
    if (alg == UNO_ALG_CHAIN)
        chain(s, data, bytes, root);
    else
        scatter(s, data, bytes, root);
    if (plain || s->view.rank == root) return;
    uno_emit_fence(s);
    uno_copy_block(s, uno_block(data, (MPI_Count)bytes, uno_bytes()), uno_block(buf, count, type));
}
