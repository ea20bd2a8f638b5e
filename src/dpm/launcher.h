// SPDX-License-Identifier: BSD-3-Clause
// The mpiexec that a process started by itself starts when it first spawns. Called by spawn.c.
#pragma once
#include "base/fail.h"

// Sees to it that there is an mpiexec to ask (base/pm.h). MPI_ERR_SPAWN: there is none.
int dpm_launcher_find(void) UNO_MUST_USE;
