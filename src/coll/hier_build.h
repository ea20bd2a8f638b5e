// SPDX-License-Identifier: BSD-3-Clause
// The builders over several hosts: what they share, and one collective per file (hier_bcast.c and so on), with its cost
// at the head. Cost of all: two collectives in a host and one between H leaders, instead of one over n ranks whose
// every round crosses the network; each byte crosses it once per host. Called by hier_build.c.
//
// Always holds: the parts inside are ordinary collectives of the communicator `node` in a blocking call (shared memory
// where it can), and their builders on a view of this host's ranks elsewhere. Data of a host travel in the order of
// its ranks; operations that do not commute run here only where that is the order of all ranks. Same layout and number
// of ranks, same bits.
#pragma once
#include "coll/build.h"
#include "coll/hier.h"

struct uno_hier_build {
    struct uno_sched *s;
    const struct uno_call *c;
    struct uno_hier *h;
    int me;        // rank on the communicator
    int lead;      // the leader of this host, its rank there: the root on the root's host, else 0
    bool leads;    // this rank is it
    int n, at;     // ranks on this host, where its members begin
    struct uno_view whole;
};

static inline int uno_hier_size(const struct uno_hier *h, int host)
{
    return h->first[host + 1] - h->first[host];
}

// From here on steps are between the leaders; view ranks are hosts. root: a rank that leads its host, or -1.
void uno_hier_between(struct uno_hier_build *b, int root);
// A collective of this host's ranks; its root is a rank there.
void uno_hier_inside(struct uno_hier_build *b, struct uno_call c);
void uno_hier_inside_bcast(struct uno_hier_build *b, void *buf, MPI_Count count, struct MPI_ABI_Datatype *type);
// The contributions of this host, count elements, combined in `out` of the leader, where it may lie already (own NULL).
void uno_hier_inside_reduce(struct uno_hier_build *b, const void *own, void *out, MPI_Count count);

// Room for the blocks of all ranks, host after host: the user's buffer where that is the order of ranks, else packed
// bytes in scratch.
struct uno_hier_room {
    char *at;
    MPI_Count count;    // of a block
    struct MPI_ABI_Datatype *type;
};

struct uno_hier_room uno_hier_room_for(struct uno_hier_build *b, void *buf, MPI_Count count,
                                       struct MPI_ABI_Datatype *type);
struct uno_block uno_hier_room_of(const struct uno_hier_build *b, const struct uno_hier_room *r, int host);
// Packed bytes in scratch for this host's blocks alone: what uno_hier_room_of() gives for it.
struct uno_block uno_hier_own_room(struct uno_hier_build *b, size_t bytes);
// Every rank's block, `from`, to the leader's `to`, which holds this host's blocks one behind the other. from.at may be
// IN_PLACE where the leader's is there already.
void uno_hier_inside_gather(struct uno_hier_build *b, struct uno_block from, struct uno_block to);
void uno_hier_inside_scatter(struct uno_hier_build *b, struct uno_block from, struct uno_block to);
// From scratch to where each block belongs.
void uno_hier_hand_out(struct uno_hier_build *b, const struct uno_hier_room *r, bool skip_own);

// ---- the collectives ----

void uno_hier_barrier(struct uno_hier_build *b);
void uno_hier_bcast(struct uno_hier_build *b);
void uno_hier_reduce(struct uno_hier_build *b);
void uno_hier_allreduce(struct uno_hier_build *b);
void uno_hier_reduce_scatter(struct uno_hier_build *b);
void uno_hier_gather(struct uno_hier_build *b);
void uno_hier_scatter(struct uno_hier_build *b);
void uno_hier_allgather(struct uno_hier_build *b);
void uno_hier_alltoall(struct uno_hier_build *b);
