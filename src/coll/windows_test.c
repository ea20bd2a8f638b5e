// SPDX-License-Identifier: BSD-3-Clause
// How windows are filled: the way that costs writer and reader less, the other one now and then, and another when what
// they cost has changed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/copy.h"
#include "base/wait.h"
#include "coll/windows.h"

#define BYTES (32 << 10)
#define MANY 640      // until it must have been noticed
#define LOOKED 128    // then so many are looked at, of which two go the other way
#define DEAR 1000000000

static char from[BYTES], to[BYTES];
static struct uno_line lines[4];

// Rank 0 fills windows that rank 1 reads, which takes long if they went the way `dear`; how many go past the caches.
static int run(const struct uno_windows *writer, const struct uno_windows *reader, uint64_t first, bool dear)
{
    int past = 0;
    for (uint64_t i = first; i < first + MANY + LOOKED; i++) {
        memset(from, (int)i, BYTES);
        uno_windows_put(writer, 1, i, to, from, BYTES);
        assert_memory_equal(to, from, BYTES);
        uint64_t ways;
        memcpy(&ways, lines[0].data + 8, sizeof ways);
        bool went = ways >> i % 64 & 1;
        if (i >= first + MANY) past += went;
        uno_windows_read_end(reader, 0, i, uno_ticks() - (went == dear ? DEAR : 1), BYTES);
    }
    return past;
}

static void follow_what_they_cost(void **state)
{
    (void)state;
    struct uno_coll u = {.n = 2, .me = 0}, v = {.n = 2, .me = 1};
    u.flow.line = v.flow.line = lines;
    struct uno_windows writer = {.u = &u}, reader = {.u = &v};
    struct uno_copy_costs costs = {1, 1, 1, 1, 1, 1};
    uno_copy_decide(false, SIZE_MAX, &costs);
    for (int use = 0; use < 4; use++) {
        writer.past = reader.past = use & 1;
        writer.folds = reader.folds = use >> 1;
        assert_int_equal(run(&writer, &reader, 0, true), 2);
        assert_int_equal(run(&writer, &reader, MANY + LOOKED, false), LOOKED - 2);
        assert_int_equal(run(&writer, &reader, 2 * (MANY + LOOKED), true), 2);
    }
}

// Where nothing goes past the caches, nothing is timed.
static void are_plain_elsewhere(void **state)
{
    (void)state;
    struct uno_coll u = {.n = 2, .me = 0};
    u.flow.line = lines;
    struct uno_windows w = {.u = &u};
    struct uno_copy_costs costs = {1, 1, 1, 0, 0, 0};
    uno_copy_decide(false, SIZE_MAX, &costs);
    memset(from, 7, BYTES);
    uno_windows_put(&w, -1, 0, to, from, BYTES);
    assert_memory_equal(to, from, BYTES);
    assert_int_equal(u.flow.puts[UNO_FLOW_MOVED], 0);
    assert_int_equal(uno_windows_read_begin(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follow_what_they_cost),
        cmocka_unit_test(are_plain_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
