// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite of the channel contract (chan.h), run on every channel. A new channel is one line in `main`'s table.
#include "chan/test_job.h"

extern struct uno_chan uno_self, uno_shm, uno_tcp;

static const size_t sizes[] = {0, 1, 7, 8, 39, 40, 41, 63, 64, 65, 1000, 2048, 2049, 4095, 4096, 4097, 10000, 16384, 29000};
#define SIZES (sizeof sizes / sizeof sizes[0])
#define TINY 10

static char scratch[1 << 17];
static bool tiny;                             // few enough bytes for any channel to buffer

// ---- order and content, both ways at once, sizes mixed ----

#define MESSAGES 6000

static uint64_t received[TEST_RANKS], expected_from[TEST_RANKS];

static size_t size_of(uint64_t number, const struct uno_link *l)
{
    size_t n = sizes[(number * 7 + number / 11) % (tiny ? TINY : SIZES)];
    return n < l->eager_max ? n : l->eager_max;
}

static const void *whole(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    if (payload) return payload;
    size_t half = h->bytes / 2;               // in two reads: a receiver with a layout takes pieces
    link->ops->read(link, scratch, half);
    link->ops->read(link, scratch + half, h->bytes - half);
    return scratch;
}

static void take_in_order(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    int from = h->src;
    uint64_t number = received[from];
    CHECK(from == link->proc && h->kind == UNO_EAGER);
    CHECK(h->ctx == (uint64_t)from << 32 && h->tag == (int32_t)number);
    CHECK(h->bytes == size_of(number, link));
    if (number % 13 == 5 && !payload) {       // dropped unread
        link->ops->read(link, NULL, h->bytes);
    } else {
        CHECK(same_bytes(whole(link, h, payload), number, h->bytes));
    }
    received[from]++;
}

static void send_number(struct uno_link *l, uint64_t number)
{
    static char data[1 << 17];
    size_t n = size_of(number, l);
    fill_bytes(data, number, n);
    struct uno_packer packer = {.buf = data};
    struct uno_msg m = {.kind = UNO_EAGER, .src = me, .tag = (int32_t)number, .bytes = (uint32_t)n, .ctx = (uint64_t)me << 32,
                        .data = data};
    if (number % 3 == 1) m.data = NULL, m.packer = &packer;
    int err;
    while ((err = l->ops->send(l, &m)) == UNO_FULL) {
        CHECK(packer.pos == 0);
        poll_once();
    }
    CHECK(err == 0);
    memset(data, 0xee, n);                    // the channel has its own copy
}

static bool all_received(void)
{
    for (int i = 0; i < ranks; i++)
        if (received[i] < expected_from[i]) return false;
    return true;
}

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
        CHECK(err == UNO_FULL);               // memory is bounded
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

#define TRANSFERS 12

static const size_t large[TRANSFERS] = {1, 4097, 65536, 65537, 100001, 262144, 262145, 1 << 20, (1 << 20) + 13, 3333333,
                                        9 << 20, (16 << 20) + 1};
static char *source[TRANSFERS], *target[TRANSFERS];
static size_t moved_out[TRANSFERS], moved_in[TRANSFERS];
static int done_out, done_in, offered;
static bool short_room;

static size_t room_of(size_t k)
{
    return short_room && k % 3 == 0 ? large[k] / 2 + 1 : large[k] + 5;
}

static void direct_done(uint64_t token, size_t bytes, int failed)
{
    (void)bytes;
    CHECK(!failed);
    size_t k = token & 0xffff;
    CHECK(k < TRANSFERS);
    if (token >> 16 == 1) {
        CHECK(moved_out[k]++ == 0);
        memset(source[k], 0x55, large[k]);    // the sender's buffer is the user's again
        done_out++;
    } else {
        CHECK(moved_in[k]++ == 0);
        size_t n = large[k] < room_of(k) ? large[k] : room_of(k);
        CHECK(same_bytes(target[k], k, n));
        CHECK(target[k][n] == 0x77);
        done_in++;
    }
}

static void take_offer(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_rts rts;
    CHECK(h->kind == UNO_RTS && h->bytes == sizeof rts);
    memcpy(&rts, whole(link, h, payload), sizeof rts);
    size_t k = rts.token & 0xffff;
    CHECK(rts.bytes == large[k] && rts.direct);
    target[k] = malloc(large[k] + 64);
    memset(target[k], 0x77, large[k] + 64);
    CHECK(link->ops->accept(link, &rts, target[k], room_of(k), 2 << 16 | k) == 0);
}

static void offer_all(struct uno_link *l)
{
    for (size_t k = 0; k < TRANSFERS; k++) {
        source[k] = malloc(large[k]);
        fill_bytes(source[k], k, large[k]);
        struct uno_rts rts = {.token = 1 << 16 | k, .bytes = large[k]};
        int err = l->ops->offer(l, source[k], &rts);
        CHECK(err == 0 || err == UNO_DECLINED);
        if (err) continue;                    // allowed: the caller streams then
        offered++;
        struct uno_msg m = {.kind = UNO_RTS, .src = me, .bytes = sizeof rts, .data = &rts};
        must_send(l, &m);
    }
}

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
            if (fd >= 0) poll(p, 2, -1);
            else uno_door_sleep(ticket);
        }
        uno_door_disarm();
    }
}

static void sleep_body(void)
{
    on_arrival = count_pong;
    struct uno_msg m = {.kind = UNO_EAGER, .src = me, .bytes = 3, .data = "abc"};
    for (int i = 0; i < NAPS; i++) {
        if (i % 2 == me) must_send(links[1 - me], &m);
        else sleep_once();
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
    if (tested == &uno_self) return;          // delivers at once
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
    if (tested == &uno_self) return;          // nobody else could wake
    assert_int_equal(run_ranks(2, tested, sleep_body, NULL), 0);
}

static void closed(void **state)
{
    (void)state;
    if (tested == &uno_self) return;
    assert_int_equal(run_ranks(2, tested, close_body, NULL), 0);
}

#define ONE(test, which) {#which ": " #test, test, run_on, NULL, &which}
#define ALL(which) \
    ONE(order, which), ONE(order_of_four, which), ONE(full, which), ONE(direct, which), ONE(direct_cut_short, which), \
    ONE(withdrawn, which), ONE(woken, which), ONE(closed, which)

// With an argument, only the tests that match it: chan_test 'uno_tcp: *'.
int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {ALL(uno_self), ALL(uno_shm), ALL(uno_tcp)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
