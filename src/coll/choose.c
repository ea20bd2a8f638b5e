// SPDX-License-Identifier: BSD-3-Clause
// Selection of algorithms (choose.h): the built-in rules, the table file and the parameters. Called by the builders.
//
// A line of the file reads `COLLECTIVE MIN-RANKS MIN-BYTES ALGORITHM`; # begins a comment. The same text after
// coll_force, with commas between entries of the form COLLECTIVE=ALGORITHM, is for tests and for measuring.
#include "coll/choose.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "base/patience.h"
#include "base/thresholds.h"
#include "coll/agree.h"
#include "coll/build.h"
#include "coll/outside.h"
#include "coll/segment.h"

static struct uno_param table =
    UNO_PARAM_TEXT("coll_table", "", "file with rules that choose collective algorithms (unisono-tune)");
UNO_PARAM_DECLARE(table);
static struct uno_param force =
    UNO_PARAM_TEXT("coll_force", "", "algorithms to use whatever the size: allreduce=ring+bcast=chain");
UNO_PARAM_DECLARE(force);

#define COUNT(rules) (sizeof(rules) / sizeof *(rules))

#define UNCACHED SIZE_MAX              // from the bytes on at which the buffers of all ranks leave the cache
#define FAR_UNCACHED (SIZE_MAX - 1)    // at which they are four times that
#define COLD (SIZE_MAX - 2)         // at which all ranks' buffers have left the cache, and messages would be streamed
#define SOME_WINDOWS (256 << 10)    // with less, ranks would mostly wait for each other

// From more than so many bytes on, where the threshold `slots` is UNO_SEG_SLOT: elsewhere in proportion to it.
#define BEYOND(n) (SCALED | (n))
#define SCALED ((size_t)1 << 40)

// The same, where two copies by two ranks at once take less than one across memory in small pages, whatever its size.
#define STREAMED(n) (SCALED << 1 | (n))

// The same, where wide slots are spread beyond the readers' caches (segment.h).
#define SPREAD(n) (SCALED << 2 | (n))

// The same, where both is so.
#define BOTH(n) (STREAMED(n) | SPREAD(n))

struct rule {
    enum uno_coll_kind kind;
    int ranks;
    size_t bytes;
    int alg;    // enum uno_alg; from UNO_ALG_END on: algorithms of components (outside.h)
};

// For messages: up to 8 ranks as measured, of more as the simulation finds on networks of 1 to 12 GB/s and 2 to 30 us
// (docs/design/simulate.md), which differ by a factor of four at most; the least sizes are taken.
static const struct rule built_in[] = {
    {UNO_BARRIER, 0, 0, UNO_ALG_DISSEMINATION},
    {UNO_BCAST, 0, 0, UNO_ALG_BINOMIAL},
    {UNO_BCAST, 4, 128 << 10, UNO_ALG_SCATTER},
    {UNO_BCAST, 4, 2 << 20, UNO_ALG_CHAIN},
    {UNO_BCAST, 32, 2 << 20, UNO_ALG_SCATTER},
    {UNO_BCAST, 32, 8 << 20, UNO_ALG_CHAIN},
    {UNO_BCAST, 128, 128 << 10, UNO_ALG_BINOMIAL},
    {UNO_BCAST, 128, 256 << 10, UNO_ALG_SCATTER},
    {UNO_BCAST, 512, 256 << 10, UNO_ALG_BINOMIAL},
    {UNO_BCAST, 512, 1 << 20, UNO_ALG_SCATTER},
    {UNO_REDUCE, 0, 0, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 3, 32 << 10, UNO_ALG_RING},
    {UNO_REDUCE, 64, 32 << 10, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 64, 128 << 10, UNO_ALG_RING},
    {UNO_REDUCE, 512, 128 << 10, UNO_ALG_BINOMIAL},
    {UNO_REDUCE, 512, 1 << 20, UNO_ALG_RING},
    {UNO_ALLREDUCE, 0, 0, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 0, 16 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 4, 16 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 4, 64 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 16, 64 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 16, 128 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 64, 128 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 64, 512 << 10, UNO_ALG_RING},
    {UNO_ALLREDUCE, 512, 512 << 10, UNO_ALG_DOUBLING},
    {UNO_ALLREDUCE, 512, 2 << 20, UNO_ALG_RING},
    {UNO_GATHER, 0, 0, UNO_ALG_LINEAR},
    {UNO_GATHER, 8, 0, UNO_ALG_BINOMIAL},
    {UNO_GATHER, 8, 4 << 10, UNO_ALG_LINEAR},
    {UNO_SCATTER, 0, 0, UNO_ALG_LINEAR},
    {UNO_SCATTER, 8, 0, UNO_ALG_BINOMIAL},
    {UNO_SCATTER, 8, 4 << 10, UNO_ALG_LINEAR},
    {UNO_ALLGATHER, 0, 0, UNO_ALG_BRUCK},
    {UNO_ALLGATHER, 0, 2 << 10, UNO_ALG_RING},
    {UNO_ALLGATHERV, 0, 0, UNO_ALG_RING},
    {UNO_ALLTOALL, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, 8, 0, UNO_ALG_BRUCK},
    {UNO_ALLTOALL, 8, 256, UNO_ALG_LINEAR},
    {UNO_ALLTOALL, 8, 64 << 10, UNO_ALG_PAIRWISE},
    {UNO_ALLTOALLV, 0, 0, UNO_ALG_LINEAR},
    {UNO_ALLTOALLW, 0, 0, UNO_ALG_LINEAR},
    {UNO_REDUCE_SCATTER, 0, 0, UNO_ALG_DIRECT},
    {UNO_REDUCE_SCATTER, 8, 0, UNO_ALG_REDUCE},
    {UNO_REDUCE_SCATTER, 3, 16 << 10, UNO_ALG_RING},
    {UNO_SCAN, 0, 0, UNO_ALG_DOUBLING},
    {UNO_SCAN, 4, 64 << 10, UNO_ALG_CHAIN},
    // Inside a host: what goes from memory to memory (bench: allgather,gather --sizes 1K:8K, scan --sizes 8K:64K).
    {UNO_BCAST, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, BEYOND((6 << 10) - 1), UNO_ALG_COPIES},
    {UNO_SCATTER, 0, BEYOND(4 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, BEYOND((6 << 10) - 1), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, BEYOND(4 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE_SCATTER, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_SCAN, 0, BEYOND(16 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_REDUCE, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLREDUCE, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_SCATTER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_SCATTER, 0, SPREAD(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, SPREAD(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, SPREAD(8 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, STREAMED(16 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE, 0, STREAMED(8 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 0, STREAMED(256 << 10), UNO_ALG_WINDOWS},
    {UNO_BCAST, 0, STREAMED((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, STREAMED((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, STREAMED((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, BOTH((512 << 10) - 1), UNO_ALG_MESSAGES},
    {UNO_ALLGATHER, 3, BOTH((512 << 10) - 1), UNO_ALG_WINDOWS},
    {UNO_BCAST, 0, COLD, UNO_ALG_WINDOWS},
    {UNO_GATHER, 0, COLD, UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, COLD, UNO_ALG_WINDOWS},
    // Two ranks stream each other what lies in memory (bench: allgather,scatter --sizes 4M:64M), until it lies in huge
    // pages (gathered.h).
    {UNO_SCATTER, 0, COLD, UNO_ALG_MESSAGES},
    {UNO_ALLGATHER, 0, COLD, UNO_ALG_MESSAGES},
    {UNO_SCATTER, 3, COLD, UNO_ALG_COPIES},
    {UNO_ALLGATHER, 3, COLD, UNO_ALG_COPIES},
};

// The same where ranks outnumber cores: each meeting costs turns of all of them, and of two copies one is made while
// its rank would only wait (bench: --np 4 and 8 on two cores, --sizes 8K:256K).
static const struct rule crowded_in[] = {
    {UNO_REDUCE, 0, 0, UNO_ALG_SLOTS},
    {UNO_REDUCE, 0, (256 << 10) + 1, UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 0, 0, UNO_ALG_SLOTS},
    {UNO_ALLREDUCE, 0, (128 << 10) + 1, UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, UNCACHED, UNO_ALG_WINDOWS},
    {UNO_ALLREDUCE, 8, (128 << 10) + 1, UNO_ALG_WINDOWS},
    {UNO_REDUCE_SCATTER, 0, 0, UNO_ALG_SLOTS},
    {UNO_REDUCE_SCATTER, 0, (128 << 10) + 1, UNO_ALG_COPIES},
    {UNO_GATHER, 0, 0, UNO_ALG_SLOTS},
    {UNO_GATHER, 0, BEYOND(8 << 10), UNO_ALG_COPIES},
    {UNO_SCAN, 0, 0, UNO_ALG_SLOTS},
    {UNO_SCAN, 0, (256 << 10) + 1, UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, 0, UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, BEYOND(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, 0, UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, BEYOND(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 8, 0, UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 8, (256 << 10) + 1, UNO_ALG_COPIES},
    {UNO_BCAST, 0, 0, UNO_ALG_SLOTS},
    {UNO_BCAST, 0, BEYOND(16 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, SPREAD(16 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, SPREAD(32 << 10), UNO_ALG_COPIES},
    {UNO_ALLGATHER, 0, SPREAD(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, SPREAD(64 << 10), UNO_ALG_COPIES},
    {UNO_BCAST, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_BCAST, 0, STREAMED(4 << 10), UNO_ALG_COPIES},
    {UNO_GATHER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_GATHER, 0, STREAMED(8 << 10), UNO_ALG_COPIES},
    {UNO_ALLREDUCE, 0, STREAMED(8 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, STREAMED(16 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, STREAMED(4 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 8, STREAMED(8 << 10), UNO_ALG_WINDOWS},
    {UNO_REDUCE_SCATTER, 0, STREAMED(0), UNO_ALG_SLOTS},
    {UNO_REDUCE_SCATTER, 0, STREAMED(16 << 10), UNO_ALG_COPIES},
    {UNO_REDUCE_SCATTER, 8, STREAMED(16 << 10), UNO_ALG_WINDOWS},
    {UNO_GATHER, 0, COLD, UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, UNCACHED, UNO_ALG_WINDOWS},
    {UNO_BCAST, 0, UNCACHED, UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, FAR_UNCACHED, UNO_ALG_WINDOWS},
    {UNO_ALLGATHER, 0, BOTH(0), UNO_ALG_SLOTS},
    {UNO_ALLGATHER, 0, BOTH(64 << 10), UNO_ALG_WINDOWS},
    {UNO_ALLTOALL, 0, BOTH(0), UNO_ALG_SLOTS},
    {UNO_ALLTOALL, 0, BOTH(32 << 10), UNO_ALG_COPIES},
    {UNO_ALLTOALL, 0, BOTH((1 << 20) - 1), UNO_ALG_MESSAGES},
    {UNO_ALLTOALL, 8, BOTH(32 << 10), UNO_ALG_COPIES},
};

static const char *const coll_words[UNO_COLL_KINDS] = {
    [UNO_BARRIER] = "barrier",
    [UNO_BCAST] = "bcast",
    [UNO_REDUCE] = "reduce",
    [UNO_ALLREDUCE] = "allreduce",
    [UNO_GATHER] = "gather",
    [UNO_SCATTER] = "scatter",
    [UNO_ALLGATHER] = "allgather",
    [UNO_ALLTOALL] = "alltoall",
    [UNO_GATHERV] = "gatherv",
    [UNO_SCATTERV] = "scatterv",
    [UNO_ALLGATHERV] = "allgatherv",
    [UNO_ALLTOALLV] = "alltoallv",
    [UNO_ALLTOALLW] = "alltoallw",
    [UNO_REDUCE_SCATTER] = "reduce_scatter",
    [UNO_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [UNO_SCAN] = "scan",
    [UNO_EXSCAN] = "exscan",
    [UNO_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
    [UNO_NEIGHBOR_ALLGATHERV] = "neighbor_allgatherv",
    [UNO_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
    [UNO_NEIGHBOR_ALLTOALLV] = "neighbor_alltoallv",
    [UNO_NEIGHBOR_ALLTOALLW] = "neighbor_alltoallw",
};

static const char *const alg_words[UNO_ALG_END] = {
    [UNO_ALG_DISSEMINATION] = "dissemination",
    [UNO_ALG_LINEAR] = "linear",
    [UNO_ALG_BINOMIAL] = "binomial",
    [UNO_ALG_CHAIN] = "chain",
    [UNO_ALG_SCATTER] = "scatter",
    [UNO_ALG_DOUBLING] = "doubling",
    [UNO_ALG_RING] = "ring",
    [UNO_ALG_BRUCK] = "bruck",
    [UNO_ALG_PAIRWISE] = "pairwise",
    [UNO_ALG_DIRECT] = "direct",
    [UNO_ALG_REDUCE] = "reduce",
    [UNO_ALG_SLOTS] = "slots",
    [UNO_ALG_COPIES] = "copies",
    [UNO_ALG_WINDOWS] = "windows",
    [UNO_ALG_MESSAGES] = "messages",
};

static struct rule *loaded;
static size_t nloaded;

const char *uno_coll_word(enum uno_coll_kind kind)
{
    return kind < UNO_COLL_KINDS ? coll_words[kind] : NULL;
}

const char *uno_alg_word(enum uno_alg alg)
{
    return alg < UNO_ALG_END ? alg_words[alg] : NULL;
}

size_t uno_choose_footprint(enum uno_coll_kind kind, int size)
{
    size_t n = (size_t)size;
    if (kind == UNO_ALLGATHER || kind == UNO_ALLGATHERV) return n * n;
    if (kind == UNO_ALLTOALL) return 2 * n * n;
    return kind == UNO_ALLREDUCE || kind == UNO_GATHER || kind == UNO_SCATTER ? 2 * n : n;
}

static size_t bytes_from(const struct rule *r, int ranks)
{
    const struct uno_thresholds *t = uno_coll_reduces(r->kind) ? &uno_thresholds_told : &uno_thresholds;
    if (r->bytes < SCALED) return r->bytes;
    if (r->bytes == COLD) {
        if (t->streamed >= UNO_THRESHOLD_NEVER) return SIZE_MAX;
        return (size_t)t->streamed / uno_choose_footprint(r->kind, ranks) + 1;
    }
    if (r->bytes < FAR_UNCACHED) {
        bool never =
            (r->bytes & STREAMED(0) && !uno_thresholds_stream(t)) || (r->bytes & SPREAD(0) && !uno_thresholds_spread());
        return never ? SIZE_MAX : r->bytes % SCALED * (size_t)t->slots / UNO_SEG_SLOT + 1;
    }
    size_t bytes = (size_t)t->cached / uno_choose_footprint(r->kind, ranks);
    if (r->bytes == FAR_UNCACHED) bytes *= 4;
    return (bytes < SOME_WINDOWS ? SOME_WINDOWS : bytes) + 1;
}

// The rules for messages and those for inside a host do not meet.
static bool in_host(int alg)
{
    return alg == UNO_ALG_SLOTS || alg == UNO_ALG_COPIES || alg == UNO_ALG_WINDOWS || alg == UNO_ALG_MESSAGES;
}

static void pick(const struct rule *rules, size_t n, const struct rule *want, int *alg)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].kind == want->kind && rules[i].alg < UNO_ALG_END && in_host(rules[i].alg) == in_host(want->alg) &&
            want->ranks >= rules[i].ranks && want->bytes >= bytes_from(&rules[i], want->ranks))
            *alg = rules[i].alg;
}

enum uno_alg uno_choose(enum uno_coll_kind kind, int size, size_t bytes)
{
    struct rule want = {kind, size, bytes, UNO_ALG_LINEAR};
    int alg = UNO_ALG_LINEAR;
    pick(built_in, COUNT(built_in), &want, &alg);
    pick(loaded, nloaded, &want, &alg);
    uno_log(3, "%s of %zu bytes over %d ranks: %s", uno_coll_word(kind), bytes, size, alg_words[alg]);
    return (enum uno_alg)alg;
}

const struct uno_algorithm *uno_choose_outside(enum uno_coll_kind kind, int size, size_t bytes)
{
    int alg = UNO_ALG_LINEAR;
    bool taken;
    for (size_t i = 0; i < nloaded; i++)
        if (loaded[i].kind == kind && size >= loaded[i].ranks && bytes >= loaded[i].bytes) alg = loaded[i].alg;
    const struct uno_algorithm *found = alg < UNO_ALG_END ? NULL : uno_outside_at((size_t)(alg - UNO_ALG_END), &taken);
    if (found) uno_log(3, "%s of %zu bytes over %d ranks: %s", uno_coll_word(kind), bytes, size, found->name);
    return found;
}

// Of all sizes from which on `rules` go of->alg's way, the least that does when all rules are asked.
static size_t border(const struct rule *rules, size_t n, const struct rule *of, bool crowded, size_t least)
{
    for (size_t i = 0; i < n; i++) {
        size_t from = bytes_from(&rules[i], of->ranks);
        if (rules[i].kind != of->kind || rules[i].alg != of->alg || from >= least) continue;
        struct rule want = {of->kind, of->ranks, from, UNO_ALG_SLOTS};
        int alg = UNO_ALG_SLOTS;
        pick(built_in, COUNT(built_in), &want, &alg);
        if (crowded) pick(crowded_in, COUNT(crowded_in), &want, &alg);
        pick(loaded, nloaded, &want, &alg);
        if (alg == of->alg) least = from;
    }
    return least;
}

static struct uno_param flat =
    UNO_PARAM_INT("coll_flat", -1, -1, 1 << 20,
                  "ranks of a host up to which each looks at all others in a small collective; above, a tree (barrier, "
                  "bcast, reduce, allreduce of up to 56 bytes; -1: 32 where each rank has a core, else 256)");
UNO_PARAM_DECLARE(flat);

#define FLAT 32
#define FLAT_CROWDED 256

bool uno_choose_crowded(void)
{
    return uno_patience.crowded;
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

bool uno_choose_is_fixed(enum uno_coll_kind kind, bool crowded)
{
    if (kind == UNO_ALLREDUCE && crowded && uno_thresholds_told.streamed < UNO_THRESHOLD_NEVER) return true;
    for (size_t i = 0; i < nloaded; i++)
        if (loaded[i].kind == ruled_as(kind) && in_host(loaded[i].alg)) return true;
    return false;
}

size_t uno_choose_from(enum uno_coll_kind kind, enum uno_alg alg, int size, bool crowded)
{
    kind = ruled_as(kind);
    struct rule of = {.kind = kind, .ranks = size, .alg = alg};
    size_t least = border(built_in, COUNT(built_in), &of, crowded, SIZE_MAX);
    if (crowded) least = border(crowded_in, COUNT(crowded_in), &of, crowded, least);
    return border(loaded, nloaded, &of, crowded, least);
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

size_t uno_choose_spread(int size)
{
    return uno_thresholds_spread() / (size_t)(size - 1);
}

// An algorithm may be named for a collective only if the built-in table or the builder knows it there.
static bool knows(enum uno_coll_kind kind, int alg)
{
    static const unsigned extra[UNO_COLL_KINDS] = {
        [UNO_BCAST] = 1u << UNO_ALG_LINEAR,       [UNO_ALLGATHER] = 1u << UNO_ALG_LINEAR,
        [UNO_ALLGATHERV] = 1u << UNO_ALG_LINEAR,  [UNO_ALLTOALLV] = 1u << UNO_ALG_PAIRWISE,
        [UNO_ALLTOALLW] = 1u << UNO_ALG_PAIRWISE,
    };
    for (size_t i = 0; i < COUNT(built_in); i++)
        if (built_in[i].kind == kind && built_in[i].alg == alg) return true;
    static const unsigned host = 1u << UNO_BCAST | 1u << UNO_REDUCE | 1u << UNO_ALLREDUCE | 1u << UNO_GATHER |
                                 1u << UNO_SCATTER | 1u << UNO_ALLGATHER | 1u << UNO_ALLTOALL |
                                 1u << UNO_REDUCE_SCATTER | 1u << UNO_SCAN;
    static const unsigned windows = 1u << UNO_BCAST | 1u << UNO_REDUCE | 1u << UNO_ALLREDUCE | 1u << UNO_GATHER |
                                    1u << UNO_ALLGATHER | 1u << UNO_ALLTOALL | 1u << UNO_REDUCE_SCATTER;
    if (in_host(alg)) return (alg == UNO_ALG_WINDOWS ? windows : host) >> kind & 1;
    return extra[kind] >> alg & 1;
}

static enum uno_coll_kind kind_of(const char *coll)
{
    int kind = 0;
    while (kind < UNO_COLL_KINDS && strcmp(coll, coll_words[kind]) != 0) kind++;
    return (enum uno_coll_kind)kind;
}

const char *uno_choose_unfit(const char *coll, const char *alg)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    enum uno_coll_kind kind = kind_of(coll);
    size_t n = strspn(alg, letters);
    if (n == 0 || n > 31 || alg[n]) return "has a name that is not 1 to 31 letters, digits and _";
    if (kind > UNO_ALLTOALL)
        return "is for none of barrier, bcast, reduce, allreduce, gather, scatter, allgather and alltoall";
    for (int i = 0; i < UNO_ALG_END; i++)
        if (strcmp(alg, alg_words[i]) == 0 && knows(kind, i)) return "has the name of an algorithm of the library";
    return NULL;
}

static int add_rule(struct rule r)
{
    struct rule *more = realloc(loaded, (nloaded + 1) * sizeof *more);
    if (!more) return uno_fail(MPI_ERR_NO_MEM, "no memory for the table of collective algorithms");
    loaded = more;
    loaded[nloaded++] = r;
    if (r.alg >= UNO_ALG_END) uno_outside_apart |= UINT32_C(1) << r.kind;
    return MPI_SUCCESS;
}

int uno_choose_add(const char *coll, const char *alg, int ranks, size_t bytes)
{
    int outside = uno_outside_named(coll, alg);
    struct rule r = {kind_of(coll), ranks, bytes, UNO_ALG_END};
    for (int i = 0; i < UNO_ALG_END; i++)
        if (strcmp(alg, alg_words[i]) == 0) r.alg = i;
    if (r.kind == UNO_COLL_KINDS) return uno_fail(MPI_ERR_ARG, "no collective `%s` to choose an algorithm for", coll);
    if (outside >= 0)
        r.alg = UNO_ALG_END + outside;
    else if (r.alg == UNO_ALG_END || !knows(r.kind, r.alg))
        return uno_fail(MPI_ERR_ARG, "%s has no algorithm `%s`", coll, alg);
    return add_rule(r);
}

// Those of sets with a priority above that of the own one are taken wherever they say they fit.
static int add_outside(void)
{
    bool taken;
    const struct uno_algorithm *a;
    int err = MPI_SUCCESS;
    for (size_t i = 0; !err && (a = uno_outside_at(i, &taken)) != NULL; i++)
        if (taken)
            err = add_rule((struct rule){kind_of(a->collective), a->least_ranks, a->least_bytes, UNO_ALG_END + (int)i});
    return err;
}

static int read_table(const char *path)
{
    if (uno_param_is_foreign(&table)) {
        uno_log(0, "coll_table is not followed: this program has more rights than its caller (setuid)");
        return MPI_SUCCESS;
    }
    FILE *f = fopen(path, "re");
    if (!f) return uno_fail_errno(MPI_ERR_ARG, "coll_table %s", path);
    char line[256], coll[64], alg[64], rest[2];
    int err = MPI_SUCCESS;
    for (int n = 1; !err && fgets(line, sizeof line, f); n++) {
        int ranks;
        size_t bytes;
        line[strcspn(line, "#\n")] = '\0';
        int got = sscanf(line, "%63s %d %zu %63s %1s", coll, &ranks, &bytes, alg, rest);
        if (got <= 0) continue;
        if (got == 4)
            err = uno_choose_add(coll, alg, ranks, bytes);
        else
            err = uno_fail(MPI_ERR_ARG, "%s:%d: expected COLLECTIVE MIN-RANKS MIN-BYTES ALGORITHM", path, n);
    }
    fclose(f);
    return err;
}

static int read_force(const char *text)
{
    char coll[64], alg[64];
    int used = 0;
    for (; *text; text += used + (text[used] == ',' || text[used] == '+')) {
        if (sscanf(text, "%63[a-z_]=%63[a-zA-Z0-9_]%n", coll, alg, &used) != 2)
            return uno_fail(MPI_ERR_ARG, "coll_force: expected COLLECTIVE=ALGORITHM at `%s`", text);
        int err = uno_choose_add(coll, alg, 0, 0);
        if (err) return err;
    }
    return MPI_SUCCESS;
}

int uno_choose_open(void)
{
    static bool open;
    if (open) return MPI_SUCCESS;
    int err = add_outside();
    if (!err && table.text && *table.text) err = read_table(table.text);
    if (!err && force.text) err = read_force(force.text);
    if (uno_agree_on()) uno_outside_apart = UINT32_MAX;
    open = !err;
    return err;
}
