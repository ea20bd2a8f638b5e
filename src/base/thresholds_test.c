// SPDX-License-Identifier: BSD-3-Clause
// The formulas: what follows for the processors of the table, that they move the right way, and that no costs lead out
// of the limits. And that a parameter which was set wins.
#include "base/thresholds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/machine.h"
#include "base/param.h"

static struct uno_param huge = UNO_PARAM_BY_MACHINE("huge_after", 1 << 20, 0, 1LL << 40, "in place of base/huge.c's");
UNO_PARAM_DECLARE(huge);

static struct uno_costs row(const char *wanted)
{
    const char *name;
    const struct uno_costs *c;
    for (size_t i = 0; (c = uno_costs_row(i, &name)) != NULL; i++)
        if (strcmp(name, wanted) == 0) return *c;
    fail_msg("no row is called %s", wanted);
    abort();
}

static void as_tuned_by_hand(void **state)
{
    (void)state;
    struct uno_costs c = row("Sapphire Rapids");
    struct uno_thresholds t = uno_thresholds_of(&c);
    assert_int_equal(t.ahead, 1);
    assert_int_equal(t.piece, 1024);
    assert_int_equal(t.long_piece, 4096);
    assert_int_equal(t.grows, 0);
    assert_int_equal(t.eager, 8192);
    assert_int_equal(t.alone, 16384);
    assert_int_equal(t.alone_crowded, 256 << 10);
    assert_int_equal(uno_thresholds_eager_few(&t, false), 8192);
    assert_int_equal(uno_thresholds_eager_few(&t, true), 24576);
    assert_int_equal(uno_thresholds_eager_waited(&t, false, false), 8192);
    assert_int_equal(uno_thresholds_eager_waited(&t, true, false), 32768);
    assert_int_equal(uno_thresholds_eager_waited(&t, false, true), 32768);
    assert_int_equal(t.late, 0);
    assert_int_equal(t.meanwhile, 0);
    assert_int_equal(t.help, 1 << 20);
    assert_int_equal(t.call_worth, 11 << 10);
    assert_int_equal(t.eager_dear, 64 << 10);
    assert_int_equal(t.slots, 8192);
    assert_int_equal(t.slots_lone, 4096);
    assert_int_equal(t.coll_direct, 8192);
    assert_true(t.paged <= t.eager);
    assert_int_equal(t.streamed, UNO_THRESHOLD_NEVER);
    assert_int_equal(t.cold, 48 << 20);
    assert_int_equal(t.huge_after, 16 << 20);
    assert_int_equal(t.spin, 50);
    assert_int_equal(t.gap, 16);
    assert_int_equal(t.cached, 32 << 20);
}

// Lines travel slowly there, and bytes fast: messages go whole.
static void whole_on_epyc(void **state)
{
    (void)state;
    struct uno_costs c = row("EPYC (Zen 2)");
    struct uno_thresholds t = uno_thresholds_of(&c);
    assert_int_equal(t.ahead, 0);
    assert_true(t.piece >= 16384);
    assert_true(t.eager >= 8192 && t.eager <= 16384);
    assert_true(t.eager <= t.piece);
    assert_int_equal(t.alone, 32768);
    assert_int_equal(t.gap, 0);
    assert_int_equal(t.coll_direct, 32768);
}

// Errands of a window: what one call of the kernel does with less bytes than lines can carry meanwhile is not left to
// the target; where calls are dear more is.
static void errands_by_the_cost_of_a_call(void **state)
{
    (void)state;
    struct uno_costs c = row("Sapphire Rapids");
    struct uno_thresholds t = uno_thresholds_of(&c);
    assert_int_equal(t.left, 166);
    assert_true(t.brought > 1 << 10 && t.brought < 2 << 10);
    assert_int_equal(t.rouse, 128 << 10);
    c.call = 2 * c.line;    // less than two lines and what is computed
    t = uno_thresholds_of(&c);
    assert_int_equal(t.left, 0);
    assert_int_equal(t.brought, 1 << 10);
    c = row("EPYC (Zen 4)");
    t = uno_thresholds_of(&c);
    assert_true(t.left > 2 << 10 && t.left < 3 << 10);
    assert_true(t.brought > t.left && t.brought < 4 << 10);
    assert_int_equal(t.rouse, 64 << 10);
    c.write = c.write_ahead = c.read = 1;    // lines that cost less than a copy across, whatever its length
    t = uno_thresholds_of(&c);
    assert_int_equal(t.left, UNO_ERRAND_MOST);
    assert_int_equal(t.brought, UNO_ERRAND_MOST);
}

// Its ring is past the caches, like that of Zen 4, and what goes back and forth is not.
static void past_the_caches_on_zen_3(void **state)
{
    (void)state;
    struct uno_costs c = row("EPYC (Zen 3)");
    struct uno_thresholds t = uno_thresholds_of(&c);
    assert_int_equal(t.grows, 1);
    assert_int_equal(t.piece, 16384);
    assert_int_equal(t.turn_piece, 4096);
    assert_int_equal(t.eager, 128 << 10);
    assert_int_equal(t.slots, 64 << 10);
    assert_true(t.paged >= UINT64_C(1) << 40);
}

// System calls and the look-up of pages are dear there: what two ranks copy at once through shared memory comes sooner,
// whatever its length, unless it lies in huge pages.
static void streamed_on_zen_5(void **state)
{
    (void)state;
    struct uno_costs c = row("EPYC (Zen 5)");
    struct uno_thresholds t = uno_thresholds_of(&c);
    assert_int_equal(t.piece, 8192);
    assert_int_equal(t.eager, 128 << 10);
    assert_int_equal(t.slots, 128 << 10);
    assert_int_equal(t.late, 73);    // looking up is three quarters of such a copy
    assert_true(t.paged >= UINT64_C(1) << 40);
    assert_int_equal(t.huge_after, 32 << 20);
    c.page /= 8, c.cross /= 4;
    t = uno_thresholds_of(&c);
    assert_true(t.paged <= 256 << 10);
    assert_true(t.huge_after > 32 << 20);
}

// Lines that another core knows are dear to write there: all that is longer than a KiB or so goes past the caches.
static void past_the_caches_on_zen_4(void **state)
{
    (void)state;
    struct uno_costs c = row("EPYC (Zen 4)"), never = c;
    struct uno_thresholds t = uno_thresholds_of(&c);
    never.past_write = 0;
    struct uno_thresholds by_lines = uno_thresholds_of(&never);
    assert_int_equal(t.ahead, 0);
    assert_int_equal(t.piece, 8192);
    assert_int_equal(by_lines.piece, 1024);
    assert_true(t.eager >= 32 << 10 && t.eager <= 64 << 10);
    assert_true(by_lines.eager <= 12 << 10);
    assert_true(t.grows && !by_lines.grows);
    assert_true(t.eager_light > t.eager && t.eager_light < 128 << 10);
    assert_int_equal(uno_thresholds_eager_few(&t, true), t.eager_light);    // more than a receiver copies alone
    assert_int_equal(uno_thresholds_eager_waited(&t, true, true), t.eager_light);
    assert_int_equal(uno_thresholds_eager_waited(&t, false, true), t.eager);
    assert_int_equal(t.eager_turn, 128 << 10);
    assert_int_equal(by_lines.eager_turn, by_lines.eager_light);
    assert_int_equal(t.slots, 32 << 10);
    assert_int_equal(t.streamed, 16 << 20);
    assert_int_equal(t.cold, t.streamed);
    assert_int_equal(t.meanwhile, 22);    // 38 ps per byte of 172
    assert_int_equal(by_lines.streamed, UNO_THRESHOLD_NEVER);
    assert_int_equal(by_lines.slots, 8 << 10);
    // Where lines cost less than that, they are written.
    c.write = c.write_ahead = 10;
    never.write = never.write_ahead = 10;
    t = uno_thresholds_of(&c), by_lines = uno_thresholds_of(&never);
    assert_memory_equal(&t, &by_lines, sizeof t);
}

static void follow_the_costs(void **state)
{
    (void)state;
    struct uno_costs c = row("Sapphire Rapids"), d = c;
    d.line *= 4;
    assert_int_equal(uno_thresholds_of(&d).piece, 4 * uno_thresholds_of(&c).piece);
    d = c, d.call *= 2;
    assert_true(uno_thresholds_of(&d).eager > uno_thresholds_of(&c).eager);
    assert_int_equal(uno_thresholds_of(&d).coll_direct, 2 * uno_thresholds_of(&c).coll_direct);
    assert_int_equal(uno_thresholds_of(&d).alone_crowded, 2 * uno_thresholds_of(&c).alone_crowded);
    d = c, d.meet *= 2;
    assert_int_equal(uno_thresholds_of(&d).alone, 2 * uno_thresholds_of(&c).alone);
    d = c, d.gather *= 4;
    assert_int_equal(uno_thresholds_of(&d).huge_after, 4 * uno_thresholds_of(&c).huge_after);
    d = c, d.wake *= 2;
    assert_int_equal(uno_thresholds_of(&d).spin, 2 * uno_thresholds_of(&c).spin);
    assert_int_equal(uno_thresholds_of(&d).help, 2 * uno_thresholds_of(&c).help);
    d = c, d.write_ahead = d.write * 5 / 4;    // within what windows gain
    assert_int_equal(uno_thresholds_of(&d).ahead, 1);
    d.write_ahead = d.write * 3 / 2;
    assert_int_equal(uno_thresholds_of(&d).ahead, 0);
}

// As measured on two cores of a Xeon 207, apart: lines are asked for ahead although one message gains nothing by it,
// and what windows take half as long for through the ring goes there.
static void windows_count(void **state)
{
    (void)state;
    struct uno_costs c = {140, 16, 336, 65, 68, 112, 900, 54, 90, 700, 450, 44000, 32, 0, 0, 0};
    struct uno_thresholds t = uno_thresholds_of(&c);
    assert_int_equal(t.ahead, 1);
    assert_true(t.eager >= 8 << 10 && t.eager < 16 << 10);
    c.write_ahead = 2 * c.write;
    assert_true(uno_thresholds_of(&c).eager < t.eager);
    c = row("Emerald Rapids");
    t = uno_thresholds_of(&c);
    assert_int_equal(t.ahead, 1);
    assert_true(t.eager >= 12 << 10 && t.eager < 16 << 10);
}

static void hold_limits(const struct uno_costs *c)
{
    struct uno_thresholds t = uno_thresholds_of(c);
    assert_true(t.ahead <= 1);
    assert_true(t.piece >= 1024 && t.piece <= 16384 && (t.piece & (t.piece - 1)) == 0);
    assert_true(t.long_piece >= 4096 && t.long_piece <= 32768 && (t.long_piece & (t.long_piece - 1)) == 0);
    assert_true(t.eager >= 4096 && t.eager <= 128 << 10);
    assert_true(t.slots >= 4096 && t.slots <= 128 << 10);
    assert_true(t.streamed >= 1 << 20 && t.streamed <= UNO_THRESHOLD_NEVER);
    assert_true(t.paged >= 1024 && t.paged <= UINT64_C(1) << 40);
    assert_true(t.alone >= 4096 && t.alone <= 256 << 10);
    assert_true(t.alone_crowded >= t.alone && t.alone_crowded <= 1 << 20);
    assert_true(t.help >= 256 << 10 && t.help <= 64 << 20);
    assert_true(t.eager_dear >= t.eager && t.eager_dear <= 128 << 10);
    assert_true(t.call_worth >= 2048 && t.call_worth <= 256 << 10);
    assert_true(t.coll_direct >= 4096 && t.coll_direct <= 256 << 10);
    assert_true(t.huge_after >= 1 << 20 && t.huge_after <= 1 << 30);
    assert_true(t.spin >= 20 && t.spin <= 500);
}

// Every cost at the least and the most that a file may say, alone and with all others.
static void stay_within_limits(void **state)
{
    (void)state;
    static const uint32_t ends[] = {1, 100, 100000};
    struct uno_costs c, d;
    for (size_t e = 0; e < 3; e++) {
        for (size_t i = 0; i < sizeof c / sizeof(uint32_t); i++) {
            c = row("Sapphire Rapids");
            memcpy((char *)&c + i * sizeof(uint32_t), &ends[e], sizeof ends[e]);
            memcpy((char *)&d + i * sizeof(uint32_t), &ends[e], sizeof ends[e]);
            hold_limits(&c);
        }
        hold_limits(&d);
    }
}

// What a job finds out about its kernel leaves alone what reductions are chosen by.
static void raised_costs_round_nothing_else(void **state)
{
    (void)state;
    struct uno_machine m = {.cost = row("Sapphire Rapids"), .told = row("Sapphire Rapids")};
    struct uno_thresholds told = uno_thresholds_of(&m.told);
    m.cost.call *= 4, m.cost.cross *= 2, m.cost.page *= 4;
    assert_int_equal(uno_params_load(), 0);
    uno_thresholds_set(&m, false);
    assert_memory_equal(&uno_thresholds_told, &told, sizeof told);
    assert_int_equal(uno_thresholds.coll_direct, told.coll_direct);
    assert_true(uno_thresholds.eager > told.eager);
}

static void a_parameter_wins(void **state)
{
    (void)state;
    struct uno_machine m = {.cost = row("Sapphire Rapids"), .told = row("Sapphire Rapids")};
    assert_int_equal(uno_params_load(), 0);
    uno_thresholds_set(&m, false);
    assert_int_equal(huge.num, 16 << 20);
    assert_int_equal(huge.origin, UNO_PARAM_FROM_MACHINE);
    m.cost.gather *= 2;
    uno_thresholds_set(&m, false);
    assert_int_equal(huge.num, 32 << 20);
    setenv("UNISONO_HUGE_AFTER", "3M", 1);
    assert_int_equal(uno_params_load(), 0);
    uno_thresholds_set(&m, false);
    assert_int_equal(huge.num, 3 << 20);
    assert_int_equal(huge.origin, UNO_PARAM_FROM_ENV);
    assert_int_equal(uno_thresholds.huge_after, 3 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_tuned_by_hand),
        cmocka_unit_test(whole_on_epyc),
        cmocka_unit_test(errands_by_the_cost_of_a_call),
        cmocka_unit_test(past_the_caches_on_zen_3),
        cmocka_unit_test(streamed_on_zen_5),
        cmocka_unit_test(past_the_caches_on_zen_4),
        cmocka_unit_test(follow_the_costs),
        cmocka_unit_test(windows_count),
        cmocka_unit_test(stay_within_limits),
        cmocka_unit_test(raised_costs_round_nothing_else),
        cmocka_unit_test(a_parameter_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
