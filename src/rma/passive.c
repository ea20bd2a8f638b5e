// SPDX-License-Identifier: BSD-3-Clause
// Passive synchronisation: lock, flush, unlock. Locks of parts on this host are tickets in shared words; others are
// asked for by message. Called by src/api/win_sync.c.
#include <stdatomic.h>

#include "base/fail.h"
#include "core/world.h"
#include "rma/remote.h"
#include "rma/rma.h"
#include "rma/words.h"

static const char *const held_name[] = {"not locked", "locked (shared)", "locked (exclusive)",
                                        "locked (MPI_MODE_NOCHECK)"};

int uno_rma_in_epoch(const struct MPI_ABI_Win *w, int rank)
{
    const struct uno_rma_part *p = &w->part[rank];
    if (p->held || w->all_locked || w->fenced) return MPI_SUCCESS;
    if (w->started && uno_group_find(w->started, uno_comm_proc(w->comm, rank)) != MPI_UNDEFINED) return MPI_SUCCESS;
    if (w->started) return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is not in the group of MPI_Win_start", rank);
    return uno_fail(MPI_ERR_RMA_SYNC,
                    "no epoch for rank %d (call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all first)",
                    rank);
}

static int take(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    struct uno_rma_part *p = &w->part[rank];
    if (!p->words) return uno_remote_lock(w, rank, exclusive);
    uno_ticket_lock(uno_win_queue(w, p), exclusive, w->comm, rank);
    return MPI_SUCCESS;
}

static int flush_part(struct MPI_ABI_Win *w, int rank)
{
    struct uno_rma_part *p = &w->part[rank];
    if (p->path == UNO_RMA_MESSAGE) return p->stored || p->answers ? uno_remote_flush(w, rank) : MPI_SUCCESS;
    // Seq_cst: what was stored before comes before what is loaded after; pairs with the target's own accesses, which
    // the program orders by MPI_Win_sync or messages.
    if (p->stored) atomic_thread_fence(memory_order_seq_cst);
    p->stored = false;
    return MPI_SUCCESS;
}

static int let_go(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    struct uno_rma_part *p = &w->part[rank];
    if (!p->words) return uno_remote_unlock(w, rank, exclusive);
    int err = flush_part(w, rank);
    uno_ticket_leave(uno_win_queue(w, p), exclusive);
    return err;
}

int uno_rma_lock(struct MPI_ABI_Win *w, int rank, bool exclusive, bool checked)
{
    struct uno_rma_part *p = &w->part[rank];
    if (w->all_locked) return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is locked by MPI_Win_lock_all already", rank);
    if (p->held) return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is %s already", rank, held_name[p->held]);
    if (w->started) return uno_fail(MPI_ERR_RMA_SYNC, "the epoch of MPI_Win_start is open");
    if (uno_win_hint_true(w, "no_locks")) return uno_fail(MPI_ERR_RMA_SYNC, "the window was made with no_locks=true");
    int err = checked ? take(w, rank, exclusive) : MPI_SUCCESS;
    if (err) return err;
    p->held = !checked ? UNO_RMA_NOCHECK : exclusive ? UNO_RMA_EXCLUSIVE : UNO_RMA_SHARED;
    w->locks++;
    w->fenced = false;
    return MPI_SUCCESS;
}

int uno_rma_unlock(struct MPI_ABI_Win *w, int rank)
{
    struct uno_rma_part *p = &w->part[rank];
    if (!p->held) return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is not locked by MPI_Win_lock", rank);
    int err = p->held == UNO_RMA_NOCHECK ? flush_part(w, rank) : let_go(w, rank, p->held == UNO_RMA_EXCLUSIVE);
    p->held = UNO_RMA_FREE;
    w->locks--;
    return err;
}

int uno_rma_lock_all(struct MPI_ABI_Win *w, bool checked)
{
    if (w->all_locked) return uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was called already");
    if (w->locks) return uno_fail(MPI_ERR_RMA_SYNC, "%d ranks are locked by MPI_Win_lock", w->locks);
    if (w->started) return uno_fail(MPI_ERR_RMA_SYNC, "the epoch of MPI_Win_start is open");
    if (uno_win_hint_true(w, "no_locks")) return uno_fail(MPI_ERR_RMA_SYNC, "the window was made with no_locks=true");
    int err = MPI_SUCCESS;
    for (int r = 0; r < w->comm->size && checked && !err; r++) err = take(w, r, false);
    if (err) return err;
    w->all_locked = true;
    w->all_unchecked = !checked;
    w->fenced = false;
    return MPI_SUCCESS;
}

int uno_rma_unlock_all(struct MPI_ABI_Win *w)
{
    if (!w->all_locked) return uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was not called");
    int err = MPI_SUCCESS;
    for (int r = 0; r < w->comm->size; r++) {
        int e = w->all_unchecked ? flush_part(w, r) : let_go(w, r, false);
        if (!err) err = e;
    }
    w->all_locked = false;
    return err;
}

int uno_rma_flush(struct MPI_ABI_Win *w, int rank)
{
    int err = MPI_SUCCESS;
    if (rank >= 0) return flush_part(w, rank);
    for (int r = 0; r < w->comm->size && !err; r++) err = flush_part(w, r);
    return err;
}

int uno_rma_flush_local(struct MPI_ABI_Win *w, int rank)
{
    int err = MPI_SUCCESS;
    for (int r = rank < 0 ? 0 : rank; r < (rank < 0 ? w->comm->size : rank + 1) && !err; r++)
        if (w->part[r].answers) err = uno_remote_flush(w, r);    // what was sent is in messages: its buffer is free
    return err;
}
