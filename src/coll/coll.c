// SPDX-License-Identifier: BSD-3-Clause
// Runs a collective call: in the node's shared memory when it can (shm.h), else by a schedule. Called by
// src/api/coll_*.c and by whoever constructs communicators.
//
// Always holds: every rank takes one number of the communicator's sequence for each blocking or nonblocking call and
// for each persistent initialisation, in the same order, so that tags agree and never meet.
#include "coll/coll.h"

#include "base/fail.h"
#include "coll/agree.h"
#include "coll/build.h"
#include "coll/hier.h"
#include "coll/schedule.h"
#include "coll/shm.h"

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

static int prepare(const struct uno_call *c, enum uno_form form, struct uno_sched **out)
{
    int err = MPI_SUCCESS;
    struct uno_hier *hier = form == UNO_INSIDE ? NULL : uno_hier_get(c->comm, form != UNO_NONBLOCKING, &err);
    if (err) return err;
    int tag = uno_coll_tag(c->comm) | (form == UNO_PERSISTENT ? PERSISTENT_TAG : 0);
    struct uno_sched *s = uno_sched_new(c->comm, c->op, tag);
    if (!s) return MPI_ERR_NO_MEM;
    err = hold_all(s, c);
    if (!err) {
        if (uno_agree_on() && form != UNO_INSIDE) uno_build_agree(s, c, form);
        s->blocking = form == UNO_BLOCKING;
        if (c->comm->inter)
            uno_build_inter(s, c);
        else if (!uno_build_hier(s, c, hier))
            uno_build(s, c);
        err = s->error;
    }
    if (err)
        uno_sched_free(s);
    else
        *out = s;
    return err;
}

int uno_coll_run(struct uno_call *c)
{
    int err = uno_agree_on() ? UNO_SHM_DECLINED : uno_shm_run(c);
    if (err != UNO_SHM_DECLINED) return err;
    struct uno_sched *s;
    err = prepare(c, UNO_BLOCKING, &s);
    if (err) return err;
    err = uno_sched_run(s);
    uno_sched_free(s);
    return err;
}

int uno_coll_start(struct uno_call *c, MPI_Request *req)
{
    struct uno_sched *s;
    int err = prepare(c, UNO_NONBLOCKING, &s);
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
