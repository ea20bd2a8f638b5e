// SPDX-License-Identifier: BSD-3-Clause
// Large reductions in a host: every rank combines one part of the vector, reading that part of all the others' buffers
// piece by piece (cross-memory attach, pieces that stay in the cache). Called by shm.c when every rank may. Short
// pieces are all read first and combined then, so that ranks do not read from the same one at the same time.
//
// A short vector of two ranks is combined by its root alone.
//
// Always holds: parts are folded from the last rank to the first (scans: from the first on), by one rank each: every
// rank gets the same bits in every run.
#include <stdlib.h>

#include "base/fail.h"
#include "base/huge.h"
#include "base/param.h"
#include "coll/large.h"
#include "coll/shm.h"

static struct uno_param piece_max = UNO_PARAM_INT("coll_piece", 128 << 10, 4096, 16 << 20,
                                                  "bytes of each rank that a large reduction combines at a time");
UNO_PARAM_DECLARE(piece_max);

struct address {
    uint64_t in, out;
};

struct job {
    struct uno_coll *u;
    const struct uno_call *c;
    struct address *peer;    // [n]
    const char *in;
    size_t size;         // of an element
    char *pull, *sum;    // a piece each
    size_t apart;        // in pull, from one rank's piece to the next; 0: one at a time is there
    int error;
};

static void keep_error(struct job *j, int err)
{
    if (err && !j->error) j->error = err;
}

bool uno_large_by_root(const struct uno_coll *u, const struct uno_call *c)
{
    size_t n = (size_t)u->n;
    return c->kind == UNO_REDUCE && uno_call_bytes(c) <= n * u->call_worth / ((n - 1) * (n - 1));
}

MPI_Count uno_large_part(const struct uno_coll *u, const struct uno_call *c, int i)
{
    if (u->n < 2) return i ? c->rcount : 0;
    if (uno_large_by_root(u, c)) return i > c->root ? c->rcount : 0;
    MPI_Count size = c->rtype->size, unit = size < 64 ? 64 / size : 1, units = (c->rcount + unit - 1) / unit;
    MPI_Count n = u->n, each = 3 * (n - 1), more = c->kind == UNO_REDUCE ? 2 : 0;
    MPI_Count weight = i * each + (i > c->root ? more : 0), all = n * each + more;
    MPI_Count at = (units / all * weight + units % all * weight / all) * unit;
    return at < c->rcount ? at : c->rcount;
}

static void pull_piece(struct job *j, int r, MPI_Count at, MPI_Count count, char *to)
{
    keep_error(j, uno_seg_pull(j->u, r, to, j->peer[r].in + (size_t)at * j->size, (size_t)count * j->size));
}

// Those of all others, beginning with the next rank: calls that read from one process at the same time wait for each
// other (a core each, reduce-scatter of 16 KiB: 8 ranks 19.4 to 12.2 us, 16 ranks 43 to 27).
static void pull_ahead(struct job *j, MPI_Count at, MPI_Count count)
{
    size_t n = (size_t)j->u->n, apart = ((size_t)count * j->size + 63) / 64 * 64;
    j->apart = n > 2 && n * apart <= (size_t)piece_max.num ? apart : 0;
    for (int i = 1; i < j->u->n && j->apart; i++) {
        int r = (j->u->me + i) % j->u->n;
        pull_piece(j, r, at, count, j->pull + (size_t)r * apart);
    }
}

// Elements at .. at + count of rank r's contribution, at an address of ours: in `room` unless they are this rank's own
// or have been pulled ahead.
static const char *contribution(struct job *j, int r, MPI_Count at, MPI_Count count, char *room)
{
    if (r == j->u->me) return j->in + (size_t)at * j->size;
    if (j->apart) return j->pull + (size_t)r * j->apart;
    pull_piece(j, r, at, count, room);
    return room;
}

// The fold of one piece into dst. The first operand of others is read to where the result goes, if nothing needed is
// there and the operation is ours (a user's must not have its first operand where the result goes).
static void combine_piece(struct job *j, MPI_Count at, MPI_Count count, char *dst)
{
    const struct uno_call *c = j->c;
    int me = j->u->me, top = j->u->n - 1;
    bool direct = c->op->predefined && dst != j->in + (size_t)at * j->size;
    pull_ahead(j, at, count);
    const char *acc = contribution(j, top, at, count, direct ? dst : j->sum);
    for (int r = top - 1; r >= 0; r--) {
        const char *x = contribution(j, r, at, count, direct && r == top - 1 && top == me ? dst : j->pull);
        char *out = direct || (r == 0 && x != dst) ? dst : j->sum;
        uno_op_apply3(c->op, x, acc, out, count, c->rtype);
        acc = out;
    }
    if (acc != dst) memcpy(dst, acc, (size_t)count * j->size);
}

// Others write their parts to where this rank's result goes.
static bool is_written(const struct job *j)
{
    return j->c->kind == UNO_ALLREDUCE || (j->c->kind == UNO_REDUCE && j->u->me == j->c->root);
}

static uint64_t exchange_addresses(struct job *j)
{
    struct uno_coll *u = j->u;
    struct address mine = {(uint64_t)(uintptr_t)j->in, (uint64_t)(uintptr_t)j->c->rbuf};
    size_t bytes = uno_call_bytes(j->c);
    uno_huge_use(j->in, bytes);
    if (is_written(j) && (const void *)j->in != j->c->rbuf) uno_huge_use(j->c->rbuf, bytes);
    uint64_t k = uno_seg_begin(u, sizeof mine);
    memcpy(uno_seg_slot(u, u->me, k, sizeof mine), &mine, sizeof mine);
    uno_seg_post(u, k);
    uno_seg_wait_all(u, k, 0);
    for (int r = 0; r < u->n; r++) memcpy(&j->peer[r], uno_seg_slot(u, r, k, sizeof mine), sizeof mine);
    uno_seg_all_seen(u, k);
    return k;
}

// A finished piece goes to the others (allreduce) or to the root (reduce) while it is in this core's cache.
static void hand_out(struct job *j, MPI_Count at, const char *from, MPI_Count count)
{
    struct uno_coll *u = j->u;
    uint64_t skip = (uint64_t)at * j->size;
    size_t bytes = (size_t)count * j->size;
    if (j->c->kind == UNO_REDUCE && u->me != j->c->root)
        keep_error(j, uno_seg_push(u, j->c->root, j->peer[j->c->root].out + skip, from, bytes));
    for (int i = 1; i < u->n && j->c->kind == UNO_ALLREDUCE; i++) {
        int r = (u->me + i) % u->n;
        keep_error(j, uno_seg_push(u, r, j->peer[r].out + skip, from, bytes));
    }
}

// One piece of a scan: folded from the first rank on, each rank's result written to it. What a rank gets may lie where
// its contribution was, so that is used before.
static void scan_piece(struct job *j, MPI_Count at, MPI_Count count)
{
    const struct uno_call *c = j->c;
    struct uno_coll *u = j->u;
    uint64_t skip = (uint64_t)at * j->size;
    size_t bytes = (size_t)count * j->size;
    bool exclusive = c->kind == UNO_EXSCAN;
    char *acc = j->sum, *next = j->pull;
    const char *x = contribution(j, 0, at, count, acc);
    if (x != acc) memcpy(acc, x, bytes);
    if (!exclusive) keep_error(j, uno_seg_push(u, 0, j->peer[0].out + skip, acc, bytes));
    for (int r = 1; r < u->n; r++) {
        if (!exclusive || r < u->n - 1) {
            x = contribution(j, r, at, count, next);
            uno_op_apply3(c->op, acc, x, next, count, c->rtype);
        }
        keep_error(j, uno_seg_push(u, r, j->peer[r].out + skip, exclusive ? acc : next, bytes));
        char *t = acc;
        acc = next;
        next = t;
    }
}

// Combines this rank's part, elements first to end of the vector, and leaves it at out (NULL: nowhere here). One call
// goes up and the next one down: what does not fit the cache is still half there when the same buffers are used again.
static void combine_part(struct job *j, MPI_Count first, MPI_Count end, char *out, bool down)
{
    MPI_Count step = (MPI_Count)((size_t)piece_max.num / j->size);
    if (step < 1) step = 1;
    MPI_Count pieces = (end - first + step - 1) / step;
    for (MPI_Count i = 0; i < pieces; i++) {
        MPI_Count at = first + (down ? pieces - 1 - i : i) * step, count = end - at < step ? end - at : step;
        if (j->c->kind == UNO_SCAN || j->c->kind == UNO_EXSCAN) {
            scan_piece(j, at, count);
            continue;
        }
        char *dst = out ? out + (size_t)(at - first) * j->size : j->sum;
        combine_piece(j, at, count, dst);
        hand_out(j, at, dst, count);
    }
}

static void run(struct job *j)
{
    struct uno_coll *u = j->u;
    const struct uno_call *c = j->c;
    uint64_t k = exchange_addresses(j);
    MPI_Count first = 0, end;
    if (c->kind == UNO_REDUCE_SCATTER) {
        for (int i = 0; i < u->me; i++) first += uno_at(c->rcounts, i);
        end = first + uno_at(c->rcounts, u->me);
    } else if (c->kind == UNO_REDUCE_SCATTER_BLOCK) {
        first = c->rcount * u->me;
        end = first + c->rcount;
    } else {
        first = uno_large_part(u, c, u->me);
        end = uno_large_part(u, c, u->me + 1);
    }
    char *out = c->rbuf;
    if (c->kind == UNO_ALLREDUCE || c->kind == UNO_REDUCE) out += (size_t)first * j->size;
    if (c->kind == UNO_REDUCE && u->me != c->root) out = NULL;
    combine_part(j, first, end, out, u->walks++ & 1);
    // Everybody's buffers are free, and what others hand out has come, once all are done.
    uno_seg_done(u, k);
    uno_seg_wait_all_done(u, k);
}

static void give(struct job *j)
{
    struct uno_coll *u = j->u;
    uint64_t k = uno_large_tell(u, j->in, uno_call_bytes(j->c));
    uno_seg_done(u, k);
    uno_seg_wait_done(u, j->c->root, k);
}

static void take(struct job *j)
{
    struct uno_coll *u = j->u;
    uint64_t k = ++u->phase;
    for (int r = 0; r < u->n; r++)
        if (r != u->me) j->peer[r].in = uno_large_told(u, r, k).addr;
    uno_seg_all_seen(u, k);
    combine_part(j, 0, j->c->rcount, j->c->rbuf, false);
    uno_seg_done(u, k);
}

int uno_large_reduce(struct uno_coll *u, const struct uno_call *c)
{
    size_t size = (size_t)c->rtype->size, piece = (size_t)piece_max.num > size ? (size_t)piece_max.num : size;
    size_t head = ((size_t)u->n * sizeof(struct address) + 4095) / 4096 * 4096;
    if (!u->scratch && posix_memalign((void **)&u->scratch, 4096, head + 2 * piece) != 0) {
        u->scratch = NULL;
        return uno_fail(MPI_ERR_NO_MEM, "no memory for the pieces of a reduction");
    }
    struct job j = {.u = u, .c = c, .size = size, .in = c->sbuf == MPI_IN_PLACE ? c->rbuf : c->sbuf};
    j.peer = (struct address *)(void *)u->scratch;
    j.sum = u->scratch + head;
    j.pull = j.sum + piece;
    if (!uno_large_by_root(u, c))
        run(&j);
    else if (u->me == c->root)
        take(&j);
    else
        give(&j);
    return j.error;
}
