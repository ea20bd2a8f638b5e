// SPDX-License-Identifier: BSD-3-Clause
// Large reductions in a host whose ranks outnumber its cores, and of two ranks wherever the vectors have left the
// caches: the vector goes from rank to rank in windows (windows.h). Called by shm.c.
//
// The last rank copies a window of its vector, each one below folds its own into it, rank 0 finishes it, and who gets
// the result takes it out. So each rank's memory is read once, by itself (a copy across processes takes two to three
// times as long where it leaves the caches), the windows stay in a cache, and nobody needs another's buffer. With n
// ranks on p cores, m bytes, r to read a byte, w to read and change one of a window, t a turn of a core:
//   (n m (r + w) + n m t / window) / p      and m (r + w) for each that takes the result
// With a core per rank, of more than two its n - 1 steps would be what counts, and the window's lines would move at
// each: large_reduce.c.
//
// Always holds: a window is filled anew when all who take it have; ranks fold from the last to the first, so operations
// need not commute and every run gives the same bits.
#include "coll/build.h"
#include "coll/choose.h"
#include "coll/shm.h"
#include "coll/windows.h"

struct stream {
    struct uno_coll *u;
    const struct uno_call *c;
    struct uno_windows w;
    const char *in;
    size_t size;              // of an element
    MPI_Count count, step;    // elements of the vector, of a window
    MPI_Count first, end;     // of the result, what this rank takes
    uint64_t taken;
    bool cold;    // all that the ranks use has left the caches
};

static MPI_Count count_of(const struct stream *s, uint64_t i)
{
    MPI_Count at = (MPI_Count)i * s->step;
    return s->count - at < s->step ? s->count - at : s->step;
}

static bool takes(const struct stream *s, int r)
{
    return s->c->kind != UNO_REDUCE || r == s->c->root;
}

// Rank 0 of a reduce that is its root folds straight to where the result goes, if nothing needed is there, and unless
// that has left the caches: then each of its lines would be read before it is written, which a copy past them saves.
static bool is_direct(const struct stream *s)
{
    if (s->cold || s->u->me != 0 || s->c->kind != UNO_REDUCE || s->c->root != 0) return false;
    return s->c->op->predefined && s->in != s->c->rbuf;
}

static void copy_out(struct stream *s, uint64_t i)
{
    MPI_Count at = (MPI_Count)i * s->step, from = at > s->first ? at : s->first, end = at + count_of(s, i);
    if (end > s->end) end = s->end;
    if (from >= end || is_direct(s)) return;
    uno_windows_take(&s->w, (char *)s->c->rbuf + (size_t)(from - s->first) * s->size,
                     uno_windows_at(&s->w, i) + (size_t)(from - at) * s->size, (size_t)(end - from) * s->size);
}

// Takes the windows up to `end` that rank 0 has finished; waits: until it has.
static void take(struct stream *s, uint64_t end, bool waits)
{
    struct uno_coll *u = s->u;
    if (!takes(s, u->me)) return;
    while (s->taken < end) {
        if (!waits && !uno_windows_is_told(&s->w, UNO_WINDOWS_READY, 0, s->taken)) return;
        uno_windows_await(&s->w, UNO_WINDOWS_READY, 0, s->taken);
        if (u->comm->broken) return;
        copy_out(s, s->taken);
        uno_windows_tell(&s->w, UNO_WINDOWS_TAKEN, s->taken++);
        uno_seg_ring(u, u->n - 1);
    }
}

static void fill(struct stream *s, uint64_t i)
{
    struct uno_coll *u = s->u;
    for (int r = 0; r < u->n && i >= s->w.depth; r++)
        if (r != u->me && takes(s, r)) uno_windows_await(&s->w, UNO_WINDOWS_TAKEN, r, i - s->w.depth);
    if (u->comm->broken) return;
    const char *from = s->in + (size_t)i * (size_t)s->step * s->size;
    uno_windows_put(&s->w, u->me - 1, i, uno_windows_at(&s->w, i), from, (size_t)count_of(s, i) * s->size);
}

static void fold(struct stream *s, uint64_t i)
{
    size_t skip = (size_t)i * (size_t)s->step * s->size;
    char *there = uno_windows_at(&s->w, i);
    uno_windows_await(&s->w, UNO_WINDOWS_READY, s->u->me + 1, i);
    if (s->u->comm->broken) return;
    uint64_t began = uno_windows_read_begin();
    if (is_direct(s))
        uno_op_apply3(s->c->op, s->in + skip, there, (char *)s->c->rbuf + skip, count_of(s, i), s->c->rtype);
    else
        uno_op_apply(s->c->op, s->in + skip, there, count_of(s, i), s->c->rtype);
    if (s->u->me == s->u->n - 2) uno_windows_read_end(&s->w, s->u->n - 1, i, began, (size_t)count_of(s, i) * s->size);
}

// A rank that takes windows has taken the one that lay there before it waits for another: the last rank fills none
// until all have.
static void one_window(struct stream *s, uint64_t i)
{
    struct uno_coll *u = s->u;
    if (i >= s->w.depth) take(s, i + 1 - s->w.depth, true);
    if (u->me == u->n - 1)
        fill(s, i);
    else
        fold(s, i);
    uno_windows_tell(&s->w, UNO_WINDOWS_READY, i);
    if (u->me > 0) uno_seg_ring(u, u->me - 1);
    for (int r = 0; r < u->n && u->me == 0; r++)
        if (takes(s, r)) uno_seg_ring(u, r);
    take(s, i + 1, false);
}

static void set_range(struct stream *s)
{
    const struct uno_call *c = s->c;
    int me = s->u->me;
    s->first = 0;
    s->end = s->count;
    if (c->kind == UNO_REDUCE_SCATTER_BLOCK) {
        s->first = c->rcount * me;
        s->end = s->first + c->rcount;
    } else if (c->kind == UNO_REDUCE_SCATTER) {
        for (int i = 0; i < me; i++) s->first += uno_at(c->rcounts, i);
        s->end = s->first + uno_at(c->rcounts, me);
    }
}

// In place is as good: what a rank gets lies where it has folded before, or further down.
void uno_windows_reduce(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    struct stream s = {.u = u, .c = c, .in = c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf};
    s.size = (size_t)c->rtype->size;
    s.count = (MPI_Count)(bytes / s.size);
    s.step = (MPI_Count)(u->flow.bytes / s.size);
    set_range(&s);
    uint64_t n = (uint64_t)((s.count + s.step - 1) / s.step);
    size_t all = bytes * uno_choose_footprint(c->kind, u->n);
    s.cold = all > u->flow.cold;
    s.w = uno_windows_begin(u, u->me == u->n - 1, all > u->flow.cached);
    s.w.folds = true;
    for (uint64_t i = 0; i < n && !u->comm->broken; i++) one_window(&s, i);
    take(&s, n, true);
    uno_seg_done(u, s.w.phase);
}
