// SPDX-License-Identifier: BSD-3-Clause
// Managers: other people's launchers, which start our programs as they are (docs/managers.md). What is needed of one is
// a rank, a size, and texts that ranks leave for each other: then core/managed.c makes the job without mpiexec. Each
// follows unisono/manager.h: pmi1.c, pmix.c, and what is loaded. With the library lock held.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"
#include "unisono/manager.h"

// The one that started this process. NULL: none, or uno_manager_find has not been called.
extern const struct uno_manager *uno_manager;
extern struct uno_manager_place uno_manager_self;    // what it told

// Asks each once. An MPI error class when there is one that cannot be used.
int uno_manager_find(void) UNO_MUST_USE;

// Values of any bytes, cut into texts. 0 or an errno value; EMSGSIZE: no room, *bytes is room, then length.
int uno_manager_put(const char *key, const void *value, size_t bytes) UNO_MUST_USE;
int uno_manager_get(int rank, const char *key, void *value, size_t *bytes) UNO_MUST_USE;
