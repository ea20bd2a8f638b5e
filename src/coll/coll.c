// SPDX-License-Identifier: BSD-3-Clause
// Runs a collective call: in the node's shared memory when it can (shm.h), else by a schedule. Called by
// src/api/twice/coll_*.c and by the construction of communicators.
//
// Always holds: every rank takes one number of the communicator's sequence for each blocking or nonblocking call and
// for each persistent initialisation, in the same order, so that tags agree and never meet.
#include "coll/coll.h"

#include "base/fail.h"
#include "coll/agree.h"
#include "coll/build.h"
#include "coll/cache.h"
#include "coll/hier.h"
#include "coll/schedule.h"
#include "coll/shm.h"
#include "p2p/inner.h"

#define PERSISTENT_TAG 0x40000000

void uno_build(struct uno_sched *s, const struct uno_call *c)
{
    switch (c->kind) {
    case UNO_BARRIER: uno_build_barrier(s); break;
    case UNO_BCAST: uno_build_bcast(s, c->rbuf, c->rcount, c->rtype, c->root); break;
    case UNO_REDUCE: uno_build_reduce(s, c->sbuf, c->rbuf, c->rcount, c->rtype, c->root); break;
    case UNO_ALLREDUCE: uno_build_allreduce(s, c->sbuf, c->rbuf, c->rcount, c->rtype); break;
    case UNO_GATHER:
    case UNO_GATHERV: uno_build_gather(s, c); break;
    case UNO_SCATTER:
    case UNO_SCATTERV: uno_build_scatter(s, c); break;
    case UNO_ALLGATHER:
    case UNO_ALLGATHERV: uno_build_allgather(s, c); break;
    case UNO_ALLTOALL:
    case UNO_ALLTOALLV:
    case UNO_ALLTOALLW: uno_build_alltoall(s, c); break;
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: uno_build_reduce_scatter(s, c); break;
    case UNO_SCAN:
    case UNO_EXSCAN: uno_build_scan(s, c); break;
    default: uno_build_neighbor(s, c); break;
    }
}

static int hold_all(struct uno_sched *s, const struct uno_call *c)
{
    int err = uno_sched_hold(s, c->stype);
    if (!err) err = uno_sched_hold(s, c->rtype);
    bool neighbors = c->kind == UNO_NEIGHBOR_ALLTOALLW;
    int out = neighbors ? c->nout : c->comm->npeers, in = neighbors ? c->nin : c->comm->npeers;
    for (int i = 0; !err && c->stypes && c->sbuf != MPI_IN_PLACE && i < out; i++)
        err = uno_sched_hold(s, uno_type(c->stypes[i]));
    for (int i = 0; !err && c->rtypes && i < in; i++) err = uno_sched_hold(s, uno_type(c->rtypes[i]));
    return err;
}

static int build(struct uno_sched *s, const struct uno_call *c, struct uno_hier *hier)
{
    int err = hold_all(s, c);
    if (err) return err;
    if (uno_agree_on() && s->form != UNO_INSIDE) uno_build_agree(s, c, s->form);
    if (c->comm->inter)
        uno_build_inter(s, c);
    else if (s->form == UNO_INSIDE ||
             (!uno_outside_build(s, c) && !uno_build_hier(s, c, hier) && !uno_build_direct(s, c)))
        uno_build(s, c);
    return s->error;
}

// What a blocking or persistent call, in which all ranks take part, finds out about the communicator once.
static int settle_comm(const struct uno_call *c, enum uno_form form, struct uno_hier **hier)
{
    int err = MPI_SUCCESS;
    bool all_in = (form == UNO_BLOCKING || form == UNO_PERSISTENT) && c->kind < UNO_NEIGHBOR_ALLGATHER;
    *hier = NULL;
    if (form == UNO_INSIDE || !uno_coll_of(c->comm, &err)) return err;
    if (all_in && !uno_agree_on()) uno_seg_get(c->comm, &err);
    if (!err) *hier = uno_hier_get(c->comm, all_in, &err);
    return err;
}

static int prepare(const struct uno_call *c, enum uno_form form, struct uno_sched **out)
{
    struct uno_hier *hier;
    int err = settle_comm(c, form, &hier);
    if (err) return err;
    // In the checking mode a persistent operation must meet the blocking one that another rank calls instead.
    bool apart = form == UNO_PERSISTENT && !uno_agree_on();
    int tag = uno_coll_tag(c->comm) | (apart ? PERSISTENT_TAG : 0);
    struct uno_sched *s = form < UNO_PERSISTENT ? uno_cache_take(c, form, tag) : NULL;
    if (!s) {
        s = uno_sched_new(c->comm, c->op, tag);
        if (!s) return MPI_ERR_NO_MEM;
        s->form = form;
        err = build(s, c, hier);
        if (err) {
            uno_sched_free(s);
            return err;
        }
        uno_cache_label(s, c);
    }
    *out = s;
    return MPI_SUCCESS;
}

// In shared memory, whose waits end at once when a member fails: then nothing of the outcome counts.
static int run_in_memory(struct uno_call *c)
{
    const struct MPI_ABI_Comm *comm = c->comm;
    if (__builtin_expect(comm->broken, 0)) return uno_comm_refusal(comm, MPI_PROC_NULL, true);
    bool apart = uno_outside_apart >> c->kind & 1;
    int err = __builtin_expect(apart, 0) && uno_outside_takes(c) ? UNO_SHM_DECLINED : uno_shm_run(c);
    return __builtin_expect(comm->broken, 0) ? uno_comm_refusal(comm, MPI_PROC_NULL, true) : err;
}

static bool is_alone(const struct uno_call *c)
{
    return uno_comm_is_lone(c->comm) && c->kind < UNO_NEIGHBOR_ALLGATHER;
}

// On one rank, in MPI_COMM_SELF and in programs started as one process: what it gives it takes, if anything at all.
static int run_alone(const struct uno_call *c)
{
    if (__builtin_expect(c->comm->broken, 0)) return uno_comm_refusal(c->comm, MPI_PROC_NULL, true);
    if (c->kind == UNO_BARRIER || c->kind == UNO_BCAST || c->kind == UNO_EXSCAN) return MPI_SUCCESS;
    if (c->sbuf == MPI_IN_PLACE || c->rbuf == MPI_IN_PLACE) return MPI_SUCCESS;
    if (uno_coll_reduces(c->kind)) {
        MPI_Count count = c->kind == UNO_REDUCE_SCATTER ? uno_at(c->rcounts, 0) : c->rcount;
        uno_pack_same(c->rbuf, c->sbuf, count, c->rtype);
    } else {
        uno_block_copy_own(c->kind, 1, uno_recv_block(c, 0), uno_send_block(c, 0));
    }
    return MPI_SUCCESS;
}

int uno_coll_run(struct uno_call *c)
{
    if (is_alone(c)) return run_alone(c);
    int err = run_in_memory(c);
    if (err != UNO_SHM_DECLINED) return err;
    struct uno_sched *s;
    err = prepare(c, UNO_BLOCKING, &s);
    if (err) return err;
    err = uno_sched_run(s);
    uno_cache_give(s);
    uno_shm_over(c->comm);
    return err;
}

int uno_coll_start(struct uno_call *c, MPI_Request *req)
{
    struct uno_sched *s;
    int err = is_alone(c) ? run_alone(c) : UNO_SHM_DECLINED;
    if (err == MPI_SUCCESS) *req = &uno_request_sent;
    if (err != UNO_SHM_DECLINED) return err;
    err = prepare(c, UNO_NONBLOCKING, &s);
    if (err) return err;
    err = uno_sched_start(s, req);
    if (err) uno_sched_free(s);
    return err;
}

int uno_coll_persist(struct uno_call *c, MPI_Request *req)
{
    struct uno_sched *s;
    int err = prepare(c, UNO_PERSISTENT, &s);
    if (err) return err;
    err = uno_sched_persist(s, req);
    if (err) uno_sched_free(s);
    return err;
}

static int run_quietly(struct uno_call *c)
{
    struct uno_sched *s;
    int err = prepare(c, UNO_INSIDE, &s);
    if (err) return err;
    err = uno_sched_run(s);
    uno_sched_free(s);
    return err;
}

int uno_coll_bcast(struct MPI_ABI_Comm *comm, void *buf, size_t bytes, int root)
{
    return run_quietly(&(struct uno_call){.kind = UNO_BCAST,
                                          .name = "bcast",
                                          .comm = comm,
                                          .root = root,
                                          .rbuf = buf,
                                          .rcount = (MPI_Count)bytes,
                                          .rtype = uno_bytes()});
}

int uno_coll_allgather(struct MPI_ABI_Comm *comm, const void *in, size_t bytes, void *out)
{
    return run_quietly(&(struct uno_call){.kind = UNO_ALLGATHER,
                                          .name = "allgather",
                                          .comm = comm,
                                          .sbuf = in,
                                          .rbuf = out,
                                          .scount = (MPI_Count)bytes,
                                          .rcount = (MPI_Count)bytes,
                                          .stype = uno_bytes(),
                                          .rtype = uno_bytes()});
}

int uno_coll_barrier(struct MPI_ABI_Comm *comm)
{
    return run_quietly(&(struct uno_call){.kind = UNO_BARRIER, .name = "barrier", .comm = comm});
}
