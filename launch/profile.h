// SPDX-License-Identifier: BSD-3-Clause
// `mpiexec --profile`: a node packs what a rank left (profiler/prof.h) when it has ended, the front adds the ranks up
// and writes a table or JSON when the job is over. Called by options.c, node.c and front.c.
#pragma once
#include "base/job.h"
#include "plan.h"

// options.c: makes the ranks load the recording library. Ends mpiexec with one line when it is not installed.
void uno_profile_prepare(struct uno_plan *p);

// node.c: what the rank behind board b left, for UNO_PROFILE; empty when it never was in MPI.
void uno_profile_pack(struct uno_job_head *job, struct uno_board *b, struct uno_bytes *out);

// front.c
struct uno_profile;
struct uno_profile *uno_profile_new(const struct uno_plan *p);
void uno_profile_take(struct uno_profile *f, const char *data, size_t bytes);
// Writes the file asked for, or gives the table as text (NULL: nothing to say); the caller frees.
char *uno_profile_end(struct uno_profile *f);

// symbols.c: the function that a return address lies in, and its line where the file has debugging information.
struct uno_place {
    uint64_t offset;
    char *function, *file;    // NULL: not known
    int line;
};
void uno_symbols_find(const char *module, struct uno_place *place, size_t count);
