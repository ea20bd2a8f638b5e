// SPDX-License-Identifier: BSD-3-Clause
// Performance variables: what the library counts, declared once in the .c file that counts it and found by the linker,
// as parameters are (param.h). Users: MPI_T (src/tool) and mpiexec --stats.
//
//   static _Atomic uint64_t sleeps;
//   static const struct uno_pvar counts[] = {UNO_PVAR_COUNTER("wait_sleeps", &sleeps, "times a wait slept"),
//                                            UNO_PVAR_END};
//   UNO_PVARS_DECLARE(counts);
//   ... uno_count_add(&sleeps, 1) ...
//
// A counter is a word in memory that only grows, read by any thread at any time and without the lock: a level is what
// came minus what went. A path that is counted on every small message counts in a line that it writes anyway.
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/count.h"

enum uno_pvar_kind {
    UNO_PVAR_IS_COUNTER,    // of events
    UNO_PVAR_IS_SUM,        // of bytes
    UNO_PVAR_IS_TIME,       // in ticks (base/wait.h)
    UNO_PVAR_IS_LEVEL,
    UNO_PVAR_IS_HIGH    // highest level so far
};

struct uno_pvar {
    const char *name;    // lower case with underscores; NULL ends an array
    const char *help;
    enum uno_pvar_kind kind;
    const _Atomic uint64_t *at, *less;    // the value is *at, minus *less of a level
};

#define UNO_PVAR_COUNTER(n, a, h)                                                                                      \
    {                                                                                                                  \
        .name = n, .kind = UNO_PVAR_IS_COUNTER, .at = a, .help = h                                                     \
    }
#define UNO_PVAR_SUM(n, a, h)                                                                                          \
    {                                                                                                                  \
        .name = n, .kind = UNO_PVAR_IS_SUM, .at = a, .help = h                                                         \
    }
#define UNO_PVAR_TIME(n, a, h)                                                                                         \
    {                                                                                                                  \
        .name = n, .kind = UNO_PVAR_IS_TIME, .at = a, .help = h                                                        \
    }
#define UNO_PVAR_LEVEL(n, came, went, h)                                                                               \
    {                                                                                                                  \
        .name = n, .kind = UNO_PVAR_IS_LEVEL, .at = came, .less = went, .help = h                                      \
    }
#define UNO_PVAR_HIGH(n, a, h)                                                                                         \
    {                                                                                                                  \
        .name = n, .kind = UNO_PVAR_IS_HIGH, .at = a, .help = h                                                        \
    }
#define UNO_PVAR_END                                                                                                   \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define UNO_PVARS_DECLARE(array)                                                                                       \
    static const struct uno_pvar *const uno_pvars_##array __attribute__((used, section("uno_pvars"))) = array

int uno_pvars_count(void);
const struct uno_pvar *uno_pvar_at(int index);    // 0 .. count-1, the same in every process of a build

uint64_t uno_pvar_value(const struct uno_pvar *v);    // of a time: in ticks
double uno_pvar_seconds(uint64_t ticks);
