// SPDX-License-Identifier: BSD-3-Clause
// Which way costs the ranks of a communicator least, by trials (trial.h). Called by shm.c, and by coll.c when a call is
// over.
//
// Always holds: all ranks see the same calls in the same order, and what was said of them, so all keep the same. What
// is said the i-th time lies in the line of flow that says which windows are ready, in words of its own for even and
// odd i, and is overwritten by the rank's time i + 2, before which it has seen that all have said time i + 1, having
// read time i.
#include "coll/trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/param.h"
#include "base/pvar.h"
#include "base/wait.h"
#include "chan/peer_memory.h"

static struct uno_param first = UNO_PARAM_INT(
    "coll_trials", 128, 0, 1 << 20,
    "calls of a collective of 4 KiB or more inside a host, of one power of two of bytes, after which another way than "
    "that of the rules is tried, and taken if it takes less time; sooner beyond 512 KiB (0: never)");
UNO_PARAM_DECLARE(first);

static _Atomic uint64_t tried, taken;
static const struct uno_pvar counts[] = {
    UNO_PVAR_COUNTER("coll_trials_made", &tried, "trials of another way for a collective inside a host"),
    UNO_PVAR_COUNTER("coll_trials_won", &taken, "of coll_trials_made, those after which the other way was taken"),
    UNO_PVAR_END};
UNO_PVARS_DECLARE(counts);

#define RANKS 64                   // at most: each looks at what all say
#define LEAST (16 << 10)           // bytes; where each rank has a core, what is shorter is over before it is timed
#define LEAST_CROWDED (4 << 10)    // likewise where ranks outnumber cores
#define LARGE (1 << 20)
#define LONG (64 << 10)
#define MIDDLE 19    // bits of bytes up to which messages are tried first; beyond, copies
#define SLOTS UNO_SEG_LINES
#define SOON (64 << 20)            // the bytes of as many calls as come before the first trial of large ones
#define SOON_REDUCED (16 << 20)    // of reductions, of which fewer bytes are moved per call
#define COPIES_LATER 32            // times as many calls, at most, come before the first trial against copies
#define MOST_REST 4                // and between two trials
#define FEW 8                      // but at least so many calls
#define WORST 5                    // a way that has lost every time is left out 2^5 - 1 times
#define WORST_NEAR 3               // one that lost by little
#define HOPELESS 3                 // times as long as the way as it is, at first sight
#define ABSURD 8                   // likewise, and not to be expected to change
#define GATHERED (16 << 20)        // bytes that copies move before pages are gathered (base/huge.h)
#define LAPS 4                     // along the slots, until they lie in the caches
#define LOOKED_MOST (64 << 10)     // bytes of calls whose copies are looked at
#define LOOK_FIRST 16              // calls before the first look, then twice as many each time,
#define LOOK_MOST 128              // at most; after fewer where copies have just become dear for other calls
#define LOOK_SOON 4
#define DEAR (2 * UNO_PEER_MEMORY_USUAL)
#define STALE 16                       // calls that wait for a trial to end before it is given up
#define OTHER(a, b) ((a)*2 > (b)*3)    // it costs more by half
#define WON(rival, as_is) ((rival)*16 < (as_is)*15)

// At first sight, of large ones: what costs an eighth more is too dear to be looked at for longer.
#define CLOSE(a, b) ((a)*8 <= (b)*9)

// The calls of a trial: as it is; the rival's first, which is not timed; the rival's; before ranks look at what all
// have said, so that nobody waits for it.
struct course {
    unsigned as_is, warm, rival, grace;
};

// A first look costs little; what it does not rule out is looked at for longer. Short calls for as long as it takes to
// go once through all slots: until then these are cold.
static struct course course_of(const struct uno_trial *t)
{
    size_t most = (size_t)1 << t->bits;    // bytes: those of this call may be fewer
    if (t->rival == t->way) return (struct course){most >= LARGE || t->looks ? 2 : 4, 0, 0, 4};
    if (most >= LARGE) return t->again ? (struct course){4, 1, 4, 1} : (struct course){2, 1, 1, 1};
    if (!t->again) return t->dear ? (struct course){4, 6, 3, 4} : (struct course){4, 1, 2, 4};
    return most < LONG ? (struct course){16, SLOTS, 16, 4} : (struct course){8, t->uses ? t->uses : 8, 8, 4};
}

struct uno_trial_plan uno_trial_plan(int n, bool crowded)
{
    struct uno_trial_plan p = {.first = (unsigned)first.num, .least = crowded ? LEAST_CROWDED : LEAST};
    for (int kind = 0; kind < UNO_COLL_KINDS && p.first && n <= RANKS; kind++)
        if (!uno_choose_is_said((enum uno_coll_kind)kind)) p.kinds |= UINT32_C(1) << kind;
    return p;
}

struct uno_trials *uno_trials_new(const struct uno_trial_plan *plan)
{
    struct uno_trials *t = calloc(1, sizeof *t);
    if (t) t->plan = *plan;
    return t;
}

// Each rank's sums: of calls as it is, of the rival's.
static _Atomic uint32_t *word_of(const struct uno_coll *u, int r, int which)
{
    _Atomic uint32_t *own = (_Atomic uint32_t *)(void *)u->flow.line[2 * (size_t)r].data + 4;
    return own + 2 * (u->trials->said % 2) + which;
}

static void wait_said(struct uno_coll *u)
{
    if (u->trials->said_at) uno_seg_wait_all_done(u, u->trials->said_at);
    u->trials->said_at = 0;
}

static void say(struct uno_coll *u, const struct course *c)
{
    struct uno_trials *t = u->trials;
    wait_said(u);
    t->said++;
    for (int i = 0; i < 2; i++) {
        unsigned calls = i ? c->rival : c->as_is;
        uint64_t each = calls ? t->sum[i] / calls : t->copies ? t->took / t->copies : 0;
        // Relaxed: the done line publishes it, of a phase in which nobody posts.
        atomic_store_explicit(word_of(u, u->me, i), each < UINT32_MAX ? (uint32_t)each : UINT32_MAX,
                              memory_order_relaxed);
    }
    t->said_at = ++u->phase;
    uno_seg_done(u, t->said_at);
}

static uint64_t sum_of(const struct uno_coll *u, int which)
{
    uint64_t all = 0;
    // Relaxed: the done lines, waited for, have published them.
    for (int r = 0; r < u->n; r++) all += atomic_load_explicit(word_of(u, r, which), memory_order_relaxed);
    return all;
}

// Whether what copies took, of the ranks that made some, is a multiple of what it should be (chan/shm/dear.h).
static bool is_dear(const struct uno_coll *u)
{
    uint64_t all = 0, ranks = 0;
    for (int r = 0; r < u->n; r++) {
        // Relaxed: as in sum_of.
        uint32_t took = atomic_load_explicit(word_of(u, r, 1), memory_order_relaxed);
        all += took;
        ranks += took != 0;
    }
    return all > DEAR * ranks;
}

static void rest(struct uno_coll *u, struct uno_trial *t, unsigned calls)
{
    t->step = 0;
    t->again = t->looks = false;
    t->left = t->rest = calls;
    if (u->trials->open == t) u->trials->open = NULL;
}

static unsigned short_rest(const struct uno_coll *u, const struct uno_trial *t, size_t bytes)
{
    size_t n = (uno_coll_reduces((enum uno_coll_kind)t->kind) ? SOON_REDUCED : SOON) / bytes,
           most = u->trials->plan.first;
    if (n < FEW) n = FEW;
    return (unsigned)(n < most ? n : most);
}

// Copies take their time once pages are gathered (base/huge.h).
static unsigned first_rest(const struct uno_coll *u, const struct uno_trial *t, size_t bytes)
{
    unsigned n = short_rest(u, t, bytes), most = u->trials->plan.first * COPIES_LATER;
    size_t gathered = 2 * GATHERED / bytes;
    if (gathered > most) gathered = most;
    return t->way == UNO_ALG_COPIES && n < gathered ? (unsigned)gathered : n;
}

// What it costs has changed: who lost before may win now.
static void compare(struct uno_trial *t, uint64_t as_is)
{
    if (OTHER(as_is, t->cost) || OTHER(t->cost, as_is)) memset(t->skip, 0, sizeof t->skip);
    t->cost = as_is;
}

static void lose(struct uno_coll *u, struct uno_trial *t, uint64_t as_is, uint64_t rival)
{
    uint8_t *lost = &t->lost[t->rival - UNO_ALG_SLOTS], worst = rival > as_is + as_is / 4 ? WORST : WORST_NEAR;
    *lost = (uint8_t)(*lost + (t->again ? 1 : 2));
    if (*lost > worst || rival > ABSURD * as_is) *lost = worst;
    t->skip[t->rival - UNO_ALG_SLOTS] = (uint8_t)((1u << *lost) - 1);
    unsigned most = u->trials->plan.first * MOST_REST;
    rest(u, t, 2 * t->rest < most ? 2 * t->rest : most);
}

// A look is over, at calls whose copies may have become dear: then all other ways are tried at once.
static void end_look(struct uno_coll *u, struct uno_trial *t)
{
    bool dear = is_dear(u);
    unsigned left = t->left, was = t->rest;
    rest(u, t, was);
    t->left = dear ? 1 : left;
    t->dear = dear ? UNO_TRIAL_WAYS - 1 : 0;
    if (dear && !u->trials->dear) t->turn = ++u->trials->turn;
    u->trials->dear = dear;
    t->copied = true;    // such short ones do not need huge pages
    if (!dear) t->look_rest = 2 * t->look_rest < LOOK_MOST ? (uint16_t)(2 * t->look_rest) : LOOK_MOST;
    t->look = t->look_rest;
    if (dear) t->rival = UNO_ALG_SLOTS + UNO_TRIAL_WAYS - 1;    // slots come first
    if (dear) uno_log(3, "%s over %d ranks: copies across processes are dear", uno_coll_word(t->kind), u->n);
}

// One of the ways that are tried at once has been.
static void next_of_dear(struct uno_trial *t)
{
    if (t->dear && --t->dear) t->left = 1;
}

static void judge(struct uno_coll *u, struct uno_trial *t, size_t bytes)
{
    wait_said(u);
    uint64_t as_is = sum_of(u, 0), rival = sum_of(u, 1);
    if (!t->again) compare(t, as_is);
    if (t->looks) {
        end_look(u, t);
        return;
    }
    uno_log(3, "%s of %zu bytes over %d ranks: %s %llu ticks, %s %llu", uno_coll_word(t->kind), bytes, u->n,
            uno_alg_word(t->way), (unsigned long long)as_is, uno_alg_word(t->rival), (unsigned long long)rival);
    if (t->rival == t->way) {
        t->dear = 0;
        rest(u, t, t->rest);
        return;
    }
    uno_count_add(&tried, 1);
    // The pages of their rings and their schedule are new then.
    bool first_messages = t->rival == UNO_ALG_MESSAGES && !t->sent;
    t->sent |= first_messages;
    bool far = t->dear && rival * 2 < as_is;    // to be taken at first sight
    bool first_copies = t->rival == UNO_ALG_COPIES && !t->copied && !OTHER(rival, as_is),
         first_slots = t->rival == UNO_ALG_SLOTS && t->dear && !t->again,    // which have grown, or their pages are new
        looks_close = (size_t)1 << t->bits < LARGE || first_messages || first_copies || CLOSE(rival, as_is);
    if (!far && (first_slots || (!t->again && looks_close && rival <= (first_messages ? ABSURD : HOPELESS) * as_is))) {
        t->uses = (uint16_t)(first_copies ? GATHERED >> t->bits : 0);
        t->copied |= first_copies;
        t->again = true;
        t->step = 0;
        t->left = (size_t)1 << t->bits >= LARGE ? 1 : SLOTS;    // until the way as it is is no longer cold either
    } else if (!WON(rival, as_is)) {
        lose(u, t, as_is, rival);
        if (t->dear && t->look_rest < 16 * LOOK_MOST) t->look_rest *= 2, t->look = t->look_rest;
        next_of_dear(t);
    } else {
        uno_log(2, "%s of %zu bytes over %d ranks: %s instead of %s", uno_coll_word(t->kind), bytes, u->n,
                uno_alg_word(t->rival), uno_alg_word(t->way));
        uno_count_add(&taken, 1);
        t->way = t->rival;
        t->clear = rival * 6 < as_is * 5;
        memset(t->lost, 0, sizeof t->lost);
        memset(t->skip, 0, sizeof t->skip);
        rest(u, t, short_rest(u, t, bytes));
        next_of_dear(t);
    }
}

// The next one to be tried; none: the way as it is, which is timed alone.
static void pick_rival(struct uno_trial *t, unsigned ways)
{
    for (int i = 0; i < UNO_TRIAL_WAYS; i++) {
        t->rival = t->rival + 1 < UNO_ALG_SLOTS + UNO_TRIAL_WAYS ? (uint8_t)(t->rival + 1) : UNO_ALG_SLOTS;
        if (t->rival == t->way || !(ways & UNO_TRIAL_BIT(t->rival))) continue;
        uint8_t *skip = &t->skip[t->rival - UNO_ALG_SLOTS];
        if (!*skip) return;
        --*skip;
    }
    t->rival = t->way;
}

static bool begin(struct uno_coll *u, struct uno_trial *t, unsigned ways)
{
    struct uno_trials *all = u->trials;
    if (all->open && all->open != t) {
        if (!t->looks) t->left = 1;
        t->looks = false;
        if (++all->others < STALE) return false;
        rest(u, all->open, all->open->rest);
    }
    if (t->looks)
        t->rival = t->way;
    else if (!t->again)
        pick_rival(t, ways);
    all->open = t;
    all->sum[0] = all->sum[1] = all->took = all->copies = 0;
    return true;
}

// One that is like its neighbour of the same rule begins where that has come to, if that was clear.
static void begin_as(const struct uno_trials *all, struct uno_trial *t, unsigned ways)
{
    for (int i = 0; i < UNO_TRIALS; i++) {
        const struct uno_trial *near = &all->of[i];
        bool is_near = near->bits && (near->bits + 1 == t->bits || near->bits == t->bits + 1);
        if (is_near && near->clear && near->kind == t->kind && near->ruled == t->ruled &&
            ways & UNO_TRIAL_BIT(near->way))
            t->way = near->way;
    }
}

static struct uno_trial *find(struct uno_coll *u, enum uno_coll_kind kind, size_t bytes, enum uno_alg ruled,
                              unsigned ways)
{
    unsigned bits = 64u - (unsigned)__builtin_clzll(bytes - 1);
    struct uno_trial *t = &u->trials->of[(kind * 7 + bits + ruled * 21) % UNO_TRIALS];
    if (t->kind == kind && t->bits == bits && t->ruled == ruled) return t;
    if (u->trials->open == t) u->trials->open = NULL;
    *t = (struct uno_trial){.kind = (uint8_t)kind,
                            .bits = (uint8_t)bits,
                            .ruled = (uint8_t)ruled,
                            .way = (uint8_t)ruled,
                            .rival = bits <= MIDDLE ? UNO_ALG_WINDOWS : UNO_ALG_SLOTS};
    begin_as(u->trials, t, ways);
    t->left = t->rest = first_rest(u, t, bytes);
    t->look = t->look_rest = LOOK_FIRST;
    return t;
}

// Its slots are not yet as long as they will be, or have not been gone along often enough to be in the caches.
// (u->spread is what a rank has still to do about that.)
static bool is_growing(const struct uno_coll *u, const struct uno_trial *t, size_t bytes)
{
    if (t->way != UNO_ALG_SLOTS) return false;
    if (!u->widened) return u->spread;
    return u->spread_from < UINT64_MAX && u->phase < u->spread_from + LAPS * UNO_SEG_WIDE_DEPTH * (u->stride / bytes);
}

// Calls by copies are looked at: whether each copy takes as long as it should. A trial that is under way, or near, goes
// first.
static bool is_looked_at(const struct uno_trials *all, struct uno_trial *t, size_t bytes)
{
    if (t->way != UNO_ALG_COPIES || bytes > LOOKED_MOST || t->again || t->dear) return false;
    if (t->turn != all->turn && all->dear && t->look > LOOK_SOON) t->look = LOOK_SOON;
    t->turn = all->turn;
    unsigned calls = bytes < all->plan.least && !all->dear ? UNO_TRIAL_PASS : 1;
    t->look = t->look > calls ? (uint16_t)(t->look - calls) : 0;
    if (t->look) return false;
    t->look = 1;
    t->looks = t->left > LOOK_FIRST;
    return t->looks;
}

// Whether it is time for a trial, or a look. What is too short for trials goes as the rules say unless copies are dear.
static bool is_time(struct uno_coll *u, struct uno_trial *t, size_t bytes, unsigned ways)
{
    if (is_growing(u, t, bytes)) return false;
    bool looked_at = is_looked_at(u->trials, t, bytes);
    if (!looked_at && bytes < u->trials->plan.least && t->way == t->ruled && !t->dear) return false;
    return (looked_at || --t->left == 0) && begin(u, t, ways);
}

static enum uno_alg timed(struct uno_trials *all, uint8_t way, bool rival)
{
    all->rival = rival;
    all->began = uno_ticks() | 1;
    return (enum uno_alg)way;
}

enum uno_alg uno_trial_way(struct uno_coll *u, enum uno_coll_kind kind, size_t bytes, enum uno_alg ruled, unsigned ways)
{
    struct uno_trials *all = u->trials;
    struct uno_trial *t = find(u, kind, bytes, ruled, ways);
    all->began = 0;
    if (!(ways & UNO_TRIAL_BIT(t->way))) return ruled;
    if (t->step == 0 && !is_time(u, t, bytes, ways)) return (enum uno_alg)t->way;
    struct course c = course_of(t);
    unsigned i = t->step++;
    all->others = 0;
    if (i < c.as_is) return timed(all, t->way, false);
    i -= c.as_is;
    if (i < c.warm) return (enum uno_alg)t->rival;
    i -= c.warm;
    if (i < c.rival) return timed(all, t->rival, true);
    if (i == c.rival) say(u, &c);
    if (i == c.rival + c.grace) judge(u, t, bytes);
    return (enum uno_alg)t->way;
}

void uno_trial_time(struct uno_trials *t)
{
    t->sum[t->rival] += uno_ticks() - t->began;
    t->began = 0;
}

void uno_trial_copied(struct uno_trials *t, uint32_t took)
{
    t->took += took;
    t->copies++;
}
