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
    if (p->held || p->begun || w->all_locked || w->fenced) return MPI_SUCCESS;
    if (w->started) return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is not in the group of MPI_Win_start", rank);
    return uno_fail(MPI_ERR_RMA_SYNC,
                    "no epoch for rank %d (call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all first)",
                    rank);
}

// Who locks a part exclusively keeps out all that lock all parts, too, as long as it has any such part; who holds a
// lock already goes before those who wait, because they may wait for it.
static int take(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    struct uno_rma_part *p = &w->part[rank];
    if (!p->words) return uno_remote_lock(w, rank, exclusive);
    bool holds = w->locks > 0;
    struct uno_ticket_wait any = {.queue = w->shared->all, .room = UNO_ROOM_EXCLUSIVE, .ahead = holds};
    struct uno_ticket_wait it = {.queue = uno_win_queue(w, p), .room = (enum uno_room)exclusive};
    it.ahead = holds && !exclusive;
    if (exclusive) it.turns = &p->turns;
    if (exclusive && w->writing++ == 0) uno_ticket_lock(any, w->comm, rank);
    uno_ticket_lock(it, w->comm, rank);
    return uno_win_refusal(w);
}

static int flush_part(struct MPI_ABI_Win *w, int rank)
{
    const struct uno_rma_part *p = &w->part[rank];
    // Release: what was stored before is there when anything stored later is. Acquire: what is loaded later is not
    // older than what was loaded before. Loads after stores: uno_rma_order.
    atomic_thread_fence(memory_order_acq_rel);
    bool waits = p->path == UNO_RMA_MESSAGE && (p->stored || p->owed);
    int err = waits ? uno_remote_flush(w, rank) : uno_rma_access_wait(w, rank);
    return err ? err : uno_win_refusal(w);
}

static int let_go(struct MPI_ABI_Win *w, int rank, bool exclusive)
{
    struct uno_rma_part *p = &w->part[rank];
    if (!p->words) return uno_remote_unlock(w, rank, exclusive);
    int err = flush_part(w, rank);
    uno_ticket_leave(uno_win_queue(w, p), (enum uno_room)exclusive);
    if (exclusive && --w->writing == 0) uno_ticket_leave(w->shared->all, UNO_ROOM_EXCLUSIVE);
    return err;
}

// All parts: one word for those on this host, a message to each on another.
static int take_all(struct MPI_ABI_Win *w)
{
    int err = MPI_SUCCESS;
    uno_ticket_lock((struct uno_ticket_wait){.queue = w->shared->all}, w->comm, MPI_UNDEFINED);
    err = uno_win_refusal(w);
    for (int r = 0; w->messages && r < w->ranks && !err; r++)
        if (!w->part[r].words) err = uno_remote_lock(w, r, false);
    return err;
}

static int let_all_go(struct MPI_ABI_Win *w)
{
    int err = MPI_SUCCESS;
    for (int r = 0; w->messages && r < w->ranks; r++) {
        int e = w->part[r].words ? flush_part(w, r) : uno_remote_unlock(w, r, false);
        if (!err) err = e;
    }
    uno_ticket_leave(w->shared->all, UNO_ROOM_SHARED);
    return err ? err : uno_win_refusal(w);
}

int uno_rma_lock(struct MPI_ABI_Win *w, int rank, bool exclusive, bool checked)
{
    struct uno_rma_part *p = &w->part[rank];
    if (w->all_locked) return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is locked by MPI_Win_lock_all already", rank);
    if (p->held) return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is %s already", rank, held_name[p->held]);
    if (w->started) return uno_fail(MPI_ERR_RMA_SYNC, "the epoch of MPI_Win_start is open");
    if (w->no_locks) return uno_fail(MPI_ERR_RMA_SYNC, "the window was made with no_locks=true");
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

bool uno_rma_lock_now(MPI_Win win, int rank)
{
    if ((uintptr_t)win < UNO_HANDLE_FIRST || win->head.magic != UNO_WIN_MAGIC || (unsigned)rank >= (unsigned)win->ranks)
        return false;
    struct uno_rma_part *p = &win->part[rank];
    if (!p->words || !p->immediate || p->held || win->all_locked || win->started || win->no_locks) return false;
    if (uno_win_is_due(win)) return false;
    struct uno_ticket_lock *l = &p->words->lock;
    if (uno_ticket_waits(l) || !uno_ticket_go_in(l, UNO_ROOM_SHARED, false)) return false;
    p->held = UNO_RMA_SHARED;
    win->locks++;
    win->fenced = false;
    return true;
}

bool uno_rma_unlock_now(MPI_Win win, int rank)
{
    if ((uintptr_t)win < UNO_HANDLE_FIRST || win->head.magic != UNO_WIN_MAGIC || (unsigned)rank >= (unsigned)win->ranks)
        return false;
    struct uno_rma_part *p = &win->part[rank];
    if (!p->words || p->held != UNO_RMA_SHARED || !p->immediate) return false;
    if (uno_ticket_let_go(&p->words->lock, UNO_ROOM_SHARED)) uno_ticket_wake(uno_win_queue(win, p));
    p->held = UNO_RMA_FREE;
    win->locks--;
    return true;
}

int uno_rma_lock_all(struct MPI_ABI_Win *w, bool checked)
{
    if (w->all_locked) return uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was called already");
    if (w->locks) return uno_fail(MPI_ERR_RMA_SYNC, "%d ranks are locked by MPI_Win_lock", w->locks);
    if (w->started) return uno_fail(MPI_ERR_RMA_SYNC, "the epoch of MPI_Win_start is open");
    if (w->no_locks) return uno_fail(MPI_ERR_RMA_SYNC, "the window was made with no_locks=true");
    int err = checked ? take_all(w) : MPI_SUCCESS;
    if (err) return err;
    w->all_locked = true;
    w->all_unchecked = !checked;
    w->fenced = false;
    return MPI_SUCCESS;
}

int uno_rma_unlock_all(struct MPI_ABI_Win *w)
{
    if (!w->all_locked) return uno_fail(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all was not called");
    int err = w->all_unchecked ? uno_rma_flush(w, -1) : let_all_go(w);
    w->all_locked = false;
    return err;
}

int uno_rma_flush(struct MPI_ABI_Win *w, int rank)
{
    int err = MPI_SUCCESS;
    if (rank >= 0) return flush_part(w, rank);
    // Acq_rel: as in flush_part.
    atomic_thread_fence(memory_order_acq_rel);
    for (int r = 0; w->messages && r < w->ranks && !err; r++) err = flush_part(w, r);
    return err ? err : uno_win_refusal(w);
}

int uno_rma_flush_local(struct MPI_ABI_Win *w, int rank)
{
    int err = uno_win_refusal(w);
    if (!w->messages) return err;
    for (int r = rank < 0 ? 0 : rank; r < (rank < 0 ? w->ranks : rank + 1) && !err; r++)
        err = w->part[r].owed ? uno_remote_flush(w, r)    // what was sent is in messages: its buffer is free
                              : uno_rma_access_wait(w, r);
    return err;
}
