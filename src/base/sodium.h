// SPDX-License-Identifier: BSD-3-Clause
// Functions of libsodium, found when they are first needed: most processes never talk over a network. Called by the tcp
// channel and by the ports of dynamic processes.
#pragma once
#include <stddef.h>

#include "base/fail.h"

struct uno_symbol {
    const char *name;
    void **to;
};

// MPI_ERR_OTHER, with the package that is missing, where there is no libsodium. It is ready for use afterwards.
int uno_sodium_find(const struct uno_symbol *wanted, size_t count) UNO_MUST_USE;
