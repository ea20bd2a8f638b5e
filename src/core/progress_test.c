// SPDX-License-Identifier: BSD-3-Clause
// Unit test of waits (progress.c): where ranks share processors, a wait takes all that has come before it gives the
// core away again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/job.h"
#include "base/patience.h"
#include "core/progress.h"
#include "core/world.h"

#define PARTS 10

static int left = PARTS;    // one look at the ring takes one part

// Nothing has come before the core was given away once; then all of it has.
static int take(struct uno_poller *self)
{
    (void)self;
    if (uno_patience.yielded == 0 || left == 0) return 0;
    left--;
    return 1;
}

static bool all_taken(void *arg)
{
    (void)arg;
    return left == 0;
}

static void what_has_come_is_taken_after_one_yield(void **state)
{
    (void)state;
    static struct uno_door door;
    struct uno_poller ring = {.fn = take};
    uno_world.door = &door;
    uno_patience_decide(2, 1);
    uno_lock();
    uno_poller_add(&ring);
    uno_wait_until(all_taken, NULL, NULL);
    uno_poller_remove(&ring);
    uno_unlock();
    assert_int_equal(uno_patience.yielded, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_come_is_taken_after_one_yield)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
