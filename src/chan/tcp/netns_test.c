// SPDX-License-Identifier: BSD-3-Clause
// The TCP channel between two network namespaces joined by a veth pair that this test makes, with the line taken down
// and up while messages are under way. Needs root and the command `ip` (package iproute2); without them it ends with
// status 77 (skipped) and the reason.
#include <fcntl.h>
#include <sched.h>

#include "chan/test_traffic.h"

extern struct uno_chan uno_tcp;

static char spaces[2][40];
static bool six;
static uint64_t dark_ns;    // how long the line stays down

static int command(const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return system(text);
}

static void remove_spaces(void)
{
    for (int i = 0; i < 2; i++) command("ip netns del %s 2>/dev/null", spaces[i]);
}

static bool make_spaces(void)
{
    for (int i = 0; i < 2; i++) snprintf(spaces[i], sizeof spaces[i], "unisono-%d-%c", (int)getpid(), 'a' + i);
    if (command("ip netns add %s 2>/dev/null && ip netns add %s 2>/dev/null", spaces[0], spaces[1]) != 0) return false;
    if (command("ip link add uno0 netns %s type veth peer name uno0 netns %s", spaces[0], spaces[1]) != 0) return false;
    for (int i = 0; i < 2; i++) {
        if (six && command("ip -n %s addr add fd00:77::%d/64 dev uno0 nodad", spaces[i], i + 1) != 0) return false;
        if (!six && command("ip -n %s addr add 10.77.0.%d/24 dev uno0", spaces[i], i + 1) != 0) return false;
        if (command("ip -n %s link set uno0 up", spaces[i]) != 0) return false;
    }
    return true;
}

static void enter_space(int rank)
{
    char path[80];
    snprintf(path, sizeof path, "/var/run/netns/%s", spaces[rank]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && setns(fd, CLONE_NEWNET) == 0);
    close(fd);
}

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

// Waits for the condition, at most 280 s; the ranks' own alarm ends a test that hangs.
#define AWAIT(cond)                                                                                                    \
    for (uint64_t end_ = uno_now_ns() + 280000000000u; !(cond) && uno_now_ns() < end_;) sched_yield()

static void down_and_up(int fd)
{
    (void)fd;
    for (uint64_t i = 1; i <= DOWNS; i++) {
        uint64_t before = atomic_load(&shared->number[6]);
        AWAIT(atomic_load(&shared->number[6]) > before + 1000);    // messages flow (again)
        assert_true(atomic_load(&shared->number[6]) > before + 1000);
        command("ip -n %s link set uno0 down", spaces[i % 2]);
        uint64_t end = uno_now_ns() + dark_ns;
        AWAIT(uno_now_ns() > end);
        atomic_fetch_add(&shared->number[5], 1);
        // An address of version 6 goes with the interface.
        if (six) command("ip -n %s addr add fd00:77::%d/64 dev uno0 nodad", spaces[i % 2], (int)(i % 2) + 1);
        command("ip -n %s link set uno0 up", spaces[i % 2]);
    }
}

static void run_between(outside_fn *outside)
{
    assert_true(make_spaces());
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
    dark_ns = 2500000000;
    setenv("UNISONO_TCP_PATIENCE", "6", 1);
    run_between(down_and_up);
    unsetenv("UNISONO_TCP_PATIENCE");
}

int main(int argc, char **argv)
{
    const char *why = geteuid() != 0 ? "root makes network namespaces, this is not root" : NULL;
    if (!why && system("ip -V >/dev/null 2>&1") != 0) why = "the command ip (package iproute2) is missing";
    if (!why && !make_spaces()) why = "this kernel or container lets nobody make network namespaces";
    if (spaces[0][0]) remove_spaces();
    if (why) {
        fprintf(stderr, "skipped: %s\n", why);
        return 77;
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    before_open = enter_space;
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
