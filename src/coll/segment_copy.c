// SPDX-License-Identifier: BSD-3-Clause
// Copies between the buffers of ranks that share a segment (segment.h): whether all may, and the copies. Called by
// segment.c at set-up, then by large*.c and schedule.c.
#include "base/job.h"
#include "base/wait.h"
#include "chan/peer_memory.h"
#include "coll/segment.h"
#include "coll/shm.h"
#include "coll/trial.h"
#include "p2p/fail.h"

// Among many ranks no one looks at all others.
static void agree_over_tree(struct uno_coll *u, int next)
{
    uno_tree_run(u, &(struct uno_call){.kind = UNO_BARRIER}, 0);    // the next one is there
    int ok = uno_peer_memory_reaches(u->near[next].board);
    struct uno_call least = {.kind = UNO_ALLREDUCE,
                             .sbuf = MPI_IN_PLACE,
                             .rbuf = &ok,
                             .rcount = 1,
                             .rtype = uno_type(MPI_INT),
                             .op = uno_op(MPI_MIN)};
    uno_tree_run(u, &least, sizeof ok);
    u->cma = ok != 0;
}

// Every rank tries to read its next neighbour's memory; all agree on whether all could. The neighbour must have come
// this far: before it has opened its channels its board says nothing.
void uno_seg_agree_on_cma(struct uno_coll *u)
{
    int next = (u->me + 1) % u->n;
    if (u->tree.line) {
        agree_over_tree(u, next);
        return;
    }
    uint64_t here_too = uno_seg_begin(u, 0);
    uno_seg_post(u, here_too);
    uno_seg_wait(u, next, here_too);
    bool ok = uno_peer_memory_reaches(u->near[next].board);
    uint64_t k = uno_seg_begin(u, sizeof ok);
    *uno_seg_slot(u, u->me, k, 1) = ok;
    uno_seg_post(u, k);
    uno_seg_wait_all(u, k, 0);
    u->cma = true;
    for (int r = 0; r < u->n; r++)
        if (!*uno_seg_slot(u, r, k, 1)) u->cma = false;
    uno_seg_all_seen(u, k);
    uno_seg_done(u, k);
}

static int copy_across(struct uno_coll *u, int r, bool reading, char *here, uint64_t there, size_t bytes)
{
    if (__builtin_expect(u->comm->broken, 0)) return u->comm->broken;    // the address may be no address
    struct uno_trials *timed = u->trials && u->trials->began ? u->trials : NULL;
    uint64_t began = timed ? uno_ticks() : 0;
    int err = uno_peer_memory_move(u->near[r].board->pid, here, there, bytes, reading);
    if (timed) uno_trial_copied(timed, uno_peer_memory_took(uno_ticks() - began, bytes));
    // Known before mpiexec says so: from here on nobody gets what this rank could not get.
    if (__builtin_expect(err == UNO_ERR_PROC_FAILED, 0)) uno_comm_break(u->comm, err);
    return err;
}

int uno_seg_pull(struct uno_coll *u, int r, void *to, uint64_t from, size_t bytes)
{
    if (r != u->me) return copy_across(u, r, true, to, from, bytes);
    if ((uint64_t)(uintptr_t)to != from) memmove(to, (const void *)(uintptr_t)from, bytes);
    return MPI_SUCCESS;
}

int uno_seg_push(struct uno_coll *u, int r, uint64_t to, const void *from, size_t bytes)
{
    if (r != u->me) return copy_across(u, r, false, (char *)(uintptr_t)from, to, bytes);
    if ((uint64_t)(uintptr_t)from != to) memmove((void *)(uintptr_t)to, from, bytes);
    return MPI_SUCCESS;
}
