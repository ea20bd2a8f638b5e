// SPDX-License-Identifier: BSD-3-Clause
// Fetch and op, compare and swap at the shortest: of one integer of mapped memory.
#pragma once
#include "rma/direct.h"

struct uno_rma_word {
    MPI_Win win;
    int rank;
    MPI_Aint disp;
    MPI_Datatype type;
};

// False: nothing was done; it takes the long way (uno_rma_fetch), which knows all types, operations and errors.
bool uno_rma_fetch_word(const struct uno_rma_word *at, MPI_Op op, const void *in, void *old);
bool uno_rma_swap_word(const struct uno_rma_word *at, const void *compare, const void *in, void *old);
