// SPDX-License-Identifier: BSD-3-Clause
// The error of a function that is not yet written. Called by the generated stubs alone.
// Always holds: the message names the function.
#include "api/unsupported.h"

#include <mpi.h>
#include <stdio.h>

int uno_unsupported(const char *function)
{
    fprintf(stderr, "%s: not written yet in this version of Unisono (see unisono-info --missing)\n", function);
    return MPI_ERR_UNSUPPORTED_OPERATION;
}
