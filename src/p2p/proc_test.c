// SPDX-License-Identifier: BSD-3-Clause
// The table of processes of other jobs: one entry per process, which never moves, lives as long as it is named, and is
// used again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/machine.h"
#include "chan/chan.h"
#include "chan/proc.h"
#include "core/progress.h"
#include "core/world.h"
#include "p2p/fail.h"

#define OWN 3    // ranks of this job
#define MANY 500

static struct uno_job_head job = {.job_id = 77};
static struct uno_board board;
static struct uno_door door;

static int open_table(void **state)
{
    (void)state;
    uno_world.job = &job;
    uno_world.board = &board;
    uno_world.door = &door;
    uno_chan_self = (struct uno_chan_self){.job = &job, .board = &board, .door = &door, .proc = 1, .nprocs = OWN};
    return 0;
}

static int meet(uint64_t of_job, int rank)
{
    return uno_proc_meet(&(struct uno_card){.job = of_job, .rank = rank, .machine = uno_machine_kind()});
}

// Another kind of processor is let in where neither side has used long double, and then long double is not.
static void other_kinds(void **state)
{
    (void)state;
    struct uno_machine here = {.kind = 0};
    struct uno_card card = {.job = 9, .machine = uno_machine_kind() ^ 255, .alike = 1};
    assert_null(uno_machine_join(&here));
    assert_int_equal(uno_proc_meet(&card), -1);
    assert_non_null(strstr(uno_fail_text(), "long double"));
    card.alike = 0;
    int proc = uno_proc_meet(&card);
    assert_true(proc >= OWN);
    assert_false(uno_machine_keep_alike());
    uno_proc_drop(proc);
    uno_progress();
    here.blend = UNO_BLEND_ALIKE;
    assert_int_equal(uno_proc_meet(&card), -1);
    card.machine = __builtin_bswap32(card.machine);
    assert_int_equal(uno_proc_meet(&card), -1);
    assert_non_null(strstr(uno_fail_text(), "order of bytes"));
    assert_int_equal(uno_proc_guests(), 0);
}

static void met_twice_is_one(void **state)
{
    (void)state;
    int a = meet(5, 0), b = meet(6, 0), again = meet(5, 0);
    assert_true(a >= OWN && b >= OWN && a != b);
    assert_int_equal(a, again);
    assert_int_equal(uno_proc_guests(), 2);
    assert_int_equal(uno_proc_find(5, 0), a);
    assert_int_equal(uno_proc_find(5, 1), -1);
    uno_proc_drop(a);
    uno_progress();
    assert_int_equal(uno_proc_find(5, 0), a);    // it is held once more
    uno_proc_drop(a);
    uno_proc_drop(b);
    uno_progress();
    assert_int_equal(uno_proc_guests(), 0);
    assert_int_equal(uno_proc_find(5, 0), -1);
}

static void own_ranks_are_themselves(void **state)
{
    (void)state;
    assert_int_equal(meet(77, 2), 2);
    assert_int_equal(meet(77, OWN), -1);
    assert_int_equal(meet(5, -1), -1);
    assert_int_equal(uno_proc_rank(2), 2);
    assert_int_equal(uno_proc_guests(), 0);
    uno_proc_drop(2);    // nothing
}

static void entries_stay_where_they_are(void **state)
{
    (void)state;
    int first = meet(9, 0);
    struct uno_proc *entry = uno_proc_of(first);
    for (int i = 1; i < MANY; i++) assert_int_equal(uno_proc_rank(meet(9, i)), i);
    assert_ptr_equal(uno_proc_of(first), entry);
    assert_int_equal(uno_proc_guests(), MANY);
    int last = uno_proc_find(9, MANY - 1);
    for (int i = 0; i < MANY; i++) uno_proc_drop(uno_proc_find(9, i));
    uno_progress();
    assert_int_equal(uno_proc_guests(), 0);
    for (int i = 0; i < MANY; i++) assert_true(meet(10, i) <= last);    // places are used again
    for (int i = 0; i < MANY; i++) uno_proc_drop(uno_proc_find(10, i));
    uno_progress();
}

// Named again before its links have ended, it stays the same.
static void comes_back(void **state)
{
    (void)state;
    int a = meet(5, 4);
    uno_proc_drop(a);
    assert_true(uno_proc_of(a)->left);
    assert_int_equal(meet(5, 4), a);
    assert_false(uno_proc_of(a)->left);
    uno_progress();
    assert_int_equal(uno_proc_find(5, 4), a);
    uno_proc_drop(a);
    uno_progress();
    assert_int_equal(uno_proc_guests(), 0);
}

// The link of a process that nobody names any more hears of its end: whoever gets the number next is well.
static void ends_after_that(void **state)
{
    (void)state;
    int a = meet(5, 4);
    uno_proc_of(a)->refs = 0;
    uno_proc_of(a)->left = true;    // and it was let go, but for its link
    uno_link_lost(&(struct uno_link){.proc = a}, "its process has ended");
    uno_proc_settle(a);
    assert_int_equal(meet(6, 0), a);
    uno_progress();
    assert_int_equal(uno_peer_failure(a), MPI_SUCCESS);
    uno_proc_drop(a);
    uno_progress();
    assert_int_equal(uno_proc_guests(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(met_twice_is_one),
                                       cmocka_unit_test(own_ranks_are_themselves),
                                       cmocka_unit_test(entries_stay_where_they_are),
                                       cmocka_unit_test(comes_back),
                                       cmocka_unit_test(ends_after_that),
                                       cmocka_unit_test(other_kinds)};
    return cmocka_run_group_tests(tests, open_table, NULL);
}
