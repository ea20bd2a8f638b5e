// SPDX-License-Identifier: BSD-3-Clause
// Published names: by way of mpiexec, which keeps them for all ranks of its jobs, or, in a process without mpiexec, by
// itself. Called by src/api with the library lock held and arguments checked. Results: 0 or an MPI error class.
#pragma once
#include "base/fail.h"

int uno_dpm_publish(const char *service, const char *port) UNO_MUST_USE;
int uno_dpm_unpublish(const char *service, const char *port) UNO_MUST_USE;
int uno_dpm_look_up(const char *service, char *port) UNO_MUST_USE;    // at most MPI_MAX_PORT_NAME characters
