// SPDX-License-Identifier: BSD-3-Clause
// Where block i of a call lies: one place that knows how the plain, v and w forms describe their buffers (build.h).
#include "coll/build.h"

#include <string.h>

#include "base/copy.h"
#include "core/pack.h"

static void *place_of(const void *base, MPI_Count elements, const struct MPI_ABI_Datatype *type)
{
    return (char *)(uintptr_t)base + elements * type->extent;
}

struct uno_block uno_send_block(const struct uno_call *c, int i)
{
    switch (c->kind) {
    case UNO_SCATTER:
    case UNO_ALLTOALL:
    case UNO_NEIGHBOR_ALLTOALL:
        return (struct uno_block){place_of(c->sbuf, i * c->scount, c->stype), c->scount, c->stype};
    case UNO_SCATTERV:
    case UNO_ALLTOALLV:
    case UNO_NEIGHBOR_ALLTOALLV:
        return (struct uno_block){place_of(c->sbuf, uno_at(c->sdispls, i), c->stype), uno_at(c->scounts, i), c->stype};
    case UNO_ALLTOALLW:
    case UNO_NEIGHBOR_ALLTOALLW:
        return (struct uno_block){(char *)(uintptr_t)c->sbuf + uno_at(c->sdispls, i), uno_at(c->scounts, i),
                                  uno_type(c->stypes[i])};
    default: return (struct uno_block){(char *)(uintptr_t)c->sbuf, c->scount, c->stype};
    }
}

struct uno_block uno_recv_block(const struct uno_call *c, int i)
{
    switch (c->kind) {
    case UNO_GATHER:
    case UNO_ALLGATHER:
    case UNO_ALLTOALL:
    case UNO_NEIGHBOR_ALLGATHER:
    case UNO_NEIGHBOR_ALLTOALL:
        return (struct uno_block){place_of(c->rbuf, i * c->rcount, c->rtype), c->rcount, c->rtype};
    case UNO_GATHERV:
    case UNO_ALLGATHERV:
    case UNO_ALLTOALLV:
    case UNO_NEIGHBOR_ALLGATHERV:
    case UNO_NEIGHBOR_ALLTOALLV:
        return (struct uno_block){place_of(c->rbuf, uno_at(c->rdispls, i), c->rtype), uno_at(c->rcounts, i), c->rtype};
    case UNO_ALLTOALLW:
    case UNO_NEIGHBOR_ALLTOALLW:
        return (struct uno_block){(char *)c->rbuf + uno_at(c->rdispls, i), uno_at(c->rcounts, i),
                                  uno_type(c->rtypes[i])};
    default: return (struct uno_block){(char *)c->rbuf, c->rcount, c->rtype};
    }
}

void uno_block_copy(struct uno_block to, struct uno_block from)
{
    size_t n = uno_block_bytes(from), m = uno_block_bytes(to);
    if (n == 0 || m == 0) return;
    if (from.type->flags & to.type->flags & UNO_TYPE_PLAIN) {
        if (from.at != to.at) memmove(to.at, from.at, n < m ? n : m);
        return;
    }
    struct uno_packer out, in;
    uno_packer_init(&out, from.at, from.count, from.type);
    uno_packer_init(&in, to.at, to.count, to.type);
    uno_pack_copy(&in, &out);
}

// Where stores past the caches are cheap, from where the buffers of all ranks are beyond PAST_ALL; where one rank alone
// copies, of a block of its own that does not stay either. (Zen 3, inside a chiplet, ms: 2 ranks, 4 MiB alltoall 1.60
// and 1.16, allgather 1.12 and 0.88, 8 MiB 5.1 and 3.6, 3.9 and 3.4, gather 2.4 and 2.1, but of 2 MiB 0.11 and 0.15; 4
// ranks, allgather of 1 MiB 1.00 and 0.89, 2 MiB 3.0 and 2.2; 8 ranks, allgather of 1 MiB 4.7 and 3.7. Zen 4: 2 ranks,
// alltoall of 8 MiB 5.2 and 4.0, but of 4 MiB 0.52 and 0.57.)
#define PAST_ALL (16 << 20)
#define PAST_FROM (256 << 10)
#define PAST_LONE (4 << 20)

static size_t past_from(enum uno_coll_kind kind, size_t ranks)
{
    if (uno_coll_has_root(kind)) return PAST_ALL / ranks > PAST_LONE ? PAST_ALL / ranks : PAST_LONE;
    bool gathers = kind == UNO_ALLGATHER || kind == UNO_ALLGATHERV;    // each has one block, not one for each
    size_t from = PAST_ALL / (ranks * (gathers ? ranks + 1 : 2 * ranks)) + 1;
    return from > PAST_FROM ? from : PAST_FROM;
}

static bool own_goes_past(enum uno_coll_kind kind, size_t ranks, size_t n)
{
    return (uno_copy_has_past() && n >= past_from(kind, ranks)) || n / 4 * ranks >= uno_copy_past_from;
}

void uno_block_copy_own(enum uno_coll_kind kind, int ranks, struct uno_block to, struct uno_block from)
{
    size_t n = uno_block_bytes(from), m = uno_block_bytes(to);
    char *d = to.at, *s = from.at;
    if (m < n) n = m;
    if (!own_goes_past(kind, (size_t)ranks, n) || !(from.type->flags & to.type->flags & UNO_TYPE_PLAIN) ||
        (d < s + n && s < d + n))
        uno_block_copy(to, from);
    else
        uno_copy_past(d, s, n);
}

void uno_send_to(struct uno_sched *s, int peer, struct uno_block b)
{
    uno_emit_send(s, peer, b.at, b.count, b.type);
}

void uno_recv_from(struct uno_sched *s, int peer, struct uno_block b)
{
    uno_emit_recv(s, peer, b.at, b.count, b.type);
}

struct uno_block uno_packed(void *at, size_t bytes)
{
    return (struct uno_block){at, (MPI_Count)bytes, uno_bytes()};
}

size_t uno_call_bytes(const struct uno_call *c)
{
    MPI_Count n = c->rcount;
    bool root = c->root == c->comm->rank;
    switch (c->kind) {
    case UNO_GATHER: return uno_block_bytes(root ? uno_recv_block(c, 0) : uno_send_block(c, 0));
    case UNO_SCATTER: return uno_block_bytes(root ? uno_send_block(c, 0) : uno_recv_block(c, 0));
    case UNO_REDUCE_SCATTER:
        n = 0;
        for (int i = 0; i < c->comm->size; i++) n += uno_at(c->rcounts, i);
        break;
    case UNO_REDUCE_SCATTER_BLOCK: n *= c->comm->size; break;
    case UNO_ALLGATHERV:
        n = 0;
        for (int i = 0; i < c->comm->size; i++) n = uno_at(c->rcounts, i) > n ? uno_at(c->rcounts, i) : n;
        break;
    case UNO_BARRIER:
    case UNO_GATHERV:
    case UNO_SCATTERV:
    case UNO_ALLTOALLV:
    case UNO_ALLTOALLW: return 0;
    default: break;
    }
    return (size_t)(n * c->rtype->size);
}
