// SPDX-License-Identifier: BSD-3-Clause
// What ranks ask of the front (src/base/pm.h, uno_pm_command): publish SERVICE PORT, unpublish SERVICE PORT, lookup
// SERVICE, components RANK HOST LIST (src/chan/alike.c), spawn ... (childplan.h). Each request gets one answer: an MPI
// error class and a text. The exception is met TICKET: the job spawned by the request of that ticket has met its
// parents. Called by frontjob.c.
#pragma once
#include "frontjob.h"

struct uno_requests;
struct uno_requests *uno_requests_new(void);
void uno_request_take(struct uno_requests *q, struct uno_front_job *j, const struct uno_frame *fr, const char *data);
void uno_requests_gone(struct uno_requests *q, const struct uno_front_job *j, int rank);    // that rank has ended
void uno_requests_close(struct uno_requests *q);
