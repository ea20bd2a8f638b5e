// SPDX-License-Identifier: BSD-3-Clause
// Copies between cores: every length to beyond what is asked for ahead, at odd addresses, all ways of copying. What
// lies around the copy stays, and so does the line that tells the reader, which is only asked for.
#include "base/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/huge.h"
#include "base/thresholds.h"

#define MOST (4 * UNO_COPY_AHEAD)
#define LONG (64 * 1024)
#define EDGE 64

static char source[LONG + EDGE], target[LONG + 2 * EDGE], line[64];

static const struct uno_copy_costs none;    // never past the caches

static void check(size_t n, size_t shift, const void *told, bool out)
{
    memset(target, 0x55, sizeof target);
    if (out)
        uno_copy_out(target + EDGE + shift, source + shift, n, told);
    else
        uno_copy_in(target + EDGE + shift, source + shift, n);
    assert_memory_equal(target + EDGE + shift, source + shift, n);
    for (size_t i = 0; i < EDGE + shift; i++) assert_int_equal(target[i], 0x55);
    for (size_t i = EDGE + shift + n; i < sizeof target; i++) assert_int_equal(target[i], 0x55);
    for (size_t i = 0; i < sizeof line; i++) assert_int_equal(line[i], 0x33);
}

static void fill(void)
{
    for (size_t i = 0; i < sizeof source; i++) source[i] = (char)(i * 7 + i / 256);
}

static void copies_all(void **state)
{
    bool ahead = *(bool *)*state;
    uno_copy_decide(ahead, 4096, &none);
    assert_int_equal(uno_copy_ahead, ahead);
    assert_int_equal(uno_copy_past_from, 4096);
    fill();
    memset(line, 0x33, sizeof line);
    for (size_t n = 0; n <= MOST; n += n < 200 ? 1 : 37)
        for (size_t shift = 0; shift < 2; shift++) {
            check(n, 5 * shift, NULL, true);
            check(n, 5 * shift, line, true);
            check(n, 5 * shift, NULL, false);
        }
    uno_copy_soon(source, sizeof source);    // asks, and does nothing
    uno_copy_own(line, sizeof line);
    check(MOST, 0, line, true);
}

// Long enough for string instructions, and so often that each way is timed more than once and the cheaper one used.
static void takes_long(void **state)
{
    (void)state;
    fill();
    memset(line, 0x33, sizeof line);
    for (size_t i = 0; i < 200; i++) check(i % 2 ? LONG - i % 7 : 8190 + i % 5, i % 64, NULL, false);
}

// Into what was read last: never past the caches, so with any costs.
static void writes_back(void **state)
{
    uno_copy_decide(*(bool *)*state, 4096, &none);
    fill();
    for (size_t n = 129; n < LONG; n = 2 * n + 1) {
        memset(target, 0x55, sizeof target);
        uno_copy_back(target + EDGE, source + 3, n, line);
        assert_memory_equal(target + EDGE, source + 3, n);
        assert_int_equal(target[EDGE - 1], 0x55);
        assert_int_equal(target[EDGE + n], 0x55);
    }
    uno_copy_decide(false, 4096, &none);
}

// Lines as dear to write as can be, so that all that may goes past the caches but for what is timed; or as cheap. All
// lengths about those where the way changes, at odd addresses.
static void goes_past(void **state)
{
    static const struct uno_copy_costs dear = {2000, 1, 1, 1, 1, 1}, cheap = {1, 1, 1, 1000, 1000, 1000};
    static const size_t about[] = {64, 256, 1024, 2048, 4096, 8192, LONG - EDGE};
    fill();
    memset(line, 0x33, sizeof line);
    uno_copy_decide(*(bool *)*state, 4096, &dear);
    for (size_t turn = 0; turn < 80; turn++) {
        if (turn == 40) uno_copy_decide(*(bool *)*state, 4096, &cheap);
        for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
            size_t n = about[i] + turn % 9 - 4, shift = turn % 64;
            check(n, shift, line, true);
            memset(target, 0x55, sizeof target);
            uno_copy_over(target + EDGE + shift, source + shift, n);
            assert_memory_equal(target + EDGE + shift, source + shift, n);
            uno_copy_past(target + EDGE + shift, source + shift + 1, n);
            assert_memory_equal(target + EDGE + shift, source + shift + 1, n);
            assert_int_equal(target[EDGE + shift - 1], 0x55);
            assert_int_equal(target[EDGE + shift + n], 0x55);
        }
    }
    uno_copy_decide(false, 4096, &none);
}

// Told that lines are so dear that all goes past the caches, a process finds out that they are not: its copies are
// plain for a while first. Copies are whole whichever way is tried.
static void tries_plain(void **state)
{
    (void)state;
    static const struct uno_copy_costs wrong = {100000000, 1, 1, 1, 1000000, 1000000},
                                       right = {100000000, 1, 1, 1, 1, 1};
    const size_t n = 4096, enough = 20000;
    fill();
    uno_copy_decide(false, 4096, &wrong);
    assert_false(uno_copy_is_light());
    size_t i = 0;
    for (; i < enough && !uno_copy_is_light(); i++) uno_copy_over(target, source, n);
    assert_true(i < enough);
    uno_copy_decide(false, 4096, &right);
    for (i = 0; i < enough; i++) {
        size_t shift = i % 64;
        memset(target + shift, 0x55, 64);
        uno_copy_over(target + shift, source + i % 61, n);
        assert_memory_equal(target + shift, source + i % 61, n);
    }
    uno_copy_decide(false, 4096, &none);
}

// Messages into a buffer that others have pushed out of the caches since its last use are stored past them, however
// long those are that are streamed, but not short ones; the longest always are.
static void is_past(void **state)
{
    (void)state;
    const size_t page = 2 << 20, others = 8 * page;
    static const uint64_t paged[] = {4096, UNO_THRESHOLD_NEVER};
    char *at = aligned_alloc(page, page + others);
    assert_non_null(at);
    uno_copy_decide(false, 64 << 20, &none);
    for (int i = 0; i < 2; i++) {
        uno_thresholds.paged = paged[i];
        uno_thresholds.cold = others;
        uno_huge_use(at, page);
        assert_false(uno_copy_is_past(at, page));
        uno_huge_use(at + page, others);
        assert_true(uno_copy_is_past(at, page));
        assert_true(uno_copy_is_past(at, (256 << 10) + 1));
        assert_int_equal(uno_copy_is_past(at, 64 << 10), i == 0);
        assert_false(uno_copy_is_past(at, 4096));
        uno_huge_use(at, page);    // cold, and its last use was just now: it was cold then
        assert_true(uno_copy_is_past(at, page));
        uno_huge_use(at, page);
        assert_false(uno_copy_is_past(at, page));
    }
    assert_true(uno_copy_is_past(at, 64 << 20));
    free(at);
    uno_copy_decide(false, 4096, &none);
}

int main(void)
{
    static bool yes = true, no = false;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(copies_all, &yes),
        cmocka_unit_test_prestate(copies_all, &no),
        cmocka_unit_test(takes_long),
        cmocka_unit_test_prestate(writes_back, &yes),
        cmocka_unit_test_prestate(writes_back, &no),
        cmocka_unit_test_prestate(goes_past, &yes),
        cmocka_unit_test_prestate(goes_past, &no),
        cmocka_unit_test(tries_plain),
        cmocka_unit_test(is_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
