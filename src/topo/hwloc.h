// SPDX-License-Identifier: BSD-3-Clause
// Which parts of the hardware this process is bound to, as hwloc sees it. Without hwloc all is unknown.
#pragma once
#include <stdbool.h>

#define UNO_HW_LEVELS 7               // from the widest part to the narrowest

const char *uno_hwloc_level(int level);                      // "Package", "NUMANode", ... as hwloc calls them

// part[level]: the number of the part that holds all processors this process may run on, -1 when it may run on several
// parts or the parts are unknown.
void uno_hwloc_parts(int part[UNO_HW_LEVELS]);

// Whether the hardware could be looked at, after the first uno_hwloc_parts.
bool uno_hwloc_known(void);
