// SPDX-License-Identifier: BSD-3-Clause
// Two processes that reach each other in two and three ways (network namespaces joined by veth pairs): large messages
// take all of them, and while lines go down and come up, one by one and all together, nothing is lost, comes
// twice or changed. Arguments: the name of a test, then how many times a line goes down (tools/judges: many).
#include <netinet/tcp.h>
#include <stdio.h>

#include "chan/tcp/tcp.h"
#include "chan/tcp/test_relay.h"
#include "chan/test_spaces.h"

#define SLOTS 4    // transfers each way at a time
#define SIZE_MAX_ 3000000
#define PACE 40                  // messages between two events, at least
#define LIMIT 270000000000ULL    // ns

static int lines, events = 4;
static size_t least = 70000, spread = SIZE_MAX_;    // bytes of a transfer

// What the two ranks and the one outside share: numbers 0 and 1 are those of test_traffic.h.
enum { STOP = 5, ARRIVED = 6, SENT = 2, CUTS = 4 };

static char *out[SLOTS], *in[SLOTS];
static size_t in_bytes[SLOTS];
static uint64_t out_count[SLOTS], in_count[SLOTS], ended_out, ended_in, begun_out;
static bool busy[SLOTS];

static uint64_t seed_of(uint64_t slot, uint64_t count)
{
    return slot * 1000003 + count * 17 + 5;
}

static size_t bytes_of(uint64_t slot, uint64_t count)
{
    return least + (size_t)(seed_of(slot, count) * 7919 % spread);
}

static void begin_transfer(struct uno_link *l, uint64_t slot)
{
    size_t n = bytes_of(slot, out_count[slot]);
    fill_bytes(out[slot], seed_of(slot, out_count[slot]), n);
    struct uno_rts rts = {.token = 1 << 16 | slot, .bytes = n};
    struct uno_run run = {out[slot], n};
    CHECK(l->ops->offer(l, &(struct uno_mem){&run, 1}, &rts) == 0);
    busy[slot] = true;
    begun_out++;
    struct uno_msg m = {.kind = OFFER, .src = me, .bytes = sizeof rts, .data = &rts};
    must_send(l, &m);
}

static void take_transfer(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_rts rts;
    memcpy(&rts, whole(link, h, payload), sizeof rts);
    uint64_t slot = rts.token & 0xffff;
    CHECK(slot < SLOTS && rts.bytes == bytes_of(slot, in_count[slot]));
    in_bytes[slot] = rts.bytes;
    memset(in[slot], 0x77, rts.bytes + 1);
    struct uno_run run = {in[slot], rts.bytes};
    CHECK(link->ops->accept(link, &rts, &(struct uno_mem){&run, 1}, 2 << 16 | slot) == 0);
}

static void take_any(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    if (h->kind == OFFER)
        take_transfer(link, h, payload);
    else
        take_in_order(link, h, payload);
    atomic_fetch_add(&shared->number[ARRIVED], 1);    // seq_cst, see meet()
}

static void transfer_done(uint64_t token, size_t bytes, int failed)
{
    uint64_t slot = token & 0xffff;
    CHECK(!failed && slot < SLOTS);
    if (token >> 16 == 1) {
        CHECK(busy[slot] && bytes == bytes_of(slot, out_count[slot]));
        memset(out[slot], 0x55, bytes);    // the sender's buffer is the user's again
        out_count[slot]++;
        busy[slot] = false;
        ended_out++;
    } else {
        CHECK(bytes == in_bytes[slot] && same_bytes(in[slot], seed_of(slot, in_count[slot]), bytes));
        CHECK(in[slot][bytes] == 0x77);
        memset(in[slot], 0x33, bytes);    // this buffer, too
        in_count[slot]++;
        ended_in++;
    }
}

static uint64_t sent_messages;

// Enough is when the one outside says so and the lanes have carried something: opening them may take longer than the
// traffic that is asked for.
static bool is_enough(uint64_t limit)
{
    return atomic_load(&shared->number[STOP]) && (counted("tcp_lane_bytes") > 0 || uno_now_ns() > limit);
}

// Both ways at once until the one outside says that it is enough.
static void body(void)
{
    struct uno_link *l = links[1 - me];
    on_arrival = take_any;
    on_done = transfer_done;
    for (int i = 0; i < SLOTS; i++) {
        out[i] = malloc(SIZE_MAX_ + 70001);
        in[i] = malloc(SIZE_MAX_ + 70001);
    }
    for (uint64_t limit = uno_now_ns() + LIMIT; !is_enough(limit);) {
        for (uint64_t slot = 0; slot < SLOTS; slot++)
            if (!busy[slot]) begin_transfer(l, slot);
        for (int i = 0; i < 10; i++) send_number(l, sent_messages++);
        poll_once();
    }
    atomic_store(&shared->number[me], sent_messages);
    atomic_store(&shared->number[SENT + me], begun_out);
    meet(true);
    expected_from[1 - me] = atomic_load(&shared->number[1 - me]);
    uint64_t wanted = atomic_load(&shared->number[SENT + 1 - me]);
    while (!all_received() || ended_out < begun_out || ended_in < wanted) poll_once();
    meet(true);
    CHECK(received[1 - me] == expected_from[1 - me] && ended_in == wanted && ended_out == begun_out);
    CHECK(counted("tcp_lane_bytes") > 0);
    for (int i = 0; i < SLOTS; i++) {
        free(out[i]);
        free(in[i]);
    }
}

#define ALONE 60    // transfers, one at a time, and more until a lane has carried something

static uint64_t cuts_wanted;

// The receiver takes the lane's line away before its acknowledgement can go that way, and gives it back when the next
// transfer has come, which the sender begins only when this one has ended.
static void done_and_cut(uint64_t token, size_t bytes, int failed)
{
    static int down = -1;
    static uint64_t carried;
    transfer_done(token, bytes, failed);
    if (me == 0) return;
    if (down >= 0) {
        set_line(1, down, true);
        down = -1;
        return;
    }
    const struct tcp_link *lane = tcp_of(links[0])->side;
    if (!lane || lane->state != TCP_UP || lane->got_seq == carried) return;
    carried = lane->got_seq;
    if (sscanf(lane->ends, "10.77.%d.", &down) != 1) return;
    setsockopt(lane->sock.fd, IPPROTO_TCP, TCP_QUICKACK, &(int){1}, sizeof(int));    // the other kernel is content
    set_line(1, down, false);
    atomic_fetch_add(&shared->number[CUTS], 1);    // seq_cst, see meet()
}

static bool are_done(uint64_t limit)
{
    if (me == 1) return atomic_load(&shared->number[STOP]) && ended_in == atomic_load(&shared->number[SENT]);
    if (begun_out < ALONE || cuts_wanted > atomic_load(&shared->number[CUTS]) ||
        (counted("tcp_lane_bytes") == 0 && uno_now_ns() < limit))
        return false;
    atomic_store(&shared->number[SENT], begun_out);
    atomic_store(&shared->number[STOP], 1);
    return true;
}

// Nothing else is under way, and nothing goes back: no other message carries an acknowledgement.
static void alone_body(void)
{
    struct uno_link *l = links[1 - me];
    on_arrival = take_any;
    on_done = cuts_wanted ? done_and_cut : transfer_done;
    out[0] = malloc(SIZE_MAX_ + 70001);
    in[0] = malloc(SIZE_MAX_ + 70001);
    for (uint64_t limit = uno_now_ns() + LIMIT; !are_done(limit);) {
        if (me == 0) begin_transfer(l, 0);
        poll_once();
        while (me == 0 && ended_out < begun_out) poll_once();
    }
    meet(true);
    CHECK(me == 1 || counted("tcp_lane_bytes") > 0);
    free(out[0]);
    free(in[0]);
}

static void await_traffic(uint64_t more)
{
    uint64_t before = atomic_load(&shared->number[ARRIVED]);
    AWAIT(atomic_load(&shared->number[ARRIVED]) > before + more);
    assert_true(atomic_load(&shared->number[ARRIVED]) > before + more);
}

static void stay(uint64_t ns)
{
    uint64_t end = uno_now_ns() + ns;
    AWAIT(uno_now_ns() > end);
}

static void only_watch(int fd)
{
    (void)fd;
    await_traffic(500);
    atomic_store(&shared->number[STOP], 1);
}

// One line, then another: with one up all the time, traffic never ends.
static void one_by_one(int fd)
{
    (void)fd;
    await_traffic(PACE);
    for (int i = 0; i < events; i++) {
        int line = i % lines, space = (int)(random() % 2);
        set_line(space, line, false);
        await_traffic(PACE);
        stay((uint64_t)(random() % 200) * 1000000);    // how long it is down: the thing tested
        await_traffic(PACE);
        set_line(space, line, true);
        await_traffic(PACE);
    }
    atomic_store(&shared->number[STOP], 1);
}

static void at_random(int fd)
{
    (void)fd;
    int space[8] = {0};
    await_traffic(PACE);
    for (int i = 0; i < events; i++) {
        unsigned which = (unsigned)(random() % (1 << lines));
        if (i % 4 == 3) which = (1u << lines) - 1;    // all together
        for (int k = 0; k < lines; k++) {
            space[k] = (int)(random() % 2);
            if (which >> k & 1) set_line(space[k], k, false);
        }
        stay((uint64_t)(random() % 300) * 1000000);
        for (int k = 0; k < lines; k++)
            if (which >> k & 1) set_line(space[k], k, true);
        await_traffic(PACE);
    }
    atomic_store(&shared->number[STOP], 1);
}

static void run_body(int pairs, void (*what)(void), outside_fn *outside)
{
    lines = pairs;
    setenv("UNISONO_TCP_INTERFACE", six ? "fd00:77::/32" : "10.77.0.0/16", 1);
    assert_true(make_spaces(pairs));
    int failures = run_ranks(2, &uno_tcp, what, outside);
    remove_spaces();
    assert_int_equal(failures, 0);
}

static void behind_relays_body(void)
{
    wait_step(GATE, 1);
    body();
    CHECK(atomic_load(&shared->number[7]) > 0);
}

static void relays_and_watch(int fd)
{
    for (int i = 0; i < 2; i++) command("ip -n %s link set lo up", spaces[i]);
    interpose(fd);
    await_traffic(3000);
    atomic_store(&shared->number[STOP], 1);
}

// Lanes and main link alike are cut, damaged and held back.
static void behind_relays(void **state)
{
    (void)state;
    mischief = CUT | DAMAGE | DELAY;
    setenv("UNISONO_TCP_CHECK", "yes", 1);
    run_body(2, behind_relays_body, relays_and_watch);
    unsetenv("UNISONO_TCP_CHECK");
    end_relays();
}

static void run_between(int pairs, outside_fn *outside)
{
    run_body(pairs, body, outside);
}

static void two_ways(void **state)
{
    (void)state;
    run_between(2, only_watch);
}

static void one_transfer_at_a_time(void **state)
{
    (void)state;
    run_body(2, alone_body, NULL);
}

// Of two pieces the second one is short: it goes by the lane, and is often read when the first one is there.
static void lane_cut_before_its_acknowledgement(void **state)
{
    (void)state;
    size_t usual = least;
    cuts_wanted = 12;
    least = 256 << 10;
    spread = 5000;
    run_body(2, alone_body, NULL);
    least = usual;
    spread = SIZE_MAX_;
    cuts_wanted = 0;
}

static void three_ways_of_version_6(void **state)
{
    (void)state;
    six = true;
    run_between(3, only_watch);
    six = false;
}

static void authenticated_ways(void **state)
{
    (void)state;
    setenv("UNISONO_TCP_AUTH", "yes", 1);
    run_between(2, one_by_one);
    unsetenv("UNISONO_TCP_AUTH");
}

static void lines_down_one_by_one(void **state)
{
    (void)state;
    run_between(2, one_by_one);
}

static void lines_down_at_random(void **state)
{
    (void)state;
    run_between(3, at_random);
}

int main(int argc, char **argv)
{
    need_spaces(argc > 1 ? argv[1] : NULL);
    if (argc > 2) events = atoi(argv[2]);
    srandom(15);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_ways),
        cmocka_unit_test(one_transfer_at_a_time),
        cmocka_unit_test(lane_cut_before_its_acknowledgement),
        cmocka_unit_test(behind_relays),
        cmocka_unit_test(three_ways_of_version_6),
        cmocka_unit_test(authenticated_ways),
        cmocka_unit_test(lines_down_one_by_one),
        cmocka_unit_test(lines_down_at_random),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_spaces();
    return failed;
}
