// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "Point-to-point communication": starts of persistent requests of all kinds.
#include "api/p2p.h"

// Starts one; the reason of a failure is kept.
static int start_one(MPI_Request r)
{
    if (r == MPI_REQUEST_NULL) return uno_fail(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be started");
    int err = uno_check_request(r);
    if (err) return err;
    if (!r->persistent) return uno_fail(MPI_ERR_REQUEST, "only persistent requests can be started");
    if (r->active) return uno_fail(MPI_ERR_REQUEST, "the request is active already (complete it first)");
    // Relaxed: the request is the caller's until it is started.
    atomic_store_explicit(&r->done, 0, memory_order_relaxed);
    r->active = true;
    r->cancelled = false;
    uno_status_empty(&r->status);
    r->status.MPI_internal[2] = 0;
    err = r->ops->start(r);
    if (err) r->active = false;
    return err;
}

static MPI_Comm comm_of(MPI_Request r)
{
    return uno_request_is_live(r) && r->comm ? r->comm->handle : MPI_COMM_SELF;
}

int MPI_Start(MPI_Request *request)
{
    if (!request) return uno_refuse_null(MPI_COMM_SELF, __func__, "request");
    uno_enter("MPI_Start");
    int err = start_one(*request);
    if (err) return uno_raise_comm(comm_of(*request), "MPI_Start", err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    uno_enter("MPI_Startall");
    int err = uno_check_count(count);
    if (!err && count > 0) err = uno_check_pointer(requests, "array_of_requests");
    if (err) return uno_raise_self("MPI_Startall", err);
    for (int i = 0; i < count; i++) {
        err = start_one(requests[i]);
        if (err) return uno_raise_comm(comm_of(requests[i]), "MPI_Startall", err);
    }
    uno_leave();
    return MPI_SUCCESS;
}
