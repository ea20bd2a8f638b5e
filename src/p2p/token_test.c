// SPDX-License-Identifier: BSD-3-Clause
// Tokens: what is given out is found, and nothing else is.
#include "p2p/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MANY 1000

static int object[MANY];

static void found_by_kind_and_process(void **state)
{
    (void)state;
    uint64_t t = uno_token_take(UNO_TOKEN_SEND, &object[0], 3);
    assert_true(t != 0);
    assert_ptr_equal(uno_token_find(t, UNO_TOKEN_SEND, 3), &object[0]);
    assert_null(uno_token_find(t, UNO_TOKEN_SEND, 4));
    assert_null(uno_token_find(t, UNO_TOKEN_STREAM, 3));
    assert_null(uno_token_find(t, UNO_TOKEN_PART, 3));
    uno_token_give(t);
    assert_null(uno_token_find(t, UNO_TOKEN_SEND, 3));
    uno_tokens_close();
}

static void old_ones_find_nothing(void **state)
{
    (void)state;
    uint64_t old = uno_token_take(UNO_TOKEN_SEND, &object[0], 0);
    uno_token_give(old);
    uint64_t next = uno_token_take(UNO_TOKEN_SEND, &object[1], 0);
    assert_int_equal((uint32_t)old, (uint32_t)next);    // the same place
    assert_null(uno_token_find(old, UNO_TOKEN_SEND, 0));
    uno_token_give(old);    // has no effect
    assert_ptr_equal(uno_token_find(next, UNO_TOKEN_SEND, 0), &object[1]);
    uno_tokens_close();
}

static void forged_ones_find_nothing(void **state)
{
    (void)state;
    assert_null(uno_token_find(0, UNO_TOKEN_SEND, 0));
    assert_null(uno_token_find(1ULL << 32, UNO_TOKEN_SEND, 0));    // the table is empty
    uint64_t t = uno_token_take(UNO_TOKEN_RECV, &object[0], 0);
    for (int bit = 0; bit < 64; bit++)
        for (int kind = UNO_TOKEN_FREE; kind <= UNO_TOKEN_PART; kind++)
            assert_null(uno_token_find(t ^ 1ULL << bit, (enum uno_token_kind)kind, 0));
    srandom(5);
    for (int i = 0; i < 100000; i++) {
        uint64_t guess = (uint64_t)random() << 33 ^ (uint64_t)random();
        if (guess != t) assert_null(uno_token_end(guess));
    }
    assert_ptr_equal(uno_token_end(t), &object[0]);
    assert_null(uno_token_end(t));
    uno_tokens_close();
}

static void passed_on_by_its_owner(void **state)
{
    (void)state;
    uint64_t t = uno_token_take(UNO_TOKEN_SEND, &object[0], 2);
    assert_false(uno_token_pass(t, &object[1], &object[2]));
    assert_true(uno_token_pass(t, &object[0], &object[1]));
    assert_ptr_equal(uno_token_find(t, UNO_TOKEN_SEND, 2), &object[1]);
    uno_token_give(t);
    assert_false(uno_token_pass(t, &object[1], &object[2]));
    uno_tokens_close();
}

static void ends_copies_alone(void **state)
{
    (void)state;
    uint64_t stream = uno_token_take(UNO_TOKEN_STREAM, &object[0], 0);
    uint64_t part = uno_token_take(UNO_TOKEN_PART, &object[1], 0);
    uint64_t send = uno_token_take(UNO_TOKEN_SEND, &object[2], 0);
    assert_null(uno_token_end(stream));
    assert_null(uno_token_end(part));
    assert_ptr_equal(uno_token_end(send), &object[2]);
    uno_tokens_close();
}

static void grows(void **state)
{
    (void)state;
    static uint64_t token[MANY];
    for (int i = 0; i < MANY; i++) token[i] = uno_token_take(UNO_TOKEN_SEND, &object[i], i);
    for (int i = 0; i < MANY; i++) assert_ptr_equal(uno_token_find(token[i], UNO_TOKEN_SEND, i), &object[i]);
    for (int i = 0; i < MANY; i += 2) uno_token_give(token[i]);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(uno_token_find(token[i], UNO_TOKEN_SEND, i), i % 2 ? &object[i] : NULL);
    uno_tokens_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_kind_and_process), cmocka_unit_test(old_ones_find_nothing),
        cmocka_unit_test(forged_ones_find_nothing),  cmocka_unit_test(passed_on_by_its_owner),
        cmocka_unit_test(ends_copies_alone),         cmocka_unit_test(grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
