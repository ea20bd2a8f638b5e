// SPDX-License-Identifier: BSD-3-Clause
// Which addresses the parameters tcp_interface and tcp_exclude leave, on the loopback, which every host has; and what
// is said where there are none.
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fail.h"
#include "base/param.h"
#include "chan/net.h"

static struct uno_net net;

// The addresses found, or a negative number.
static int chosen(const char *include, const char *exclude)
{
    setenv("UNISONO_TCP_INTERFACE", include, 1);
    setenv("UNISONO_TCP_EXCLUDE", exclude, 1);
    assert_int_equal(uno_params_load(), 0);
    return uno_net_own(&net, false) ? -1 : (int)net.count;
}

static bool has_loopback(void)
{
    for (uint32_t i = 0; i < net.count; i++)
        if (net.addr[i].family == 4 && memcmp(net.addr[i].bytes, "\x7f\0\0\1", 4) == 0) return true;
    return false;
}

static void by_name_and_subnet(void **state)
{
    (void)state;
    const char *good[] = {"lo", "127.0.0.1", "127.0.0.0/8", "126.0.0.0/7", "0.0.0.0/0", "lo,127.0.0.0/8", " lo , lo "};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(chosen(good[i], "") > 0);
        assert_true(has_loopback());
    }
    assert_int_equal(chosen("", ""), 1);    // of the loopback one address is enough
    assert_true(has_loopback());
}

static void an_interface_has_one_number(void **state)
{
    (void)state;
    assert_true(chosen("lo", "") > 0);
    for (uint32_t i = 0; i < net.count; i++) assert_int_equal(net.addr[i].nic, 0);
}

static void nothing_left(void **state)
{
    (void)state;
    const char *all[][3] = {{"", "lo", "tcp_exclude \"lo\""},
                            {"", "127.0.0.0/8,::/0", "tcp_exclude \"127.0.0.0/8,::/0\""},
                            {"lo", "lo", "tcp_interface \"lo\" without tcp_exclude \"lo\""},
                            {"nosuch0", "", "tcp_interface is \"nosuch0\""},
                            {"198.51.100.0/24", "", "in that subnet"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_int_equal(chosen(all[i][0], all[i][1]), -1);
        assert_non_null(strstr(uno_fail_text(), all[i][2]));
    }
    chosen("nosuch0", "");
    assert_non_null(strstr(uno_fail_text(), "there are lo 127.0.0.1"));
}

static void malformed(void **state)
{
    (void)state;
    const char *bad[] = {"127.0.0.0/33", "127.0.0.0/", "127.0.0.0/-1", "127.0.0.0/8x", "lo/8", "::1/129", "127.0.0/8"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(chosen(bad[i], ""), -1);
        assert_non_null(strstr(uno_fail_text(), "ADDRESS/BITS is expected"));
        assert_int_equal(chosen("lo", bad[i]), -1);
        assert_non_null(strstr(uno_fail_text(), "tcp_exclude"));
    }
}

// Interfaces that have nothing but what the kernel gives them by itself. The last test: this process goes elsewhere.
static void link_local_alone(void **state)
{
    (void)state;
    if (unshare(CLONE_NEWNET) != 0 || system("ip link add uno0 type veth peer name uno1") != 0) skip();
    assert_int_equal(chosen("", ""), -1);
    assert_int_not_equal(uno_net_own(&net, true), 0);
    assert_non_null(strstr(uno_fail_text(), "no network interface is up"));
    const char *give = "ip addr add fe80::77/64 dev uno0 nodad && ip link set uno1 up && ip link set uno0 up";
    if (system(give) != 0) skip();    // without IPv6
    assert_int_not_equal(uno_net_own(&net, true), 0);
    assert_non_null(strstr(uno_fail_text(), "link-local addresses (fe80::) only"));
    assert_int_equal(system("ip addr add 10.77.0.1/24 dev uno0"), 0);
    assert_int_equal(uno_net_own(&net, true), 0);
    assert_int_equal(net.count, 1);
}

int main(void)
{
    setenv("UNISONO_VERBOSE", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_name_and_subnet), cmocka_unit_test(an_interface_has_one_number),
        cmocka_unit_test(nothing_left),       cmocka_unit_test(malformed),
        cmocka_unit_test(link_local_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
