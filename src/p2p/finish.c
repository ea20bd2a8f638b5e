// SPDX-License-Identifier: BSD-3-Clause
// The end of the job's traffic: at Finalize every rank waits for all others, so that what was sent still arrives.
// Called by src/api/init.c with the lock held.
#include "base/fail.h"
#include "core/world.h"
#include "p2p/buffered.h"
#include "p2p/inner.h"
#include "p2p/team.h"

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
    return uno_team_barrier(&(struct uno_team){.comm = c, .n = c->size, .me = c->rank, .tag = TAG_FINISH});
}
