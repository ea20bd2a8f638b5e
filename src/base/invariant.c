// SPDX-License-Identifier: BSD-3-Clause
// Says which invariant broke, and ends the process where a debugger sees why (invariant.h).
#include "base/invariant.h"

#include <stdlib.h>

#include "base/fail.h"

void uno_assert_failed(const char *what, const char *file, int line)
{
    uno_log(0, "%s:%d: this must hold and does not: %s", file, line, what);
    abort();
}
