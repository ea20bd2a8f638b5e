// SPDX-License-Identifier: BSD-3-Clause
// Unit test of the memory of messages without receives (unexp.c): parcels of all sizes that come and go keep what is in
// them, and a size that has just gone is used again.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/match.h"

#define HELD 200
#define STEPS 20000
#define LONGEST 400000    // beyond what is kept
#define ALL ((size_t)8 << 20)

static uint64_t seed = 20261126;

static size_t draw(size_t below)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (size_t)((seed >> 20) % below);
}

static void check(const struct uno_unexp *u, int mark)
{
    const char *data = uno_unexp_data(u);
    for (size_t k = 0; k < u->bytes; k++) assert_int_equal(data[k], mark);
}

static void keep_what_is_in_them(void **state)
{
    (void)state;
    static struct uno_unexp *held[HELD];
    for (int step = 0; step < STEPS; step++) {
        size_t i = draw(HELD);
        if (held[i]) {
            check(held[i], (int)i % 100);
            uno_unexp_give(held[i]);
            held[i] = NULL;
        } else {
            size_t bytes = draw(draw(8) ? 5000 : LONGEST);
            held[i] = uno_unexp_new(bytes, true);
            assert_non_null(held[i]);
            memset(held[i]->parcel->data, (int)i % 100, bytes);
        }
        if (step % 5000 == 0) uno_unexp_trim();
    }
    for (int i = 0; i < HELD; i++)
        if (held[i]) uno_unexp_give(held[i]);
    uno_unexp_trim();
}

// The parcel of a message that came and went.
static const void *parcel_of(size_t bytes)
{
    struct uno_unexp *u = uno_unexp_new(bytes, true);
    assert_non_null(u);
    const void *parcel = u->parcel;
    uno_unexp_give(u);
    return parcel;
}

static void are_used_again(void **state)
{
    (void)state;
    for (size_t bytes = 1100; bytes < 200000; bytes += bytes / 3) {
        struct uno_unexp *first = uno_unexp_new(bytes, true), *second = uno_unexp_new(bytes, true);
        assert_non_null(first);
        assert_non_null(second);
        const void *of[] = {first->parcel, second->parcel};
        assert_ptr_not_equal(of[0], of[1]);
        uno_unexp_give(first);
        uno_unexp_give(second);
        assert_ptr_equal(parcel_of(bytes), of[1]);
    }
    uno_unexp_trim();
}

// A program may have a million of them.
static void take_little_more_than_they_hold(void **state)
{
    (void)state;
    for (size_t bytes = 17; bytes < 300000; bytes += 1 + bytes / 7) {
        struct uno_unexp *u = uno_unexp_new(bytes, true);
        assert_non_null(u);
        size_t least = sizeof(struct uno_parcel) + bytes;
        assert_in_range(malloc_usable_size(u->parcel), least, least + (least <= 1024 ? 64 : least / 4 + 8192));
        uno_unexp_give(u);
    }
    uno_unexp_trim();
}

// Of many that go at once only some are kept, and trimming frees these.
static void few_are_kept(void **state)
{
    (void)state;
    enum { EACH = 1 << 16, COUNT = ALL / EACH };
    static struct uno_unexp *held[COUNT];
    for (int i = 0; i < COUNT; i++) held[i] = uno_unexp_new(EACH, true);
    for (int i = 0; i < COUNT; i++) uno_unexp_give(held[i]);
    assert_in_range(uno_unexp_spare(), ALL / 4, ALL / 2);
    uno_unexp_trim();
    assert_int_equal(uno_unexp_spare(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_what_is_in_them),
        cmocka_unit_test(are_used_again),
        cmocka_unit_test(take_little_more_than_they_hold),
        cmocka_unit_test(few_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
