// SPDX-License-Identifier: BSD-3-Clause
// When copies across processes count as dear, and when again as usual.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "chan/shm/dear.h"

static void note(struct shm_dear *d, uint32_t took, int times)
{
    for (int i = 0; i < times; i++) shm_dear_note(d, took);
}

static uint32_t pass(struct shm_dear *d)
{
    uint32_t n = 0;
    for (; shm_dear_is(d); n++) shm_dear_pass(d);
    return n;
}

// One copy that was interrupted, and copies of which each fourth is dear, change nothing; two in a row do.
static void rows(void **state)
{
    (void)state;
    struct shm_dear d = {0};
    note(&d, UNO_PEER_MEMORY_USUAL, 10);
    note(&d, UNO_PEER_MEMORY_MOST, 1);
    assert_false(shm_dear_is(&d));
    note(&d, UNO_PEER_MEMORY_USUAL, 10);
    for (int i = 0; i < 20; i++) {
        note(&d, UNO_PEER_MEMORY_MOST, 1);
        assert_false(shm_dear_is(&d));
        note(&d, UNO_PEER_MEMORY_USUAL, 3);
    }
    note(&d, UNO_PEER_MEMORY_MOST, 3);
    assert_true(shm_dear_is(&d));
}

static void from_the_start(void **state)
{
    (void)state;
    struct shm_dear d = {0};
    note(&d, UNO_PEER_MEMORY_MOST, 1);
    assert_false(shm_dear_is(&d));
    note(&d, UNO_PEER_MEMORY_MOST, 2);
    assert_true(shm_dear_is(&d));
}

// The longer it lasts, the rarer are looks, up to a limit; the first of a look does not count.
static void looks(void **state)
{
    (void)state;
    struct shm_dear d = {0};
    note(&d, UNO_PEER_MEMORY_MOST, 4);
    for (uint32_t rest = SHM_DEAR_REST, i = 0; i < 8; i++) {
        assert_int_equal(pass(&d), rest);
        note(&d, UNO_PEER_MEMORY_MOST, SHM_DEAR_LOOKS - 1);
        assert_false(shm_dear_is(&d));
        note(&d, UNO_PEER_MEMORY_MOST, 1);
        assert_true(shm_dear_is(&d));
        rest = 2 * rest < SHM_DEAR_REST_MOST ? 2 * rest : SHM_DEAR_REST_MOST;
    }
    pass(&d);
    note(&d, UNO_PEER_MEMORY_USUAL, 1);
    assert_true(d.rest);
    note(&d, UNO_PEER_MEMORY_USUAL, 1);
    assert_false(d.rest);
    note(&d, UNO_PEER_MEMORY_USUAL, 100);
    assert_false(shm_dear_is(&d));
}

// Copies begun before they were dear end later: they say nothing new.
static void late(void **state)
{
    (void)state;
    struct shm_dear d = {0};
    note(&d, UNO_PEER_MEMORY_MOST, 4);
    uint32_t left = d.left;
    note(&d, UNO_PEER_MEMORY_USUAL, 50);
    assert_int_equal(d.left, left);
    assert_int_equal(pass(&d), left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(from_the_start),
                                       cmocka_unit_test(looks), cmocka_unit_test(late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
