// SPDX-License-Identifier: BSD-3-Clause
// Where processes are: on which host, and in which parts of its hardware they stay. Used by what splits by hardware
// (hw.c) and by what puts ranks near each other (order.c, map.c).
#pragma once
#include "base/hw.h"
#include "core/comm.h"

// part[level] is -1 when the process may run in several parts of the level, or nothing is known.
struct uno_spot {
    int host, part[UNO_HW_LEVELS];
};

// Of this process, as it is bound at the moment.
struct uno_spot uno_spot_here(void);

// The same, but hwloc is not asked when the process may run everywhere: enough for putting ranks in order.
struct uno_spot uno_spot_if_bound(void);

// Of all ranks of c, collectively, their hosts as c sees them: [size], the caller frees. NULL, with the error in *err,
// when that fails.
struct uno_spot *uno_spots(struct MPI_ABI_Comm *c, struct uno_spot mine, int *err);

// Level -1 is the host itself. Whether both are in one part, and known to be.
bool uno_spot_same(const struct uno_spot *a, const struct uno_spot *b, int level);

// The same number in all processes of a part and in no other; MPI_UNDEFINED when this one is in no part of the level.
int uno_spot_part(const struct uno_spot *a, int level);

// The widest level (-1: the host) that divides the processes: every one is in a part, and not all in the same. Those
// with a negative host take no part. UNO_HW_LEVELS: there is none.
int uno_spot_level(const struct uno_spot *spot, int n);
