// SPDX-License-Identifier: BSD-3-Clause
// Large alltoalls in a host whose ranks outnumber its cores: two ranks at a time exchange their blocks in windows
// (windows.h). Called by shm.c.
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
// is lost.
#include "coll/large.h"

#include "coll/choose.h"
#include "coll/shm.h"
#include "coll/windows.h"

struct pair {
    struct uno_large j;
    struct uno_windows w;
    int other;
    uint64_t i;    // the window at hand
};

static void give(struct pair *p, const char *from, size_t bytes)
{
    struct uno_coll *u = p->j.u;
    if (from && !u->comm->broken)
        uno_windows_put(&p->w, p->other, p->i, uno_windows_of(&p->w, u->me, p->i), from, bytes);
    uno_windows_tell(&p->w, UNO_WINDOWS_READY, p->i);
    uno_seg_ring(u, p->other);
}

static void get(struct pair *p, char *to, size_t bytes)
{
    struct uno_coll *u = p->j.u;
    uno_windows_await(&p->w, UNO_WINDOWS_READY, p->other, p->i);
    if (to && !u->comm->broken)
        uno_windows_get(&p->w, p->other, p->i, to, uno_windows_of(&p->w, p->other, p->i), bytes);
    uno_windows_tell(&p->w, UNO_WINDOWS_TAKEN, p->i);
    uno_seg_ring(u, p->other);
}

static void exchange(struct pair *p, struct uno_block from, struct uno_block to)
{
    size_t bytes = uno_block_bytes(to), most = p->w.bytes, each = p->w.each;
    const char *out = uno_large_readable(&p->j, from);
    char *in = uno_large_writable(&p->j, to);
    uint64_t first = p->i;
    for (size_t at = 0; at < bytes; at += most, p->i++) {
        size_t part = bytes - at < most ? bytes - at : most;
        if (p->i - first >= each) uno_windows_await(&p->w, UNO_WINDOWS_TAKEN, p->other, p->i - each);
        give(p, out ? out + at : NULL, part);
        get(p, in ? in + at : NULL, part);
    }
    uno_windows_await(&p->w, UNO_WINDOWS_TAKEN, p->other, p->i - 1);
}

int uno_windows_alltoall(struct uno_coll *u, const struct uno_call *c, size_t bytes)
{
    bool past = bytes * uno_choose_footprint(c->kind, u->n) > u->flow.cached, in_place = c->sbuf == MPI_IN_PLACE;
    struct pair p = {.j = {.u = u, .c = c}};
    p.w = uno_windows_begin(u, true, past);
    for (int s = 0; s < u->n && !u->comm->broken; s++) {
        p.other = (s - u->me + u->n) % u->n;
        struct uno_block to = uno_recv_block(c, p.other), from = in_place ? to : uno_send_block(c, p.other);
        if (p.other != u->me) {
            exchange(&p, from, to);
            continue;
        }
        if (!in_place) uno_block_copy_own(u->n, to, from);
        p.i += (bytes + u->flow.bytes - 1) / u->flow.bytes;    // the others' windows are numbered alike
    }
    uno_seg_done(u, p.w.phase);
    return uno_large_finish(&p.j);
}
