// SPDX-License-Identifier: BSD-3-Clause
// Invariants that run: what always holds by construction, checked where it could break. On in builds under a sanitizer
// and with the option `invariants`; elsewhere a condition is compiled, and costs nothing. Wrong arguments of users are
// no invariants: src/api/check.h.
#pragma once

_Noreturn void uno_assert_failed(const char *what, const char *file, int line);

#ifdef UNO_INVARIANTS
#define uno_assert(condition) ((condition) ? (void)0 : uno_assert_failed(#condition, __FILE__, __LINE__))
#else
#define uno_assert(condition) ((void)sizeof((condition) ? 1 : 0))
#endif
