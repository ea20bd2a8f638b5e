// SPDX-License-Identifier: BSD-3-Clause
// mpiexec --checkpoint-to: makes a checkpoint of the first job every so often, and whenever it is asked to. Used by the
// front. All functions take NULL, for a job without checkpoints, and never wait, but for the last.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct uno_plan;
struct uno_front;
struct uno_frame;
struct uno_restart;
struct uno_checkpoint;

void uno_checkpoint_check(struct uno_plan *p);    // ends mpiexec with one line where it cannot be
// The same where strangers may write to the folder of checkpoints, or a job that runs does.
void uno_checkpoint_guard(const char *option, const char *dir);
struct uno_checkpoint *uno_checkpoint_open(struct uno_front *f, const struct uno_restart *r);
bool uno_checkpoint_ask(struct uno_checkpoint *c);            // one at once; false: none are made
int64_t uno_checkpoint_at(const struct uno_checkpoint *c);    // when to call tick, 0 not for a time
void uno_checkpoint_tick(struct uno_checkpoint *c);
void uno_checkpoint_reap(struct uno_checkpoint *c);    // a child of the front has ended
// A frame of the job's node: what a front that goes on later is to hear again is kept.
void uno_checkpoint_hear(struct uno_checkpoint *c, const struct uno_frame *fr, const char *data);
void uno_checkpoint_close(struct uno_checkpoint *c);    // lets what is being stored be stored
