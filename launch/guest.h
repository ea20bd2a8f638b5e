// SPDX-License-Identifier: BSD-3-Clause
// A process that was started by itself and has started this mpiexec to spawn jobs (mpiexec --attend FD). It stands for
// the first job: its requests come over its socket instead of a node's link, and its end is that of the job. Called by
// front.c and frontjob.c.
#pragma once
#include "frontjob.h"

void uno_guest_hear(struct uno_front *f);    // the socket can be read
void uno_guest_send(struct uno_front *f, const struct uno_frame *fr, const char *text);
