// SPDX-License-Identifier: BSD-3-Clause
// Hints of communicators: which keys the library knows, with their defaults. Unknown keys and malformed values are
// dropped.
#pragma once
#include "base/fail.h"
#include "core/comm.h"

// Takes what it knows from info (NULL: nothing) into c->info. 0, or MPI_ERR_NO_MEM.
int uno_hints_take(struct MPI_ABI_Comm *c, const struct MPI_ABI_Info *info) UNO_MUST_USE;

// All hints of c with the values in use, as a new info object; NULL when memory is out.
struct MPI_ABI_Info *uno_hints_all(const struct MPI_ABI_Comm *c);
