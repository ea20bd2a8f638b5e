// SPDX-License-Identifier: BSD-3-Clause
// Large alltoalls in a host, whose blocks have left the caches or whose ranks outnumber its cores: two ranks at a time
// exchange their blocks in windows (windows.h). Called by shm.c and, of the v and w forms, by large_alltoall.c.
//
// Each copies a window of its block, and then takes the other's out, past the caches where they do not hold the blocks
// of all. So every page is read and written by the process that it belongs to: a copy across processes looks up every
// page, and reads each line of memory that it will write. In step s rank r meets rank (s - r) mod n, itself in one
// step. With n ranks on p cores, m bytes of a block, r to read a byte in memory, w to write one past the caches, c to
// write and read one in a cache, t a turn of a core:
//   (n (n - 1) m (r + c + w) + n n m t / window) / p
//
// Always holds: all ranks walk all windows in the same order; a window is filled anew when the other has taken it, and
// when a step ends all of its windows are free. A window is given before the other's is taken, so that in place nothing
// is lost. Two ranks whose blocks differ walk as many windows as the longer one has.
#include "coll/large.h"

#include "coll/choose.h"
#include "coll/shm.h"
#include "coll/windows.h"

static void give(const struct uno_windows *w, int other, uint64_t i, const char *from, size_t bytes)
{
    struct uno_coll *u = w->u;
    if (from && bytes && !u->comm->broken) uno_windows_put(w, other, i, uno_windows_of(w, u->me, i), from, bytes);
    uno_windows_tell(w, UNO_WINDOWS_READY, i);
    uno_seg_ring(u, other);
}

static void get(const struct uno_windows *w, int other, uint64_t i, char *to, size_t bytes)
{
    struct uno_coll *u = w->u;
    uno_windows_await(w, UNO_WINDOWS_READY, other, i);
    if (to && bytes && !u->comm->broken) uno_windows_get(w, other, i, to, uno_windows_of(w, other, i), bytes);
    uno_windows_tell(w, UNO_WINDOWS_TAKEN, i);
    uno_seg_ring(u, other);
}

// The part of a block that goes in the window which begins `at` bytes from its start.
static struct uno_windows_part part_at(const struct uno_windows *w, struct uno_windows_part block, size_t at)
{
    if (at >= block.bytes) return (struct uno_windows_part){NULL, 0};
    size_t rest = block.bytes - at;
    return (struct uno_windows_part){block.at ? block.at + at : NULL, rest < w->bytes ? rest : w->bytes};
}

uint64_t uno_windows_swap(const struct uno_windows *w, int other, uint64_t first, struct uno_windows_part out,
                          struct uno_windows_part in)
{
    size_t bytes = out.bytes > in.bytes ? out.bytes : in.bytes;
    uint64_t i = first;
    for (size_t at = 0; at < bytes; at += w->bytes, i++) {
        struct uno_windows_part give_now = part_at(w, out, at), get_now = part_at(w, in, at);
        if (i - first >= w->each) uno_windows_await(w, UNO_WINDOWS_TAKEN, other, i - w->each);
        give(w, other, i, give_now.at, give_now.bytes);
        get(w, other, i, get_now.at, get_now.bytes);
    }
    if (i > first) uno_windows_await(w, UNO_WINDOWS_TAKEN, other, i - 1);
    return i;
}

struct uno_windows uno_windows_join(struct uno_coll *u, uint64_t k)
{
    uno_seg_claim(u, k, u->room);
    uno_seg_lend(u, k);
    return (struct uno_windows){.u = u, .phase = k, .past = true, .bytes = u->flow.bytes, .each = u->flow.each};
}

int uno_windows_alltoall(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool past = bytes * uno_choose_footprint(c->kind, u->n) > u->flow.cached, in_place = c->sbuf == MPI_IN_PLACE;
    struct uno_large j = {.u = u, .c = c};
    struct uno_windows w = uno_windows_begin(u, true, past);
    uint64_t i = 0;
    for (int s = 0; s < u->n && !u->comm->broken; s++) {
        int other = (s - u->me + u->n) % u->n;
        struct uno_block to = uno_recv_block(c, other), from = in_place ? to : uno_send_block(c, other);
        if (other != u->me) {
            struct uno_windows_part out = {(char *)(uintptr_t)uno_large_readable(&j, from), bytes};
            i = uno_windows_swap(&w, other, i, out, (struct uno_windows_part){uno_large_writable(&j, to), bytes});
            continue;
        }
        if (!in_place) uno_block_copy_own(c->kind, u->n, to, from);
        i += (bytes + w.bytes - 1) / w.bytes;    // the others' windows are numbered alike
    }
    uno_seg_done(u, w.phase);
    return uno_large_finish(&j);
}
