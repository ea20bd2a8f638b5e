// SPDX-License-Identifier: BSD-3-Clause
// Regions that are gathered into huge pages: asked for again when other pages lie at their addresses, and after a
// refusal; some at once. And which buffers have left the caches since they were used.
#define _GNU_SOURCE
#include "base/huge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/param.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "base/wait.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define REGION ((size_t)2 << 20)
#define LOOKS 5000        // at most; some tens suffice
#define USES 64           // between two looks
#define ASKED_ANEW 130    // uses after which even a region whose number was refused before is asked for

// New pages in a region, small ones as no huge one fits either half while it is touched.
static void lay_small_pages(char *at)
{
    assert_ptr_equal(mmap(at, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), at);
    for (char *half = at; half < at + REGION; half += REGION / 2) {
        assert_int_equal(mprotect(half, REGION / 2, PROT_READ | PROT_WRITE), 0);
        memset(half, 1, REGION / 2);
    }
}

// Amid memory that nobody may touch, so that the kernel tells of it alone.
static char *region(void)
{
    char *wide = mmap(NULL, 4 * REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(wide, MAP_FAILED);
    char *at = wide + 2 * REGION - (uintptr_t)wide % REGION;
    lay_small_pages(at);
    return at;
}

// What the kernel says.
static bool is_huge(const char *at)
{
    FILE *f = fopen("/proc/self/smaps", "re");
    assert_non_null(f);
    char line[256];
    unsigned long from = 0, to = 0, kib = 0;
    bool here = false, huge = false;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) here = from <= (unsigned long)at && (unsigned long)at < to;
        if (here && sscanf(line, "AnonHugePages: %lu", &kib) == 1) huge = kib >= REGION >> 10;
    }
    fclose(f);
    return huge;
}

// The kernel may gather it by itself, too.
static bool becomes_huge(char *at)
{
    for (int i = 0; i < LOOKS; i++) {
        if (is_huge(at) && uno_huge_gathered(at, REGION) == REGION) return true;
        for (int k = 0; k < USES; k++) uno_huge_use(at, REGION);
    }
    return false;
}

static void begin(void)
{
    char *at = region();
    bool gathers = madvise(at, REGION, MADV_COLLAPSE) == 0;
    munmap(at, REGION);
    if (!gathers) {
        print_message("this system gathers no huge pages\n");
        skip();
    }
    setenv("UNISONO_HUGE_AFTER", "16M", 1);
    assert_int_equal(uno_params_load(), 0);
}

static void asks_again_for_other_pages(void **state)
{
    (void)state;
    begin();
    char *at = region();
    assert_true(becomes_huge(at));
    for (int i = 0; i < 3; i++) {
        lay_small_pages(at);
        assert_false(is_huge(at));
        assert_true(becomes_huge(at));
    }
}

static void asks_again_after_a_refusal(void **state)
{
    (void)state;
    begin();
    char *at = region();
    assert_int_equal(madvise(at, REGION, MADV_NOHUGEPAGE), 0);
    for (int i = 0; i < USES; i++) uno_huge_use(at, REGION);
    assert_int_equal(uno_huge_gathered(at, REGION), 0);
    assert_false(is_huge(at));
    (void)madvise(at, REGION, MADV_HUGEPAGE);
    assert_true(becomes_huge(at));
}

// The buffers of a small job: one after the other, each after the use that pays for it.
static void gathers_some_at_once(void **state)
{
    (void)state;
    begin();
    char *at[4];
    for (int i = 0; i < 4; i++) at[i] = region();
    uint64_t start = uno_now_ns();
    assert_int_equal(madvise(at[0], REGION, MADV_COLLAPSE), 0);
    uno_huge_decide(8 * (uno_now_ns() - start));
    for (int i = 1; i < 4; i++)
        for (int k = 0; k < ASKED_ANEW; k++) uno_huge_use(at[i], REGION);
    uno_huge_decide(1);
    for (int i = 1; i < 4; i++) assert_int_equal(uno_huge_gathered(at[i], REGION), REGION);
}

// Uses a stretch of addresses that nobody looks at in parts; returns how many of these were in memory.
static int walk(uintptr_t from, size_t bytes, size_t part)
{
    int cold = 0;
    for (size_t i = 0; i < bytes; i += part) {
        uno_huge_use_hot((const void *)(from + i), part, 0);
        cold += uno_huge_is_cold((const void *)(from + i));
    }
    return cold;
}

// Parts of one buffer follow each other, wherever it begins in a region: the second part of a region is as cold as the
// first was.
static void tells_what_left_the_caches(void **state)
{
    static const size_t begins[] = {0, REGION / 2, 0x95000};
    static const size_t parts[] = {REGION / 8, REGION / 2, 2 * REGION};
    (void)state;
    setenv("UNISONO_HUGE_AFTER", "16M", 1);
    assert_int_equal(uno_params_load(), 0);
    uno_thresholds.cold = 8 * REGION;
    for (size_t b = 0; b < sizeof begins / sizeof *begins; b++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            uintptr_t from = (uintptr_t)512 * REGION * (2 + 3 * b + p) + begins[b];
            assert_int_equal(walk(from, 16 * REGION, parts[p]), 0);    // never used before
            for (int i = 0; i < 3; i++) assert_int_equal(walk(from, 16 * REGION, parts[p]), 16 * REGION / parts[p]);
            walk(from, 2 * REGION, parts[p]);
            for (int i = 0; i < 3; i++) assert_int_equal(walk(from, 2 * REGION, parts[p]), 0);
        }
}

// Of ranks that share processors each has its part of the caches, unless all is streamed there by the costs alone.
static void colder_where_ranks_share_caches(void **state)
{
    (void)state;
    uno_thresholds.cold = 48 << 20;
    uno_thresholds.streamed = UNO_THRESHOLD_NEVER;
    uno_patience_decide(2, 2);
    assert_int_equal(uno_huge_cold_after(), 48 << 20);
    uno_patience_decide(3, 2);
    assert_int_equal(uno_huge_cold_after(), 24 << 20);
    uno_patience_decide(8, 2);
    assert_int_equal(uno_huge_cold_after(), 12 << 20);
    uno_thresholds.streamed = uno_thresholds.cold;
    assert_int_equal(uno_huge_cold_after(), 48 << 20);
    uno_patience_decide(1, 2);
}

// Likewise where two buffers are walked in turn, a part of each.
static void tells_of_two_in_turn(void **state)
{
    uintptr_t one = (uintptr_t)1 << 44, other = one + 100 * REGION;
    (void)state;
    setenv("UNISONO_HUGE_AFTER", "16M", 1);
    assert_int_equal(uno_params_load(), 0);
    uno_thresholds.cold = 8 * REGION;
    for (int i = 0; i < 3; i++)
        for (size_t at = 0; at < 16 * REGION; at += REGION / 4) {
            assert_int_equal(walk(one + at, REGION / 4, REGION / 4), i > 0);
            assert_int_equal(walk(other + at, REGION / 4, REGION / 4), i > 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_again_for_other_pages), cmocka_unit_test(asks_again_after_a_refusal),
        cmocka_unit_test(gathers_some_at_once),       cmocka_unit_test(tells_what_left_the_caches),
        cmocka_unit_test(tells_of_two_in_turn),       cmocka_unit_test(colder_where_ranks_share_caches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
