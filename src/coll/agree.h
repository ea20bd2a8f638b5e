// SPDX-License-Identifier: BSD-3-Clause
// The checking mode (parameter check_collectives): before a collective runs, its ranks compare what they call. Called by coll.c.
#pragma once
#include "coll/coll.h"

// 0, or the error class with both ranks' calls in the reason. Nothing is sent unless the parameter is on.
int uno_agree(const struct uno_call *c);
