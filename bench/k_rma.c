// SPDX-License-Identifier: BSD-3-Clause
// Family rma: put, get, accumulate and their like, between pairs, from one to all and all to all. The variant is the
// kind of synchronisation, --win the kind of window. Put is checked in the target's window, get in the origin's buffer,
// sums element by element.
#include "rma.h"

#include <string.h>

static struct rma *win(struct run *r)
{
    return r->priv;
}

static MPI_Aint place(struct run *r)
{
    return win(r)->origin + (MPI_Aint)win(r)->slot * r->bytes;
}

static void put(struct run *r, MPI_Request *q)
{
    char *p = r->sbuf + (long)win(r)->slot * r->bytes;
    if (q)
        MPI_Rput(p, r->count, r->type, r->peer, place(r), r->count, r->type, win(r)->win, q);
    else
        MPI_Put(p, r->count, r->type, r->peer, place(r), r->count, r->type, win(r)->win);
}

static void get(struct run *r, MPI_Request *q)
{
    char *p = r->rbuf + (long)win(r)->slot * r->bytes;
    if (q)
        MPI_Rget(p, r->count, r->type, r->peer, place(r), r->count, r->type, win(r)->win, q);
    else
        MPI_Get(p, r->count, r->type, r->peer, place(r), r->count, r->type, win(r)->win);
}

static void acc(struct run *r, MPI_Request *q)
{
    char *p = r->sbuf + (long)win(r)->slot * r->bytes;
    if (q)
        MPI_Raccumulate(p, r->count, r->type, r->peer, place(r), r->count, r->type, r->op, win(r)->win, q);
    else
        MPI_Accumulate(p, r->count, r->type, r->peer, place(r), r->count, r->type, r->op, win(r)->win);
}

static void getacc(struct run *r, MPI_Request *q)
{
    (void)q;
    MPI_Get_accumulate(r->sbuf, r->count, r->type, r->rbuf, r->count, r->type, r->peer, place(r), r->count, r->type,
                       r->op, win(r)->win);
}

// One access an epoch.
static void lat(struct run *r, long n)
{
    for (long i = 0; i < n; i++) {
        bench_rma_begin(r);
        if (win(r)->accesses) r->k->call(r, NULL);
        bench_rma_close(r);
    }
}

// A window of accesses to places of their own, one epoch.
static void bw(struct run *r, long n)
{
    for (long i = 0; i < n; i++) {
        bench_rma_begin(r);
        for (win(r)->slot = 0; win(r)->slot < r->window && win(r)->accesses; win(r)->slot++) r->k->call(r, NULL);
        win(r)->slot = 0;
        bench_rma_close(r);
    }
}

static void requests(struct run *r, long n)
{
    for (long i = 0; i < n && win(r)->accesses; i++) {
        for (win(r)->slot = 0; win(r)->slot < r->window; win(r)->slot++) r->k->call(r, &r->req[win(r)->slot]);
        win(r)->slot = 0;
        MPI_Waitall(r->window, r->req, MPI_STATUSES_IGNORE);
        MPI_Win_flush(r->peer, win(r)->win);
    }
}

static int setup(struct run *r)
{
    int both = strstr(r->k->name, "bibw") != NULL, first = r->rank < r->size / 2, pairs = r->size / 2;
    int windowed = r->k->op != lat;
    if (!windowed) r->window = 1;
    if (windowed) {
        r->msgs = (double)r->window * pairs * (both ? 2 : 1);
        r->payload = r->msgs * (double)r->bytes;
    }
    return bench_rma_setup(r, (size_t)r->bytes * (size_t)r->window, both || first, both || !first);
}

static size_t all(struct run *r)
{
    return (size_t)r->bytes * (size_t)r->window;
}

static void fill_bytes(struct run *r)
{
    bench_fill(r->sbuf, all(r), (unsigned long)r->rank + 1);
    bench_fill(win(r)->base, all(r), (unsigned long)r->rank + 1001);
    memset(r->rbuf, 0, all(r));
    bench_rma_read(r);
}

static long check_put(struct run *r)
{
    bench_rma_read(r);
    return win(r)->target ? bench_check(win(r)->base, all(r), (unsigned long)r->peer + 1) : -1;
}

static long check_get(struct run *r)
{
    if (win(r)->held && win(r)->accesses) MPI_Win_flush_all(win(r)->win);    // after a local flush only
    return win(r)->accesses ? bench_check(r->rbuf, all(r), (unsigned long)r->peer + 1001) : -1;
}

// Operands of ranks 0 and 1, so that the target ends with their combination.
static void fill_sum(struct run *r)
{
    for (int w = 0; w < r->window; w++) {
        bench_values(r, r->sbuf + w * r->bytes, 0, r->count, 0);
        bench_values(r, win(r)->base + w * r->bytes, 0, r->count, 1);
    }
    bench_rma_read(r);
}

static long check_sum(struct run *r)
{
    bench_rma_read(r);
    for (int w = 0; w < r->window && win(r)->target; w++) {
        long bad = bench_values_check(r, win(r)->base + w * r->bytes, 0, r->count, 0, 2);
        if (bad >= 0) return w * r->bytes + bad;
    }
    return -1;
}

// All others work on one word of the last rank.
static void fetch_word(struct run *r, long n)
{
    int64_t one = 1, old = 0;
    int last = r->size - 1;
    MPI_Aint at = r->size == 2 ? win(r)->origin : 0;
    for (long i = 0; i < n && r->rank != last; i++) {
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, last, at, MPI_SUM, win(r)->win);
        MPI_Win_flush(last, win(r)->win);
    }
}

static void swap_word(struct run *r, long n)
{
    int64_t next = 1, old = 0, seen = 0;
    int last = r->size - 1;
    MPI_Aint at = r->size == 2 ? win(r)->origin : 0;
    for (long i = 0; i < n && r->rank != last; i++) {
        next = old + 1;
        MPI_Compare_and_swap(&next, &old, &seen, MPI_INT64_T, last, at, win(r)->win);
        MPI_Win_flush(last, win(r)->win);
        old = seen == old ? next : seen;
    }
}

static int word_setup(struct run *r)
{
    r->msgs = r->size - 1;
    if (r->size > 2 && r->o->win == 2) return bench_ok(r, MPI_ERR_OTHER, "more than 2 ranks on a dynamic window") - 1;
    return bench_rma_setup(r, 64, r->rank != r->size - 1, r->rank == r->size - 1);
}

static void fill_word(struct run *r)
{
    memset(win(r)->base, 0, 8);
    bench_rma_read(r);
}

// After one operation each: the sum of all; or at least one swap that took place, and no more than ranks that tried.
static long check_word(struct run *r)
{
    bench_rma_read(r);
    if (!win(r)->target) return -1;
    int64_t v;
    memcpy(&v, win(r)->base, 8);
    if (!strcmp(r->k->name, "fop-lat")) return v == r->size - 1 ? -1 : 0;
    return v >= 1 && v <= r->size - 1 ? -1 : 0;
}

// From rank 0 (or from everyone) to everyone else, in rotated order; each origin has its own place at the target.
static void to_all(struct run *r, long n)
{
    int everyone = strstr(r->k->name, "allall") != NULL, gets = r->k->name[0] == 'g';
    for (long i = 0; i < n && (everyone || r->rank == 0); i++) {
        for (int d = 1; d < r->size; d++) {
            int to = (r->rank + d) % r->size;
            if (gets)
                MPI_Get(r->rbuf + (long)to * r->bytes, r->count, r->type, to, (MPI_Aint)r->rank * r->bytes, r->count,
                        r->type, win(r)->win);
            else
                MPI_Put(r->sbuf, r->count, r->type, to, (MPI_Aint)r->rank * r->bytes, r->count, r->type, win(r)->win);
        }
        if (r->variant == 0)
            MPI_Win_flush_all(win(r)->win);
        else
            MPI_Win_flush_local_all(win(r)->win);
    }
}

static int all_setup(struct run *r)
{
    int origins = strstr(r->k->name, "allall") ? r->size : 1;
    if (r->o->win == 2) return bench_ok(r, MPI_ERR_OTHER, "one to all on a dynamic window") - 1;
    r->payload = (double)r->bytes * (r->size - 1) * origins;
    int axis = r->variant;
    r->variant = axis ? RMA_FLUSH_LOCAL : RMA_FLUSH;    // the window is held for either
    int code = bench_rma_setup(r, (size_t)r->bytes * (size_t)r->size, 1, 1);
    r->variant = axis;
    return code;
}

static void fill_all(struct run *r)
{
    size_t n = (size_t)r->bytes * (size_t)r->size;
    bench_fill(r->sbuf, (size_t)r->bytes, (unsigned long)r->rank + 1);
    memset(r->rbuf, 0, n);
    memset(win(r)->base, 0, n);
    for (int p = 0; p < r->size && r->k->name[0] == 'g'; p++)
        bench_fill(win(r)->base + (long)p * r->bytes, (size_t)r->bytes, (unsigned long)(r->rank * 4099 + p) + 1);
    MPI_Win_sync(win(r)->win);
}

static long check_all(struct run *r)
{
    int everyone = strstr(r->k->name, "allall") != NULL, gets = r->k->name[0] == 'g';
    MPI_Win_flush_all(win(r)->win);
    MPI_Barrier(r->comm);
    MPI_Win_sync(win(r)->win);
    for (int p = 0; p < r->size; p++) {
        if (p == r->rank || (!everyone && (gets ? r->rank : p) != 0)) continue;
        const char *at = (gets ? r->rbuf : win(r)->base) + (long)p * r->bytes;
        long bad =
            bench_check(at, (size_t)r->bytes, gets ? (unsigned long)(p * 4099 + r->rank) + 1 : (unsigned long)p + 1);
        if (bad >= 0) return (long)p * r->bytes + bad;
    }
    return -1;
}

#define RMA .family = "rma", .min_ranks = 2, .setup = setup, .teardown = bench_rma_end, .variants = RMA_SYNCS
#define PUT RMA, .call = put, .fill = fill_bytes, .check = check_put
#define GET RMA, .call = get, .fill = fill_bytes, .check = check_get
#define SUM RMA, .fill = fill_sum, .check = check_sum
#define ALL                                                                                                            \
    .family = "rma", .min_ranks = 2, .setup = all_setup, .op = to_all, .fill = fill_all, .check = check_all,           \
    .teardown = bench_rma_end, .variants = "flush_all,flush_local_all"
const struct kernel bench_rma_rows[] = {
    {.name = "put-lat", PUT, .max_ranks = 2, .what = "one put and its synchronisation", .flags = ROOT, .op = lat},
    {.name = "get-lat", GET, .max_ranks = 2, .what = "one get and its synchronisation", .flags = ROOT, .op = lat},
    {.name = "put-bw", PUT, .max_ranks = 2, .what = "a window of puts, one synchronisation", .flags = ROOT, .op = bw},
    {.name = "get-bw", GET, .max_ranks = 2, .what = "a window of gets, one synchronisation", .flags = ROOT, .op = bw},
    {.name = "put-bibw", PUT, .max_ranks = 2, .what = "windows of puts both ways", .op = bw},
    {.name = "get-bibw", GET, .max_ranks = 2, .what = "windows of gets both ways", .op = bw},
    {.name = "put-mbw", PUT, .what = "put-bw of all pairs (r, r + n/2) at once, sum", .flags = EVEN, .op = bw},
    {.name = "get-mbw", GET, .what = "get-bw of all pairs at once, sum", .flags = EVEN, .op = bw},
    {.name = "put-mlat", PUT, .what = "put-lat of all pairs at once", .flags = EVEN, .op = lat},
    {.name = "get-mlat", GET, .what = "get-lat of all pairs at once", .flags = EVEN, .op = lat},
    {.name = "acc-lat",
     SUM,
     .max_ranks = 2,
     .what = "one accumulate and its synchronisation",
     .flags = ROOT | TYPED,
     .op = lat,
     .call = acc},
    {.name = "getacc-lat",
     SUM,
     .max_ranks = 2,
     .what = "one get_accumulate and its synchronisation",
     .flags = ROOT | TYPED,
     .op = lat,
     .call = getacc},
    {.name = "fop-lat",
     .family = "rma",
     .min_ranks = 2,
     .what = "fetch_and_op on one word of the last rank, all others at once",
     .flags = NOSIZE,
     .setup = word_setup,
     .op = fetch_word,
     .fill = fill_word,
     .check = check_word,
     .teardown = bench_rma_end},
    {.name = "cas-lat",
     .family = "rma",
     .min_ranks = 2,
     .what = "compare_and_swap on one word of the last rank, all others at once",
     .flags = NOSIZE,
     .setup = word_setup,
     .op = swap_word,
     .fill = fill_word,
     .check = check_word,
     .teardown = bench_rma_end},
    {.name = "rput",
     .family = "rma",
     .min_ranks = 2,
     .max_ranks = 2,
     .what = "a window of request-based puts, Waitall, flush",
     .flags = ROOT,
     .setup = setup,
     .op = requests,
     .call = put,
     .fill = fill_bytes,
     .check = check_put,
     .teardown = bench_rma_end},
    {.name = "rget",
     .family = "rma",
     .min_ranks = 2,
     .max_ranks = 2,
     .what = "a window of request-based gets, Waitall",
     .flags = ROOT,
     .setup = setup,
     .op = requests,
     .call = get,
     .fill = fill_bytes,
     .check = check_get,
     .teardown = bench_rma_end},
    {.name = "racc",
     .family = "rma",
     .min_ranks = 2,
     .max_ranks = 2,
     .what = "a window of request-based accumulates, Waitall, flush",
     .flags = ROOT | TYPED,
     .setup = setup,
     .op = requests,
     .call = acc,
     .fill = fill_sum,
     .check = check_sum,
     .teardown = bench_rma_end},
    {.name = "put-1all", ALL, .what = "rank 0 puts to all others", .flags = ROOT},
    {.name = "get-1all", ALL, .what = "rank 0 gets from all others", .flags = ROOT},
    {.name = "put-allall", ALL, .what = "all put to all others, rotated order"},
    {.name = "get-allall", ALL, .what = "all get from all others, rotated order"},
    {0},
};
