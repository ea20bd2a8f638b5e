// SPDX-License-Identifier: BSD-3-Clause
// Collectives inside a host (shm.c): small ones in one phase of the communicator's segment (small.c) or, among many
// ranks, over a tree of lines (tree.c), large ones by copying between the ranks' buffers (large.h). Called by coll.c.
#pragma once
#include "base/fail.h"
#include "coll/segment.h"

#define UNO_SHM_DECLINED (-2)    // not done here: every rank of the communicator decided so
#define UNO_SHM_TABLE (-3)       // of a scatterv: so did its root, whose table follows

// Blocking calls on intracommunicators. UNO_SHM_DECLINED, 0 or an error class.
int uno_shm_run(const struct uno_call *c) UNO_MUST_USE;

// A call that was declined is over: it may have been declined as a trial (trial.h).
void uno_shm_over(const struct MPI_ABI_Comm *comm);

// The parts. c was found fit (by what all ranks know) in shm.c.
int uno_small_run(struct uno_coll *u, const struct uno_call *c, size_t bytes) UNO_MUST_USE;
// Begins the phase in any case. Also UNO_SHM_TABLE, in that phase; UNO_SHM_DECLINED: by messages, as the root told.
int uno_dense_scatterv(struct uno_coll *u, const struct uno_call *c) UNO_MUST_USE;
void uno_tree_run(struct uno_coll *u, const struct uno_call *c, size_t bytes);
void uno_windows_reduce(struct uno_coll *u, const struct uno_call *c, size_t bytes);
int uno_windows_spread(struct uno_coll *u, const struct uno_call *c, size_t bytes) UNO_MUST_USE;
int uno_windows_alltoall(struct uno_coll *u, const struct uno_call *c, size_t bytes) UNO_MUST_USE;
int uno_large_move(struct uno_coll *u, const struct uno_call *c) UNO_MUST_USE;
int uno_large_bcast(struct uno_coll *u, const struct uno_call *c, size_t bytes) UNO_MUST_USE;
int uno_large_reduce(struct uno_coll *u, const struct uno_call *c) UNO_MUST_USE;
