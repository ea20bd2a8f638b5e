// SPDX-License-Identifier: BSD-3-Clause
// The end of an operation: status out, request freed or made inactive. Called by uno_wait and by all completion entry
// points.
#include "core/progress.h"
#include "p2p/inner.h"

int uno_request_finish(MPI_Request r, MPI_Status *status)
{
    if (r->ops && r->ops->query) {
        int err = r->ops->query(r, &r->status);
        if (err) r->status.MPI_ERROR = err;
    }
    if (status != MPI_STATUS_IGNORE) uno_status_tell(status, &r->status);
    return r->status.MPI_ERROR;
}

int uno_wait(MPI_Request *req, MPI_Status *status)
{
    MPI_Request r = *req;
    uno_wait_request(r);
    int err = uno_request_finish(r, status);
    if (__builtin_expect(err, 0) && uno_recv_is_pending(r)) return err;    // it goes on
    if (r->ops && r->ops->end) {
        int err2 = r->ops->end(r);
        if (!err) err = err2;
    }
    if (r->persistent) {
        r->active = false;
    } else {
        *req = MPI_REQUEST_NULL;
        if (r != &uno_request_sent) uno_request_release(r);
    }
    return err;
}
