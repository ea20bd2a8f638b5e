// SPDX-License-Identifier: BSD-3-Clause
// What channels know of their own process: set by core/world.c before uno_chan_open_all.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/job.h"

struct uno_chan_self {
    struct uno_job_head *job;
    struct uno_board *board;
    struct uno_door *door;
    uint32_t local, nlocal;
    bool shares;            // a channel with UNO_CAN_SHARE is open (chan.h)
    bool wary;              // the next poll looks whether those of other jobs live
    bool guests;            // processes of other jobs have been met, or are about to be
    bool far;               // some of them are on other hosts, or know processes that are
    int meetings;           // under way: connect, accept and the like
    int proc, nprocs;       // world rank and size
    int job_fd;             // the job segment, open for processes of other jobs
    const int *local_of;    // [nprocs] local index, -1: on another host. NULL: all here, identity
};

extern struct uno_chan_self uno_chan_self;

// Whether a rank of this job is dead, and the job goes on.
static inline bool uno_somebody_died(void)
{
    struct uno_job_head *h = uno_chan_self.job;
    for (size_t w = 0; w < uno_job_words(h); w++)
        // Acquire: pairs with mpiexec's release.
        if (atomic_load_explicit(&uno_job_failed(h)[w], memory_order_acquire)) return true;
    return false;
}

// Whether the process of this host with that local index has died in a job that goes on: what it was in the middle of
// will not be finished.
static inline bool uno_local_is_dead(int local)
{
    if (local < 0) return false;
    // Acquire: pairs with mpiexec's release, which comes after the process's last store.
    return atomic_load_explicit(&uno_job_board(uno_chan_self.job, (uint32_t)local)->state, memory_order_acquire) ==
           UNO_RANK_FAILED;
}

static inline int uno_local_of(int proc)
{
    if (proc >= uno_chan_self.nprocs) return -1;    // of another job (proc.h)
    return uno_chan_self.local_of ? uno_chan_self.local_of[proc] : proc;
}
