// SPDX-License-Identifier: BSD-3-Clause
// What a blocking collective inside a host takes (simulate.h): it is no schedule, so it is modelled by the same costs
// as the thresholds are (docs/design/machine.md): meetings of all ranks, and what is copied and combined, by the rank
// that has most of it or by all of them where they share cores.
#include <math.h>

#include "simulate.h"

#define LOOK 8       // ns: at one more line that has come
#define FLAT 32      // more ranks that each have a core meet over a tree of
#define RADIX 8.0    // children per rank

// In ns: of the rank with the most to do, and of all ranks together.
struct work {
    double one, all;
};

static bool is_crowded(const struct sim_machine *m)
{
    return m->ranks > m->cores;
}

static double meeting(const struct sim_machine *m)
{
    double n = (double)m->ranks;
    if (is_crowded(m)) return m->cost.line + sim_turn(m) * ceil(n / (double)m->cores) + LOOK * n;
    if (n <= FLAT) return m->cost.line + LOOK * (n - 1);
    double levels = ceil(log(n) / log(RADIX));
    return 2 * levels * m->cost.line + levels * LOOK * (RADIX - 1);
}

static struct work alike(double n, double one)
{
    return (struct work){one, n * one};
}

// Through slots: each rank writes into its own what others read.
static struct work through_slots(const struct sim_machine *m, enum uno_coll_kind kind, double b)
{
    double n = (double)m->ranks, w = m->cost.write * 1e-3, r = m->cost.read * 1e-3, g = m->combine * 1e-3;
    switch (kind) {
    case UNO_BARRIER: return (struct work){0, 0};
    case UNO_BCAST: return (struct work){b * (w + r), b * w + (n - 1) * b * r};
    case UNO_REDUCE: return (struct work){b * w + (n - 1) * b * (r + g), n * b * w + (n - 1) * b * (r + g)};
    case UNO_GATHER: return (struct work){b * w + (n - 1) * b * r, n * b * w + (n - 1) * b * r};
    case UNO_SCATTER: return (struct work){(n - 1) * b * w + b * r, (n - 1) * b * (w + r)};
    case UNO_ALLGATHER: return alike(n, b * w + (n - 1) * b * r);
    case UNO_ALLTOALL: return alike(n, (n - 1) * b * (w + r));
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return alike(n, b * w + b * (n - 1) / n * (r + g));
    case UNO_SCAN: return (struct work){b * w + (n - 1) * b * (r + g), n * (b * w + (n - 1) / 2 * b * (r + g))};
    default: return alike(n, b * w + (n - 1) * b * (r + g));
    }
}

// Straight between the ranks' buffers: each combines a share, and hands it out.
static struct work by_copies(const struct sim_machine *m, enum uno_coll_kind kind, double b)
{
    double n = (double)m->ranks, call = m->cost.call, x = m->cost.cross * sim_copy_far(m, kind, b) * 1e-3,
           g = m->combine * 1e-3;
    switch (kind) {
    case UNO_BARRIER: return (struct work){0, 0};
    case UNO_BCAST: return (struct work){call + b * x * (n - 1) / n, (n - 1) * (call + b * x)};
    case UNO_GATHER:
    case UNO_SCATTER: return (struct work){call + b * x, (n - 1) * (call + b * x)};
    case UNO_ALLGATHER:
    case UNO_ALLTOALL: return alike(n, (n - 1) * (call + b * x));
    case UNO_REDUCE:
    case UNO_REDUCE_SCATTER:
    case UNO_REDUCE_SCATTER_BLOCK: return alike(n, (n - 1) * (call + b / n * (x + g)));
    default: return alike(n, (n - 1) * (2 * call + b / n * (2 * x + g)));
    }
}

// Window by window: handed round, or from rank to rank, where each reads its own, and reads and changes the window.
static struct work in_windows(const struct sim_machine *m, enum uno_coll_kind kind, double b)
{
    double n = (double)m->ranks, r = m->cost.read * 1e-3, w = m->cost.write * 1e-3, g = m->combine * 1e-3;
    double taken = kind == UNO_ALLREDUCE ? n * b * r : b * r, spread = b * w + (n - 1) * b * r;
    if (kind == UNO_BCAST) return (struct work){b * (w + r), spread};
    if (kind == UNO_ALLGATHER) return alike(n, spread);
    return (struct work){b * (r + g + w), n * b * (r + g) + taken};
}

static enum uno_alg chosen(const struct sim_machine *m, enum uno_coll_kind kind, size_t bytes)
{
    int n = (int)m->ranks;
    if (bytes >= uno_choose_from(kind, UNO_ALG_WINDOWS, n, is_crowded(m))) return UNO_ALG_WINDOWS;
    return bytes >= uno_choose_from(kind, UNO_ALG_COPIES, n, is_crowded(m)) ? UNO_ALG_COPIES : UNO_ALG_SLOTS;
}

double sim_inside(const struct sim_machine *m, enum uno_coll_kind kind, size_t bytes, enum uno_alg alg)
{
    if (m->ranks < 2) return 0;
    if (kind == UNO_SCATTERV) kind = UNO_SCATTER;
    if (alg == UNO_ALG_END) alg = chosen(m, kind, bytes);
    struct work w = alg == UNO_ALG_SLOTS    ? through_slots(m, kind, (double)bytes)
                    : alg == UNO_ALG_COPIES ? by_copies(m, kind, (double)bytes)
                                            : in_windows(m, kind, (double)bytes);
    double shared = w.all / (double)(m->ranks < m->cores ? m->ranks : m->cores);
    return (alg == UNO_ALG_COPIES ? 2 : 1) * meeting(m) + (w.one > shared ? w.one : shared);
}
