// SPDX-License-Identifier: BSD-3-Clause
// MPI chapter "External interfaces": generalized requests, completed by the user.
#include <stdlib.h>

#include "api/p2p.h"
#include "core/progress.h"

struct general {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *extra;
};

static int query(MPI_Request r, MPI_Status *status)
{
    struct general *g = r->extra;
    status->MPI_ERROR = MPI_SUCCESS;
    return g->query ? g->query(g->extra, status) : MPI_SUCCESS;
}

// The user's free function runs once: when the operation is ended, or when a freed request is given back.
static int end(MPI_Request r)
{
    struct general *g = r->extra;
    MPI_Grequest_free_function *fn = g->free;
    g->free = NULL;
    return fn ? fn(g->extra) : MPI_SUCCESS;
}

static void release(MPI_Request r)
{
    end(r);
    free(r->extra);
}

static int cancel(MPI_Request r)
{
    struct general *g = r->extra;
    return g->cancel ? g->cancel(g->extra, (int)uno_request_is_done(r)) : MPI_SUCCESS;
}

static const struct uno_request_ops general_ops = {
    .name = "generalized", .query = query, .end = end, .free = release, .cancel = cancel};

int MPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                       MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request)
{
    if (!request) return uno_refuse_null(MPI_COMM_SELF, __func__, "request");
    uno_enter("MPI_Grequest_start");
    if (uno_check_running()) return uno_raise_self("MPI_Grequest_start", MPI_ERR_OTHER);
    struct general *g = malloc(sizeof *g);
    MPI_Request r = g ? uno_request_new(UNO_REQ_GENERAL) : NULL;
    if (!r) {
        free(g);
        return uno_raise_self("MPI_Grequest_start", uno_fail(MPI_ERR_NO_MEM, "no memory for a request"));
    }
    *g = (struct general){query_fn, free_fn, cancel_fn, extra_state};
    r->ops = &general_ops;
    r->extra = g;
    r->rank = MPI_UNDEFINED;
    *request = r;
    uno_leave();
    return MPI_SUCCESS;
}

int MPI_Grequest_complete(MPI_Request request)
{
    uno_enter("MPI_Grequest_complete");
    int err = request == MPI_REQUEST_NULL ? uno_fail(MPI_ERR_REQUEST, "MPI_REQUEST_NULL cannot be completed")
                                          : uno_check_request(request);
    if (!err && request->kind != UNO_REQ_GENERAL)
        err = uno_fail(MPI_ERR_REQUEST, "only generalized requests are completed by the user");
    if (err) return uno_raise_self("MPI_Grequest_complete", err);
    uno_request_done(request, MPI_SUCCESS);
    uno_leave();
    return MPI_SUCCESS;
}
