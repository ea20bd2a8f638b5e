// SPDX-License-Identifier: BSD-3-Clause
// Which host entries name this machine, and which of them name the same machine. A name is resolved and its addresses
// are compared with those of the interfaces here and of the other entries.
#pragma once
#include "plan.h"

// Marks the hosts that are this machine, and merges entries that name the same machine into one host with the slots
// of all. Names are resolved only where the launch agent (p->agent) resolves them too, as ssh does: another agent's
// names are its own business.
void uno_names_unite(struct uno_plan *p);
