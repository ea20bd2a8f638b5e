// SPDX-License-Identifier: BSD-3-Clause
// How a nonblocking collective access ended: each member tells what became of its own part, and hears the worst of all.
// Nobody waits in here: it goes on whenever progress is made.
#pragma once
#include "base/fail.h"

struct MPI_ABI_File;
struct uno_outcome;

// Opens the next one of the file. All members open theirs in the order in which they call.
int uno_outcome_open(struct MPI_ABI_File *f, struct uno_outcome **out) UNO_MUST_USE;

// What became of the own part, once. ended (NULL: nobody listens) gets the class of all, and the reason: from within
// this call, or later, while another call makes progress. Until then the file has something pending.
typedef void uno_outcome_fn(void *arg, int error, const char *why);
void uno_outcome_tell(struct uno_outcome *o, int error, uno_outcome_fn *ended, void *arg);
