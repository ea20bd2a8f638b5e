// SPDX-License-Identifier: BSD-3-Clause
// The builders: one per collective, each in its own file, called by coll.c (and by each other for parts of an
// operation).
//
// A builder emits the steps of its rank for one call into the schedule, on the schedule's view. Algorithm names are
// those of the selection table (choose.h). A builder may be given IN_PLACE; it must not look at counts that other ranks
// do not know too when it decides on the pattern of messages.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coll/schedule.h"

// The flat algorithm of any call on an intracommunicator.
void uno_build(struct uno_sched *s, const struct uno_call *c);

void uno_build_barrier(struct uno_sched *s);
void uno_build_bcast(struct uno_sched *s, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, int root);
void uno_build_bcast_linear(struct uno_sched *s, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type, int root);
// in may be MPI_IN_PLACE: then out holds the contribution (at the root; for allreduce on all).
void uno_build_reduce(struct uno_sched *s, const void *in, void *out, MPI_Count count, struct MPI_ABI_Datatype *type,
                      int root);
void uno_build_allreduce(struct uno_sched *s, const void *in, void *out, MPI_Count count,
                         struct MPI_ABI_Datatype *type);
void uno_build_gather(struct uno_sched *s, const struct uno_call *c);
void uno_build_scatter(struct uno_sched *s, const struct uno_call *c);
void uno_build_allgather(struct uno_sched *s, const struct uno_call *c);
void uno_build_alltoall(struct uno_sched *s, const struct uno_call *c);
void uno_build_reduce_scatter(struct uno_sched *s, const struct uno_call *c);
void uno_build_scan(struct uno_sched *s, const struct uno_call *c);
void uno_build_neighbor(struct uno_sched *s, const struct uno_call *c);
// Copies straight between the buffers of the ranks of one host; nothing (false) where that does not fit.
bool uno_build_direct(struct uno_sched *s, const struct uno_call *c);
void uno_build_inter(struct uno_sched *s, const struct uno_call *c);

// Bits of the collectives that do not go through shared memory at once: all in the checking mode, else those for which
// a rule names an algorithm of a component (outside.c); then, whether this blocking call does not.
extern uint32_t uno_outside_apart;
bool uno_outside_takes(const struct uno_call *c);
// Writes the steps down by an algorithm of a component; nothing (false) where the rules name none.
bool uno_outside_build(struct uno_sched *s, const struct uno_call *c);

// Block i of a call, with counts, displacements and types in whatever form the collective has them.
struct uno_block uno_send_block(const struct uno_call *c, int i);
struct uno_block uno_recv_block(const struct uno_call *c, int i);
struct uno_block uno_packed(void *at, size_t bytes);                // bytes at an address
void uno_block_copy(struct uno_block to, struct uno_block from);    // in this process: as many bytes as both have
// The same of the block that a rank has for itself in a collective of this kind and so many ranks: past the caches once
// the buffers of all have left them.
void uno_block_copy_own(enum uno_coll_kind kind, int ranks, struct uno_block to, struct uno_block from);

static inline size_t uno_block_bytes(struct uno_block b)
{
    return (size_t)(b.count * b.type->size);
}

// Bytes of a block (of the whole vector in reductions), the same on all ranks; 0 for v forms whose counts not all ranks
// know.
size_t uno_call_bytes(const struct uno_call *c);

void uno_send_to(struct uno_sched *s, int peer, struct uno_block b);
void uno_recv_from(struct uno_sched *s, int peer, struct uno_block b);

static inline void *uno_offset(const void *base, MPI_Count elements, const struct MPI_ABI_Datatype *type)
{
    return (char *)(uintptr_t)base + elements * type->extent;
}
