// SPDX-License-Identifier: BSD-3-Clause
// Collective operations: what the entry points (src/api/twice/coll_*.c) hand over and how an operation is run.
//
// A call is a struct uno_call: arguments checked, handles resolved. It is run blocking (uno_coll_run), started as a
// request (uno_coll_start) or kept for later starts (uno_coll_persist); the three share one builder per collective
// (build.h). The library lock is held by the caller. Results: 0 or an MPI error class.
#pragma once
#include <mpi.h>
#include <stdbool.h>

#include "base/fail.h"
#include "core/comm.h"
#include "core/op.h"
#include "core/request.h"
#include "core/type.h"

enum uno_coll_kind {
    UNO_BARRIER,
    UNO_BCAST,
    UNO_REDUCE,
    UNO_ALLREDUCE,
    UNO_GATHER,
    UNO_SCATTER,
    UNO_ALLGATHER,
    UNO_ALLTOALL,
    UNO_GATHERV,
    UNO_SCATTERV,
    UNO_ALLGATHERV,
    UNO_ALLTOALLV,
    UNO_ALLTOALLW,
    UNO_REDUCE_SCATTER,
    UNO_REDUCE_SCATTER_BLOCK,
    UNO_SCAN,
    UNO_EXSCAN,
    UNO_NEIGHBOR_ALLGATHER,
    UNO_NEIGHBOR_ALLGATHERV,
    UNO_NEIGHBOR_ALLTOALL,
    UNO_NEIGHBOR_ALLTOALLV,
    UNO_NEIGHBOR_ALLTOALLW,
    UNO_COLL_KINDS
};

static inline bool uno_coll_reduces(enum uno_coll_kind k)
{
    return k == UNO_REDUCE || k == UNO_ALLREDUCE || (k >= UNO_REDUCE_SCATTER && k <= UNO_EXSCAN);
}

static inline bool uno_coll_has_root(enum uno_coll_kind k)
{
    return k == UNO_BCAST || k == UNO_REDUCE || k == UNO_GATHER || k == UNO_SCATTER || k == UNO_GATHERV ||
           k == UNO_SCATTERV;
}

// All send to all, and no rank knows what the others do.
static inline bool uno_coll_exchanges_varied(enum uno_coll_kind k)
{
    return k == UNO_ALLTOALLV || k == UNO_ALLTOALLW;
}

// An array argument: counts or displacements, of int or of MPI_Count (MPI_Aint has the same width).
struct uno_vector {
    const void *at;
    bool wide;
};

static inline MPI_Count uno_at(struct uno_vector v, int i)
{
    return v.wide ? ((const MPI_Count *)v.at)[i] : ((const int *)v.at)[i];
}

// Bcast uses rbuf, rcount, rtype; reductions sbuf, rbuf, rcount, rtype. op is NULL elsewhere.
struct uno_call {
    enum uno_coll_kind kind;
    int root;            // rank, or MPI_ROOT, MPI_PROC_NULL on an intercommunicator
    const char *name;    // "MPI_Bcast"
    struct MPI_ABI_Comm *comm;
    const void *sbuf;    // may be MPI_IN_PLACE
    void *rbuf;          // scatter, scatterv: may be MPI_IN_PLACE
    MPI_Count scount, rcount;
    struct MPI_ABI_Datatype *stype, *rtype;
    struct MPI_ABI_Op *op;
    struct uno_vector scounts, rcounts, sdispls, rdispls;
    const MPI_Datatype *stypes, *rtypes;    // alltoallw: handles as the user gave them
    int nin, nout;                          // neighbourhood: sources, destinations
    const int *in, *out;
    bool cart;    // in and out are pairs of a Cartesian dimension
};

int uno_coll_run(struct uno_call *c) UNO_MUST_USE;
int uno_coll_start(struct uno_call *c, MPI_Request *req) UNO_MUST_USE;
int uno_coll_persist(struct uno_call *c, MPI_Request *req) UNO_MUST_USE;

// For the inside (communicator construction): small blocking collectives on an intracommunicator or, for the local
// group, on local_comm of an intercommunicator.
int uno_coll_bcast(struct MPI_ABI_Comm *comm, void *buf, size_t bytes, int root) UNO_MUST_USE;
int uno_coll_allgather(struct MPI_ABI_Comm *comm, const void *in, size_t bytes, void *out) UNO_MUST_USE;
int uno_coll_barrier(struct MPI_ABI_Comm *comm) UNO_MUST_USE;
