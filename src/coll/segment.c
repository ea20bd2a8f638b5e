// SPDX-License-Identifier: BSD-3-Clause
// Makes and frees a communicator's segment (segment.h) out of a job segment's heap, and carries its protocol:
// posting, waiting. Called under the library lock by the files that segment.h names.
//
// Always holds: stamps only grow. Waiting spins a moment, then goes through uno_wait_on, where other operations make
// progress and a rank sleeps until rung.
#include "coll/segment.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/invariant.h"
#include "base/param.h"
#include "chan/door.h"
#include "chan/proc.h"
#include "coll/choose.h"
#include "core/word.h"
#include "p2p/share.h"

static struct uno_param enabled = UNO_PARAM_BOOL("coll_shm", 1, "collectives inside a host go through shared memory");
UNO_PARAM_DECLARE(enabled);
// Sixteen blocks of 16 KiB, or four of 64: where ranks outnumber cores, that is where copies across memory catch up.
static struct uno_param wide = UNO_PARAM_INT(
    "coll_wide", 256 << 10, 0, 64 << 20,
    "bytes of the wide slots of a communicator inside a host, two per rank, made when a collective of more than 8 KiB "
    "first wants them, longer where rings grow, and for windows where ranks outnumber cores; what is larger goes from "
    "memory to memory (0: no wide slots)");
UNO_PARAM_DECLARE(wide);

// As many as a core's second-level cache holds beside what the ranks read (bench: --np 4 and 8 on two cores, reduce
// --sizes 1M:32M).
static struct uno_param window = UNO_PARAM_INT(
    "coll_window", 128 << 10, 4096, 16 << 20,
    "bytes of the windows in which a large reduction goes from rank to rank, where ranks outnumber cores");
UNO_PARAM_DECLARE(window);

#define PAGE 4096
#define WINDOWS_LEAST 8            // under way at a time, where there are so many
#define WINDOWS_BYTES (1 << 20)    // that lie in one slot, at most, where that is longer for them
#define SPREAD_BYTES (8 << 20)     // posted in wide slots that are not yet spread
#define SPREAD_SOONEST 128         // but at least so many phases

// ---- making and freeing ----

static bool all_here(struct MPI_ABI_Comm *c)
{
    return !c->inter && c->size > 1 && uno_share_possible(c, enabled.num && uno_chan_self.shares);
}

static size_t lines_bytes(int n)
{
    size_t bytes = sizeof(struct uno_line) * (1 + (size_t)n * (1 + UNO_SEG_LINES + 2 + 3));
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static void lay_out_segment(struct uno_coll *u, size_t first, bool tree)
{
    char *base = uno_job_chunk(u->job, first);
    uno_dump_keep(base, u->chunks * UNO_HEAP_CHUNK);
    u->first = first;
    u->left = (_Atomic uint32_t *)base;
    u->line = (struct uno_line *)base + 1;
    u->data = base + lines_bytes(u->n);
    u->flow.line = u->line + (size_t)u->n * (1 + UNO_SEG_LINES);
    if (tree) u->tree.line = u->flow.line + (size_t)u->n * 2;
}

// What rank 0 decides for all, since the parameters of several jobs may differ.
struct plan {
    int64_t first;    // chunk of the heap, -1: there is no room
    bool tree, crowded;
    size_t wide, stride;    // bytes of a wide slot, and from one to the next
    bool spread;
    size_t window, each, depth, cached, cold, far;    // bytes of a window, windows in a wide slot, windows under way
    uint32_t fixed;
    struct uno_trial_plan trials;
    size_t alone, call_worth, piece;
    size_t copies[UNO_COLL_KINDS], windows[UNO_COLL_KINDS], messages[UNO_COLL_KINDS], until[UNO_COLL_KINDS];
};

// From a wide slot to the next: a power of two.
static size_t stride_of(size_t most, size_t spread)
{
    size_t stride = PAGE;
    while (stride < most || stride < spread) stride *= 2;
    return stride;
}

// Each time that all windows are full or taken is a turn of all ranks, so where ranks share cores as many are under way
// as the second-level caches hold, in longer slots if need be (Xeon 207, two cores, us, with 8 and with 32: reduce of
// 2 MiB by 8 ranks 650 and 430, of 4 MiB by 4 780 and 540, by 16 3,990 and 2,170).
static void lay_out_windows(struct plan *p, const struct uno_coll *u)
{
    size_t n = (size_t)u->n;
    p->each = p->window ? p->wide / p->window : 0;
    p->depth = p->window ? uno_choose_under_way(u->job->processors) / p->window : 0;
    if (p->depth < WINDOWS_LEAST) p->depth = WINDOWS_LEAST;
    if (p->each && p->crowded && !p->spread) {
        size_t wanted = (p->depth + n - 1) / n, most = WINDOWS_BYTES / p->window;
        if (wanted > most) wanted = most;
        if (wanted > p->each) p->each = wanted;
        p->stride = stride_of(p->each * p->window, p->stride);
    }
    if (p->depth > n * p->each) p->depth = n * p->each;
}

static struct plan make_plan(const struct uno_coll *u)
{
    struct plan p = {.first = uno_job_take(u->job, u->chunks), .tree = uno_choose_tree(u->n)};
    p.crowded = uno_choose_crowded();
    p.alone = uno_choose_alone();
    p.call_worth = uno_choose_call_worth();
    p.piece = uno_choose_piece(u->n);
    p.wide = ((size_t)wide.num + PAGE - 1) / PAGE * PAGE;
    size_t spread = uno_choose_spread(u->n);
    p.stride = stride_of(p.wide, spread);
    p.spread = spread > 0 && p.wide > 0 && u->n <= UNO_SEG_SPREAD_RANKS;
    p.window = (size_t)window.num < p.wide ? (size_t)window.num / PAGE * PAGE : p.wide;
    lay_out_windows(&p, u);
    p.cached = uno_choose_cached();
    p.cold = uno_choose_cold();
    p.far = uno_choose_far(p.crowded);
    for (int kind = 0; kind < UNO_COLL_KINDS; kind++) {
        p.copies[kind] = uno_choose_from((enum uno_coll_kind)kind, UNO_ALG_COPIES, u->n, p.crowded);
        p.messages[kind] = uno_choose_from((enum uno_coll_kind)kind, UNO_ALG_MESSAGES, u->n, p.crowded);
        p.until[kind] = uno_choose_until((enum uno_coll_kind)kind, UNO_ALG_MESSAGES, u->n, p.crowded);
        p.windows[kind] =
            p.window ? uno_choose_from((enum uno_coll_kind)kind, UNO_ALG_WINDOWS, u->n, p.crowded) : SIZE_MAX;
        if (uno_choose_is_fixed((enum uno_coll_kind)kind, p.crowded)) p.fixed |= UINT32_C(1) << kind;
    }
    p.trials = uno_trial_plan(u->n, p.crowded);
    return p;
}

static int set_up(struct uno_coll *u)
{
    struct MPI_ABI_Comm *c = u->comm;
    struct plan plan = {.first = -1};
    u->n = c->size;
    u->me = c->rank;
    u->job = uno_proc_job(uno_comm_proc(c, 0));
    u->chunks = (lines_bytes(u->n) + (size_t)u->n * UNO_SEG_DEPTH * UNO_SEG_SLOT + UNO_HEAP_CHUNK - 1) / UNO_HEAP_CHUNK;
    u->near = malloc((size_t)u->n * sizeof *u->near);
    if (c->rank == 0 && u->near) plan = make_plan(u);
    int err = uno_coll_bcast(c, &plan, sizeof plan, 0);
    if (err) return err;
    u->trials = uno_trials_new(&plan.trials);
    if (!u->near || !u->trials) return uno_fail(MPI_ERR_NO_MEM, "no memory for the collectives of %d ranks", u->n);
    if (plan.first < 0) return MPI_SUCCESS;
    for (int r = 0; r < u->n; r++) {
        int proc = uno_comm_proc(c, r);
        u->near[r] = (struct uno_neighbour){uno_proc_door(proc), uno_proc_board(proc)};
    }
    lay_out_segment(u, (size_t)plan.first, plan.tree);
    memcpy(u->copies, plan.copies, sizeof u->copies);
    memcpy(u->windows, plan.windows, sizeof u->windows);
    memcpy(u->messages, plan.messages, sizeof u->messages);
    memcpy(u->until, plan.until, sizeof u->until);
    u->flow.bytes = plan.window;
    u->flow.each = plan.each;
    u->flow.depth = plan.depth;
    u->flow.cached = plan.cached;
    u->flow.cold = plan.cold;
    u->flow.far = plan.far;
    u->flow.fixed = plan.fixed;
    u->room = u->narrow = UNO_SEG_SLOT;
    u->wide_most = plan.wide;
    u->stride = plan.stride;
    u->spread = plan.spread;
    u->spread_from = UINT64_MAX;
    u->alone = plan.alone;
    u->call_worth = plan.call_worth;
    u->piece = plan.piece;
    u->crowded = plan.crowded;
    u->lines = plan.crowded ? UNO_SEG_LINES : UNO_SEG_DEPTH;
    u->on = true;
    uno_seg_agree_on_cma(u);
    return MPI_SUCCESS;
}

static void free_coll(struct MPI_ABI_Comm *comm)
{
    struct uno_coll *u = comm->coll;
    if (!u) return;
    comm->coll = NULL;
    // Acq_rel: the last one must come after all others' last look at the segment.
    if (u->on && atomic_fetch_add_explicit(u->left, 1, memory_order_acq_rel) == (uint32_t)u->n - 1) {
        uno_job_give(u->job, u->first, u->chunks);
        if (u->wide) uno_job_give(u->job, u->wide_first, u->wide_chunks);
    }
    uno_cache_drop(u);
    uno_hier_free(u->hier);
    free(u->trials);
    free(u->near);
    free(u->scratch);
    free(u);
}

struct uno_coll *uno_coll_of(struct MPI_ABI_Comm *comm, int *err)
{
    if (comm->coll) return comm->coll;
    struct uno_coll *u = calloc(1, sizeof *u);
    if (!u) {
        *err = uno_fail(MPI_ERR_NO_MEM, "no memory for the collectives of a communicator");
        return NULL;
    }
    u->comm = comm;
    comm->coll = u;
    comm->coll_free = free_coll;
    return u;
}

struct uno_coll *uno_seg_get(struct MPI_ABI_Comm *comm, int *err)
{
    struct uno_coll *u = uno_coll_of(comm, err);
    if (!u) return NULL;
    if (u->settled) return u->on ? u : NULL;
    u->settled = true;
    if (all_here(comm)) *err = set_up(u);
    return u->on && !*err ? u : NULL;
}

static size_t wide_chunks(const struct uno_coll *u, size_t stride)
{
    return ((size_t)u->n * UNO_SEG_WIDE_DEPTH * stride + UNO_HEAP_CHUNK - 1) / UNO_HEAP_CHUNK;
}

struct wide_place {
    int64_t first;    // chunk of the heap, -1: there is no room
    uint64_t stride;
};

// Long slots while a quarter of the heap suffices: other communicators want some, too.
static struct wide_place take_wide(const struct uno_coll *u)
{
    struct wide_place p = {uno_job_take(u->job, wide_chunks(u, u->stride)), u->stride};
    if (u->stride == stride_of(u->wide_most, 0) || (p.first >= 0 && p.first < UNO_HEAP_CHUNKS / 4)) return p;
    if (p.first >= 0) uno_job_give(u->job, (size_t)p.first, wide_chunks(u, u->stride));
    p.stride = stride_of(u->wide_most, 0);
    p.first = uno_job_take(u->job, wide_chunks(u, p.stride));
    return p;
}

// There was no room for longer slots.
static void fit_windows(struct uno_coll *u)
{
    u->flow.each = u->stride / u->flow.bytes;
    if (u->flow.depth > (size_t)u->n * u->flow.each) u->flow.depth = (size_t)u->n * u->flow.each;
}

// Rank 0 takes the memory and tells where.
static void make_wide(struct uno_coll *u, size_t bytes)
{
    struct wide_place p = {.first = -1};
    u->widened = true;
    uint64_t k = uno_seg_begin(u, sizeof p);
    if (u->me == 0) {
        p = take_wide(u);
        memcpy(uno_seg_slot(u, 0, k, sizeof p), &p, sizeof p);
        uno_seg_post(u, k);
    } else {
        uno_seg_wait(u, 0, k);
        if (!u->comm->broken) memcpy(&p, uno_seg_slot(u, 0, k, sizeof p), sizeof p);
    }
    uno_seg_done(u, k);
    if (p.first < 0) return;
    u->spread &= p.stride == u->stride;
    u->stride = p.stride;
    u->wide_chunks = wide_chunks(u, u->stride);
    u->wide_first = (size_t)p.first;
    u->wide = uno_job_chunk(u->job, u->wide_first);
    u->room = u->wide_most;
    if (u->flow.each * u->flow.bytes > u->stride) fit_windows(u);
    if (!u->spread) return;
    u->room = u->stride;
    u->narrow = UNO_SEG_SMALL;
    uint64_t after = SPREAD_BYTES / bytes;
    if (after < SPREAD_SOONEST) after = SPREAD_SOONEST;
    u->spread_from = u->phase + (after < UNO_SEG_SPREAD_AFTER ? after : UNO_SEG_SPREAD_AFTER);
}

bool uno_seg_widen(struct uno_coll *u, size_t bytes)
{
    if (!u->widened && bytes <= (u->spread ? u->stride : u->wide_most)) make_wide(u, bytes);
    return bytes <= u->room;
}

// ---- the protocol ----

static struct uno_line *done_line(const struct uno_coll *u, int r)
{
    return &u->line[(size_t)r * (1 + UNO_SEG_LINES)];
}

static inline bool reached(const struct uno_line *line, uint64_t k)
{
    // Pairs with the release in uno_seg_post and uno_seg_done.
    return uno_word_reached(&line->stamp, k);
}

// In a broken communicator it returns at once: what is read then is nothing, and nothing is made of it (coll.c).
static void wait_line(struct uno_coll *u, int r, struct uno_line *line, uint64_t k)
{
    if (!u->comm->broken && uno_word_wait(&line->stamp, k, u->comm, r, u->looks))
        uno_log(2, "a collective was broken off");
}

void uno_seg_wait_line(struct uno_coll *u, int r, struct uno_line *line, uint64_t k)
{
    if (!reached(line, k)) wait_line(u, r, line, k);
}

void uno_seg_ring(struct uno_coll *u, int r)
{
    uno_door_ring(u->near[r].door);
}

static void ring_all(struct uno_coll *u)
{
    for (int r = 0; r < u->n; r++)
        if (r != u->me) uno_seg_ring(u, r);
}

static inline uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t most_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t before(uint64_t k, uint64_t phases)
{
    return k > phases ? k - phases : 0;
}

// The same of a wide slot: while it is filled in equal units, what lies in the way is where it was filled a lap ago;
// what was filled in others, anywhere.
static uint64_t in_the_wide_way(struct uno_coll *u, uint64_t k, size_t bytes)
{
    size_t unit = uno_seg_unit(u, k, bytes);
    uint64_t lap = UNO_SEG_WIDE_DEPTH * (u->stride / unit), other;
    if (unit != u->wide_unit) u->wide_other = u->wide_last;
    u->wide_unit = unit;
    u->wide_last = k;
    other = least_of(u->wide_other, before(k, UNO_SEG_WIDE_DEPTH));
    return most_of(other, before(k, lap < u->lines ? lap : u->lines));
}

void uno_seg_lend(struct uno_coll *u, uint64_t k)
{
    u->wide_last = u->wide_other = k;
}

// The last phase that all ranks must be done with before this one posts so many bytes in phase k. What filled a slot
// lies in the way of the small and tiny ones in it, too, the last time at most UNO_SEG_DEPTH phases ago.
static inline uint64_t in_the_way(struct uno_coll *u, uint64_t k, size_t bytes)
{
    uint64_t slot = before(k, UNO_SEG_DEPTH);
    if (bytes > u->narrow) return in_the_wide_way(u, k, bytes);
    if (u->lines == UNO_SEG_DEPTH || bytes > UNO_SEG_SMALL) {
        u->filled[0] = k;
        return slot;
    }
    uint64_t small = before(k, UNO_SEG_CUT * UNO_SEG_DEPTH), last = least_of(u->filled[0], slot);
    if (bytes > UNO_SEG_TINY) {
        u->filled[1] = k;
        return most_of(last, small);
    }
    return most_of(most_of(last, least_of(u->filled[1], small)), before(k, UNO_SEG_LINES));
}

// A done line is looked at when it must be, and for all that it says: looking takes it from the rank that writes it.
void uno_seg_claim(struct uno_coll *u, uint64_t k, size_t bytes)
{
    uint64_t least = k, last = in_the_way(u, k, bytes);
    if (__builtin_expect(bytes > u->narrow && k >= u->spread_from && u->spread, 0)) {
        u->spread = false;
        uno_job_touch(uno_seg_wide(u, u->me, 0), UNO_SEG_WIDE_DEPTH * u->stride);
    }
    if (last <= u->safe) return;
    for (int r = 0; r < u->n; r++) {
        if (r == u->me) continue;
        struct uno_line *line = done_line(u, r);
        if (!reached(line, last)) wait_line(u, r, line, last);
        // Acquire: pairs with the release in uno_seg_done; what that rank read is over before the slot is filled anew.
        uint64_t done = atomic_load_explicit(&line->stamp, memory_order_acquire);
        if (done < least) least = done;
    }
    u->safe = least;
}

uint64_t uno_seg_begin(struct uno_coll *u, size_t bytes)
{
    uint64_t k = ++u->phase;
    uno_seg_claim(u, k, bytes);
    if (bytes > UNO_SEG_INLINE) uno_seg_ask(u, k, uno_seg_slot(u, u->me, k, bytes), bytes);
    return k;
}

void uno_seg_post(struct uno_coll *u, uint64_t k)
{
    uno_assert(k <= u->phase);
    if (__builtin_expect(u->comm->broken, 0)) return;    // it may not be the right data
    // Release: pairs with the acquire in reached(); the slot's bytes come before its stamp.
    atomic_store_explicit(&uno_seg_line(u, u->me, k)->stamp, k, memory_order_release);
    ring_all(u);
}

void uno_seg_wait(struct uno_coll *u, int r, uint64_t k)
{
    struct uno_line *line = uno_seg_line(u, r, k);
    if (!reached(line, k)) wait_line(u, r, line, k);
}

void uno_seg_done(struct uno_coll *u, uint64_t k)
{
    uno_assert(k <= u->phase);
    if (__builtin_expect(u->comm->broken, 0)) return;    // what was to be written to others may not be there
    // Release: pairs with the acquire in reached(); our reads of the slots come before.
    atomic_store_explicit(&done_line(u, u->me)->stamp, k, memory_order_release);
    ring_all(u);
}

void uno_seg_wait_done(struct uno_coll *u, int r, uint64_t k)
{
    if (!reached(done_line(u, r), k)) wait_line(u, r, done_line(u, r), k);
}

void uno_seg_wait_all_done(struct uno_coll *u, uint64_t k)
{
    for (int i = 1; i < u->n; i++) uno_seg_wait_done(u, (u->me + i) % u->n, k);
    u->safe = k > u->safe ? k : u->safe;
}
