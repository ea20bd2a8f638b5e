// SPDX-License-Identifier: BSD-3-Clause
// Active synchronisation: fence, and post, start, complete, wait. Who posted to whom and who is done are words per pair
// of members that only grow, so that no epoch has anything to reset. Called by src/api/win_sync.c.
#include "base/fail.h"
#include "core/word.h"
#include "rma/remote.h"
#include "rma/rma.h"
#include "rma/words.h"

static int no_locks_held(const struct MPI_ABI_Win *w)
{
    if (!w->locks && !w->all_locked) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_RMA_SYNC, "a lock is held (unlock first)");
}

int uno_rma_fence(struct MPI_ABI_Win *w, int assert)
{
    int err = no_locks_held(w);
    if (!err && (w->started || w->exposed))
        err = uno_fail(MPI_ERR_RMA_SYNC, "an epoch of MPI_Win_%s is open", w->started ? "start" : "post");
    if (err) return err;
    err = uno_rma_flush(w, -1);
    bool alone = (assert &MPI_MODE_NOPRECEDE) && (assert &MPI_MODE_NOSUCCEED);
    // Also when an operation was refused: the others wait.
    int met = alone ? MPI_SUCCESS : uno_meet(&w->shared->meet);
    if (!met) w->fenced = !(assert &MPI_MODE_NOSUCCEED);
    return err ? err : met;
}

// Rank in the window of member i of g.
static int member(const struct MPI_ABI_Win *w, const struct MPI_ABI_Group *g, int i)
{
    return uno_group_find(w->comm->group, g->proc[i]);
}

static int check_group(const struct MPI_ABI_Win *w, const struct MPI_ABI_Group *g)
{
    for (int i = 0; i < g->size; i++)
        if (member(w, g, i) == MPI_UNDEFINED)
            return uno_fail(MPI_ERR_GROUP, "member %d of the group is not a member of the window", i);
    return MPI_SUCCESS;
}

int uno_rma_post(struct MPI_ABI_Win *w, struct MPI_ABI_Group *g, int assert)
{
    (void)assert;    // the word is raised with MPI_MODE_NOCHECK too: both sides count every epoch
    if (w->exposed) return uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_post was called already (MPI_Win_wait ends it)");
    int err = check_group(w, g);
    for (int i = 0; i < g->size && !err; i++) {
        int r = member(w, g, i);
        struct uno_rma_part *p = &w->part[r];
        if (p->words)
            uno_win_raise(w, uno_win_posted(w, p), r);
        else
            err = uno_remote_post(w, r);
    }
    if (err) return err;
    uno_group_hold(g);
    w->exposed = g;
    return MPI_SUCCESS;
}

int uno_rma_begin(struct MPI_ABI_Win *w, struct MPI_ABI_Group *g, int assert)
{
    int err = no_locks_held(w);
    if (!err && w->started)
        err = uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_start was called already (MPI_Win_complete ends it)");
    if (!err) err = check_group(w, g);
    for (int i = 0; i < g->size && !err; i++) {
        int r = member(w, g, i);
        uint64_t wanted = ++w->part[r].posts;
        if (!(assert &MPI_MODE_NOCHECK) && uno_word_wait(&w->posted[r], wanted, w->comm, r, false))
            err = uno_win_refusal(w);
    }
    if (err) return err;
    for (int i = 0; i < g->size; i++) w->part[member(w, g, i)].begun = true;
    uno_group_hold(g);
    w->started = g;
    w->fenced = false;
    return MPI_SUCCESS;
}

int uno_rma_complete(struct MPI_ABI_Win *w)
{
    struct MPI_ABI_Group *g = w->started;
    if (!g) return uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_start was not called");
    int err = MPI_SUCCESS;
    for (int i = 0; i < g->size; i++) {
        int r = member(w, g, i), e = MPI_SUCCESS;
        struct uno_rma_part *p = &w->part[r];
        p->begun = false;
        if (p->path != UNO_RMA_MESSAGE || p->words) e = uno_rma_flush(w, r);
        if (!e) e = uno_rma_flush_local(w, r);
        if (!err) err = e;    // an operation that was refused; the target waits all the same
        // Where a member has failed operations are refused for that, and the target must not take them for done: it
        // hears of the failure too, and stops waiting.
        if (w->comm->broken)
            e = uno_win_refusal(w);
        else if (p->words)
            uno_win_raise(w, uno_win_completed(w, p), r);
        else
            e = uno_remote_complete(w, r);    // behind the operations, on the same way
        if (!err) err = e;
    }
    uno_group_drop(g);
    w->started = NULL;
    return err;
}

int uno_rma_wait(struct MPI_ABI_Win *w, bool *done)
{
    struct MPI_ABI_Group *g = w->exposed;
    if (!g) return uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_post was not called");
    int err = MPI_SUCCESS;
    for (int i = 0; i < g->size && !err; i++) {
        int r = member(w, g, i);
        uint64_t wanted = w->part[r].completes + 1;
        bool there = uno_word_reached(&w->completed[r], wanted);
        if (done && !there && !w->comm->broken) {
            *done = false;
            return MPI_SUCCESS;
        }
        if (!there && (done || uno_word_wait(&w->completed[r], wanted, w->comm, r, false))) err = uno_win_refusal(w);
    }
    for (int i = 0; i < g->size; i++) w->part[member(w, g, i)].completes++;
    uno_group_drop(g);
    w->exposed = NULL;    // also where an origin has failed: what it did not complete never will be
    if (done) *done = true;
    return err;
}
