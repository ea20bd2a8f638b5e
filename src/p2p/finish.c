// SPDX-License-Identifier: BSD-3-Clause
// The end of the job's traffic: at Finalize every rank waits for all others, so that what was sent still arrives.
// Called by src/api/init.c with the lock held.
#include "base/fail.h"
#include "core/world.h"
#include "p2p/buffered.h"
#include "p2p/inner.h"

#define TAG_FINISH (-7)

// What the user left behind, at verbosity 1.
static void report(void)
{
    if (uno_request_pool.live) uno_log(1, "%zu requests were never completed or freed", uno_request_pool.live);
    size_t buffers = uno_bsend_attached();
    if (buffers) uno_log(1, "%zu buffers for buffered sends were never detached", buffers);
}

int uno_p2p_finish(void)
{
    report();
    struct MPI_ABI_Comm *c = &uno_comm_world;
    struct MPI_ABI_Datatype *byte = uno_type(MPI_BYTE);
    for (int step = 1; step < c->size; step *= 2) {    // dissemination: after log2(size) steps all have heard of all
        struct uno_where to = {.comm = c, .rank = (c->rank + step) % c->size, .tag = TAG_FINISH, .coll = true};
        struct uno_where from = {
            .comm = c, .rank = (c->rank - step + c->size) % c->size, .tag = TAG_FINISH, .coll = true};
        int err = uno_sendrecv(NULL, 0, byte, &to, NULL, 0, byte, &from, MPI_STATUS_IGNORE);
        if (err) return err;
    }
    return MPI_SUCCESS;
}
