// SPDX-License-Identifier: BSD-3-Clause
// Selection of algorithms (choose.h), by the rules (rules.h) and the thresholds of the machine. Called by the builders.
#include "coll/choose.h"

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/machine.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "coll/outside.h"
#include "coll/rules.h"

static void pick(const struct uno_rules *rules, const struct uno_rule *want, int *alg)
{
    bool in_host = uno_rule_in_host(want->alg);
    for (size_t i = 0; i < rules->n; i++) {
        const struct uno_rule *r = &rules->rule[i];
        if (r->kind == want->kind && r->alg < UNO_ALG_END && uno_rule_in_host(r->alg) == in_host &&
            want->ranks >= r->ranks && want->bytes >= uno_rule_bytes(r, want->ranks))
            *alg = r->alg;
    }
}

// What all rules together say, among them those of a case (NULL: of none); want->alg if none says anything.
static int pick_of_all(const struct uno_rule *want, const struct uno_rules *of_case)
{
    int alg = want->alg;
    pick(&uno_rules_built_in, want, &alg);
    if (of_case) pick(of_case, want, &alg);
    pick(&uno_rules_loaded, want, &alg);
    return alg;
}

enum uno_alg uno_choose(enum uno_coll_kind kind, int size, size_t bytes, bool sharing)
{
    struct uno_rule want = {kind, size, bytes, UNO_ALG_LINEAR};
    int alg = pick_of_all(&want, sharing ? &uno_rules_sharing : NULL);
    uno_log(3, "%s of %zu bytes over %d ranks: %s", uno_coll_word(kind), bytes, size, uno_alg_word((enum uno_alg)alg));
    return (enum uno_alg)alg;
}

const struct uno_algorithm *uno_choose_outside(enum uno_coll_kind kind, int size, size_t bytes)
{
    int alg = UNO_ALG_LINEAR;
    bool taken;
    for (size_t i = 0; i < uno_rules_loaded.n; i++) {
        const struct uno_rule *r = &uno_rules_loaded.rule[i];
        if (r->kind == kind && size >= r->ranks && bytes >= r->bytes) alg = r->alg;
    }
    const struct uno_algorithm *found = alg < UNO_ALG_END ? NULL : uno_outside_at((size_t)(alg - UNO_ALG_END), &taken);
    if (found) uno_log(3, "%s of %zu bytes over %d ranks: %s", uno_coll_word(kind), bytes, size, found->name);
    return found;
}

// Of all sizes, of->bytes and more, from which on `rules` say something for of's kind, the least from which on its way
// is taken (is), or another.
static size_t border(const struct uno_rules *rules, const struct uno_rule *of, bool is, bool crowded, size_t least)
{
    for (size_t i = 0; i < rules->n; i++) {
        size_t from = uno_rule_bytes(&rules->rule[i], of->ranks);
        if (rules->rule[i].kind != of->kind || from < of->bytes || from >= least) continue;
        struct uno_rule want = {of->kind, of->ranks, from, UNO_ALG_SLOTS};
        if ((pick_of_all(&want, crowded ? &uno_rules_crowded : NULL) == of->alg) == is) least = from;
    }
    return least;
}

static size_t least_border(const struct uno_rule *of, bool is, bool crowded)
{
    size_t least = border(&uno_rules_built_in, of, is, crowded, SIZE_MAX);
    if (crowded) least = border(&uno_rules_crowded, of, is, crowded, least);
    return border(&uno_rules_loaded, of, is, crowded, least);
}

static struct uno_param flat =
    UNO_PARAM_INT("coll_flat", -1, -1, 1 << 20,
                  "ranks of a host up to which each looks at all others in a small collective; above, a tree (barrier, "
                  "bcast, reduce, allreduce of up to 56 bytes; -1: 32 where each rank has a core, else 256)");
UNO_PARAM_DECLARE(flat);

#define FLAT 32
#define FLAT_CROWDED 256
#define UNDER_WAY_LEAST ((size_t)512 << 10)    // where caches are not told

static struct uno_param as_crowded =
    UNO_PARAM_INT("coll_crowded", -1, -1, 1,
                  "collectives inside a host go as if ranks outnumbered cores (1) or had one each (0); -1: as it is");
UNO_PARAM_DECLARE(as_crowded);

bool uno_choose_crowded(void)
{
    return as_crowded.num >= 0 ? as_crowded.num == 1 : uno_patience.crowded;
}

// They are twice as long as those of a message, since each is told to many; among two ranks twice as long again (3 and
// 4 KiB are 1.15 times as quick whole; 16 KiB, which two send so where copies across are dear, 0.93). Where ranks share
// cores they would be told for nothing (4 KiB, Emerald Rapids: 8 ranks with a core each 1.8 to 1.55 us).
size_t uno_choose_piece(int size)
{
    return uno_choose_crowded() ? SIZE_MAX : (size > 2 ? 2 : 4) * (size_t)uno_thresholds.piece;
}

// On crowded cores each level of a tree is one more turn of all ranks: 64 ranks on 2 cores take 1.5 times as long. But
// the looks, and the doorbells of ranks that sleep, grow with the square of the ranks where all see all.
bool uno_choose_tree(int size)
{
    return size > (flat.num >= 0 ? flat.num : uno_patience.crowded ? FLAT_CROWDED : FLAT);
}

// The kind whose rules it follows.
static enum uno_coll_kind ruled_as(enum uno_coll_kind kind)
{
    if (kind == UNO_REDUCE_SCATTER_BLOCK) return UNO_REDUCE_SCATTER;
    if (kind == UNO_EXSCAN) return UNO_SCAN;
    return kind == UNO_ALLGATHERV ? UNO_ALLGATHER : kind;
}

bool uno_choose_is_said(enum uno_coll_kind kind)
{
    for (size_t i = 0; i < uno_rules_loaded.n; i++) {
        const struct uno_rule *r = &uno_rules_loaded.rule[i];
        if (r->kind == ruled_as(kind) && uno_rule_in_host(r->alg)) return true;
    }
    return false;
}

bool uno_choose_is_fixed(enum uno_coll_kind kind, bool crowded)
{
    bool reads_alone = kind == UNO_ALLREDUCE && crowded && uno_thresholds_told.streamed < UNO_THRESHOLD_NEVER;
    return reads_alone || uno_choose_is_said(kind);
}

size_t uno_choose_from(enum uno_coll_kind kind, enum uno_alg alg, int size, bool crowded)
{
    return least_border(&(struct uno_rule){ruled_as(kind), size, 0, alg}, true, crowded);
}

size_t uno_choose_until(enum uno_coll_kind kind, enum uno_alg alg, int size, bool crowded)
{
    size_t from = uno_choose_from(kind, alg, size, crowded);
    return least_border(&(struct uno_rule){ruled_as(kind), size, from, alg}, false, crowded);
}

size_t uno_choose_alone(void)
{
    return (size_t)uno_thresholds.alone;
}

size_t uno_choose_call_worth(void)
{
    return (size_t)uno_thresholds.call_worth;
}

size_t uno_choose_cached(void)
{
    return (size_t)uno_thresholds.cached;
}

size_t uno_choose_cold(void)
{
    return (size_t)uno_thresholds_told.streamed;
}

// What of a cache one can write to at full speed, which `cached` says, may be a quarter of what it holds. Where nothing
// is streamed, and each rank has a core, only what no cache holds goes another way than by copies, and scatters so
// short that an answer would cost more than it gains.
size_t uno_choose_far(bool crowded)
{
    size_t cold = uno_choose_cold();
    if (!crowded && cold >= UNO_THRESHOLD_NEVER && !uno_thresholds_stream(&uno_thresholds)) return 0;
    size_t shared = cold < UNO_THRESHOLD_NEVER ? uno_shared_cache() : 0;
    if (shared <= cold) return cold;
    return shared / 2 < cold ? shared : 2 * cold;
}

size_t uno_choose_spread(int size)
{
    return uno_thresholds_spread() / (size_t)(size - 1);
}

size_t uno_choose_under_way(size_t processors)
{
    size_t held = uno_own_cache();
    return (processors ? processors : 1) * (held > UNDER_WAY_LEAST ? held : UNDER_WAY_LEAST);
}
