// SPDX-License-Identifier: BSD-3-Clause
// Decides whether and how a blocking collective runs in shared memory (shm.h). Called by coll.c.
//
// Always holds: the decision looks only at what every rank of the communicator knows: the collective, the bytes of a
// block, the operation, and what was agreed when the segment was made.
#include "coll/shm.h"

#include "base/pvar.h"
#include "coll/build.h"
#include "coll/gathered.h"

static _Atomic uint64_t small, large;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("coll_shm_small", &small, "blocking collectives inside a host through its segment"),
    UNO_PVAR_COUNTER("coll_shm_large", &large, "blocking collectives inside a host from memory to memory"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

static int pick_large(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    if (!u->cma) return UNO_SHM_DECLINED;
    bool in_place = c->sbuf == MPI_IN_PLACE;
    switch (c->kind) {
    case UNO_BCAST: return uno_large_bcast(u, c, bytes);
    case UNO_REDUCE:
    case UNO_ALLREDUCE:
    case UNO_SCAN:
    case UNO_EXSCAN: return uno_large_reduce(u, c);
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return in_place ? UNO_SHM_DECLINED : uno_large_reduce(u, c);
    case UNO_ALLTOALL:
    case UNO_ALLTOALLV:
    case UNO_ALLTOALLW: return in_place || u->n > UNO_SEG_SLOT / 64 ? UNO_SHM_DECLINED : uno_large_move(u, c);
    case UNO_GATHERV:
    case UNO_SCATTERV: return u->n > UNO_SEG_SLOT / 64 ? UNO_SHM_DECLINED : uno_large_move(u, c);
    default: return uno_large_move(u, c);
    }
}

static int run_large(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    int err = pick_large(u, c, bytes);
    uno_count_add(&large, err != UNO_SHM_DECLINED);
    return err;
}

int uno_shm_run(const struct uno_call *c)
{
    int err = MPI_SUCCESS;
    if (c->kind >= UNO_NEIGHBOR_ALLGATHER || c->comm->inter || c->comm->size < 2) return UNO_SHM_DECLINED;
    struct uno_coll *u = uno_seg_get(c->comm, &err);
    if (!u) return err ? err : UNO_SHM_DECLINED;
    bool varied =
        c->kind == UNO_GATHERV || c->kind == UNO_SCATTERV || c->kind == UNO_ALLTOALLV || c->kind == UNO_ALLTOALLW;
    if (varied) return run_large(u, c, 0);
    size_t bytes = uno_call_bytes(c), slot = bytes;
    if (bytes == 0 && c->kind != UNO_BARRIER) return MPI_SUCCESS;
    unsigned ready = UNO_TYPE_PREDEFINED | UNO_TYPE_PLAIN;
    if (uno_coll_reduces(c->kind) && (c->rtype->flags & ready) != ready) return UNO_SHM_DECLINED;
    if (c->kind == UNO_ALLTOALL || c->kind == UNO_SCATTER) slot = bytes * (size_t)(u->n - 1);
    size_t from = u->windows[c->kind];
    bool messages = bytes >= u->messages[c->kind] && (bytes < from || from < u->messages[c->kind]),
         windows = !messages && bytes >= from && uno_seg_widen(u, u->flow.bytes) && u->wide;
    if (windows && c->kind == UNO_GATHER) return run_large(u, c, bytes);
    if ((messages || windows) && u->cma && !(u->flow.fixed >> c->kind & 1) && uno_gathered(u, c, bytes))
        return run_large(u, c, bytes);
    if (messages) return UNO_SHM_DECLINED;
    if (windows) {
        uno_count_add(&large, 1);
        if (c->kind == UNO_ALLTOALL) return uno_windows_alltoall(u, c, bytes);
        if (!uno_coll_reduces(c->kind)) return uno_windows_spread(u, c, bytes);
        uno_windows_reduce(u, c, bytes);
        return MPI_SUCCESS;
    }
    // These have no other way than the slots in place.
    bool whole = c->kind == UNO_ALLTOALL || c->kind == UNO_REDUCE_SCATTER || c->kind == UNO_REDUCE_SCATTER_BLOCK;
    bool slots = bytes < u->copies[c->kind] || !u->cma || (whole && c->sbuf == MPI_IN_PLACE);
    if (u->spread && !u->widened && slot > UNO_SEG_SMALL && u->phase > UNO_SEG_SPREAD_AFTER) uno_seg_widen(u, slot);
    if (!slots || (slot > u->room && !uno_seg_widen(u, slot))) return run_large(u, c, bytes);
    uno_count_add(&small, 1);
    return uno_small_run(u, c, bytes);
}
