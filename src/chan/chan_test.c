// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite of the channel contract (chan.h), run on every channel. A new channel is one line in `main`'s
// table.
#include "chan/test_traffic.h"

extern struct uno_chan uno_self, uno_shm, uno_tcp;

static void order_body(void)
{
    on_arrival = take_in_order;
    for (int i = 0; i < ranks; i++) expected_from[i] = links[i] ? MESSAGES : 0;
    for (uint64_t k = 0; k < MESSAGES; k++)
        for (int i = 0; i < ranks; i++)
            if (links[(me + i) % ranks]) send_number(links[(me + i) % ranks], k);
    while (!all_received()) poll_once();
    meet(true);
    for (int i = 0; i < ranks; i++) CHECK(received[i] == expected_from[i]);
}

// ---- FULL: the receiver looks away ----

static void full_body(void)
{
    on_arrival = take_in_order;
    if (me == 0) {
        uint64_t k = 0;
        int err = 0;
        size_t bytes = 0;
        while (err != UNO_FULL && bytes < 1 << 30) {
            size_t n = size_of(k, links[1]);
            fill_bytes(scratch, k, n);
            struct uno_msg m = {.kind = UNO_EAGER, .src = 0, .tag = (int32_t)k, .bytes = (uint32_t)n, .data = scratch};
            err = links[1]->ops->send(links[1], &m);
            CHECK(err == 0 || err == UNO_FULL);
            if (!err) k++;
            bytes += n;
        }
        CHECK(err == UNO_FULL);    // memory is bounded
        atomic_store(&shared->number[0], k);
        atomic_store(&shared->step[0], 1);
        for (uint64_t end = k + 100; k < end; k++) send_number(links[1], k);
    } else {
        wait_step(0, 1);
        expected_from[0] = atomic_load(&shared->number[0]) + 100;
        while (!all_received()) poll_once();
    }
    meet(true);
}

// ---- rendezvous by direct copy ----

static void direct_body(void)
{
    on_arrival = take_offer;
    on_done = direct_done;
    short_room = atomic_load(&shared->number[7]);
    int to = ranks == 1 ? 0 : 1 - me;
    offer_all(links[to]);
    atomic_store(&shared->number[me], (uint64_t)offered);
    meet(true);
    int coming = (int)atomic_load(&shared->number[to]);
    while (done_out < offered || done_in < coming) poll_once();
    meet(true);
    CHECK(done_out == offered && done_in == coming);
}

static void short_body(void)
{
    atomic_store(&shared->number[7], 1);
    direct_body();
}

// An offer that is withdrawn leaves nothing behind: the next ones still work.
static void withdraw_body(void)
{
    int to = ranks == 1 ? 0 : 1 - me;
    for (int i = 0; i < 300; i++) {
        struct uno_rts rts = {.token = 1, .bytes = 100000};
        int err = links[to]->ops->offer(links[to], scratch, &rts);
        CHECK(err == 0 || err == UNO_DECLINED);
        if (!err) links[to]->ops->withdraw(links[to], &rts);
    }
    direct_body();
}

// ---- sleeping: what was sent wakes the receiver, through the channel's descriptor or the door ----

#define NAPS 30
static int pongs;

static void count_pong(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    (void)link;
    (void)h;
    (void)payload;
    pongs++;
}

static void sleep_once(void)
{
    int fd = chan->ops->wait_fd(chan), before = pongs;
    while (pongs == before) {
        uint32_t ticket = uno_door_arm(fd >= 0 ? UNO_DOOR_FD : UNO_DOOR_FUTEX);
        if (chan->ops->poll(chan, 64) == 0 && pongs == before) {
            struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = fd >= 0 ? uno_door_fd() : -1, .events = POLLIN}};
            if (fd >= 0)
                poll(p, 2, -1);
            else
                uno_door_sleep(ticket);
        }
        uno_door_disarm();
    }
}

static void sleep_body(void)
{
    on_arrival = count_pong;
    struct uno_msg m = {.kind = UNO_EAGER, .src = me, .bytes = 3, .data = "abc"};
    for (int i = 0; i < NAPS; i++) {
        if (i % 2 == me)
            must_send(links[1 - me], &m);
        else
            sleep_once();
    }
    CHECK(pongs == NAPS / 2);
    meet(true);
}

// ---- close: what was sent arrives although the sender leaves at once ----

static void close_body(void)
{
    on_arrival = take_in_order;
    tiny = true;
    if (me == 0) {
        for (uint64_t k = 0; k < 100; k++) send_number(links[1], k);
        atomic_store(&shared->step[0], 1);
        return;
    }
    wait_step(0, 1);
    expected_from[0] = 100;
    while (!all_received()) poll_once();
}

// ---- the table ----

static struct uno_chan *tested;

static int run_on(void **state)
{
    tested = *state;
    return 0;
}

static void order(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, order_body, NULL), 0);
}

static void order_of_four(void **state)
{
    (void)state;
    if (tested == &uno_self) return;
    assert_int_equal(run_ranks(4, tested, order_body, NULL), 0);
}

static void full(void **state)
{
    (void)state;
    if (tested == &uno_self) return;    // delivers at once
    assert_int_equal(run_ranks(2, tested, full_body, NULL), 0);
}

static void direct(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, direct_body, NULL), 0);
}

static void direct_cut_short(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, short_body, NULL), 0);
}

static void withdrawn(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, withdraw_body, NULL), 0);
}

static void woken(void **state)
{
    (void)state;
    if (tested == &uno_self) return;    // nobody else could wake
    assert_int_equal(run_ranks(2, tested, sleep_body, NULL), 0);
}

static void closed(void **state)
{
    (void)state;
    if (tested == &uno_self) return;
    assert_int_equal(run_ranks(2, tested, close_body, NULL), 0);
}

#define ONE(test, which)                                                                                               \
    {                                                                                                                  \
#which ": " #test, test, run_on, NULL, &which                                                                  \
    }
#define ALL(which)                                                                                                     \
    ONE(order, which), ONE(order_of_four, which), ONE(full, which), ONE(direct, which), ONE(direct_cut_short, which),  \
        ONE(withdrawn, which), ONE(woken, which), ONE(closed, which)

// With an argument, only the tests that match it: chan_test 'uno_tcp: *'.
int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {ALL(uno_self), ALL(uno_shm), ALL(uno_tcp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
