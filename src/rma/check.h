// SPDX-License-Identifier: BSD-3-Clause
// The checking mode of windows (parameter check_windows): every operation is compared with those that are not complete,
// of this process and of all on its host, and every synchronisation with what it follows. w->check is NULL when it is
// off, none of this is called, and operations may go short ways (direct.h).
#pragma once
#include "base/fail.h"
#include "rma/rma.h"

int uno_win_check_make(struct MPI_ABI_Win *w) UNO_MUST_USE;    // collective; MPI_SUCCESS too when the mode is off
void uno_win_check_drop(struct MPI_ABI_Win *w);

// Before an operation: MPI_ERR_RMA_CONFLICT when it and another one touch the same bytes and nothing orders them.
// local: the buffers here are in use until a synchronisation (false: until the request is complete, which is not seen
// here).
int uno_win_check_op(struct MPI_ABI_Win *w, const struct uno_rma_op *o, bool local) UNO_MUST_USE;

// Before what ends or cannot follow an epoch of MPI_Win_fence: MPI_ERR_RMA_SYNC.
int uno_win_check_fence(struct MPI_ABI_Win *w, int assert) UNO_MUST_USE;
int uno_win_check_passive(const struct MPI_ABI_Win *w) UNO_MUST_USE;    // lock, lock_all, start, post, free
int uno_win_check_start(const struct MPI_ABI_Win *w, const struct MPI_ABI_Group *g, int assert) UNO_MUST_USE;

// What was sent to the part (-1: all) is complete, here alone or at the part too: called before others may know of it,
// but after a flush, which only its caller knows of. A fence counts on all members.
void uno_win_check_local(struct MPI_ABI_Win *w, int rank);
void uno_win_check_done(struct MPI_ABI_Win *w, int rank);
void uno_win_check_fenced(struct MPI_ABI_Win *w);
