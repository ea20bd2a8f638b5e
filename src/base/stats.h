// SPDX-License-Identifier: BSD-3-Clause
// What a rank under `mpiexec --stats` leaves in the job segment, in a chunk of its heap that its board names: the
// values of its performance variables (pvar.h), as they were when it last slept, ended or failed. Written by the rank,
// read by its node (launch/stats.c) when the rank has ended, in whatever way.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/job.h"

#define UNO_STATS_NAME 48

struct uno_stats_row {
    char name[UNO_STATS_NAME];
    uint32_t kind, pad;    // enum uno_pvar_kind
    uint64_t value;        // of a time: nanoseconds
};

struct uno_stats {
    int32_t rank;
    _Atomic uint32_t rows;    // 0 until there are values
    struct uno_stats_row row[];
};

#define UNO_STATS_ROWS ((UNO_HEAP_CHUNK - sizeof(struct uno_stats)) / sizeof(struct uno_stats_row))

// Takes the chunk, if the parameter `stats` asks for it. rank: in MPI_COMM_WORLD.
void uno_stats_open(struct uno_job_head *job, struct uno_board *board, int rank);
bool uno_stats_wanted(void);    // the parameter
void uno_stats_leave(void);     // also from a signal handler
