// SPDX-License-Identifier: BSD-3-Clause
// What the variables of the environment say of the allocations of launch agents (unisono/agent.h). Used by alloc.c.
#pragma once
#include <stdbool.h>

#include "unisono/agent.h"

bool uno_agent_is_set(const char *variable);    // to more than nothing

// The place in its source[] of the variable that is set; -1: none is.
int uno_agent_told(const struct uno_agent *a);

// The first that can be used and whose allocation is there, or half there; NULL: there is none.
const struct uno_agent *uno_agent_here(void);
