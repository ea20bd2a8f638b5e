// SPDX-License-Identifier: BSD-3-Clause
// The error of a function that is not yet written. Called by the generated stubs alone.
// Always holds: the message names the function.
#include "api/unsupported.h"

#include "api/check.h"

int uno_unsupported(const char *function)
{
    uno_enter(function);
    int err = uno_fail(MPI_ERR_UNSUPPORTED_OPERATION,
                       "not written yet in Unisono %s (unisono-info --missing lists all)", UNO_VERSION);
    return uno_raise_comm(MPI_COMM_WORLD, function, err);
}
