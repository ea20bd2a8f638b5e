// SPDX-License-Identifier: BSD-3-Clause
// For tests of channels between hosts: two network namespaces, joined by veth pairs uno0, uno1, ... The two ranks of a
// test live in one each. Included on top of test_traffic.h; needs root and the command `ip` (package iproute2).
#pragma once
#include <fcntl.h>
#include <sched.h>

#include "chan/test_traffic.h"

static char spaces[2][40];
static bool six;    // addresses of version 6

// Waits for the condition, at most 280 s; the ranks' own alarm ends a test that hangs.
#define AWAIT(cond)                                                                                                    \
    for (uint64_t end_ = uno_now_ns() + 280000000000u; !(cond) && uno_now_ns() < end_;) sched_yield()

static inline int command(const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return system(text);
}

static inline void remove_spaces(void)
{
    for (int i = 0; i < 2; i++) command("ip netns del %s 2>/dev/null", spaces[i]);
}

static inline void set_address(int space, int pair)
{
    if (six)
        command("ip -n %s addr add fd00:77:%d::%d/64 dev uno%d nodad", spaces[space], pair, space + 1, pair);
    else
        command("ip -n %s addr add 10.77.%d.%d/24 dev uno%d", spaces[space], pair, space + 1, pair);
}

static inline void set_line(int space, int pair, bool up)
{
    // An address of version 6 goes with the interface.
    if (up && six) set_address(space, pair);
    command("ip -n %s link set uno%d %s", spaces[space], pair, up ? "up" : "down");
}

static inline bool runs(int pair)
{
    for (int i = 0; i < 2; i++)
        if (command("ip -n %s link show uno%d | grep -q 'state UP'", spaces[i], pair) != 0) return false;
    return true;
}

// Both ends run when it returns: the kernel says so some time after they were set up, and until then it drops what is
// sent, and libfabric does not see them.
static inline bool add_pair(int k)
{
    if (command("ip link add uno%d netns %s type veth peer name uno%d netns %s", k, spaces[0], k, spaces[1]) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        set_address(i, k);
        if (command("ip -n %s link set uno%d up", spaces[i], k) != 0) return false;
    }
    AWAIT(runs(k));
    return true;
}

static inline bool make_spaces(int pairs)
{
    for (int i = 0; i < 2; i++) snprintf(spaces[i], sizeof spaces[i], "unisono-%d-%c", (int)getpid(), 'a' + i);
    remove_spaces();    // of a run that was killed, whose number this process has now
    if (command("ip netns add %s 2>/dev/null && ip netns add %s 2>/dev/null", spaces[0], spaces[1]) != 0) return false;
    for (int k = 0; k < pairs; k++)
        if (!add_pair(k)) return false;
    return true;
}

static inline void enter_space(int rank)
{
    char path[80];
    snprintf(path, sizeof path, "/var/run/netns/%s", spaces[rank]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && setns(fd, CLONE_NEWNET) == 0);
    close(fd);
}

// Why tests of this kind cannot run here, NULL: they can.
static inline const char *no_spaces(void)
{
    if (geteuid() != 0) return "root makes network namespaces, this is not root";
    if (system("ip -V >/dev/null 2>&1") != 0) return "the command ip (package iproute2) is missing";
    bool good = make_spaces(1);
    remove_spaces();
    return good ? NULL : "this kernel or container lets nobody make network namespaces";
}

// At the start of main: ends it where such tests cannot run. only: name of the one test that is wanted, or NULL.
static inline void need_spaces(const char *only)
{
    const char *why = no_spaces();
    if (why) {
        fprintf(stderr, "skipped: %s\n", why);
        exit(77);
    }
    if (only) cmocka_set_test_filter(only);
    before_open = enter_space;
}
