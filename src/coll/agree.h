// SPDX-License-Identifier: BSD-3-Clause
// The checking mode (parameter check_collectives): before a collective runs, its ranks compare what they call, and all
// of them fail with both calls in the message instead of hanging. Called by coll.c; others ask whether the mode is on.
#pragma once
#include "coll/schedule.h"

bool uno_agree_on(void);

// Emits the exchange of calls and their comparison, ahead of the operation itself.
void uno_build_agree(struct uno_sched *s, const struct uno_call *c, enum uno_form form);
