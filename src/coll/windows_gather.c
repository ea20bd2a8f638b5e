// SPDX-License-Identifier: BSD-3-Clause
// Large gathers in a host in windows (windows.h): the start of each block, which its rank copies, window by window, to
// its own wide slot, and the root out of it. Where each rank has a core, the others copy the rest of theirs across
// processes before, while the root copies its own block. Called by large_gather.c, within its phase.
//
// With n ranks on p cores, m bytes of a block, o to copy a byte of the root's own, x to copy one across, r to read one
// and write it to a window, w to take it out and write it to memory, q = min(n, p) - 1 cores for the others:
//   o m + (n - 1) w (m - o m / x)            where each rank has a core
//   (n - 1) w m, and then o m of the root    where ranks share cores, while r / q is less than w
//   x m (n - 1) / q                          by copies alone
//
// Windows that are written past the caches are better where cores are far from each other, others where they are near,
// which changes: the root times both, and says which.
//
// Always holds: window i of a rank is filled anew when the root has taken window i of all ranks.
#include "base/thresholds.h"
#include "base/wait.h"
#include "coll/large.h"
#include "coll/windows.h"

#define TRIALS 4    // calls that take turns before one way is preferred
#define AGAIN 8     // then one call in so many goes the other way

// Where each rank has a core, the root is to follow soon (2 ranks, 32 MiB 3.9 ms, in larger windows 4.7); else each
// window costs a turn.
static struct uno_windows begin(struct uno_coll *u, uint64_t k, bool past)
{
    size_t bytes = u->crowded ? u->flow.bytes : (u->flow.bytes + 3) / 4;
    return (struct uno_windows){.u = u, .phase = k, .past = past, .bytes = bytes, .each = u->room / bytes};
}

enum uno_windows_way uno_windows_gather_way(struct uno_coll *u)
{
    const uint32_t *cost = u->flow.cost, i = u->flow.gathers++;
    bool past = i < TRIALS ? i & 1 : (cost[1] < cost[0]) != (i % AGAIN == 0);
    return past ? UNO_WINDOWS_PAST : UNO_WINDOWS_NEAR;
}

size_t uno_windows_gather_share(const struct uno_coll *u, size_t bytes, bool in_place)
{
    size_t rest = in_place || u->crowded ? 0 : bytes / 100 * (size_t)uno_thresholds.meanwhile;
    return (bytes - rest) / UNO_SHARE_UNIT * UNO_SHARE_UNIT;
}

void uno_windows_hand_in(struct uno_coll *u, uint64_t k, int root, enum uno_windows_way way,
                         struct uno_windows_part own, size_t share)
{
    struct uno_windows w = begin(u, k, way == UNO_WINDOWS_PAST);
    size_t most = w.bytes, each = w.each;
    uno_seg_claim(u, k, u->room);
    uno_seg_lend(u, k);
    for (uint64_t i = 0; i * most < share; i++) {
        size_t at = i * most, n = share - at < most ? share - at : most;
        if (i >= each) uno_windows_await(&w, UNO_WINDOWS_TAKEN, root, i - each);
        if (u->comm->broken) return;
        if (own.at && at + n <= own.bytes) uno_windows_take(&w, uno_windows_of(&w, u->me, i), own.at + at, n);
        uno_windows_tell(&w, UNO_WINDOWS_READY, i);
        uno_seg_ring(u, root);
    }
}

// Window i of all ranks. False: no rank has so many.
static bool take_windows(const struct uno_windows *w, const struct uno_windows_part *part, uint64_t i)
{
    struct uno_coll *u = w->u;
    size_t most = w->bytes, at = i * most;
    bool any = false;
    for (int q = 1; q < u->n && !u->comm->broken; q++) {
        int r = (u->me + q) % u->n;
        if (at >= part[r].bytes) continue;
        any = true;
        uno_windows_await(w, UNO_WINDOWS_READY, r, i);
        size_t n = part[r].bytes - at < most ? part[r].bytes - at : most;
        if (part[r].at && !u->comm->broken) uno_windows_take(w, part[r].at + at, uno_windows_of(w, r, i), n);
    }
    return any && !u->comm->broken;
}

void uno_windows_collect(struct uno_coll *u, uint64_t k, enum uno_windows_way way, const struct uno_windows_part *part)
{
    size_t all = 0;
    for (int r = 0; r < u->n; r++)
        if (r != u->me) all += part[r].bytes;
    struct uno_windows w = begin(u, k, 2 * all > u->flow.cached);
    uint64_t start = uno_now_ns();
    for (uint64_t i = 0; take_windows(&w, part, i); i++) {
        uno_windows_tell(&w, UNO_WINDOWS_TAKEN, i);
        for (int r = 0; r < u->n; r++)
            if (r != u->me) uno_seg_ring(u, r);
    }
    uint32_t *cost = &u->flow.cost[way == UNO_WINDOWS_PAST], ps = (uint32_t)((uno_now_ns() - start) * 1000 / (all + 1));
    *cost = *cost ? (*cost + ps) / 2 : ps;
}
