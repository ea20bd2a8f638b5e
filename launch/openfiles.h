// SPDX-License-Identifier: BSD-3-Clause
// Which files processes have open for writing. Used by checkpoint.c.
#pragma once
#include "util.h"

// Adds the paths, each with its NUL, of the regular files that a process and its descendants have open for writing.
void uno_openfiles_list(int pid, struct uno_bytes *paths);
