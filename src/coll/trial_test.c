// SPDX-License-Identifier: BSD-3-Clause
// Trials of ways: the one that costs least is found and followed, what loses is left out more and more, and neither
// other sizes nor trials that never end are in the way.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "chan/peer_memory.h"
#include "coll/trial.h"

#define ALL 15u    // ways
#define CALLS 40000
#define LOOKED 4000

static struct uno_line lines[2], done[1 + UNO_SEG_LINES];
static struct MPI_ABI_Comm comm = {.size = 1};
static struct uno_trials trials;

static struct uno_coll alone(void)
{
    struct uno_coll u = {.comm = &comm, .n = 1, .lines = UNO_SEG_DEPTH, .line = done, .widened = true};
    u.spread_from = UINT64_MAX;
    u.flow.line = lines;
    memset(&trials, 0, sizeof trials);
    trials.plan.first = 128;
    u.trials = &trials;
    return u;
}

// Calls of which each costs what `cost` says of its way; how many of the last ones went each way.
static void run(struct uno_coll *u, enum uno_coll_kind kind, size_t bytes, const uint64_t cost[4], unsigned ways,
                int went[4])
{
    memset(went, 0, 4 * sizeof *went);
    for (int i = 0; i < CALLS; i++) {
        enum uno_alg way = uno_trial_way(u, kind, bytes, UNO_ALG_SLOTS, ways);
        assert_true(ways & UNO_TRIAL_BIT(way));
        went[way - UNO_ALG_SLOTS] += i >= CALLS - LOOKED;
        if (trials.began) trials.sum[trials.rival] += cost[way - UNO_ALG_SLOTS];
        trials.began = 0;
    }
}

static void find_the_cheapest(void **state)
{
    (void)state;
    static const uint64_t costs[][4] = {
        {100, 300, 90, 200}, {100, 80, 200, 300}, {300, 200, 400, 100}, {70, 80, 90, 100}};
    static const size_t sizes[] = {16 << 10, 256 << 10, 2 << 20};
    for (size_t s = 0; s < 3; s++) {
        struct uno_coll u = alone();
        for (size_t i = 0; i < 4; i++) {
            int went[4], best = 0;
            for (int w = 1; w < 4; w++)
                if (costs[i][w] < costs[i][best]) best = w;
            run(&u, UNO_ALLTOALL, sizes[s], costs[i], ALL, went);
            assert_true(went[best] > LOOKED * 9 / 10);
        }
    }
}

// What costs a little less is not worth a change.
static void stay_where_it_is_as_good(void **state)
{
    (void)state;
    static const uint64_t cost[4] = {100, 97, 95, 110};
    struct uno_coll u = alone();
    int went[4];
    run(&u, UNO_ALLREDUCE, 64 << 10, cost, ALL, went);
    assert_true(went[0] > LOOKED * 9 / 10);
}

static void leave_out_what_loses(void **state)
{
    (void)state;
    static const uint64_t cost[4] = {100, 1000, 2000, 400};
    struct uno_coll u = alone();
    int went[4];
    run(&u, UNO_ALLTOALL, 64 << 10, cost, ALL, went);
    assert_true(went[1] + went[2] + went[3] < LOOKED / 100);
}

static void go_no_way_that_may_not_be(void **state)
{
    (void)state;
    static const uint64_t cost[4] = {100, 10, 10, 50};
    struct uno_coll u = alone();
    int went[4];
    run(&u, UNO_SCATTER, 64 << 10, cost, UNO_TRIAL_BIT(UNO_ALG_SLOTS), went);
    assert_int_equal(went[0], LOOKED);
    run(&u, UNO_SCATTER, 64 << 10, cost, UNO_TRIAL_BIT(UNO_ALG_SLOTS) | UNO_TRIAL_BIT(UNO_ALG_MESSAGES), went);
    assert_true(went[3] > LOOKED * 9 / 10);
}

static int went_by_windows(uint64_t cost_of_windows)
{
    const unsigned ways = UNO_TRIAL_BIT(UNO_ALG_SLOTS) | UNO_TRIAL_BIT(UNO_ALG_WINDOWS);
    struct uno_coll u = alone();
    int n = 0;
    for (int i = 0; i < 90; i++) {
        n += uno_trial_way(&u, UNO_ALLGATHER, 2 << 20, UNO_ALG_SLOTS, ways) == UNO_ALG_WINDOWS;
        if (trials.began) trials.sum[trials.rival] += trials.rival ? cost_of_windows : 100;
        trials.began = 0;
    }
    return n;
}

// Large calls are dear: what is not close at first sight is not looked at for longer.
static void spare_large_calls(void **state)
{
    (void)state;
    assert_int_equal(went_by_windows(130), 2);
    assert_int_equal(went_by_windows(108), 2 + 5);
}

// A size whose trial began and is never called again; and one begins where its neighbour has come to.
static void learn_of_each_size(void **state)
{
    (void)state;
    static const uint64_t cost[4] = {100, 50, 100, 100};
    struct uno_coll u = alone();
    int went[4];
    for (int i = 0; i < 130; i++)
        assert_int_equal(uno_trial_way(&u, UNO_ALLTOALL, 16 << 10, UNO_ALG_SLOTS, ALL), UNO_ALG_SLOTS);
    assert_non_null(trials.open);
    run(&u, UNO_ALLTOALL, 256 << 10, cost, ALL, went);
    assert_true(went[1] > LOOKED * 9 / 10);
    assert_int_equal(uno_trial_way(&u, UNO_ALLTOALL, 128 << 10, UNO_ALG_SLOTS, ALL), UNO_ALG_COPIES);
    assert_int_equal(uno_trial_way(&u, UNO_ALLTOALL, 128 << 10, UNO_ALG_WINDOWS, ALL), UNO_ALG_WINDOWS);
    assert_int_equal(uno_trial_way(&u, UNO_ALLGATHER, 128 << 10, UNO_ALG_SLOTS, ALL), UNO_ALG_SLOTS);
}

// Calls that the rules send by copies, too short for trials; took: what each copy took, cost: of slots, copies. How
// many of the last ones went by slots.
static int run_copied(struct uno_coll *u, int calls, uint32_t took, uint64_t slots, uint64_t copies)
{
    const unsigned ways = UNO_TRIAL_BIT(UNO_ALG_SLOTS) | UNO_TRIAL_BIT(UNO_ALG_COPIES);
    int n = 0;
    for (int i = 0; i < calls; i++) {
        enum uno_alg way = uno_trial_way(u, UNO_BCAST, 8 << 10, UNO_ALG_COPIES, ways);
        n += way == UNO_ALG_SLOTS;
        if (trials.began && way == UNO_ALG_COPIES) uno_trial_copied(&trials, took);
        if (trials.began) trials.sum[trials.rival] += way == UNO_ALG_SLOTS ? slots : copies;
        trials.began = 0;
    }
    return n;
}

// Copies that become dear lose to slots, short ones too, and win again when they are cheap.
static void notice_dear_copies(void **state)
{
    (void)state;
    struct uno_coll u = alone();
    trials.plan.least = 16 << 10;
    assert_int_equal(run_copied(&u, 2000, UNO_PEER_MEMORY_USUAL, 10, 100), 0);
    assert_true(run_copied(&u, 1000, UNO_PEER_MEMORY_USUAL * 7, 200, 700) > 500);
    assert_int_equal(run_copied(&u, 1000, UNO_PEER_MEMORY_USUAL * 7, 200, 700) / 900, 1);
    run_copied(&u, 4000, UNO_PEER_MEMORY_USUAL, 80, 40);    // slots are out of a cache again, too
    assert_true(run_copied(&u, 1000, UNO_PEER_MEMORY_USUAL, 80, 40) < 50);
}

// Copies that are dear, and yet the best there is, stay.
static void keep_dear_copies_that_are_best(void **state)
{
    (void)state;
    struct uno_coll u = alone();
    trials.plan.least = 16 << 10;
    assert_true(run_copied(&u, 4000, UNO_PEER_MEMORY_USUAL * 7, 900, 700) < 400);
    assert_true(run_copied(&u, 4000, UNO_PEER_MEMORY_USUAL * 7, 900, 700) < 100);
}

// Slots that are not yet as long as they will be are not compared.
static void wait_for_slots_to_grow(void **state)
{
    (void)state;
    static const uint64_t cost[4] = {100, 50, 50, 50};
    struct uno_coll u = alone();
    int went[4];
    u.spread_from = 1000;
    run(&u, UNO_ALLTOALL, 16 << 10, cost, ALL, went);
    assert_int_equal(went[0], LOOKED);
    u.phase = 1000;
    run(&u, UNO_ALLTOALL, 16 << 10, cost, ALL, went);
    assert_int_equal(went[0], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(find_the_cheapest),
        cmocka_unit_test(stay_where_it_is_as_good),
        cmocka_unit_test(leave_out_what_loses),
        cmocka_unit_test(go_no_way_that_may_not_be),
        cmocka_unit_test(learn_of_each_size),
        cmocka_unit_test(wait_for_slots_to_grow),
        cmocka_unit_test(spare_large_calls),
        cmocka_unit_test(notice_dear_copies),
        cmocka_unit_test(keep_dear_copies_that_are_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
