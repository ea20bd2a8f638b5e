// SPDX-License-Identifier: BSD-3-Clause
// Room for the blocks of many ranks, host after host, and their way to and from a leader (hier_build.h). Called by
// hier_gather.c, hier_allgather.c, hier_alltoall.c.
#include "coll/hier_build.h"

struct uno_block uno_hier_room_of(const struct uno_hier_build *b, const struct uno_hier_room *r, int host)
{
    return uno_block(uno_offset(r->at, b->h->first[host] * r->count, r->type), uno_hier_size(b->h, host) * r->count,
                     r->type);
}

struct uno_hier_room uno_hier_room_for(struct uno_hier_build *b, void *buf, MPI_Count count,
                                       struct MPI_ABI_Datatype *type)
{
    if (b->h->blocks) return (struct uno_hier_room){buf, count, type};
    MPI_Count bytes = count * type->size;
    return (struct uno_hier_room){uno_scratch_bytes(b->s, (size_t)(bytes * b->whole.size)), bytes, uno_bytes()};
}

struct uno_block uno_hier_own_room(struct uno_hier_build *b, size_t bytes)
{
    return uno_packed(uno_scratch_bytes(b->s, bytes * (size_t)b->n), bytes * (size_t)b->n);
}

void uno_hier_inside_gather(struct uno_hier_build *b, struct uno_block from, struct uno_block to)
{
    uno_hier_inside(b, (struct uno_call){.kind = UNO_GATHER,
                                         .root = b->lead,
                                         .sbuf = from.at,
                                         .scount = from.count,
                                         .stype = from.type,
                                         .rbuf = b->leads ? to.at : NULL,
                                         .rcount = b->leads ? to.count / b->n : 0,
                                         .rtype = b->leads ? to.type : NULL});
}

void uno_hier_inside_scatter(struct uno_hier_build *b, struct uno_block from, struct uno_block to)
{
    uno_hier_inside(b, (struct uno_call){.kind = UNO_SCATTER,
                                         .root = b->lead,
                                         .sbuf = b->leads ? from.at : NULL,
                                         .scount = b->leads ? from.count / b->n : 0,
                                         .stype = b->leads ? from.type : NULL,
                                         .rbuf = to.at,
                                         .rcount = to.count,
                                         .rtype = to.type});
}

void uno_hier_hand_out(struct uno_hier_build *b, const struct uno_hier_room *r, bool skip_own)
{
    if (b->h->blocks) return;
    uno_emit_fence(b->s);
    for (int i = 0; i < b->whole.size; i++) {
        int rank = b->h->member[i];
        if (rank == b->me && skip_own) continue;
        uno_copy_block(b->s, uno_packed(r->at + i * r->count, (size_t)r->count), uno_recv_block(b->c, rank));
    }
}
