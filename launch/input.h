// SPDX-License-Identifier: BSD-3-Clause
// Standard input of mpiexec on its way to the rank, or ranks, that read it. Used by the front unless the rank could be
// given the descriptor itself. Reads no more than the ranks take, and never from a terminal that belongs to another
// foreground job.
#pragma once
#include "plan.h"
#include "relay.h"

struct uno_input;

struct uno_input *uno_input_new(const struct uno_plan *p, bool forward);
int uno_input_fd(const struct uno_input *in);     // to wait on for input; -1: none wanted now
int64_t uno_input_retry(struct uno_input *in);    // when to look again, 0 never
void uno_input_resume(struct uno_input *in);      // mpiexec may be in the foreground again
void uno_input_at_once(struct uno_input *in);     // standard input cannot be waited on: it is always ready
void uno_input_read(struct uno_input *in, struct uno_relay *down);
void uno_input_tick(struct uno_input *in, struct uno_relay *down);        // reads from a file, which is always ready
void uno_input_room(struct uno_input *in, int rank, int64_t bytes);       // the rank took so many; -1: it takes no more
bool uno_input_forwards(const struct uno_input *in);                      // there may be more of it
void uno_input_parts(const struct uno_input *in, struct uno_bytes *b);    // adds frames that say who reads no more
void uno_input_gone(struct uno_input *in, int rank);
