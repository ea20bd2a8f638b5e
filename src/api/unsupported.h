// SPDX-License-Identifier: BSD-3-Clause
// What a function that is not yet written does, and which functions those are.
// The stubs that tools/abi/gen.py writes call uno_unsupported(); unisono-info --missing prints uno_missing.
#ifndef UNO_API_UNSUPPORTED_H
#define UNO_API_UNSUPPORTED_H

// Raises MPI_ERR_UNSUPPORTED_OPERATION in the name of the function, on the error handler of MPI_COMM_WORLD.
int uno_unsupported(const char *function);

// The functions of the standard that the library does not have yet, ended by NULL.
extern const char *const uno_missing[];

#endif
