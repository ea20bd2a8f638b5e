// SPDX-License-Identifier: BSD-3-Clause
// Copies between cores: every length to beyond what is asked for ahead, at odd addresses, both ways of copying. What
// lies around the copy stays, and so does the line that tells the reader, which is only asked for.
#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST (4 * UNO_COPY_AHEAD)
#define EDGE 64

static char source[MOST + EDGE], target[MOST + 2 * EDGE], line[64];

static void check(size_t n, size_t shift, const void *told, bool out)
{
    memset(target, 0x55, sizeof target);
    if (out)
        uno_copy_out(target + EDGE + shift, source + shift, n, told);
    else
        uno_copy_in(target + EDGE + shift, source + shift, n);
    assert_memory_equal(target + EDGE + shift, source + shift, n);
    for (size_t i = 0; i < EDGE + shift; i++) assert_int_equal(target[i], 0x55);
    for (size_t i = EDGE + shift + n; i < sizeof target; i++) assert_int_equal(target[i], 0x55);
    for (size_t i = 0; i < sizeof line; i++) assert_int_equal(line[i], 0x33);
}

static void copies_all(void **state)
{
    bool ahead = *(bool *)*state;
    uno_copy_decide(ahead, 4096);
    assert_int_equal(uno_copy_ahead, ahead);
    assert_int_equal(uno_copy_past_from, 4096);
    for (size_t i = 0; i < sizeof source; i++) source[i] = (char)(i * 7 + i / 256);
    memset(line, 0x33, sizeof line);
    for (size_t n = 0; n <= MOST; n += n < 200 ? 1 : 37)
        for (size_t shift = 0; shift < 2; shift++) {
            check(n, 5 * shift, NULL, true);
            check(n, 5 * shift, line, true);
            check(n, 5 * shift, NULL, false);
        }
    uno_copy_soon(source, sizeof source);    // asks, and does nothing
    uno_copy_own(line, sizeof line);
    check(MOST, 0, line, true);
}

int main(void)
{
    static bool yes = true, no = false;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(copies_all, &yes),
        cmocka_unit_test_prestate(copies_all, &no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
