// SPDX-License-Identifier: BSD-3-Clause
// Allocations: the hosts and slots that a resource manager (Slurm, LSF, PBS, Grid Engine) has given to the script or
// shell that mpiexec runs in. Its environment tells them (docs/managers.md).
#pragma once
#include "plan.h"

// Takes hosts, slots and the launch agent from the allocation, if there is one; what the user has said of either wins.
// Called between reading the command line and placing ranks. An allocation that cannot be used ends mpiexec with one
// line, unless the user has named hosts.
void uno_alloc_take(struct uno_plan *p);
