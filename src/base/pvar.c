// SPDX-License-Identifier: BSD-3-Clause
// The list of performance variables (pvar.h), as the linker gathered it.
#include "base/pvar.h"

#include "base/wait.h"

// Weak: a program of the launcher counts nothing.
extern const struct uno_pvar *const first_array[] __asm__("__start_uno_pvars")
    __attribute__((weak, visibility("hidden")));
extern const struct uno_pvar *const end_array[] __asm__("__stop_uno_pvars") __attribute__((weak, visibility("hidden")));

int uno_pvars_count(void)
{
    int n = 0;
    for (const struct uno_pvar *const *a = first_array; a < end_array; a++)
        for (const struct uno_pvar *v = *a; v->name; v++) n++;
    return n;
}

const struct uno_pvar *uno_pvar_at(int index)
{
    for (const struct uno_pvar *const *a = first_array; a < end_array; a++)
        for (const struct uno_pvar *v = *a; v->name; v++)
            if (index-- == 0) return v;
    return NULL;
}

uint64_t uno_pvar_value(const struct uno_pvar *v)
{
    uint64_t less = v->less ? uno_count_get(v->less) : 0, at = uno_count_get(v->at);
    return at > less ? at - less : 0;    // another thread may count between the two reads
}

double uno_pvar_seconds(uint64_t ticks)
{
    return (double)ticks / ((double)uno_ticks_per_us() * 1e6);
}
