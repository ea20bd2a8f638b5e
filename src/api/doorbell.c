// SPDX-License-Identifier: BSD-3-Clause
// The doorbell as a file descriptor: an extension, documented in include/mpi_ext.h. The work is in core/progress.c.
#include <mpi_ext.h>

#include "api/p2p.h"
#include "core/progress.h"

static int end(const char *call, int err)
{
    if (err) return uno_raise_self(call, err);
    uno_leave();
    return MPI_SUCCESS;
}

int MPIX_Doorbell_fd(int *fd)
{
    uno_enter("MPIX_Doorbell_fd");
    int err = uno_check_running();
    if (!err) err = uno_check_pointer(fd, "fd");
    if (!err) {
        int n = uno_doorbell_fd();
        if (n < 0)
            err = MPI_ERR_OTHER;
        else
            *fd = n;
    }
    return end("MPIX_Doorbell_fd", err);
}

struct set {
    int count;
    const MPI_Request *requests;
};

static bool one_ended(void *arg)
{
    const struct set *s = arg;
    for (int i = 0; i < s->count; i++) {
        MPI_Request r = s->requests[i];
        if (r == MPI_REQUEST_NULL || !r->active || uno_request_is_done(r)) return true;
    }
    return false;
}

int MPIX_Doorbell_arm(int count, const MPI_Request requests[], int *ready)
{
    uno_enter("MPIX_Doorbell_arm");
    struct set s = {count, requests};
    int err = uno_check_running();
    if (!err) err = uno_check_count(count);
    for (int i = 0; i < count && !err; i++) err = uno_check_request(requests[i]);
    if (!err && uno_doorbell_fd() < 0) err = MPI_ERR_OTHER;
    if (!err) *ready = uno_doorbell_arm(count ? one_ended : NULL, &s);
    return end("MPIX_Doorbell_arm", err);
}

int MPIX_Doorbell_disarm(void)
{
    uno_enter("MPIX_Doorbell_disarm");
    uno_doorbell_disarm();
    return end("MPIX_Doorbell_disarm", MPI_SUCCESS);
}
