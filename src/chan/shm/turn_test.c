// SPDX-License-Identifier: BSD-3-Clause
// Blocks that two ranks write in turns: which payloads go by them, and that they arrive whole.
#include "base/thresholds.h"
#include "chan/shm/ring.h"
#include "chan/test_traffic.h"

#define ROUNDS 2000

static struct shm_turn *turn(void)
{
    return &((struct shm_link *)links[1 - me])->turn;
}

static size_t for_block(uint64_t number)
{
    size_t n = size_of(number, links[1 - me]);
    return n >= SHM_TURN_FROM && n <= turn()->bytes ? n : 0;
}

static void receive_one(void)
{
    expected_from[1 - me]++;
    while (!all_received()) poll_once();
}

// Each message answers the one before: all that are long enough go by block.
static void answers_body(void)
{
    uint64_t gone = 0;    // by block, each way
    on_arrival = take_in_order;
    for (uint64_t k = 0; k < ROUNDS; k++) {
        if (me == 1) receive_one();
        send_number(links[1 - me], k);
        if (me == 0) receive_one();
        gone += for_block(k);
        CHECK(turn()->sent == gone && turn()->got == gone);
    }
    CHECK(gone > 0);
    meet(true);
}

// Both send, then both receive: each has a block for its own.
static void exchange_body(void)
{
    uint64_t sent = 0;
    on_arrival = take_in_order;
    for (uint64_t k = 0; k < ROUNDS; k++) {
        send_number(links[1 - me], k);
        meet(false);
        receive_one();
        sent += for_block(k);
        CHECK(turn()->sent == sent && turn()->got == sent);
        meet(false);    // the next one comes later than this look
    }
    meet(true);
}

// One way: the first long message takes the block along, and the other side has two then.
static void one_way_body(void)
{
    uint64_t k = 0, gone = 0, back = 0;
    struct uno_link *l = links[1 - me];
    CHECK(l != NULL);
    on_arrival = take_in_order;
    for (; k < ROUNDS; k++) {
        if (me == 0)
            send_number(l, k);
        else
            receive_one();
        if (gone == 0) gone = for_block(k);
    }
    CHECK(gone > 0 && (me == 0 ? turn()->sent : turn()->got) == gone);
    CHECK(turn()->have[SHM_OURS] == (me == 1) && turn()->have[SHM_PEERS] == (me == 1));
    int blocks = 2;
    for (k = 0; k < ROUNDS; k++) {
        if (me == 1)
            send_number(l, k);
        else
            receive_one();
        if (for_block(k) && blocks > 0) back += for_block(k), blocks--;
    }
    CHECK(blocks == 0 && (me == 1 ? turn()->sent : turn()->got) == back);
    CHECK(shm_turn_has(turn()) == (me == 0));
    meet(true);
}

static void run(void (*body)(void), void **state)
{
    extern struct uno_chan uno_shm;
    struct uno_thresholds as_set = uno_thresholds;
    uno_thresholds.piece = uno_thresholds.turn_piece = *(uint64_t *)*state;
    uno_thresholds.long_piece = 4 * uno_thresholds.piece;
    assert_int_equal(run_ranks(2, &uno_shm, body, NULL), 0);
    uno_thresholds = as_set;
}

static void answers(void **state)
{
    run(answers_body, state);
}

static void exchange(void **state)
{
    run(exchange_body, state);
}

static void one_way(void **state)
{
    run(one_way_body, state);
}

static int gives(struct shm_turn *t)
{
    char *block;
    return shm_turn_give(t, t->bytes, &block) == SHM_TURN_OWN ? SHM_OURS : SHM_PEERS;
}

// Whether messages as long as a block go at once: while lines cost little, while they cost much, where ranks share
// cores.
static void carries(const struct shm_turn *t, bool light, bool dear, bool crowded)
{
    assert_int_equal(shm_turn_carries(t, true, false), light);
    assert_int_equal(shm_turn_carries(t, false, false), dear);
    assert_int_equal(shm_turn_carries(t, true, true), crowded);
}

// Of two that send at once each sends the block that it did not send last.
static void tells_answers_from_exchanges(void **state)
{
    (void)state;
    struct shm_turn t = {.bytes = 1024, .have = {[SHM_OURS] = true}};
    for (int i = 0; i < 3; i++) {    // it comes back
        carries(&t, true, true, true);
        assert_int_equal(gives(&t), SHM_OURS);
        assert_false(t.crosses);
        carries(&t, false, false, false);
        shm_turn_take(&t, SHM_OURS);
    }
    assert_int_equal(gives(&t), SHM_OURS);
    for (int i = 0; i < 4; i++) {    // another one comes
        int other = i % 2 ? SHM_OURS : SHM_PEERS;
        shm_turn_take(&t, other);
        assert_int_equal(gives(&t), other);
        assert_true(t.crosses);
        carries(&t, true, false, false);
    }
    shm_turn_take(&t, SHM_PEERS);
    carries(&t, true, true, false);
    t.have[SHM_PEERS] = false;
    shm_turn_take(&t, SHM_OURS);
    assert_int_equal(gives(&t), SHM_OURS);
    assert_false(t.crosses);
}

int main(void)
{
    static uint64_t fine = 1024, whole = 1 << 20;    // in many pieces, and told once
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(answers, &fine),      cmocka_unit_test_prestate(answers, &whole),
        cmocka_unit_test_prestate(exchange, &fine),     cmocka_unit_test_prestate(exchange, &whole),
        cmocka_unit_test_prestate(one_way, &fine),      cmocka_unit_test_prestate(one_way, &whole),
        cmocka_unit_test(tells_answers_from_exchanges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
