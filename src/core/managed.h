// SPDX-License-Identifier: BSD-3-Clause
// Jobs of other people's launchers (base/manager.h): the ranks make what mpiexec makes for its own.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

// Looks whether another launcher started this process (*there), and then makes this host's job segment with the other
// ranks here, or finds the one that they made. *fd: the segment; *local: this rank's index in it. Collective over the
// ranks of the job. An MPI error class.
int uno_managed_join(bool *there, int *fd, uint32_t *local) UNO_MUST_USE;

// What the channels have published is there for all when this returns. Collective; nothing without a manager.
int uno_managed_publish(void) UNO_MUST_USE;

bool uno_managed(void);
void uno_managed_abort(int status, const char *why);    // may return; nothing without a manager, as the next one
void uno_managed_leave(void);                           // MPI_Finalize
