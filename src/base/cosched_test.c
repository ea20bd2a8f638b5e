// SPDX-License-Identifier: BSD-3-Clause
// Ranks that share processors: where they live, which of two parts from the other and comes back, whose wait looks.
#define _GNU_SOURCE
#include "base/cosched.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/job.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/wait.h"

#define ROWS 20000    // waits, more than any rule asks for

static struct uno_door door[8];

static void crowd(const char *spin, uint32_t ranks, uint32_t processors)
{
    setenv("UNISONO_WAIT_SPIN_US", spin, 1);
    assert_int_equal(uno_params_load(), 0);
    uno_patience_decide(ranks, processors);
}

// Where it runs now, and where it may, as an array of processors; returns how many.
static int allowed(cpu_set_t *set)
{
    assert_int_equal(sched_getaffinity(0, sizeof *set, set), 0);
    return CPU_COUNT(set);
}

static void ranks_have_homes_in_turn(void **state)
{
    (void)state;
    cpu_set_t set;
    int n = allowed(&set);
    crowd("50", 2, 2);
    if (n < 2) return uno_cosched_home(1, 4), assert_int_equal(uno_cosched_home_is(), 0);
    uint32_t last = 0, all = 2 * (uint32_t)n;
    for (uint32_t turn = 0; turn < all; turn++) {
        uno_cosched_home(turn, all);
        assert_true(CPU_ISSET(uno_cosched_home_is() - 1, &set));
        if (turn % (uint32_t)n != 0) assert_true(uno_cosched_home_is() > last);
        last = uno_cosched_home_is();
    }
    uno_cosched_home(0, all + 1);    // not as many on each
    assert_int_equal(uno_cosched_home_is(), 0);
    uno_cosched_home(0, (uint32_t)n);
    assert_int_equal(uno_cosched_home_is(), 0);
}

// Moving there leaves it bound as before.
static void a_rank_goes_home_and_stays_free(void **state)
{
    (void)state;
    static struct uno_door own;
    cpu_set_t before, after;
    int n = allowed(&before);
    crowd("50", 2, 2);
    uno_patience_neighbours(&own, 1, 0);
    for (uint32_t turn = 0; n > 1 && turn < 2; turn++) {
        uno_cosched_home(turn, 2 * (uint32_t)n);
        for (int i = 0; i < 1000; i++) uno_give_core();
        assert_int_equal(allowed(&after), n);
        assert_true(CPU_EQUAL(&before, &after));
    }
    assert_int_equal(own.turns, n > 1 ? 2000 : 0);
    uno_patience_neighbours(NULL, 0, 0);
    uno_cosched_home(0, 1);
}

static void some_turns(void)
{
    for (int i = 0; i < 200; i++) uno_give_core();
}

// A rank that others push off its home looks less often: 20,000 turns are enough wherever it is.
static void turns_until(const _Atomic uint32_t *what, uint32_t wanted)
{
    for (int i = 0; i < 100 && *what != wanted; i++) some_turns();
    assert_int_equal(*what, wanted);
}

static void turns_until_home_is(uint32_t wanted)
{
    for (int i = 0; i < 100 && uno_cosched_home_is() != wanted; i++) some_turns();
    assert_int_equal(uno_cosched_home_is(), wanted);
}

static void add_a_ring(_Atomic uint32_t *before, _Atomic uint32_t *after)
{
    *before += 1000;
    *after += 1000;
}

// The second of two ranks per processor lives beside the first one while all ranks exchange with both neighbours.
static void ranks_on_a_ring_have_homes_in_blocks(void **state)
{
    (void)state;
    static struct uno_door own;
    cpu_set_t set;
    uint32_t n = (uint32_t)allowed(&set), all = 2 * n;
    if (n < 2) skip();
    crowd("50", 2, 2);
    uno_patience_neighbours(&own, 1, 0);
    uno_cosched_home(0, all);
    uint32_t first = uno_cosched_home_is();
    uno_cosched_home(1, all);
    uint32_t second = uno_cosched_home_is();
    assert_true(second > first);
    _Atomic uint32_t votes = all - 1, before = 0, after = 0, across = 0;
    const _Atomic uint32_t *taken[UNO_NEIGHBOURS] = {&before, &after, &across};
    uno_cosched_neighbours(&votes, taken);
    after = 1000;    // a ring that goes one way
    some_turns();
    assert_int_equal(votes, all - 1);
    add_a_ring(&before, &after);
    turns_until(&votes, all);
    turns_until_home_is(first);
    votes--;    // of another rank
    turns_until_home_is(second);
    across += 1000;
    add_a_ring(&before, &after);
    turns_until(&votes, all - 2);
    uno_cosched_settle();
    add_a_ring(&before, &after);
    some_turns();
    assert_int_equal(votes, all - 2);
    uno_patience_neighbours(NULL, 0, 0);
    uno_cosched_home(0, 1);
}

static uint32_t here(void)
{
    return (uint32_t)sched_getcpu() + 1;
}

// This process stays on one processor, so that others seem to be beside it or not; before: where it may run.
static void stay(cpu_set_t *before)
{
    cpu_set_t one;
    allowed(before);
    int cpu = 0;
    while (!CPU_ISSET(cpu, before)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static void let_go(const cpu_set_t *before)
{
    uno_cosched_home(0, 1);
    uno_patience_neighbours(NULL, 0, 0);
    assert_int_equal(sched_setaffinity(0, sizeof *before, before), 0);
}

// Looks of one wait for a message, which does not come by looking.
static uint32_t looks(const struct uno_door *of)
{
    struct uno_patience p = {0};
    uint32_t n = 0;
    uno_cosched_wait_message(&p, of);
    while (uno_patience_spin(&p)) n++;
    p.yields = 1;
    uno_cosched_waited_message(&p, true, 8);
    return n;
}

static void only_a_rank_that_runs_elsewhere_is_looked_for(void **state)
{
    (void)state;
    cpu_set_t before;
    stay(&before);
    crowd("50", 8, 2);
    assert_int_equal(uno_patience.spin, 0);
    uno_patience_neighbours(door, 8, 7);
    door[0].ran = here() + 1;
    door[0].runs = 1;
    assert_true(looks(&door[0]) >= 16);
    door[1].ran = here();
    door[1].runs = 1;
    assert_int_equal(looks(&door[1]), 0);    // beside
    door[2].ran = here() + 1;
    assert_true(looks(&door[2]) < 32);    // it gave its processor away: seen at the first look at its door
    door[3].ran = here() + 1;
    door[3].runs = 1;
    door[3].mode = UNO_DOOR_FUTEX;
    assert_true(looks(&door[3]) < 32);    // it sleeps
    let_go(&before);
}

// Of 640 waits for a rank that runs elsewhere and does not answer, how many look.
static uint32_t waits_that_look(const char *spin, struct uno_door *of)
{
    cpu_set_t before;
    stay(&before);
    crowd(spin, 8, 2);
    uno_patience_neighbours(door, 8, 7);
    of->ran = here() + 1;
    of->runs = 1;
    uint32_t looked = 0;
    for (int i = 0; i < 640; i++) looked += looks(of) > 0;
    let_go(&before);
    return looked;
}

static void looks_in_vain_become_few(void **state)
{
    (void)state;
    assert_in_range(waits_that_look("50", &door[4]), 10, 30);
}

// wait_spin_us=0: a wait sleeps at once.
static void nobody_looks_where_none_yields(void **state)
{
    (void)state;
    assert_int_equal(waits_that_look("0", &door[5]), 0);
}

// What goes on for as many waits: how many it took until the home was another one; 0: it stayed.
static int until_moved(struct uno_door *of, size_t bytes)
{
    uint32_t was = uno_cosched_home_is();
    for (int i = 1; i <= ROWS; i++) {
        struct uno_patience p = {0};
        uno_cosched_wait_message(&p, of);
        uno_cosched_waited_message(&p, true, bytes);
        if (uno_cosched_home_is() != was) return i;
    }
    return 0;
}

// Two ranks on each of n processors, this one beside rank 0; before: where it may run. Returns their doors, to free.
static struct uno_door *live_beside(cpu_set_t *before, uint32_t n, uint32_t *at)
{
    cpu_set_t one;
    allowed(before);
    struct uno_door *all = calloc((size_t)n * 2, sizeof *all);
    assert_non_null(all);
    crowd("50", 4, 2);
    uno_patience_neighbours(all, 2 * n, n);
    uno_cosched_home(n, 2 * n);
    uint32_t home = uno_cosched_home_is();
    CPU_ZERO(&one);
    CPU_SET(home - 1, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    all[0].ran = *at = home;
    return all;
}

// Parts and is brought back by long messages; how many waits it takes to part.
static int part_and_return(struct uno_door *all, uint32_t home)
{
    all[0].ran = home;
    int waits = until_moved(&all[0], 8);
    assert_int_not_equal(uno_cosched_home_is(), home);
    all[0].ran = home + 1;    // now on another processor
    assert_true(until_moved(&all[0], 100000) > 0);
    assert_int_equal(uno_cosched_home_is(), home);
    return waits;
}

static void the_higher_of_two_parts_and_comes_back(void **state)
{
    (void)state;
    cpu_set_t before;
    uint32_t n = (uint32_t)allowed(&before), home;
    if (n < 2) skip();
    struct uno_door *all = live_beside(&before, n, &home);
    assert_int_equal(until_moved(&all[0], 100000), 0);    // long messages: a switch is cheap beside them
    assert_true(until_moved(&all[0], 8) > 0);
    all[0].ran = home + 1;
    assert_int_equal(until_moved(&all[0], 8), 0);    // it pays
    assert_true(until_moved(&all[0], 100000) > 0);
    assert_int_equal(uno_cosched_home_is(), home);
    for (int i = 0; i < 64; i++) {
        struct uno_patience p = {0};
        uno_cosched_wait(&p, NULL);
    }
    assert_int_equal(uno_cosched_home_is(), home);    // nothing but other waits
    uno_patience_neighbours(all, 2 * n, 0);           // the lower one stays
    uno_cosched_home(0, 2 * n);
    all[n].ran = home;
    assert_int_equal(until_moved(&all[n], 8), 0);
    let_go(&before);
    free(all);
}

// Waits for messages, with one for something else after each 60. How many of these until the home was another one; 0:
// it stayed.
static int until_moved_between_others(struct uno_door *of)
{
    uint32_t was = uno_cosched_home_is();
    for (int i = 1; i <= ROWS; i++) {
        for (int k = 0; k < 60; k++) {
            struct uno_patience p = {0};
            uno_cosched_wait_message(&p, of);
            uno_cosched_waited_message(&p, true, 8);
        }
        struct uno_patience p = {0};
        uno_cosched_wait(&p, NULL);
        if (uno_cosched_home_is() != was) return i;
    }
    return 0;
}

// Two that wait for each other, but now and then for others, have their processors together.
static void those_who_wait_for_others_too_stay(void **state)
{
    (void)state;
    cpu_set_t before;
    uint32_t n = (uint32_t)allowed(&before), home;
    if (n < 2) skip();
    struct uno_door *all = live_beside(&before, n, &home);
    assert_int_equal(until_moved_between_others(&all[0]), 0);
    assert_true(until_moved(&all[0], 8) > 0);
    all[0].ran = home + 1;
    assert_in_range(until_moved_between_others(&all[0]), 1, 64);
    assert_int_equal(uno_cosched_home_is(), home);
    let_go(&before);
    free(all);
}

// Parting becomes harder each time, but not where another pair has come to this processor.
static bool parts_as_it_should(bool uneven, uint32_t n)
{
    cpu_set_t before;
    uint32_t home;
    struct uno_door *all = live_beside(&before, n, &home);
    all[1].ran = uneven ? home : 0;
    int first = part_and_return(all, home), last = 0;
    for (int i = 0; i < 4; i++) last = part_and_return(all, home);
    let_go(&before);
    free(all);
    return uneven ? last <= 3 * first : last >= 6 * first;
}

// Whoever else wants the processor lengthens some of the waits: one undisturbed run of five is enough.
static void an_uneven_layout_is_left_soon(void **state)
{
    (void)state;
    cpu_set_t set;
    uint32_t n = (uint32_t)allowed(&set);
    if (n < 2) skip();
    for (int uneven = 0; uneven < 2; uneven++) {
        bool held = false;
        for (int i = 0; i < 5 && !held; i++) held = parts_as_it_should(uneven, n);
        assert_true(held);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_have_homes_in_turn),
        cmocka_unit_test(a_rank_goes_home_and_stays_free),
        cmocka_unit_test(ranks_on_a_ring_have_homes_in_blocks),
        cmocka_unit_test(only_a_rank_that_runs_elsewhere_is_looked_for),
        cmocka_unit_test(nobody_looks_where_none_yields),
        cmocka_unit_test(looks_in_vain_become_few),
        cmocka_unit_test(the_higher_of_two_parts_and_comes_back),
        cmocka_unit_test(those_who_wait_for_others_too_stay),
        cmocka_unit_test(an_uneven_layout_is_left_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
