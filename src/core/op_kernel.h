// SPDX-License-Identifier: BSD-3-Clause
// The loops of the predefined reductions, one per pair of operation and machine type. op_kernel.c compiles them for
// each instruction set and picks one at load; op.c is the only caller.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"
#include "core/type.h"

enum uno_reduce {
    UNO_REDUCE_SUM,
    UNO_REDUCE_MIN,
    UNO_REDUCE_MAX,
    UNO_REDUCE_PROD,
    UNO_REDUCE_BAND,
    UNO_REDUCE_BOR,
    UNO_REDUCE_BXOR,
    UNO_REDUCE_LAND,
    UNO_REDUCE_LOR,
    UNO_REDUCE_LXOR,
    UNO_REDUCE_MINLOC,
    UNO_REDUCE_MAXLOC,
    UNO_REDUCE_END
};

// Whether there is a loop for the machine type. Characters and bytes count as integers of their width, which goes
// beyond the standard's table; uno_reduce_standard holds that table.
bool uno_reduce_defined(enum uno_reduce op, enum uno_basic basic);
bool uno_reduce_standard(enum uno_reduce op, enum uno_basic basic);

// out[i] = a[i] op b[i]. out may be b (or a) exactly, and overlaps neither otherwise; nothing needs to be aligned.
void uno_reduce(enum uno_reduce op, enum uno_basic basic, const void *a, const void *b, void *out, size_t n);

// Chooses the widest instruction set that this processor has, up to `most`; returns it. Done at load; tests go through
// all.
enum uno_isa uno_reduce_choose(enum uno_isa most);
