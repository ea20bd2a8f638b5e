// SPDX-License-Identifier: BSD-3-Clause
// Lent messages that follow each other at once (uno_msg.more) go to the kernel together, arrive whole and in order, and
// their memory comes back once: with room in the kernel for all of them or for a part, and when the connection breaks.
#include <sys/socket.h>

#include "chan/tcp/tcp.h"
#include "chan/test_job.h"

#define BURSTS 240
#define MOST 9         // messages of a burst
#define SLOTS 24       // messages whose memory is lent at a time
#define BREAK 23       // every so many bursts the connection breaks
#define NARROW 8192    // of the kernel's buffer, in every other eighth of the bursts

static char *lent[SLOTS];
static uint64_t lent_now, lent_back, sent, received;

// From 16 KiB to 64 KiB, which are trailed, and some of the longest.
static size_t bytes_of(uint64_t number)
{
    if (number % 31 == 7) return TCP_DATA_MAX - number % 3;
    return number % 5 == 3 ? TCP_MIXED_MAX : UNO_LEND_MIN + number * 7919 % (TCP_MIXED_MAX - UNO_LEND_MIN);
}

static void take(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    (void)link;
    CHECK(h->tag == (int32_t)received && h->bytes == bytes_of(received));
    CHECK(same_bytes(payload, received, h->bytes));
    received++;
}

static void take_back(uint64_t token)
{
    CHECK(token > 0 && token <= SLOTS && lent[token - 1]);
    memset(lent[token - 1], 0xee, UNO_LEND_MIN);    // the user's again
    free(lent[token - 1]);
    lent[token - 1] = NULL;
    lent_back++;
}

static size_t free_slot(void)
{
    for (;;) {
        for (size_t k = 0; k < SLOTS; k++)
            if (!lent[k]) return k;
        poll_once();
    }
}

// `more`: the caller sends another one at once.
static void send_next(struct uno_link *l, size_t slot, bool more)
{
    size_t n = bytes_of(sent);
    lent[slot] = malloc(n);
    CHECK(lent[slot]);
    fill_bytes(lent[slot], sent, n);
    struct uno_msg m = {.kind = UNO_EAGER,
                        .more = more,
                        .tag = (int32_t)sent,
                        .bytes = (uint32_t)n,
                        .data = lent[slot],
                        .lent = slot + 1};
    int err;
    lent_now++;
    while ((err = l->ops->send(l, &m)) == UNO_FULL) {
        CHECK(!tcp_of(l)->held);
        poll_once();
    }
    CHECK(err == UNO_LENT || err == 0);
    CHECK(more || !tcp_of(l)->held);
    if (err == 0) take_back(slot + 1);
    sent++;
}

static void send_burst(struct uno_link *l, uint64_t count)
{
    size_t slot[MOST];
    for (uint64_t i = 0; i < count; i++) {
        slot[i] = free_slot();
        lent[slot[i]] = (char *)slot;    // taken
    }
    for (uint64_t i = 0; i < count; i++) send_next(l, slot[i], i + 1 < count);
}

// The kernel has all that was sent.
static void await_quiet(const struct tcp_link *l)
{
    while (l->state != TCP_UP || l->broken || l->blocked || l->sent < l->head) poll_once();
}

static void one_waits_for_the_next(struct uno_link *link)
{
    const struct tcp_link *l = tcp_of(link);
    send_next(link, free_slot(), false);
    await_quiet(l);
    uint64_t given = l->sent;
    send_next(link, free_slot(), true);
    CHECK(l->held && l->sent == given && l->head > given);
    send_next(link, free_slot(), false);
    CHECK(!l->held && l->sent > given);
}

static void disturb(const struct tcp_link *l, uint64_t burst)
{
    int bytes = NARROW;
    if (l->state != TCP_UP) return;
    if (burst * 8 / BURSTS % 2 == 1) setsockopt(l->sock.fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (burst % BREAK == BREAK - 1) shutdown(l->sock.fd, SHUT_RDWR);
}

static void body(void)
{
    on_arrival = take;
    on_returned = take_back;
    if (me == 0) {
        struct uno_link *l = links[1];
        CHECK(l);
        one_waits_for_the_next(l);
        for (uint64_t k = 0; k < BURSTS; k++) {
            disturb(tcp_of(l), k);
            send_burst(l, 1 + k % MOST);
        }
        while (lent_back < lent_now) poll_once();
        atomic_store(&shared->number[0], sent);
    }
    while (me == 1 && (atomic_load(&shared->number[0]) == 0 || received < atomic_load(&shared->number[0]))) poll_once();
    meet(true);
    CHECK(me == 0 || received == atomic_load(&shared->number[0]));
}

static void bursts(void **state)
{
    (void)state;
    assert_int_equal(run_ranks(2, &uno_tcp, body, NULL), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(bursts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
