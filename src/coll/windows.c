// SPDX-License-Identifier: BSD-3-Clause
// The windows of a communicator's segment (windows.h): where they lie, and who has said what about them. Called by
// windows_reduce.c, windows_spread.c and windows_alltoall.c.
#include "coll/windows.h"

#include "base/copy.h"
#include "base/wait.h"
#include "core/word.h"

static struct uno_line *line_of(const struct uno_windows *w, enum uno_windows_line what, int r)
{
    return &w->u->flow.line[2 * (size_t)r + what];
}

static uint64_t number(const struct uno_windows *w, uint64_t i)
{
    return (w->phase << 32) + i + 1;
}

struct uno_windows uno_windows_begin(struct uno_coll *u, bool fills, bool past)
{
    struct uno_windows w = {.u = u, .past = past, .depth = u->flow.depth, .bytes = u->flow.bytes, .each = u->flow.each};
    w.phase = fills ? uno_seg_begin(u, u->room) : ++u->phase;
    uno_seg_lend(u, w.phase);
    return w;
}

char *uno_windows_of(const struct uno_windows *w, int r, uint64_t i)
{
    return uno_seg_slot(w->u, r, w->phase, w->u->room) + i % w->each * w->bytes;
}

char *uno_windows_at(const struct uno_windows *w, uint64_t i)
{
    uint64_t at = i % w->depth;
    return uno_windows_of(w, (int)(at / w->each), at);
}

void uno_windows_take(const struct uno_windows *w, void *to, const char *from, size_t bytes)
{
    if (w->past)
        uno_copy_past(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

// ---- plain, or past the caches ----

#define TRIALS 4            // windows that take turns before one way is preferred
#define AGAIN 64            // then one in so many goes the other way
#define LEAST (16 << 10)    // bytes of a window that is timed

static enum uno_flow_use use_of(const struct uno_windows *w)
{
    return (enum uno_flow_use)((w->folds ? UNO_FLOW_FOLDED : UNO_FLOW_MOVED) + w->past);
}

// Behind the stamp of the line that tells which windows are ready, after what gathered.c says there: bit i % 64 tells
// that window i went past the caches.
static _Atomic uint64_t *ways_of(const struct uno_windows *w, int r)
{
    return (_Atomic uint64_t *)(void *)line_of(w, UNO_WINDOWS_READY, r)->data + 1;
}

// Behind the stamp of the line that tells which windows were taken: what reading one costs, by use and way.
static _Atomic uint32_t *taking_of(const struct uno_windows *w, int r, bool past)
{
    return (_Atomic uint32_t *)(void *)line_of(w, UNO_WINDOWS_TAKEN, r)->data + 2 * use_of(w) + past;
}

// Ticks per MiB, at least one: 0 says that there was no window.
static uint32_t mean(uint32_t before, uint64_t ticks, size_t bytes)
{
    return uno_copy_mean(before, (ticks << 20) / bytes + 1);
}

// What a window costs its writer and its readers; 0: not known.
static uint64_t cost_of(const struct uno_windows *w, int reader, bool past)
{
    struct uno_coll *u = w->u;
    uint64_t all = u->flow.put[use_of(w)][past];
    for (int r = 0; r < u->n && all; r++) {
        if (r == u->me || (reader >= 0 && r != reader)) continue;
        // Relaxed: a hint; nothing is read by it.
        uint32_t one = atomic_load_explicit(taking_of(w, r, past), memory_order_relaxed);
        all = one ? all + one : 0;
    }
    return all;
}

static bool goes_past(const struct uno_windows *w, int reader)
{
    struct uno_flow *f = &w->u->flow;
    enum uno_flow_use use = use_of(w);
    uint32_t i = f->puts[use]++;
    if (i < TRIALS) return i & 1;
    if (i == TRIALS || i % (AGAIN / 4) == 0) {
        uint64_t plain = cost_of(w, reader, false), past = cost_of(w, reader, true);
        f->past = (uint8_t)(past && past < plain ? f->past | 1u << use : f->past & ~(1u << use));
    }
    bool prefers = f->past >> use & 1;
    return prefers != (i % AGAIN == 0);
}

void uno_windows_put(const struct uno_windows *w, int reader, uint64_t i, char *to, const char *from, size_t bytes)
{
    if (!uno_copy_has_past()) {
        memcpy(to, from, bytes);
        return;
    }
    bool past = goes_past(w, reader);
    uint64_t began = uno_ticks();
    if (past)
        uno_copy_past(to, from, bytes);
    else
        memcpy(to, from, bytes);
    uint32_t *put = &w->u->flow.put[use_of(w)][past];
    if (bytes >= LEAST) *put = mean(*put, uno_ticks() - began, bytes);
    _Atomic uint64_t *ways = ways_of(w, w->u->me);
    uint64_t bit = UINT64_C(1) << i % 64, before = atomic_load_explicit(ways, memory_order_relaxed);
    // Relaxed: the line's stamp publishes it.
    atomic_store_explicit(ways, past ? before | bit : before & ~bit, memory_order_relaxed);
}

uint64_t uno_windows_read_begin(void)
{
    return uno_copy_has_past() ? uno_ticks() : 0;
}

void uno_windows_read_end(const struct uno_windows *w, int writer, uint64_t i, uint64_t began, size_t bytes)
{
    if (!began || bytes < LEAST) return;
    // Relaxed: the writer's stamp has published its way; the cost is a hint.
    bool past = atomic_load_explicit(ways_of(w, writer), memory_order_relaxed) >> i % 64 & 1;
    _Atomic uint32_t *taking = taking_of(w, w->u->me, past);
    uint32_t before = atomic_load_explicit(taking, memory_order_relaxed);
    atomic_store_explicit(taking, mean(before, uno_ticks() - began, bytes), memory_order_relaxed);
}

void uno_windows_get(const struct uno_windows *w, int writer, uint64_t i, char *to, const char *from, size_t bytes)
{
    uint64_t began = uno_windows_read_begin();
    uno_windows_take(w, to, from, bytes);
    uno_windows_read_end(w, writer, i, began, bytes);
}

// ---- what is told ----

void uno_windows_tell(const struct uno_windows *w, enum uno_windows_line what, uint64_t i)
{
    if (__builtin_expect(w->u->comm->broken, 0)) return;
    // Release: pairs with the acquire of uno_word_reached(); the window is read and written before.
    atomic_store_explicit(&line_of(w, what, w->u->me)->stamp, number(w, i), memory_order_release);
}

void uno_windows_await(const struct uno_windows *w, enum uno_windows_line what, int r, uint64_t i)
{
    uno_seg_wait_line(w->u, r, line_of(w, what, r), number(w, i));
}

bool uno_windows_is_told(const struct uno_windows *w, enum uno_windows_line what, int r, uint64_t i)
{
    return uno_word_reached(&line_of(w, what, r)->stamp, number(w, i));
}
