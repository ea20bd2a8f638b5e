// SPDX-License-Identifier: BSD-3-Clause
// Unit test of waits (progress.c): where ranks share processors, a wait takes all that has come before it gives the
// core away again; threads that wait in turns are all woken.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/job.h"
#include "base/patience.h"
#include "chan/door.h"
#include "chan/self.h"
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

#define THREADS 3
#define TURNS 2000

static struct uno_door shared_door;
static int whose;    // under the lock

static bool is_mine(void *arg)
{
    return whose == *(const int *)arg;
}

// Each waits for the one before: all but one wait at any time, one of them for all.
static void *take_turns(void *arg)
{
    int me = *(const int *)arg;
    for (int i = 0; i < TURNS; i++) {
        uno_lock();
        uno_wait_until(is_mine, &me, NULL);
        whose = (me + 1) % THREADS;
        uno_wake_waiters();
        uno_unlock();
    }
    return NULL;
}

static void every_thread_that_is_called_comes(void **state)
{
    (void)state;
    static struct uno_board board;
    uno_world.door = uno_chan_self.door = &shared_door;
    assert_int_equal(uno_door_open(), 0);
    uno_world.board = &board;
    uno_world.threads = true;
    uno_patience_decide(1, 2);
    whose = 0;
    pthread_t thread[THREADS];
    int number[THREADS];
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, take_turns, &number[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    uno_world.threads = false;
    assert_int_equal(whose, 0);
    assert_int_equal(shared_door.called, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_has_come_is_taken_after_one_yield),
                                       cmocka_unit_test(every_thread_that_is_called_comes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
