// SPDX-License-Identifier: BSD-3-Clause
// Windows whose parts are reached by messages: other hosts, and this one where copying across processes is refused.
#pragma once
#include "rma/copy.h"

// An operation on the layout l of its target, which is in the target's addresses. req as for uno_rma_start.
int uno_remote_start(struct MPI_ABI_Win *w, const struct uno_rma_op *o, struct uno_rma_layout *l, MPI_Request *req);
int uno_remote_swap(struct MPI_ABI_Win *w, const struct uno_rma_op *o, struct uno_rma_layout *l, const void *compare);

// access.c: the same for what a channel does by itself, UNO_DECLINED: by messages, then. Operations of this process on
// the same bytes of a part happen in the order called, whichever way they go. wait: until nothing is under way to the
// part; order: only if what is could touch the bytes of the layout.
int uno_rma_access(struct MPI_ABI_Win *w, const struct uno_rma_op *o, const struct uno_rma_layout *l, MPI_Request *req);
int uno_rma_access_wait(struct MPI_ABI_Win *w, int rank);
int uno_rma_access_order(struct MPI_ABI_Win *w, int rank, const struct uno_rma_layout *l);

// Returns once the part has done everything that was sent to it, and has answered what was asked.
int uno_remote_flush(struct MPI_ABI_Win *w, int rank);

// The lock of a part on another host. Unlocking flushes.
int uno_remote_lock(struct MPI_ABI_Win *w, int rank, bool exclusive);
int uno_remote_unlock(struct MPI_ABI_Win *w, int rank, bool exclusive);

// Tells a member on another host: exposed (MPI_Win_post), accesses are over (MPI_Win_complete).
int uno_remote_post(struct MPI_ABI_Win *w, int rank);
int uno_remote_complete(struct MPI_ABI_Win *w, int rank);

MPI_Request uno_rma_request(struct MPI_ABI_Win *w);    // of an operation; NULL: memory is out

void uno_remote_forget(struct MPI_ABI_Win *w);    // the window goes
