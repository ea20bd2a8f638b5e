// SPDX-License-Identifier: BSD-3-Clause
// The policy of waits: who may spin, for how long, who yields instead, and what the counts say.
#define _GNU_SOURCE
#include "base/patience.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/job.h"
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

static uint64_t us(uint64_t n)
{
    return n * uno_ticks_per_us();
}

// Yields until it may not. Returns how long that was, in ticks.
static uint64_t yield_time(void)
{
    uint64_t start = uno_ticks();
    yield_out();
    return uno_ticks() - start;
}

static void a_short_sleep_lengthens_the_yields(void **state)
{
    (void)state;
    decide("50", "7", 3, 2);
    uno_patience_slept(us(1000));
    assert_true(yield_time() >= us(2000));
    uno_patience_slept(us(20000));
    assert_int_equal(yield_out(), 7);
}

static void a_yield_lost_to_strangers_ends_the_yields(void **state)
{
    (void)state;
    decide("50", "7", 3, 2);
    uno_patience.keep = 0;
    uno_patience_yielded(uno_ticks(), us(5000), 0);    // the first may be the end of a slice
    assert_int_equal(yield_out(), 7);
    uno_patience_yielded(uno_ticks(), us(5000), us(4100));    // ranks of the job had the processor
    assert_int_equal(yield_out(), 7);
    uno_patience_yielded(uno_ticks() + us(1000000), us(5000), us(4000));
    assert_int_equal(yield_out(), 0);
    uno_patience.no_yield = 0;
}

// Two ranks that were last seen on this processor, whichever that is.
static void a_yield_lost_to_a_rank_ends_when_it_waits(void **state)
{
    (void)state;
    static struct uno_door doors[3];
    decide("50", "7", 3, 2);
    uno_patience.keep = 0;
    uno_patience_neighbours(doors, 3, 0);
    uno_give_core();
    doors[1].ran = doors[2].ran = doors[0].ran;
    doors[2].mode = UNO_DOOR_FUTEX;    // asleep: it did not compute
    uno_patience.since = 0;
    uno_patience_yielded(uno_ticks() + us(9000000), us(5000000), 0);
    // The test's process may have moved to another processor before: then nobody is suspected.
    bool moved = doors[0].ran != (uint32_t)sched_getcpu() + 1;
    assert_int_equal(yield_out(), 0);
    doors[1].turns++;    // it has waited, and has not run for long: others did
    assert_int_equal(yield_out(), 0);
    doors[1].run += us(4999000);
    if (!moved) assert_int_equal(yield_out(), 7);
    uno_patience_yielded(uno_ticks() + us(9000000), us(5000000), us(2000000));
    doors[1].turns++;
    doors[1].run += us(2998000);
    assert_int_equal(yield_out(), 0);
    doors[1].run += us(1000);
    if (!moved) assert_int_equal(yield_out(), 7);
    uno_patience.no_yield = 0;
    uno_patience_neighbours(NULL, 0, 0);
}

static void a_thread_that_was_woken_is_given_way_to(void **state)
{
    (void)state;
    struct uno_door doors[2] = {{0}};
    decide("50", "7", 2, 2);
    uno_patience_neighbours(doors, 2, 0);
    assert_false(uno_patience_meets());
    for (int i = 0; i < 2; i++) {
        doors[i].called = 1;
        assert_true(uno_patience_meets());
        doors[i].called = 0;
    }
    assert_false(uno_patience_meets());
    uno_patience_neighbours(NULL, 0, 0);
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

// A rank that shares this processor is not there to help while we run.
static void a_neighbour_on_the_same_processor_is_beside(void **state)
{
    (void)state;
    cpu_set_t before, one;
    struct uno_door door = {0};
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    decide("50", "400", 4, 2);
    assert_false(uno_patience_beside(&door));    // it has not said where it runs
    door.ran = (uint32_t)cpu + 1;
    assert_true(uno_patience_beside(&door));
    door.ran = (uint32_t)cpu + 2;
    assert_false(uno_patience_beside(&door));
    door.ran = (uint32_t)cpu + 1;
    decide("50", "400", 2, 2);
    assert_false(uno_patience_beside(&door));    // a processor for each: it moves on soon
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

// Looks stand apart by wait_gap_ns where each rank has a processor.
static void looks_stand_apart(void **state)
{
    (void)state;
    setenv("UNISONO_WAIT_GAP_NS", "5000", 1);
    decide("50", "400", 2, 2);
    uint64_t start = uno_ticks();
    uno_patience_apart(2);
    assert_true(uno_ticks() - start >= 10 * uno_ticks_per_us() - 1);
    decide("50", "400", 3, 2);
    assert_int_equal(uno_patience.gap, 0);
    setenv("UNISONO_WAIT_GAP_NS", "0", 1);
    decide("50", "400", 2, 2);
    assert_int_equal(uno_patience.gap, 0);
    unsetenv("UNISONO_WAIT_GAP_NS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spins_for_its_time),
        cmocka_unit_test(zero_never_spins),
        cmocka_unit_test(looks_stand_apart),
        cmocka_unit_test(crowded_yields_instead),
        cmocka_unit_test(a_short_sleep_lengthens_the_yields),
        cmocka_unit_test(a_yield_lost_to_strangers_ends_the_yields),
        cmocka_unit_test(a_yield_lost_to_a_rank_ends_when_it_waits),
        cmocka_unit_test(a_thread_that_was_woken_is_given_way_to),
        cmocka_unit_test(one_rank_is_no_crowd),
        cmocka_unit_test(a_neighbour_on_the_same_processor_is_beside),
        cmocka_unit_test(a_copy_is_waited_for_with_the_core_given_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
