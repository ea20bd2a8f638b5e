// SPDX-License-Identifier: BSD-3-Clause
// The TCP channel between two network namespaces joined by a veth pair that this test makes, with the line taken down
// and up while messages are under way. Needs root and the command `ip` (package iproute2); without them it ends with
// status 77 (skipped) and the reason.
#include "chan/test_spaces.h"

extern struct uno_chan uno_tcp;

static uint64_t dark_ns;    // how long the line stays down

#define DOWNS 3

static void body(void)
{
    mixed_traffic(3000);
}

// Traffic both ways until the line has been down often enough.
static void body_while_down(void)
{
    struct uno_link *l = links[1 - me];
    on_arrival = take_mixed;
    on_done = direct_done;
    uint64_t k = 0;
    for (; atomic_load(&shared->number[5]) < DOWNS; k++) {
        send_number(l, k);
        if (k == 500) offer_all(l);
        poll_once();
    }
    atomic_store(&shared->number[me], k);
    meet(true);
    expected_from[1 - me] = atomic_load(&shared->number[1 - me]);
    while (!all_received() || done_out < TRANSFERS || done_in < TRANSFERS) poll_once();
    meet(true);
}

static void down_and_up(int fd)
{
    (void)fd;
    for (uint64_t i = 1; i <= DOWNS; i++) {
        uint64_t before = atomic_load(&shared->number[6]);
        AWAIT(atomic_load(&shared->number[6]) > before + 1000);    // messages flow (again)
        assert_true(atomic_load(&shared->number[6]) > before + 1000);
        set_line((int)(i % 2), 0, false);
        uint64_t end = uno_now_ns() + dark_ns;
        AWAIT(uno_now_ns() > end);
        atomic_fetch_add(&shared->number[5], 1);
        set_line((int)(i % 2), 0, true);
    }
}

static void run_between(outside_fn *outside)
{
    assert_true(make_spaces(1));
    int failures = run_ranks(2, &uno_tcp, outside ? body_while_down : body, outside);
    remove_spaces();
    assert_int_equal(failures, 0);
}

static void version_4(void **state)
{
    (void)state;
    six = false;
    run_between(NULL);
}

static void version_6(void **state)
{
    (void)state;
    six = true;
    run_between(NULL);
}

static void line_down_shortly(void **state)
{
    (void)state;
    six = false;
    dark_ns = 300000000;
    run_between(down_and_up);
}

// Longer than a connection survives (a quarter of tcp_patience): it must be dialled again.
static void line_down_long(void **state)
{
    (void)state;
    six = false;
    dark_ns = 6000000000;
    setenv("UNISONO_TCP_PATIENCE", "20", 1);
    run_between(down_and_up);
    unsetenv("UNISONO_TCP_PATIENCE");
}

int main(int argc, char **argv)
{
    need_spaces(argc > 1 ? argv[1] : NULL);
    setenv("UNISONO_TCP_INTERFACE", "uno0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_4),
        cmocka_unit_test(version_6),
        cmocka_unit_test(line_down_shortly),
        cmocka_unit_test(line_down_long),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_spaces();
    return failed;
}
