// SPDX-License-Identifier: BSD-3-Clause
// Which parts of the hardware this process stays in, as the kernel tells in sysfs, under the names that hwloc gives
// them. Reading a few small files costs microseconds and needs no library; hwloc says the same after 50 ms and more.
#pragma once

#define UNO_HW_LEVELS 7               // from the widest part to the narrowest

const char *uno_parts_level(int level);    // "Package", "NUMANode", "L3Cache", ... "Core", "PU"

// part[level]: the number of the part that holds all processors this process may run on (the lowest processor in it,
// the node's number for NUMANode); -1 when it may run on several parts, or the kernel does not tell.
void uno_parts_find(int part[UNO_HW_LEVELS]);
