// SPDX-License-Identifier: BSD-3-Clause
// The processors of this machine and the parts that they lie in. Used by mpiexec (binding), MPI_Comm_split_type and the
// topologies that may reorder ranks.
//
// The source is hwloc; it is looked for when somebody asks (libhwloc.so.15) and its answer is kept. Loading it takes
// milliseconds, so what runs at every start asks for the plain table: cores and packages, from two small kernel files
// per processor. Without hwloc, every caller gets the plain table.
#pragma once
#include <stdbool.h>

enum uno_hw_level {    // from the widest part to the narrowest
    UNO_HW_PACKAGE,
    UNO_HW_NUMA,
    UNO_HW_L3,
    UNO_HW_L2,
    UNO_HW_L1,
    UNO_HW_CORE,
    UNO_HW_PU,
    UNO_HW_LEVELS
};

struct uno_hw_pu {
    int cpu;                    // the kernel's number
    int part[UNO_HW_LEVELS];    // which part of each level it lies in; -1: nothing is known about the level
};

struct uno_hw {
    int n;
    struct uno_hw_pu *pu;    // [n] neighbours in the machine are neighbours here
    bool imagined;           // see uno_hw_imagined
};

const struct uno_hw *uno_hw_read(void);          // NULL: memory is out
const struct uno_hw *uno_hw_read_plain(void);    // likewise; the full table when that was read already

bool uno_hw_imagined(void);    // the parameter hw_synthetic names a machine: no process can be bound to it

const char *uno_hw_level_name(int level);    // as hwloc calls it: "Package", "NUMANode", "L3Cache", ... "Core", "PU"
