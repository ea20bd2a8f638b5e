// SPDX-License-Identifier: BSD-3-Clause
// Traffic for tests of channels: numbered messages of mixed sizes whose order and content are checked on arrival, and
// direct transfers of mixed lengths. Included by chan_test.c and by the tests of the tcp channel, on top of test_job.h.
#pragma once
#include "chan/test_job.h"

static const size_t sizes[] = {0,    1,    7,    8,    39,   40,   41,    63,    64,   65,
                               1000, 2048, 2049, 4095, 4096, 4097, 10000, 16384, 65536};
#define SIZES (sizeof sizes / sizeof sizes[0])
#define TINY 10
#define HUGE_FROM 14

static char scratch[1 << 17];
static bool tiny;    // few enough bytes for any channel to buffer
static bool huge;    // so many that memory is full before anything else

// ---- order and content, both ways at once, sizes mixed ----

#define MESSAGES 6000

static uint64_t received[TEST_RANKS], expected_from[TEST_RANKS];

static inline size_t size_of(uint64_t number, const struct uno_link *l)
{
    uint64_t k = number * 7 + number / 11;
    size_t n = sizes[huge ? HUGE_FROM + k % (SIZES - HUGE_FROM) : k % (tiny ? TINY : SIZES)];
    return n < l->eager_max ? n : l->eager_max;
}

static inline const void *whole(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    if (payload) return payload;
    size_t half = h->bytes / 2;    // in two reads: a receiver with a layout takes pieces
    uno_link_read(link, scratch, half);
    uno_link_read(link, scratch + half, h->bytes - half);
    return scratch;
}

static inline void take_in_order(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    int from = h->src;
    uint64_t number = received[from];
    CHECK(from == link->proc && h->kind == UNO_EAGER);
    CHECK(h->ctx == (uint64_t)from << 32 && h->tag == (int32_t)number);
    CHECK(h->bytes == size_of(number, link));
    if (number % 13 == 5 && !payload) {    // dropped unread
        uno_link_read(link, NULL, h->bytes);
    } else {
        CHECK(same_bytes(whole(link, h, payload), number, h->bytes));
    }
    received[from]++;
}

// Memory of messages that a channel was lent.
#define LENT_MOST 64
static char *lent_data[LENT_MOST];
static size_t lent_bytes[LENT_MOST];
static uint64_t lent_now, lent_back;

static inline void take_back(uint64_t token)
{
    size_t k = (token & 0xffff) - 1;
    CHECK(k < LENT_MOST && lent_data[k]);
    memset(lent_data[k], 0xee, lent_bytes[k]);    // the user's again
    free(lent_data[k]);
    lent_data[k] = NULL;
    lent_back++;
}

// A message whose memory may stay with the channel. False: it goes in the common way.
static inline bool send_lent(struct uno_link *l, uint64_t number)
{
    size_t n = size_of(number, l), k = 0;
    while (k < LENT_MOST && lent_data[k]) k++;
    if (!l->lends || number % 3 != 2 || n < UNO_LEND_MIN || k == LENT_MOST) return false;
    on_returned = take_back;
    lent_data[k] = malloc(n);
    lent_bytes[k] = n;
    fill_bytes(lent_data[k], number, n);
    struct uno_msg m = {.kind = UNO_EAGER, .src = me, .tag = (int32_t)number, .bytes = (uint32_t)n, .lent = k + 1};
    m.ctx = (uint64_t)me << 32;
    m.data = lent_data[k];
    int err;
    while ((err = l->ops->send(l, &m)) == UNO_FULL) poll_once();
    CHECK(err == UNO_LENT || err == 0);
    lent_now += err == UNO_LENT;
    if (err != UNO_LENT) lent_back--, take_back(m.lent);
    return true;
}

static inline void send_number(struct uno_link *l, uint64_t number)
{
    static char data[1 << 17];
    size_t n = size_of(number, l);
    if (send_lent(l, number)) return;
    fill_bytes(data, number, n);
    struct uno_packer packer = {.buf = data};
    struct uno_msg m = {.kind = UNO_EAGER,
                        .src = me,
                        .tag = (int32_t)number,
                        .bytes = (uint32_t)n,
                        .ctx = (uint64_t)me << 32,
                        .data = data};
    if (number % 3 == 1) m.data = NULL, m.packer = &packer;
    int err;
    while ((err = l->ops->send(l, &m)) == UNO_FULL) {
        CHECK(packer.pos == 0);
        poll_once();
    }
    CHECK(err == 0);
    memset(data, 0xee, n);    // the channel has its own copy
}

static inline bool all_received(void)
{
    for (int i = 0; i < ranks; i++)
        if (received[i] < expected_from[i]) return false;
    return true;
}

// ---- rendezvous by direct copy ----

#define TRANSFERS 12

static const size_t large[TRANSFERS] = {1,      4097,    65536,          65537,   100001,  262144,
                                        262145, 1 << 20, (1 << 20) + 13, 3333333, 9 << 20, (16 << 20) + 1};
static char *source[TRANSFERS], *target[TRANSFERS];
static size_t moved_out[TRANSFERS], moved_in[TRANSFERS];
static int done_out, done_in, offered;
static bool short_room;

static inline size_t room_of(size_t k)
{
    return short_room && k % 3 == 0 ? large[k] / 2 + 1 : large[k] + 5;
}

// Every second message goes straight to its receive, when the channel asks for that.
static char straight[1 << 17];
static uint64_t straights;                  // so many did
static uint64_t found_up_to[TEST_RANKS];    // a receive is found once, also when the message must be sent again

static inline void *find_receive(struct uno_link *link, const struct uno_hdr *h, uint64_t *token)
{
    uint64_t number = received[link->proc];
    CHECK(h->src == link->proc && h->tag == (int32_t)number && h->bytes == size_of(number, link));
    if (number % 2) return NULL;
    CHECK(number >= found_up_to[link->proc]);
    found_up_to[link->proc] = number + 1;
    memset(straight, 0x77, h->bytes + 1);
    *token = (uint64_t)3 << 16 | (uint64_t)link->proc;
    return straight;
}

static inline void straight_done(int from, size_t bytes)
{
    uint64_t number = received[from]++;
    CHECK(bytes == size_of(number, links[from]) && same_bytes(straight, number, bytes) && straight[bytes] == 0x77);
    straights++;
}

static inline void direct_done(uint64_t token, size_t bytes, int failed)
{
    CHECK(!failed);
    if (token >> 16 == 3) {
        straight_done((int)(token & 0xffff), bytes);
        return;
    }
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

static inline void take_offer(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    struct uno_rts rts;
    CHECK(h->kind == OFFER && h->bytes == sizeof rts);
    memcpy(&rts, whole(link, h, payload), sizeof rts);
    size_t k = rts.token & 0xffff;
    CHECK(rts.bytes == large[k] && rts.direct);
    target[k] = malloc(large[k] + 64);
    memset(target[k], 0x77, large[k] + 64);
    struct uno_run run = {target[k], room_of(k)};
    CHECK(link->ops->accept(link, &rts, &(struct uno_mem){&run, 1}, 2 << 16 | k) == 0);
}

static inline void offer_all(struct uno_link *l)
{
    for (size_t k = 0; k < TRANSFERS; k++) {
        source[k] = malloc(large[k]);
        fill_bytes(source[k], k, large[k]);
        struct uno_rts rts = {.token = 1 << 16 | k, .bytes = large[k]};
        struct uno_run run = {source[k], large[k]};
        int err = l->ops->offer(l, &(struct uno_mem){&run, 1}, &rts);
        CHECK(err == 0 || err == UNO_DECLINED);
        if (err) continue;    // allowed: the caller streams then
        offered++;
        struct uno_msg m = {.kind = OFFER, .src = me, .bytes = sizeof rts, .data = &rts};
        must_send(l, &m);
    }
}

// ---- both at once, with a counter that an onlooker may watch ----

static inline void take_mixed(struct uno_link *link, const struct uno_hdr *h, const void *payload)
{
    if (h->kind == OFFER)
        take_offer(link, h, payload);
    else
        take_in_order(link, h, payload);
    atomic_fetch_add(&shared->number[6], 1);    // seq_cst, see meet()
}

// Two ranks send each other `messages` numbered messages, with the direct transfers under way meanwhile.
static inline void mixed_traffic(uint64_t messages)
{
    struct uno_link *l = links[1 - me];
    on_arrival = take_mixed;
    on_header = find_receive;
    on_done = direct_done;
    expected_from[1 - me] = messages;
    for (uint64_t k = 0; k < messages / 2; k++) send_number(l, k);
    offer_all(l);
    for (uint64_t k = messages / 2; k < messages; k++) send_number(l, k);
    while (!all_received() || done_out < TRANSFERS || done_in < TRANSFERS || lent_back != lent_now) poll_once();
    meet(true);
    CHECK(received[1 - me] == messages && done_out == TRANSFERS && done_in == TRANSFERS);
}
