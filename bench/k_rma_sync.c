// SPDX-License-Identifier: BSD-3-Clause
// Family rma, what surrounds the accesses: exchange with two neighbours, empty epochs, making windows, progress of a
// target that computes, and plain loads and stores through a shared window.
#include "rma.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int xchg_setup(struct run *r)
{
    if (r->o->win == 2) return bench_ok(r, MPI_ERR_OTHER, "ring on a dynamic window") - 1;
    r->payload = 2 * (double)r->bytes;
    return bench_rma_setup(r, 2 * (size_t)r->bytes, 1, 1);
}

static void xchg(struct run *r, long n)
{
    struct rma *w = r->priv;
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    for (long i = 0; i < n; i++) {
        if (r->k->name[5] == 'p') {
            MPI_Put(r->sbuf, r->count, r->type, right, 0, r->count, r->type, w->win);
            MPI_Put(r->sbuf, r->count, r->type, left, r->bytes, r->count, r->type, w->win);
        } else {
            MPI_Get(r->rbuf, r->count, r->type, left, 0, r->count, r->type, w->win);
            MPI_Get(r->rbuf + r->bytes, r->count, r->type, right, r->bytes, r->count, r->type, w->win);
        }
        MPI_Win_flush_all(w->win);
    }
}

static void xchg_fill(struct run *r)
{
    struct rma *w = r->priv;
    bench_fill(r->sbuf, (size_t)r->bytes, (unsigned long)r->rank + 1);
    for (int i = 0; i < 2; i++) bench_fill(w->base + i * r->bytes, (size_t)r->bytes, (unsigned long)r->rank + 1);
    memset(r->rbuf, 0, 2 * (size_t)r->bytes);
    bench_rma_read(r);
}

static long xchg_check(struct run *r)
{
    struct rma *w = r->priv;
    bench_rma_read(r);
    const char *p = r->k->name[5] == 'p' ? w->base : r->rbuf;
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    long bad = bench_check(p, (size_t)r->bytes, (unsigned long)left + 1);
    return bad >= 0 ? bad : bench_check(p + r->bytes, (size_t)r->bytes, (unsigned long)right + 1);
}

static int sync_setup(struct run *r)
{
    return bench_rma_setup(r, 64, r->rank == 0, r->rank != 0);
}

static void rma_sync(struct run *r, long n)
{
    for (long i = 0; i < n; i++) {
        bench_rma_begin(r);
        bench_rma_close(r);
    }
}

// Rank 0 locks all parts; the others wait for it in the driver.
static void lock_all(struct run *r, long n)
{
    struct rma *w = r->priv;
    for (long i = 0; i < n && r->rank == 0; i++) {
        MPI_Win_lock_all(0, w->win);
        MPI_Win_unlock_all(w->win);
    }
}

// A window that nobody has locked.
static int lock_setup(struct run *r)
{
    if (r->size > 2 && r->o->win == 2) return bench_ok(r, MPI_ERR_OTHER, "more than 2 ranks on a dynamic window") - 1;
    r->variant = RMA_LOCK;
    int code = bench_rma_setup(r, 64, 1, 1);
    r->variant = 0;
    return code;
}

// All ranks want the same lock; whoever has it adds one to a counter, by a get and a put that nothing else protects.
static void turns(struct run *r, long n)
{
    struct rma *w = r->priv;
    int64_t count = 0;
    MPI_Aint at = r->rank == 1 && r->size == 2 ? w->origin : 0;
    if (r->o->win == 2 && r->rank == 0) MPI_Get_address(w->base, &at);
    for (long i = 0; i < n; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
        MPI_Get(&count, 1, MPI_INT64_T, 0, at, 1, MPI_INT64_T, w->win);
        MPI_Win_flush(0, w->win);
        count++;
        MPI_Put(&count, 1, MPI_INT64_T, 0, at, 1, MPI_INT64_T, w->win);
        MPI_Win_unlock(0, w->win);
    }
}

static void turns_fill(struct run *r)
{
    struct rma *w = r->priv;
    memset(w->base, 0, 8);
    bench_rma_read(r);
}

static long turns_check(struct run *r)
{
    struct rma *w = r->priv;
    int64_t count;
    bench_rma_read(r);
    memcpy(&count, w->base, 8);
    return r->rank != 0 || count == r->size ? -1 : 0;
}

static void win_make(struct run *r, long n)
{
    MPI_Win w;
    void *p;
    for (long i = 0; i < n; i++) {
        if (r->variant == 0)
            MPI_Win_allocate(r->bytes, 1, MPI_INFO_NULL, r->comm, &p, &w);
        else if (r->variant == 1)
            MPI_Win_create(r->sbuf, r->bytes, 1, MPI_INFO_NULL, r->comm, &w);
        else if (r->variant == 2)
            MPI_Win_allocate_shared(r->bytes, 1, MPI_INFO_NULL, r->comm, &p, &w);
        else {
            MPI_Win_create_dynamic(MPI_INFO_NULL, r->comm, &w);
            MPI_Win_attach(w, r->sbuf, r->bytes > 0 ? r->bytes : 1);
            MPI_Win_detach(w, r->sbuf);
        }
        MPI_Win_free(&w);
    }
}

// Put and flush while the target waits in MPI, and while it computes; the extra is the ratio, 1 for a truly passive
// target.
static double passive_sample(struct run *r)
{
    struct rma *w = r->priv;
    double work = r->o->compute > 0 ? r->o->compute : 200e-6, t[2] = {0, 0};
    for (int busy = 0; busy < 2; busy++) {
        MPI_Barrier(r->comm);
        if (r->rank == 1 && busy) bench_compute(work);
        if (r->rank == 0) {
            double start = bench_now();
            MPI_Put(r->sbuf, r->count, r->type, 1, w->origin, r->count, r->type, w->win);
            MPI_Win_flush(1, w->win);
            t[busy] = bench_now() - start;
        }
        MPI_Barrier(r->comm);
    }
    r->extra[0] = t[0];
    r->extra[1] = t[0] > 0 ? t[1] / t[0] : 0;
    return t[1];
}

static int passive_setup(struct run *r)
{
    return bench_rma_setup(r, (size_t)r->bytes, r->rank == 0, r->rank == 1);
}

struct shared {
    MPI_Win win;
    char *mine, *theirs;
    uint32_t turn;
};

static int shm_setup(struct run *r)
{
    struct shared *s = calloc(1, sizeof *s);
    MPI_Aint size;
    int unit;
    r->priv = s;
    s->win = MPI_WIN_NULL;
    int code = MPI_Win_allocate_shared(r->bytes + 64, 1, MPI_INFO_NULL, r->comm, &s->mine, &s->win);
    if (!bench_ok(r, code, "MPI_Win_allocate_shared")) return -1;
    memset(s->mine, 0, (size_t)r->bytes + 64);
    MPI_Win_shared_query(s->win, r->peer, &size, &unit, &s->theirs);
    MPI_Win_lock_all(0, s->win);
    r->payload = r->variant == 1 ? (double)r->bytes : 0;
    return bench_buffers(r, (size_t)r->bytes + 8, (size_t)r->bytes + 8);
}

static void shm_end(struct run *r)
{
    struct shared *s = r->priv;
    if (!s) return;
    if (s->win != MPI_WIN_NULL) {
        MPI_Win_unlock_all(s->win);
        MPI_Win_free(&s->win);
    }
    free(s);
    r->priv = NULL;
}

static void shm_pingpong(struct run *r, long n)
{
    struct shared *s = r->priv;
    _Atomic uint32_t *in = (_Atomic uint32_t *)(void *)s->mine, *out = (_Atomic uint32_t *)(void *)s->theirs;
    for (long i = 0; i < n; i++) {
        s->turn++;
        // Release and acquire pair with each other across the two ranks: each store answers the load before it.
        if (r->rank == 0) atomic_store_explicit(out, s->turn, memory_order_release);
        while (atomic_load_explicit(in, memory_order_acquire) != s->turn) continue;
        if (r->rank == 1) atomic_store_explicit(out, s->turn, memory_order_release);
    }
}

static void shm_copy(struct run *r, long n)
{
    struct shared *s = r->priv;
    for (long i = 0; i < n && r->rank == 0; i++) {
        memcpy(s->theirs + 64, r->sbuf, (size_t)r->bytes);
        __asm__ volatile("" : : "r"(s->theirs) : "memory");
    }
}

static void shm_op(struct run *r, long n)
{
    if (r->variant == 0)
        shm_pingpong(r, n);
    else
        shm_copy(r, n);
}

static void shm_fill(struct run *r)
{
    struct shared *s = r->priv;
    bench_fill(r->sbuf, (size_t)r->bytes, 6);
    if (r->variant == 1) memset(s->mine + 64, 0, (size_t)r->bytes);
}

static long shm_check(struct run *r)
{
    struct shared *s = r->priv;
    MPI_Win_sync(s->win);
    MPI_Barrier(r->comm);
    MPI_Win_sync(s->win);
    return r->variant == 1 && r->rank == 1 ? bench_check(s->mine + 64, (size_t)r->bytes, 6) : -1;
}

#define XCHG                                                                                                           \
    .family = "rma", .min_ranks = 2, .setup = xchg_setup, .op = xchg, .fill = xchg_fill, .check = xchg_check,          \
    .teardown = bench_rma_end
const struct kernel bench_rma_sync_rows[] = {
    {.name = "xchg-put", XCHG, .what = "puts to both neighbours of a ring, flush_all"},
    {.name = "xchg-get", XCHG, .what = "gets from both neighbours of a ring, flush_all"},
    {.name = "passive",
     .family = "rma",
     .min_ranks = 2,
     .max_ranks = 2,
     .what = "put and flush while the target computes",
     .extras = "in_mpi us,ratio x",
     .setup = passive_setup,
     .sample = passive_sample,
     .teardown = bench_rma_end},
    {.name = "rma-sync",
     .family = "rma",
     .min_ranks = 2,
     .max_ranks = 2,
     .what = "an empty epoch",
     .flags = NOSIZE | ALLVARIANTS,
     .variants = RMA_SYNCS,
     .setup = sync_setup,
     .op = rma_sync,
     .teardown = bench_rma_end},
    {.name = "lock-all",
     .family = "rma",
     .min_ranks = 2,
     .what = "rank 0 locks and unlocks all ranks, which do nothing else",
     .flags = NOSIZE | ROOT,
     .setup = lock_setup,
     .op = lock_all,
     .teardown = bench_rma_end},
    {.name = "lock-turns",
     .family = "rma",
     .min_ranks = 2,
     .what = "all ranks in turn: exclusive lock of rank 0, get, put, unlock",
     .flags = NOSIZE,
     .setup = lock_setup,
     .op = turns,
     .fill = turns_fill,
     .check = turns_check,
     .teardown = bench_rma_end},
    {.name = "win-make",
     .family = "rma",
     .min_ranks = 2,
     .what = "make and free a window",
     .flags = VECTOR | ALLVARIANTS,
     .variants = "allocate,create,shared,dynamic",
     .op = win_make},
    {.name = "shm-win",
     .family = "rma",
     .min_ranks = 2,
     .max_ranks = 2,
     .what = "loads and stores in the other's window: round trip of a word; copy",
     .flags = ROOT | ALLVARIANTS,
     .variants = "pingpong,copy",
     .setup = shm_setup,
     .op = shm_op,
     .fill = shm_fill,
     .check = shm_check,
     .teardown = shm_end},
    {0},
};
