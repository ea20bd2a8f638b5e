// SPDX-License-Identifier: BSD-3-Clause
// What copies across processes cost in this kernel: never taken for less, and told otherwise only where it is more.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/machine.h"

// Costs that no kernel has, and costs beyond any: the former are raised where there are copies across at all.
static void calls_are_no_cheaper_than_here(void **state)
{
    (void)state;
    char a = 0, b = 1;
    struct iovec mine = {&a, 1}, theirs = {&b, 1};
    bool can = process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) == 1;
    struct uno_costs low = {.line = 7, .call = 10, .cross = 1, .page = 1};
    struct uno_costs high = {.line = 7, .call = 1000000, .cross = 100000, .page = 100000};
    assert_int_equal(uno_machine_raise(&low), can);
    assert_int_equal(low.call > 10, can);
    assert_int_equal(low.cross > 1, can);
    assert_true(low.line == 7 && low.page * 1000 <= 4096 * low.cross);
    assert_false(uno_machine_raise(&high));
    assert_true(high.call == 1000000 && high.cross == 100000 && high.page == 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_are_no_cheaper_than_here)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
