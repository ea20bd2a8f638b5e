// SPDX-License-Identifier: BSD-3-Clause
// Unit test of what is said of free memory (free.c): small amounts, and more than there is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/free.h"

static void what_there_is(void **state)
{
    (void)state;
    assert_true(uno_memory_has(1));
    assert_false(uno_memory_has(UINT64_MAX - 1));
    assert_true(uno_memory_has(0));
    assert_false(uno_memory_has((uint64_t)1 << 60));    // the kernel was asked a moment ago
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_there_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
