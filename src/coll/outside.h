// SPDX-License-Identifier: BSD-3-Clause
// Collective algorithms of components (unisono/collective.h). Used by rules_read.c and choose.c, which have the rules;
// what coll.c calls is in build.h.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "unisono/collective.h"

// Number i of all, NULL behind the last; taken: its set comes before the library's own.
const struct uno_algorithm *uno_outside_at(size_t i, bool *taken);

// Its number; -1: no component has one of that name for that collective.
int uno_outside_named(const char *collective, const char *name);
