// SPDX-License-Identifier: BSD-3-Clause
// Parameters: every tunable is declared once, as a static struct in the .c file that uses it, and read as a plain
// field.
//
//   static struct uno_param spin = UNO_PARAM_INT("wait_spin_us", 50, 0, 1000000,
//                                                "microseconds a wait looks again before it sleeps");
//   UNO_PARAM_DECLARE(spin);
//   ... spin.num ...
//
// Values come, strongest first, from a tool that wrote them (MPI_T), from the environment UNISONO_<NAME> (which mpiexec
// --set writes), then from the file that UNISONO_PARAM_FILE names, else the default,
// which may follow from the machine. uno_params_load() reads them once
// in MPI_Init, before anything else runs.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum uno_param_kind { UNO_PARAM_IS_INT, UNO_PARAM_IS_BOOL, UNO_PARAM_IS_TEXT, UNO_PARAM_IS_CHOICE };
enum uno_param_origin {
    UNO_PARAM_DEFAULT,
    UNO_PARAM_FROM_FILE,
    UNO_PARAM_FROM_ENV,
    UNO_PARAM_FROM_TOOL,
    UNO_PARAM_FROM_MACHINE
};

struct uno_param {
    const char *name;    // lower case with underscores; environment UNISONO_<NAME in upper case>
    enum uno_param_kind kind;
    int64_t num;    // INT, BOOL: the value; CHOICE: index in `choices`. INT accepts k, M, G (of 1024)
    int64_t min, max;
    const char *text;       // TEXT: the value; CHOICE: the chosen word
    const char *choices;    // CHOICE: words separated by `|`
    const char *help;
    enum uno_param_origin origin;
    bool by_machine;    // the default follows from the machine (base/thresholds.h); num, until then: of Sapphire Rapids
};

#define UNO_PARAM_INT(n, def, lo, hi, h)                                                                               \
    {                                                                                                                  \
        .name = n, .kind = UNO_PARAM_IS_INT, .num = def, .min = lo, .max = hi, .help = h                               \
    }
#define UNO_PARAM_BY_MACHINE(n, def, lo, hi, h)                                                                        \
    {                                                                                                                  \
        .name = n, .kind = UNO_PARAM_IS_INT, .num = def, .min = lo, .max = hi, .help = h, .by_machine = true           \
    }
#define UNO_PARAM_BOOL(n, def, h)                                                                                      \
    {                                                                                                                  \
        .name = n, .kind = UNO_PARAM_IS_BOOL, .num = def, .min = 0, .max = 1, .help = h                                \
    }
#define UNO_PARAM_TEXT(n, def, h)                                                                                      \
    {                                                                                                                  \
        .name = n, .kind = UNO_PARAM_IS_TEXT, .text = def, .help = h                                                   \
    }
#define UNO_PARAM_CHOICE(n, def, words, h)                                                                             \
    {                                                                                                                  \
        .name = n, .kind = UNO_PARAM_IS_CHOICE, .text = def, .choices = words, .help = h                               \
    }
#define UNO_PARAM_DECLARE(p)                                                                                           \
    static struct uno_param *const uno_param_##p __attribute__((used, section("uno_params"))) = &(p)

// Reads all values, as often as it is called, but for those that a tool wrote. 0, or MPI_ERR_ARG with the reason in
// uno_fail_text() (unknown name with the nearest one, malformed value).
int uno_params_load(void) UNO_MUST_USE;

// Whether the caller of a setuid program, which has more rights than that caller, says what it is.
bool uno_param_is_foreign(const struct uno_param *p);

// What a tool writes before MPI_Init: num for INT, BOOL and CHOICE (the index), text for TEXT. 0, or MPI_ERR_ARG with
// the reason in uno_fail_text().
int uno_param_write(struct uno_param *p, int64_t num, const char *text) UNO_MUST_USE;

// Sets a parameter that nobody has set to what follows from the machine, within its range.
void uno_param_derive(struct uno_param *p, int64_t num);

// The word number `index` of `a|b|c` and its length; NULL when there are fewer.
const char *uno_word_of(const char *words, int index, size_t *len);

// All parameters of the library, for unisono-info and MPI_T. *count entries.
struct uno_param *const *uno_params_all(size_t *count);

// The nearest of `count` words to `word`, or NULL when none is near (edit distance above a third of its length).
const char *uno_nearest(const char *word, const char *const *words, size_t count);
