// SPDX-License-Identifier: BSD-3-Clause
// Whether the ranks of a job have loaded the same components (base/component.h). Called by chan.c, before channels
// open.
#pragma once
#include "base/fail.h"

// Compares with the rank of this host that came first, which compares with the host that came first. Waits for nobody
// else's MPI_Init. An MPI error class, with the reason kept.
int uno_alike_check(void) UNO_MUST_USE;
