// SPDX-License-Identifier: BSD-3-Clause
// Share: memory that the members of a communicator on one host map together, for what windows, files and barriers keep
// between processes. Anonymous, so it has no name to collide, no limit of a file system, and goes with its last user; a
// small one whose user died stays until the job ends.
// The lock is held.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "core/comm.h"

// One member's view. Owned by the caller that made it; copies are fine.
struct uno_share {
    char *base;      // page-aligned, zero at first; a page costs memory when it is first touched
    size_t bytes;    // as asked for
    void *map;       // what is mapped, NULL when it lies in the job's heap
    size_t mapped;
    struct uno_job_head *job;    // whose heap
    size_t first, chunks;        // there
};

// Whether all members of c are on this host, and wanted, which is the same on all members of a job: then they may
// share. The same on all members; collective where they are of several jobs, whose parameters may differ.
bool uno_share_possible(struct MPI_ABI_Comm *c, bool wanted);

// Collective over c, an intracommunicator for which it is possible, with the same number of bytes. 0, or on all members
// MPI_ERR_NO_MEM with the reason kept: the memory is refused here rather than missed at some later touch, as far as the
// system tells.
int uno_share_make(struct MPI_ABI_Comm *c, size_t bytes, struct uno_share *share) UNO_MUST_USE;

// This member is done with it. The others' views stay.
void uno_share_drop(struct uno_share *share);
