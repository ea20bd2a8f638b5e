// SPDX-License-Identifier: BSD-3-Clause
// The windows of a communicator's segment (windows.h): where they lie, and who has said what about them. Called by
// windows_reduce.c, windows_spread.c and windows_alltoall.c.
#include "coll/windows.h"

#include "base/copy.h"
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
