// SPDX-License-Identifier: BSD-3-Clause
// The parameters of the launcher. They are declared in the base, not in launch/, because a rank meets them in its
// environment and unisono-info lists them; mpiexec alone reads them, but for the error handler.
#pragma once
#include "base/param.h"

#define UNO_ERRHANDLER_ENV "UNISONO_INITIAL_ERRHANDLER"    // what uno_start_errhandler is called there

extern struct uno_param uno_start_agent, uno_start_allocation, uno_start_grace, uno_start_bind, uno_start_map,
    uno_start_deadlock, uno_start_fanout, uno_start_silence, uno_start_unfinalized, uno_start_names, uno_start_gdb,
    uno_start_errhandler, uno_start_criu, uno_start_keep;
