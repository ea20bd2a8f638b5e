// SPDX-License-Identifier: BSD-3-Clause
// Collectives on intercommunicators. Called by coll.c. Each group does its local part on local_comm, the two rank 0
// exchange; operations that move distinct blocks talk to every remote rank.
//
// Always holds: outside `locally` the schedule's view is the remote group, whose ranks the steps name.
#include "coll/build.h"

static void locally(struct uno_sched *s)
{
    struct MPI_ABI_Comm *l = s->comm->local_comm;
    s->view = (struct uno_view){l, l->rank, l->size, NULL};
}

static void remotely(struct uno_sched *s)
{
    s->view = (struct uno_view){s->comm, s->comm->rank, s->comm->npeers, NULL};
}

static void barrier(struct uno_sched *s)
{
    locally(s);
    uno_build_barrier(s);
    remotely(s);
    if (s->comm->rank == 0) uno_emit_signal(s, 0, 0);
    uno_emit_fence(s);
    locally(s);
    uno_build_barrier(s);    // no rank passes before its rank 0 has heard from the other group
}

static void bcast(struct uno_sched *s, const struct uno_call *c)
{
    remotely(s);
    if (c->root == MPI_PROC_NULL) return;
    if (c->root == MPI_ROOT) {
        uno_emit_send(s, 0, c->rbuf, c->rcount, c->rtype);
        return;
    }
    if (s->comm->rank == 0) uno_emit_recv(s, c->root, c->rbuf, c->rcount, c->rtype);
    uno_emit_fence(s);
    locally(s);
    uno_build_bcast(s, c->rbuf, c->rcount, c->rtype, 0);
}

static void reduce(struct uno_sched *s, const struct uno_call *c)
{
    remotely(s);
    if (c->root == MPI_PROC_NULL) return;
    if (c->root == MPI_ROOT) {
        uno_emit_recv(s, 0, c->rbuf, c->rcount, c->rtype);
        return;
    }
    void *sum = s->comm->rank == 0 ? uno_scratch_typed(s, c->rcount, c->rtype) : NULL;
    if (s->error) return;
    locally(s);
    uno_build_reduce(s, c->sbuf, sum, c->rcount, c->rtype, 0);
    uno_emit_fence(s);
    remotely(s);
    if (s->comm->rank == 0) uno_emit_send(s, c->root, sum, c->rcount, c->rtype);
}

static void allreduce(struct uno_sched *s, const struct uno_call *c)
{
    void *sum = s->comm->rank == 0 ? uno_scratch_typed(s, c->rcount, c->rtype) : NULL;
    if (s->error) return;
    locally(s);
    uno_build_reduce(s, c->sbuf, sum, c->rcount, c->rtype, 0);
    uno_emit_fence(s);
    remotely(s);
    if (s->comm->rank == 0) {
        uno_emit_send(s, 0, sum, c->rcount, c->rtype);
        uno_emit_recv(s, 0, c->rbuf, c->rcount, c->rtype);
    }
    uno_emit_fence(s);
    locally(s);
    uno_build_bcast(s, c->rbuf, c->rcount, c->rtype, 0);
}

// The counts are those of the local group; both groups have the same total.
static void reduce_scatter(struct uno_sched *s, const struct uno_call *c)
{
    int n = s->comm->size, me = s->comm->rank;
    MPI_Count total = 0, mine = c->kind == UNO_REDUCE_SCATTER ? uno_at(c->rcounts, me) : c->rcount;
    for (int i = 0; i < n; i++) total += c->kind == UNO_REDUCE_SCATTER ? uno_at(c->rcounts, i) : c->rcount;
    char *sum = me == 0 ? uno_scratch_typed(s, total, c->rtype) : NULL;
    char *got = me == 0 ? uno_scratch_typed(s, total, c->rtype) : NULL;
    if (s->error) return;
    locally(s);
    uno_build_reduce(s, c->sbuf, sum, total, c->rtype, 0);
    uno_emit_fence(s);
    remotely(s);
    if (me == 0) {
        uno_emit_send(s, 0, sum, total, c->rtype);
        uno_emit_recv(s, 0, got, total, c->rtype);
    }
    uno_emit_fence(s);
    locally(s);
    if (me) {
        uno_emit_recv(s, 0, c->rbuf, mine, c->rtype);
        return;
    }
    MPI_Count at = mine;
    uno_copy_block(s, uno_block(got, mine, c->rtype), uno_block(c->rbuf, mine, c->rtype));
    for (int i = 1; i < n; i++) {
        MPI_Count part = c->kind == UNO_REDUCE_SCATTER ? uno_at(c->rcounts, i) : c->rcount;
        uno_emit_send(s, i, uno_offset(got, at, c->rtype), part, c->rtype);
        at += part;
    }
}

// Gather, scatter, allgather, alltoall and their v and w forms.
static void move_blocks(struct uno_sched *s, const struct uno_call *c)
{
    bool rooted = c->kind == UNO_GATHER || c->kind == UNO_GATHERV || c->kind == UNO_SCATTER || c->kind == UNO_SCATTERV;
    bool inward = c->kind == UNO_GATHER || c->kind == UNO_GATHERV;
    remotely(s);
    if (rooted && c->root == MPI_PROC_NULL) return;
    if (rooted && c->root != MPI_ROOT) {
        if (inward)
            uno_send_to(s, c->root, uno_send_block(c, 0));
        else
            uno_recv_from(s, c->root, uno_recv_block(c, 0));
        return;
    }
    for (int k = 0; k < s->comm->npeers; k++) {
        int i = (s->comm->rank + k) % s->comm->npeers;
        if (!rooted || inward) uno_recv_from(s, i, uno_recv_block(c, i));
        if (!rooted || !inward) uno_send_to(s, i, uno_send_block(c, i));
    }
}

void uno_build_inter(struct uno_sched *s, const struct uno_call *c)
{
    switch (c->kind) {
    case UNO_BARRIER: barrier(s); break;
    case UNO_BCAST: bcast(s, c); break;
    case UNO_REDUCE: reduce(s, c); break;
    case UNO_ALLREDUCE: allreduce(s, c); break;
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: reduce_scatter(s, c); break;
    default: move_blocks(s, c); break;
    }
}
