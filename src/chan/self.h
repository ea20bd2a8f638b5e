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
    int proc, nprocs;       // world rank and size
    const int *local_of;    // [nprocs] local index, -1: on another host. NULL: all here, identity
};

extern struct uno_chan_self uno_chan_self;

static inline int uno_local_of(int proc)
{
    return uno_chan_self.local_of ? uno_chan_self.local_of[proc] : proc;
}
