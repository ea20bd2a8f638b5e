// SPDX-License-Identifier: BSD-3-Clause
// Unit test of pool.c: objects are zeroed, distinct, aligned, recognisable when freed, and reused.
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct thing {
    struct uno_head head;
    char body[100];
};

static void gives_and_takes(void **state)
{
    (void)state;
    struct uno_pool pool = {.bytes = sizeof(struct thing), .magic = 0x1234};
    enum { COUNT = 1000 };
    struct thing *all[COUNT];
    for (int i = 0; i < COUNT; i++) {
        all[i] = uno_pool_get(&pool);
        assert_non_null(all[i]);
        assert_int_equal((uintptr_t)all[i] % 64, 0);
        assert_int_equal(all[i]->head.magic, 0x1234);
        assert_int_equal(all[i]->head.refs, 1);
        for (size_t k = 0; k < sizeof all[i]->body; k++) assert_int_equal(all[i]->body[k], 0);
        memset(all[i]->body, i | 1, sizeof all[i]->body);
    }
    for (int i = 0; i < COUNT; i++) assert_int_equal(all[i]->body[99], (char)(i | 1));
    assert_int_equal(pool.live, COUNT);
    for (int i = 0; i < COUNT; i++) uno_pool_put(&pool, all[i]);
    assert_int_equal(pool.live, 0);
    for (int i = 0; i < COUNT; i++) assert_int_equal(all[i]->head.magic, 0);
    struct thing *again = uno_pool_get(&pool);
    assert_ptr_equal(again, all[COUNT - 1]);
    assert_int_equal(again->body[0], 0);
}

struct huge {
    struct uno_head head;
    char body[100000];
};

static void objects_above_a_slab(void **state)
{
    (void)state;
    struct uno_pool pool = {.bytes = sizeof(struct huge), .magic = 7};
    struct huge *a = uno_pool_get(&pool), *b = uno_pool_get(&pool);
    assert_non_null(a);
    assert_non_null(b);
    assert_ptr_not_equal(a, b);
    if (!a || !b) return;    // for the analyser
    memset(a->body, 1, sizeof a->body);
    assert_int_equal(b->body[0], 0);
    uno_pool_put(&pool, a);
    uno_pool_put(&pool, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gives_and_takes), cmocka_unit_test(objects_above_a_slab)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
