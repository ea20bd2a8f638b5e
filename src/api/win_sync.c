// SPDX-License-Identifier: BSD-3-Clause
// Synchronisation of one-sided communication: entry points. The work is in rma/active.c and rma/passive.c.
// Always holds: an epoch that could not be opened or closed is as it was.
#include <stdatomic.h>

#include "api/win.h"
#include "core/progress.h"
#include "rma/direct.h"

static int check_assert(int assert, int allowed, const char *names)
{
    if (!uno_world.checks || !(assert & ~allowed)) return MPI_SUCCESS;
    return uno_fail(MPI_ERR_ASSERT, "assert %d has bits that are not allowed here (%s are)", assert, names);
}

// The checking mode, when it is on.
static int check_fenced(MPI_Win win)
{
    return uno_win(win)->check ? uno_win_check_passive(uno_win(win)) : MPI_SUCCESS;
}

static void forget_all(MPI_Win win)
{
    if (uno_win(win)->check) uno_win_check_done(uno_win(win), -1);
}

// ---- active ----

int MPI_Win_fence(int assert, MPI_Win win)
{
    static const char call[] = "MPI_Win_fence";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err)
        err = check_assert(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED,
                           "MPI_MODE_NOSTORE, NOPUT, NOPRECEDE, NOSUCCEED");
    if (!err && uno_win(win)->check) err = uno_win_check_fence(uno_win(win), assert);
    if (!err) err = uno_rma_fence(uno_win(win), assert);
    if (!err && uno_win(win)->check) uno_win_check_fenced(uno_win(win));
    return uno_finish_win(win, call, err);
}

int MPI_Win_post(MPI_Group group, int assert, MPI_Win win)
{
    static const char call[] = "MPI_Win_post";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_group(group, "group");
    if (!err)
        err = check_assert(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT,
                           "MPI_MODE_NOCHECK, NOSTORE, NOPUT");
    if (!err) err = check_fenced(win);
    if (!err) err = uno_rma_post(uno_win(win), uno_group(group), assert);
    return uno_finish_win(win, call, err);
}

int MPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    static const char call[] = "MPI_Win_start";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_check_group(group, "group");
    if (!err) err = check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK is");
    if (!err && uno_win(win)->check) err = uno_win_check_start(uno_win(win), uno_group(group), assert);
    if (!err) err = uno_rma_begin(uno_win(win), uno_group(group), assert);
    return uno_finish_win(win, call, err);
}

int MPI_Win_complete(MPI_Win win)
{
    static const char call[] = "MPI_Win_complete";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) forget_all(win);
    if (!err) err = uno_rma_complete(uno_win(win));
    return uno_finish_win(win, call, err);
}

int MPI_Win_wait(MPI_Win win)
{
    static const char call[] = "MPI_Win_wait";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = uno_rma_wait(uno_win(win), NULL);
    return uno_finish_win(win, call, err);
}

int MPI_Win_test(MPI_Win win, int *flag)
{
    static const char call[] = "MPI_Win_test";
    uno_enter(call);
    bool done = false;
    int err = uno_check_win(win);
    if (!err) err = uno_check_pointer(flag, "flag");
    if (!err) {
        uno_look(NULL);
        err = uno_rma_wait(uno_win(win), &done);
    }
    if (!err) *flag = done;
    return uno_finish_win(win, call, err);
}

// ---- passive ----

int MPI_Win_lock(int lock_type, int rank, int assert, MPI_Win win)
{
    static const char call[] = "MPI_Win_lock";
    uno_enter(call);
    if (lock_type == MPI_LOCK_SHARED && assert == 0 && uno_rma_lock_now(win, rank))
        return uno_finish_win(win, call, MPI_SUCCESS);
    int err = uno_check_win(win);
    if (!err && lock_type != MPI_LOCK_SHARED && lock_type != MPI_LOCK_EXCLUSIVE)
        err = uno_fail(MPI_ERR_LOCKTYPE, "lock_type %d (MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE allowed)", lock_type);
    if (!err) err = check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK is");
    if (!err && rank != MPI_PROC_NULL) err = uno_check_win_rank(uno_win(win), rank, "rank");
    if (!err) err = check_fenced(win);
    if (!err && rank != MPI_PROC_NULL)
        err = uno_rma_lock(uno_win(win), rank, lock_type == MPI_LOCK_EXCLUSIVE, !(assert &MPI_MODE_NOCHECK));
    return uno_finish_win(win, call, err);
}

int MPI_Win_unlock(int rank, MPI_Win win)
{
    static const char call[] = "MPI_Win_unlock";
    uno_enter(call);
    if (uno_rma_unlock_now(win, rank)) return uno_finish_win(win, call, MPI_SUCCESS);
    int err = uno_check_win(win);
    if (!err && rank != MPI_PROC_NULL) err = uno_check_win_rank(uno_win(win), rank, "rank");
    if (!err && rank != MPI_PROC_NULL && uno_win(win)->check) uno_win_check_done(uno_win(win), rank);
    if (!err && rank != MPI_PROC_NULL) err = uno_rma_unlock(uno_win(win), rank);
    return uno_finish_win(win, call, err);
}

int MPI_Win_lock_all(int assert, MPI_Win win)
{
    static const char call[] = "MPI_Win_lock_all";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = check_assert(assert, MPI_MODE_NOCHECK, "MPI_MODE_NOCHECK is");
    if (!err) err = check_fenced(win);
    if (!err) err = uno_rma_lock_all(uno_win(win), !(assert &MPI_MODE_NOCHECK));
    return uno_finish_win(win, call, err);
}

int MPI_Win_unlock_all(MPI_Win win)
{
    static const char call[] = "MPI_Win_unlock_all";
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) forget_all(win);
    if (!err) err = uno_rma_unlock_all(uno_win(win));
    return uno_finish_win(win, call, err);
}

// Flushes are for passive epochs; rank -1: all parts.
static int check_passive(const struct MPI_ABI_Win *w, int rank)
{
    if (w->all_locked || (rank >= 0 ? w->part[rank].held : w->locks)) return MPI_SUCCESS;
    if (rank < 0) return uno_fail(MPI_ERR_RMA_SYNC, "nothing is locked (MPI_Win_lock or MPI_Win_lock_all come first)");
    return uno_fail(MPI_ERR_RMA_SYNC, "rank %d is not locked (MPI_Win_lock or MPI_Win_lock_all come first)", rank);
}

__attribute__((noinline)) static bool is_done_among_threads(MPI_Win win, int rank)
{
    uno_lock();
    bool done = uno_rma_is_flushed(win, rank);
    uno_unlock();
    return done;
}

// Operations that are complete when they return.
static inline __attribute__((always_inline)) bool is_done(MPI_Win win, int rank)
{
    bool threads = __builtin_expect(uno_world.threads, 0);
    bool done = threads ? is_done_among_threads(win, rank) : uno_rma_is_flushed(win, rank);
    // Acq_rel: as in flush_part of rma/passive.c.
    atomic_thread_fence(memory_order_acq_rel);
    return done;
}

static void after_flush(struct MPI_ABI_Win *w, int rank, bool at_target)
{
    if (at_target)
        uno_win_check_done(w, rank);
    else
        uno_win_check_local(w, rank);
}

static int flush(const char *call, MPI_Win win, int rank, int (*fn)(struct MPI_ABI_Win *, int))
{
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err && rank == MPI_PROC_NULL) return uno_finish_win(win, call, MPI_SUCCESS);
    if (!err) err = uno_check_win_rank(uno_win(win), rank, "rank");
    if (!err) err = check_passive(uno_win(win), rank);
    if (!err) err = fn(uno_win(win), rank);
    if (!err && uno_win(win)->check) after_flush(uno_win(win), rank, fn == uno_rma_flush);
    return uno_finish_win(win, call, err);
}

static int flush_all(const char *call, MPI_Win win, int (*fn)(struct MPI_ABI_Win *, int))
{
    uno_enter(call);
    int err = uno_check_win(win);
    if (!err) err = check_passive(uno_win(win), -1);
    if (!err) err = fn(uno_win(win), -1);
    if (!err && uno_win(win)->check) after_flush(uno_win(win), -1, fn == uno_rma_flush);
    return uno_finish_win(win, call, err);
}

int MPI_Win_flush(int rank, MPI_Win win)
{
    if (is_done(win, rank)) return MPI_SUCCESS;
    return flush("MPI_Win_flush", win, rank, uno_rma_flush);
}

int MPI_Win_flush_local(int rank, MPI_Win win)
{
    if (is_done(win, rank)) return MPI_SUCCESS;
    return flush("MPI_Win_flush_local", win, rank, uno_rma_flush_local);
}

int MPI_Win_flush_all(MPI_Win win)
{
    return flush_all("MPI_Win_flush_all", win, uno_rma_flush);
}

int MPI_Win_flush_local_all(MPI_Win win)
{
    return flush_all("MPI_Win_flush_local_all", win, uno_rma_flush_local);
}

int MPI_Win_sync(MPI_Win win)
{
    static const char call[] = "MPI_Win_sync";
    uno_enter(call);
    int err = uno_check_win(win);
    uno_rma_unordered |= UNO_RMA_STORED;    // by the user, too
    uno_rma_order_load();
    if (!err) uno_progress();
    return uno_finish_win(win, call, err);
}
