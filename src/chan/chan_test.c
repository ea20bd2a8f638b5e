// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite of the channel contract (chan.h), run on every channel. A new channel is one line in `main`'s
// table.
#include "base/component.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "chan/ofi/missing.h"
#include "chan/test_traffic.h"

extern struct uno_chan uno_self, uno_shm, uno_ofi, uno_tcp;

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

// The messages from number *k on until no more can be sent; how many bytes they have.
static size_t send_until_full(uint64_t *k)
{
    size_t bytes = 0;
    int err = 0;
    while (bytes < 1 << 30) {
        size_t n = size_of(*k, links[1]);
        fill_bytes(scratch, *k, n);
        struct uno_msg m = {.kind = UNO_EAGER, .src = 0, .tag = (int32_t)*k, .bytes = (uint32_t)n, .data = scratch};
        err = links[1]->ops->send(links[1], &m);
        CHECK(err == 0 || err == UNO_FULL);
        if (err == UNO_FULL) break;
        ++*k;
        bytes += n;
    }
    CHECK(err == UNO_FULL);    // memory is bounded
    return bytes;
}

static void full_body(void)
{
    on_arrival = take_in_order;
    if (me == 0) {
        uint64_t k = 0;
        send_until_full(&k);
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

// ---- a ring of shm that is used much grows, while it is empty, full and between ----

#define FILLS 60

static size_t first_fill, last_fill;

static void fills(void)
{
    uint64_t k = 0;
    huge = true;
    on_arrival = take_in_order;
    for (uint32_t i = 0; i < FILLS; i++) {
        if (me == 0) {
            last_fill = send_until_full(&k);
            if (i == 0) first_fill = last_fill;
            atomic_store(&shared->number[0], k);
            atomic_store(&shared->step[0], i + 1);
        } else {
            wait_step(0, i + 1);
            expected_from[0] = atomic_load(&shared->number[0]);
            while (i % 3 < 2 && !all_received()) poll_once();    // else more is sent to a ring that is half read
            if (i % 3 == 2) poll_once();
        }
        meet(false);
    }
    while (!all_received()) poll_once();
    meet(true);
}

static void grown_body(void)
{
    fills();
    if (me == 0 && uno_chan_self.job->pair_bytes > UNO_PAIR_BYTES) CHECK(last_fill > first_fill + first_fill / 2);
}

static void fixed_body(void)
{
    fills();
    if (me == 0) CHECK(last_fill < first_fill + first_fill / 2);
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

// ---- from layout to layout: lists of runs on both sides, or on the sender's alone ----

#define LISTS 100    // more than may be offered at once
#define PAGES 40     // of a message, in runs of a page and a bit, with gaps
#define GAP 24

static char *list_memory[2][LISTS];
static struct uno_run list_runs[2][LISTS][2 * PAGES];

static size_t list_bytes(size_t k)
{
    return (size_t)PAGES * 4096 - 300 * k;
}

// Memory for `bytes` of message k in runs of `length` bytes.
static struct uno_mem list_of(int side, size_t k, size_t bytes, size_t length)
{
    struct uno_mem mem = {list_runs[side][k], 0};
    size_t span = bytes + (bytes / length + 2) * GAP;
    char *at = list_memory[side][k] = malloc(span);
    memset(at, 0x77, span);
    for (size_t done = 0; done < bytes; at += length + GAP) {
        done += bytes - done < length ? bytes - done : length;
        list_runs[side][k][mem.runs++] = (struct uno_run){at, done};
    }
    return mem;
}

// Copies between the runs and consecutive memory; the bytes behind each run are checked on the way in.
static void move_list(const struct uno_mem *mem, char *packed, size_t n, bool out)
{
    for (size_t i = 0, start = 0; i < mem->runs && start < n; start = mem->run[i++].end) {
        size_t length = (mem->run[i].end < n ? mem->run[i].end : n) - start;
        memcpy(out ? mem->run[i].at : packed + start, out ? packed + start : mem->run[i].at, length);
        if (!out) CHECK(mem->run[i].at[length] == 0x77);
    }
}

static struct uno_mem taken_list[LISTS];

static void take_list(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_rts rts;
    memcpy(&rts, whole(link, h, payload), sizeof rts);
    size_t k = rts.token & 0xffff, room = k % 5 == 0 ? list_bytes(k) / 2 : list_bytes(k) + 8;
    taken_list[k] = list_of(1, k, room, k % 3 == 0 ? room : 2500 + 31 * k);
    CHECK(rts.bytes == list_bytes(k) && rts.direct > 1);
    CHECK(link->ops->accept(link, &rts, &taken_list[k], 2 << 16 | k) == 0);
}

static void list_done(uint64_t token, size_t bytes, int failed)
{
    static char packed[PAGES * 4096 + 64];
    (void)bytes;
    CHECK(!failed);
    size_t k = token & 0xffff;
    if (token >> 16 == 1) {
        done_out++;
        return;
    }
    size_t room = uno_mem_bytes(&taken_list[k]), n = list_bytes(k) < room ? list_bytes(k) : room;
    move_list(&taken_list[k], packed, n, false);
    CHECK(same_bytes(packed, k, n));
    done_in++;
}

static void layouts_body(void)
{
    static char packed[PAGES * 4096];
    struct uno_link *l = links[ranks == 1 ? 0 : 1 - me];
    on_arrival = take_list;
    on_done = list_done;
    for (size_t k = 0; k < LISTS; k++) {
        struct uno_mem mem = list_of(0, k, list_bytes(k), 4000 + 17 * k);
        fill_bytes(packed, k, list_bytes(k));
        move_list(&mem, packed, list_bytes(k), true);
        struct uno_rts rts = {.token = 1 << 16 | k, .bytes = list_bytes(k)};
        int err = l->ops->offer(l, &mem, &rts);
        CHECK(err == 0 || err == UNO_DECLINED);
        if (err) continue;
        offered++;
        if (k % 7 == 6) {
            l->ops->withdraw(l, &rts);
            offered--;
            continue;
        }
        struct uno_msg m = {.kind = OFFER, .src = me, .bytes = sizeof rts, .data = &rts};
        must_send(l, &m);
    }
    atomic_store(&shared->number[me], (uint64_t)offered);
    meet(true);
    int coming = (int)atomic_load(&shared->number[ranks == 1 ? 0 : 1 - me]);
    CHECK(chan != &uno_shm || offered >= 50);
    while (done_out < offered || done_in < coming) poll_once();
    meet(true);
}

// An offer that is withdrawn leaves nothing behind: the next ones still work.
static void withdraw_body(void)
{
    int to = ranks == 1 ? 0 : 1 - me;
    for (int i = 0; i < 300; i++) {
        struct uno_rts rts = {.token = 1, .bytes = 100000};
        int err = links[to]->ops->offer(links[to], &(struct uno_mem){&(struct uno_run){scratch, 100000}, 1}, &rts);
        CHECK(err == 0 || err == UNO_DECLINED);
        if (!err) links[to]->ops->withdraw(links[to], &rts);
    }
    direct_body();
}

// ---- offers whose memory is replaced before the receiver looks at them ----

static struct uno_rts seen[TRANSFERS];
static struct uno_link *seen_by;
static size_t nseen;

static void see_offer(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    CHECK(h->kind == OFFER && nseen < TRANSFERS);
    memcpy(&seen[nseen++], whole(link, h, payload), sizeof *seen);
    seen_by = link;
}

// Accepts them all; those that it has to ask for by a message, as bits.
static uint64_t accept_seen(void)
{
    uint64_t asked = 0;
    for (size_t i = 0; i < nseen; i++) {
        size_t k = seen[i].token & 0xffff;
        target[k] = malloc(large[k] + 64);
        memset(target[k], 0x77, large[k] + 64);
        struct uno_run run = {target[k], room_of(k)};
        int err = seen_by->ops->accept(seen_by, &seen[i], &(struct uno_mem){&run, 1}, 2 << 16 | k);
        CHECK(err == 0 || err == UNO_DECLINED);
        if (err) asked |= 1ULL << k;
    }
    return asked;
}

static void replace_offers(struct uno_link *l, struct uno_rts *rts)
{
    for (size_t k = 0; k < TRANSFERS; k++) {
        char *old = source[k];
        source[k] = malloc(large[k]);
        fill_bytes(source[k], k, large[k]);
        CHECK(l->ops->replace(l, &rts[k], source[k]));
        memset(old, 0x33, large[k]);
        free(old);
    }
}

// replaced: before the receiver looks at them.
static uint64_t late_offers(bool replaced)
{
    struct uno_link *l = links[ranks == 1 ? 0 : 1 - me];
    struct uno_rts rts[TRANSFERS];
    on_arrival = see_offer;
    on_done = direct_done;
    bool sends = me == 0, takes = ranks == 1 || me == 1;
    for (size_t k = 0; sends && k < TRANSFERS; k++) {
        source[k] = malloc(large[k]);
        fill_bytes(source[k], k, large[k]);
        rts[k] = (struct uno_rts){.token = 1 << 16 | k, .bytes = large[k]};
        struct uno_run run = {source[k], large[k]};
        int err = l->ops->offer(l, &(struct uno_mem){&run, 1}, &rts[k]);
        if (k == 0) atomic_store(&shared->number[1], err == UNO_DECLINED);
        if (k == 0) atomic_store(&shared->step[0], 1);
        if (err == UNO_DECLINED) return UINT64_MAX;    // allowed: the caller streams then
        CHECK(err == 0);
        struct uno_msg m = {.kind = OFFER, .src = me, .bytes = sizeof *rts, .data = &rts[k]};
        must_send(l, &m);
    }
    if (takes) wait_step(0, 1);
    if (takes && atomic_load(&shared->number[1])) return UINT64_MAX;
    while (takes && nseen < TRANSFERS) poll_once();
    meet(true);
    if (sends && replaced) replace_offers(l, rts);
    meet(true);
    if (takes) atomic_store(&shared->number[0], accept_seen());
    meet(true);
    uint64_t asked = atomic_load(&shared->number[0]);
    int direct = TRANSFERS - __builtin_popcountll(asked);
    while ((sends && done_out < direct) || (takes && done_in < direct)) poll_once();
    for (size_t k = 0; sends && k < TRANSFERS; k++)
        if (asked >> k & 1) CHECK(l->ops->withdraw(l, &rts[k]));
    meet(true);
    CHECK(done_out == (sends ? direct : 0) && done_in == (takes ? direct : 0));
    for (size_t k = 0; takes && k < TRANSFERS; k++) free(target[k]);
    done_out = done_in = 0;
    memset(moved_out, 0, sizeof moved_out);
    memset(moved_in, 0, sizeof moved_in);
    nseen = 0;
    atomic_store(&shared->step[0], 0);
    meet(false);    // who still polled would see what the other offers next, instead of taking it
    return asked;
}

static void replace_body(void)
{
    if (late_offers(true) != UINT64_MAX) direct_body();    // nothing is left behind
}

// A receiver of shm had better ask for what lies in small pages, or in memory, if its sender waits in MPI; else it
// takes the offers.
// (Ranks that share processors do so outside a poll, too.)
static void decline_body(void)
{
    uno_patience.crowded = true;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t waits = i & 1;
        uno_thresholds.paged = i < 2 ? UINT64_MAX : 0;
        uno_thresholds.streamed = i < 2 ? UINT64_MAX : 0;
        atomic_store(&uno_chan_self.door->waits, waits);
        uint64_t asked = late_offers(false);
        if (asked == UINT64_MAX) return;
        CHECK(chan != &uno_shm || __builtin_popcountll(asked) == (waits ? TRANSFERS : 0));
    }
    uno_thresholds.streamed = UINT64_MAX;
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
    int before = pongs;
    while (pongs == before) {
        int fd = chan->ops->wait_fd(chan);
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
        CHECK(links[1]);
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
    uno_thresholds.paged = 0;    // offers are taken, whatever this machine likes better
    uno_thresholds.streamed = uno_thresholds.cold = UNO_THRESHOLD_NEVER;
    return 0;
}

// Asked in a process of its own, as the ranks are: libfabric starts threads, which a fork would lose.
static bool ofi_is_there(const char *provider)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        const char *missing = uno_ofi_missing(provider);
        if (missing) print_message("ofi is left out: %s: %s\n", provider, missing);
        _exit(missing != NULL);
    }
    int status;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

// ofi is tested with the providers of libfabric that need no hardware, as far as they are there.
static int run_on_ofi(void **state)
{
    tested = &uno_ofi;
    if (!ofi_is_there(*state)) skip();
    setenv("UNISONO_OFI_REMOTE_MIN", "1", 1);    // whatever is offered is written
    return setenv("UNISONO_OFI_PROVIDER", *state, 1);
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

static void grown(void **state)
{
    struct uno_thresholds as_measured = uno_thresholds;
    uno_thresholds.grows = 1;
    uno_thresholds.eager = uno_thresholds.eager_light = 64 << 10;    // shorter messages fill the lines before the bytes
    assert_int_equal(run_ranks(2, *state, grown_body, NULL), 0);
    uno_thresholds.grows = 0;
    assert_int_equal(run_ranks(2, *state, fixed_body, NULL), 0);
    uno_thresholds = as_measured;
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

static void layouts(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, layouts_body, NULL), 0);
}

static void withdrawn(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, withdraw_body, NULL), 0);
}

static void replaced(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, replace_body, NULL), 0);
}

static void declined(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(tested == &uno_self ? 1 : 2, tested, decline_body, NULL), 0);
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
        ONE(layouts, which), ONE(withdrawn, which), ONE(replaced, which), ONE(declined, which), ONE(woken, which),     \
        ONE(closed, which)

#define ON_OFI(test, provider)                                                                                         \
    {                                                                                                                  \
        "uno_ofi " provider ": " #test, test, run_on_ofi, NULL, provider                                               \
    }
// Much at once; and little.
#define MUCH_ON_OFI(provider)                                                                                          \
    ON_OFI(order, provider), ON_OFI(order_of_four, provider), ON_OFI(full, provider), ON_OFI(direct, provider),        \
        ON_OFI(withdrawn, provider)
#define LITTLE_ON_OFI(provider)                                                                                        \
    ON_OFI(direct_cut_short, provider), ON_OFI(layouts, provider), ON_OFI(replaced, provider),                         \
        ON_OFI(woken, provider), ON_OFI(closed, provider)
#define ALL_ON_OFI(provider) MUCH_ON_OFI(provider), LITTLE_ON_OFI(provider)

// A channel of a component that is loaded: UNISONO_COMPONENT_PATH=FOLDER chan_test --channel NAME.
static struct uno_chan loaded;

static int test_loaded(const char *name)
{
    const struct CMUnitTest tests[] = {ALL(loaded)};
    if (uno_params_load() != 0) return 2;
    uno_components_load(false);
    loaded.is = uno_component_named(UNO_COMPONENT_CHANNEL, name);
    if (!loaded.is) {
        fprintf(stderr, "no channel %s in component_path can be used\n", name);
        return 2;
    }
    loaded.ops = loaded.is->table;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// With an argument, only the tests that match it: chan_test 'uno_tcp: *'.
int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--channel") == 0) return test_loaded(argv[2]);
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {ALL(uno_self),
                                       ALL(uno_shm),
                                       cmocka_unit_test_prestate(grown, &uno_shm),
                                       ALL(uno_tcp),
                                       ALL_ON_OFI("tcp;ofi_rxm"),
                                       ALL_ON_OFI("shm"),
                                       LITTLE_ON_OFI("sockets")};
    // Only when an argument asks for them: on a loaded machine udp;ofi_rxd waits for packets that it takes for lost,
    // and sockets may stop where much is under way (docs/networks.md).
    const struct CMUnitTest slow[] = {ALL_ON_OFI("udp;ofi_rxd"), ALL_ON_OFI("sockets")};
    bool asked = argc > 1 && (strstr(argv[1], "udp;ofi_rxd") || strstr(argv[1], "sockets"));
    return asked ? cmocka_run_group_tests(slow, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
