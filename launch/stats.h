// SPDX-License-Identifier: BSD-3-Clause
// `mpiexec --stats`: a node packs what a rank left of its performance variables (base/stats.h) when it has ended, the
// front adds the ranks up and writes a table or JSON when the job is over. Called by options.c, node.c and frontjob.c.
#pragma once
#include "base/job.h"
#include "plan.h"

void uno_stats_prepare(struct uno_plan *p);    // options.c: makes the ranks leave them
// node.c: what the rank behind board b left, for UNO_STATS; empty when it never was in MPI.
void uno_stats_pack(struct uno_job_head *job, struct uno_board *b, struct uno_bytes *out);

// The front.
struct uno_statistics;
struct uno_statistics *uno_stats_new(const struct uno_plan *p);
void uno_stats_take(struct uno_statistics *s, const char *data, size_t bytes);
// Writes the file asked for, or gives the table as text (NULL: nothing to say); the caller frees.
char *uno_stats_end(struct uno_statistics *s);
