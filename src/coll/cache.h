// SPDX-License-Identifier: BSD-3-Clause
// Schedules kept after their operation, to be run again by the next call with the same arguments. A few per
// communicator, given back with it; only those whose arguments are plain values and predefined handles. Called by
// coll.c and schedule.c.
#pragma once
#include "coll/schedule.h"

// One that was built for the same call, to be run with `tag`; NULL: build it.
struct uno_sched *uno_cache_take(const struct uno_call *c, enum uno_form form, int tag);
// s was just built for c: remember what it may serve again.
void uno_cache_label(struct uno_sched *s, const struct uno_call *c);
// The operation is over (or failed): keeps the schedule or frees it.
void uno_cache_give(struct uno_sched *s);
