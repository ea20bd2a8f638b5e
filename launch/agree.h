// SPDX-License-Identifier: BSD-3-Clause
// What the front decides for ranks that agree (src/base/pm.h: struct uno_ballot), and who is dead in a job that goes
// on. Called by frontjob.c.
#pragma once
#include "frontjob.h"

// A rank has ended. True: the job goes on, and the death was told; false: it is for the verdict.
bool uno_agree_survives(struct uno_front_job *j, int rank, const struct uno_exit *e);
void uno_agree_gone(struct uno_front_job *j, int rank);    // it has left, in whatever way: nobody waits for its vote
void uno_agree_lost(struct uno_front_job *j, const struct uno_frame *fr, const char *data);    // UNO_GONE
void uno_agree_take(struct uno_front_job *j, const struct uno_frame *fr, const char *data);    // UNO_VOTE
void uno_agree_close(struct uno_front_job *j);
