// SPDX-License-Identifier: BSD-3-Clause
// Two processes that reach each other by a slow line, which is dialled first, and a quick one: small messages move to
// the quick one, leave it when it goes down, and come back. The slow line is a pair of tun devices whose packets a
// process holds back. Needs /dev/net/tun, root and the command `ip`; without them it ends with status 77 (skipped).
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "chan/tcp/tcp.h"
#include "chan/test_spaces.h"

extern struct uno_chan uno_tcp;

#define SLOW_NS 5000000ULL    // from one end to the other
#define PACKETS 4096
#define MTU 1500

enum { SLOW, QUICK };           // lines
enum { LINE = 2, STOP = 5 };    // numbers that the processes share: of the present line (and 3); enough

struct packet {
    uint64_t due;
    ssize_t bytes;
    int to;
    char data[MTU + 64];
};

static pid_t slow_line;

// A tun device uno0 in a namespace; -1: there can be none.
static int make_end(int space)
{
    struct ifreq r = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    enter_space(space);
    strcpy(r.ifr_name, "uno0");
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &r) == 0) return fd;
    close(fd);
    return -1;
}

static void carry_for_ever(const int *end)
{
    static struct packet kept[PACKETS];
    uint64_t first = 0, last = 0;
    for (;;) {
        struct pollfd p[2] = {{.fd = end[0], .events = POLLIN}, {.fd = end[1], .events = POLLIN}};
        poll(p, 2, first < last ? 1 : -1);
        for (int i = 0; i < 2; i++) {
            while (last - first < PACKETS) {
                struct packet *k = &kept[last % PACKETS];
                k->bytes = read(end[i], k->data, sizeof k->data);
                if (k->bytes <= 0) break;
                k->to = end[1 - i];
                k->due = uno_now_ns() + SLOW_NS;
                last++;
            }
        }
        for (; first < last && kept[first % PACKETS].due <= uno_now_ns(); first++)
            (void)!write(kept[first % PACKETS].to, kept[first % PACKETS].data, (size_t)kept[first % PACKETS].bytes);
    }
}

// Namespaces with the slow line as uno0 and a veth pair as uno1. False: there is no tun device.
static bool make_lines(void)
{
    int told[2];
    char ready = 0;
    if (!make_spaces(0) || pipe(told) != 0) return false;
    slow_line = fork();
    if (slow_line == 0) {
        alarm(TEST_SECONDS);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int end[2] = {make_end(0), make_end(1)};
        ready = end[0] >= 0 && end[1] >= 0;
        (void)!write(told[1], &ready, 1);
        if (ready) carry_for_ever(end);
        _exit(0);
    }
    close(told[1]);
    (void)!read(told[0], &ready, 1);
    close(told[0]);
    for (int i = 0; ready && i < 2; i++) {
        set_address(i, 0);
        set_line(i, 0, true);
    }
    return ready && add_pair(1);    // last: what is there first is dialled first
}

static void remove_lines(void)
{
    if (slow_line > 0) {
        kill(slow_line, SIGKILL);
        waitpid(slow_line, NULL, 0);
    }
    slow_line = 0;
    remove_spaces();
}

// By which line messages go now; -1: by none.
static int present_line(const struct uno_link *link)
{
    const struct tcp_link *l = (const struct tcp_link *)(const void *)link;
    if (l->state != TCP_UP) return -1;
    return strncmp(l->ends, "10.77.1.", 8) == 0 ? QUICK : SLOW;
}

static void take_small(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    take_in_order(link, h, payload);
    atomic_fetch_add(&shared->number[6], 1);    // seq_cst, as all atomics here: see meet()
}

static void body(void)
{
    struct uno_link *l = links[1 - me];
    uint64_t sent = 0;
    tiny = true;
    on_arrival = take_small;
    while (present_line(l) < 0) {
        if (sent == 0) send_number(l, sent++);
        poll_once();
    }
    while (!atomic_load(&shared->number[STOP])) {
        send_number(l, sent++);
        poll_once();
        atomic_store(&shared->number[LINE + me], (uint64_t)(present_line(l) + 1));
    }
    atomic_store(&shared->number[me], sent);
    meet(true);
    expected_from[1 - me] = atomic_load(&shared->number[1 - me]);
    while (!all_received()) poll_once();
    meet(true);
    CHECK(received[1 - me] == expected_from[1 - me]);
}

static bool all_use(int line)
{
    uint64_t wanted = (uint64_t)line + 1;
    return atomic_load(&shared->number[LINE]) == wanted && atomic_load(&shared->number[LINE + 1]) == wanted;
}

// Until both ranks send by that line, and messages flow. A line that seems silent while other programs have the
// processor is left for a while.
static bool await_line(int line)
{
    uint64_t end = uno_now_ns() + 280000000000U;
    while (uno_now_ns() < end) {
        AWAIT(all_use(line));
        uint64_t enough = atomic_load(&shared->number[6]) + 100;
        AWAIT(atomic_load(&shared->number[6]) > enough || !all_use(line));
        if (all_use(line) && atomic_load(&shared->number[6]) > enough) return true;
    }
    return false;
}

static void from_line_to_line(int fd)
{
    (void)fd;
    assert_true(await_line(QUICK));
    set_line(0, QUICK, false);
    assert_true(await_line(SLOW));
    set_line(0, QUICK, true);
    assert_true(await_line(QUICK));
    atomic_store(&shared->number[STOP], 1);
}

static void only_quicker(int fd)
{
    (void)fd;
    assert_true(await_line(QUICK));
    atomic_store(&shared->number[STOP], 1);
}

static void run_lines(outside_fn *outside)
{
    setenv("UNISONO_TCP_INTERFACE", "10.77.0.0/16", 1);
    assert_true(make_lines());
    int failures = run_ranks(2, &uno_tcp, body, outside);
    remove_lines();
    assert_int_equal(failures, 0);
}

static void small_messages_take_the_quick_line(void **state)
{
    (void)state;
    run_lines(only_quicker);
}

static void quick_line_goes_and_comes(void **state)
{
    (void)state;
    run_lines(from_line_to_line);
}

int main(int argc, char **argv)
{
    need_spaces(argc > 1 ? argv[1] : NULL);
    bool good = make_lines();
    remove_lines();
    if (!good) {
        fprintf(stderr, "skipped: this kernel or container has no tun devices (/dev/net/tun)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_messages_take_the_quick_line),
        cmocka_unit_test(quick_line_goes_and_comes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_lines();
    return failed;
}
