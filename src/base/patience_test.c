// SPDX-License-Identifier: BSD-3-Clause
// The policy of waits: who may spin, for how long, who yields instead, and what the counts say.
#include "base/patience.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/param.h"
#include "base/wait.h"

static void decide(const char *spin, const char *yields, uint32_t ranks, uint32_t processors)
{
    setenv("UNISONO_WAIT_SPIN_US", spin, 1);
    setenv("UNISONO_WAIT_YIELDS", yields, 1);
    assert_int_equal(uno_params_load(), 0);
    uno_patience_decide(ranks, processors);
}

// Spins as often as it may. Returns how often that was.
static uint64_t spin_out(void)
{
    struct uno_patience p = {0};
    uint64_t n = 0;
    while (uno_patience_spin(&p)) n++;
    return n;
}

static uint32_t yield_out(void)
{
    struct uno_patience p = {0};
    uint32_t n = 0;
    while (uno_patience_yield(&p)) n++;
    return n;
}

static void spins_for_its_time(void **state)
{
    (void)state;
    decide("200", "400", 2, 2);
    assert_false(uno_patience.crowded);
    uint64_t start = uno_ticks(), spun = uno_patience.spun, n = spin_out();
    assert_true(uno_ticks() - start >= uno_patience.spin);
    assert_true(n >= 64);
    assert_int_equal(uno_patience.spun - spun, n + 1);    // the look that found the time over
    assert_int_equal(yield_out(), 0);
}

static void zero_never_spins(void **state)
{
    (void)state;
    decide("0", "400", 2, 2);
    uint64_t spun = uno_patience.spun;
    assert_int_equal(spin_out(), 0);
    assert_int_equal(yield_out(), 0);
    decide("0", "400", 8, 2);
    assert_int_equal(spin_out(), 0);
    assert_int_equal(yield_out(), 0);
    assert_int_equal(uno_patience.spun, spun);
}

static void crowded_yields_instead(void **state)
{
    (void)state;
    decide("50", "7", 3, 2);
    assert_true(uno_patience.crowded);
    assert_int_equal(spin_out(), 0);
    assert_int_equal(yield_out(), 7);
}

static void one_rank_is_no_crowd(void **state)
{
    (void)state;
    decide("50", "7", 1, 0);
    assert_false(uno_patience.crowded);
}

static void a_copy_is_waited_for_with_the_core_given_away(void **state)
{
    (void)state;
    struct uno_patience p = {0};
    decide("0", "7", 2, 2);
    uint64_t spun = uno_patience.spun, yielded = uno_patience.yielded;
    uno_patience_copy(&p);
    assert_int_equal(uno_patience.spun, spun);
    assert_int_equal(uno_patience.yielded, yielded + 1);
    decide("1000000", "7", 2, 2);
    for (int i = 0; i < UNO_COPY_LOOKS + 10; i++) uno_patience_copy(&p);
    assert_true(uno_patience.spun > spun);
    assert_true(uno_patience.yielded > yielded + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spins_for_its_time),
        cmocka_unit_test(zero_never_spins),
        cmocka_unit_test(crowded_yields_instead),
        cmocka_unit_test(one_rank_is_no_crowd),
        cmocka_unit_test(a_copy_is_waited_for_with_the_core_given_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
