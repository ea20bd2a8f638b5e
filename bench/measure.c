// SPDX-License-Identifier: BSD-3-Clause
// How one (row, size) is sampled: warm-up until two blocks agree, a batch long enough for the clock, blocks of samples
// until the interval of the median is narrow or the time is over. Rank 0 decides and broadcasts the plan of each block;
// ranks send their times back after it, so nothing but the row's own traffic runs between the clock reads. Called by
// driver.c on all ranks of r->comm.
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 256, CAP = 20000 };

struct plan {    // broadcast by rank 0 before each block
    double batch, count, start, spacing, stop, sync;
};

struct samples {    // on rank 0, one entry a kept sample
    double main[CAP], low[CAP], mean[CAP], high[CAP], skew[CAP], extra[BENCH_EXTRAS][CAP];
    long n, late;
};
static struct samples all;
static struct {
    double dur[BLOCK], in[BLOCK], out[BLOCK], late[BLOCK], extra[BENCH_EXTRAS][BLOCK];
} mine;
static struct {
    double low[BLOCK], sum[BLOCK], high[BLOCK], first[BLOCK], last[BLOCK], end[BLOCK], late[BLOCK];
} over;

int bench_cores(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static enum sync sync_kind(const struct run *r)
{
    const struct opts *o = r->o;
    if (r->k->sample || (r->k->flags & THREADED)) return SYNC_BATCH;
    if (o->sync == SYNC_APART) return r->k->flags & SPAN ? SYNC_APART : SYNC_BATCH;
    if (o->sync != SYNC_AUTO) return o->sync == SYNC_WINDOW && o->cache == FLUSH ? SYNC_BARRIER : o->sync;
    if (!(r->k->flags & SPAN)) return SYNC_BATCH;
    if (o->cache == FLUSH) return SYNC_BARRIER;
    return r->size * o->groups <= bench_cores() ? SYNC_WINDOW : SYNC_BATCH;
}

int bench_validate(struct run *r)
{
    long bad = -1;
    if (r->o->no_check || !r->k->check) {
        if (r->k->op)
            r->k->op(r, 1);
        else
            r->k->sample(r);
        return 0;
    }
    if (r->k->fill) r->k->fill(r);
    MPI_Barrier(r->comm);
    if (r->k->op)
        r->k->op(r, 1);
    else
        r->k->sample(r);
    bad = r->k->check(r);
    if (bad >= 0)
        fprintf(stderr, "unisono-bench: %s, size %ld, rank %d: wrong data from byte %ld on\n", r->k->name, r->bytes,
                r->rank, bad);
    int wrong = bad >= 0, any;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, r->comm);
    return any;
}

// Runs blocks of growing length until two agree within 10 %; returns seconds per operation, alike on all ranks.
static double warm_up(struct run *r)
{
    double last = 1e9, each = 0, left = 0.2 * r->o->time;
    long n = r->o->warmup ? r->o->warmup : 1;
    for (int i = 0; i < 16; i++) {
        MPI_Barrier(r->comm);
        double start = bench_now();
        r->k->op(r, n);
        double took = bench_now() - start;
        double word[3] = {took / (double)n, 0, 0};
        left -= took;
        word[1] = r->o->warmup || left < 0 || (took > 1e-3 && word[0] < 1.1 * last && word[0] > 0.9 * last);
        word[2] = took > 1e-3 ? 1 : 4;
        MPI_Bcast(word, 3, MPI_DOUBLE, 0, r->comm);
        each = last = word[0];
        if (word[1] != 0) break;
        n *= (long)word[2];
    }
    return each;
}

static double batch_length(const struct run *r, double each, enum sync sync)
{
    static struct bench_clock clock;
    if (r->o->compat) return (double)r->o->iterations;    // the peers' figure: the mean of one loop
    if (r->o->each || sync == SYNC_WINDOW || sync == SYNC_BARRIER || r->o->cache != HOT) return 1;
    if (clock.cost == 0) bench_clock_measure(&clock);
    double want = 200e-6;
    if (want < 100 * clock.tick) want = 100 * clock.tick;
    if (want < 100 * clock.cost) want = 100 * clock.cost;
    if ((r->k->flags & THREADED) || r->size > bench_cores()) want = 2e-3;
    double b = want / (each > 1e-9 ? each : 1e-9);
    return b < 1 ? 1 : b > 1e6 ? 1e6 : (double)(long)(b + 1);
}

static void wait_until(double when, double *late)
{
    double now = bench_now();
    *late = now > when;
    while (now < when) now = bench_now();
}

// Seconds per call where a barrier before each one is not part of it: a root may be gone before the others have begun.
static double calls_apart(struct run *r, long n)
{
    double sum = 0;
    for (long i = 0; i < n; i++) {
        MPI_Barrier(r->comm);
        double start = bench_now();
        r->k->op(r, 1);
        sum += bench_now() - start;
    }
    return sum / (double)n;
}

static void one_sample(struct run *r, const struct plan *p, enum sync sync, int i)
{
    if (r->o->cache == FLUSH) bench_flush((size_t)r->o->flush);
    r->root = r->o->root < 0 ? i % r->size : r->o->root % r->size;
    mine.late[i] = 0;
    if (sync == SYNC_WINDOW)
        wait_until(p->start + i * p->spacing + bench_offset, &mine.late[i]);
    else
        MPI_Barrier(r->comm);
    r->in = r->out = 0;
    double in = bench_now(), out;
    if (r->k->sample) {
        mine.dur[i] = r->k->sample(r);
        out = bench_now();
    } else if (sync == SYNC_APART) {
        mine.dur[i] = calls_apart(r, (long)p->batch);
        out = bench_now();
    } else {
        r->k->op(r, (long)p->batch);
        out = bench_now();
        if (r->in > 0) in = r->in, out = r->out;
        mine.dur[i] = (out - in) / p->batch;
    }
    mine.in[i] = in - bench_offset;
    mine.out[i] = out - bench_offset;
    for (int e = 0; e < BENCH_EXTRAS; e++) mine.extra[e][i] = r->extra[e];
}

// Rank 0 turns the block's times into samples.
static void keep(struct run *r, const struct plan *p, enum sync sync)
{
    double share = r->k->flags & HALF ? 0.5 : 1;
    for (int i = 0; i < (int)p->count && all.n < CAP; i++) {
        if (over.late[i] > 0) {
            all.late++;
            continue;
        }
        double main = over.high[i];
        if (r->k->flags & ROOT || r->k->sample)
            main = mine.dur[i];
        else if ((r->k->flags & SPAN) && sync == SYNC_WINDOW)
            main = over.end[i] - (p->start + i * p->spacing);
        else if ((r->k->flags & SPAN) && sync == SYNC_BARRIER)
            main = over.end[i] - over.last[i];
        else if (sync == SYNC_APART)
            main = over.sum[i] / r->size;
        all.main[all.n] = main * share;
        all.low[all.n] = over.low[i] * share;
        all.high[all.n] = over.high[i] * share;
        all.mean[all.n] = over.sum[i] / r->size * share;
        all.skew[all.n] = over.last[i] + over.first[i];    // first holds the negated minimum
        for (int e = 0; e < BENCH_EXTRAS; e++) all.extra[e][all.n] = mine.extra[e][i];
        all.n++;
    }
}

static void collect(struct run *r, const struct plan *p, enum sync sync)
{
    int n = (int)p->count;
    double flipped[BLOCK];
    for (int i = 0; i < n; i++) flipped[i] = -mine.in[i];
    MPI_Reduce(mine.dur, over.low, n, MPI_DOUBLE, MPI_MIN, 0, r->comm);
    MPI_Reduce(mine.dur, over.sum, n, MPI_DOUBLE, MPI_SUM, 0, r->comm);
    MPI_Reduce(mine.dur, over.high, n, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(mine.in, over.last, n, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(flipped, over.first, n, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(mine.out, over.end, n, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(mine.late, over.late, n, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    if (r->rank == 0) keep(r, p, sync);
}

enum { GO, STOP_CI, STOP_TIME, STOP_CAP, STOP_FIXED };

// Rank 0: stop, or how long the next block is.
static void decide(struct run *r, struct plan *p, double begun, double each)
{
    static double copy[CAP];
    const struct opts *o = r->o;
    double spent = bench_now() - begun;
    struct stats s;
    p->stop = GO;
    long want = r->k->flags & ONESHOT || (o->compat && r->k->op) ? 1 : o->iterations;
    if (want && all.n + all.late >= want)
        p->stop = STOP_FIXED;
    else if (all.n >= CAP - BLOCK)
        p->stop = STOP_CAP;
    else if (!want && spent > o->time && (all.n >= 1 || spent > 40 * o->time))
        p->stop = STOP_TIME;
    else if (!want && all.n >= 30) {
        memcpy(copy, all.main, (size_t)all.n * sizeof *copy);
        bench_stats(copy, all.n, &s);
        if (s.hi - s.lo <= 2 * o->ci / 100 * s.median) p->stop = STOP_CI;
    }
    double sample = each * p->batch + p->spacing, room = (o->time - spent) / (sample > 1e-7 ? sample : 1e-7);
    double n = all.n < 30 ? 30 : 100;
    if (n > room / 2 && !want) n = room / 2 > 1 ? (double)(long)(room / 2) : 1;
    if (want) n = (double)(want - all.n - all.late);
    p->count = n > BLOCK ? BLOCK : n;
    if (all.late * 5 > all.n) p->spacing *= 1.5;
    if (all.n == 0 && all.late >= 30) p->sync = SYNC_BARRIER;    // too busy a machine to start on time
    p->start = bench_now() + 100e-6 + 2 * each;
}

static void summarise(struct run *r, struct figures *f, const struct plan *p, enum sync sync)
{
    static const char *const stops[] = {"", "ci", "time", "cap", "fixed"};
    static const char *const syncs[] = {"", "batch", "barrier", "window", "apart"};
    f->batch = (int)p->batch;
    f->stop = stops[(int)p->stop];
    f->sync = syncs[sync];
    f->late = all.late;
    if (r->o->raw) {
        FILE *raw = fopen(r->o->raw, "a");
        for (long i = 0; raw && i < all.n; i++)
            fprintf(raw, "%s %d %ld %ld %.9g\n", r->k->name, r->variant, r->bytes, i, all.main[i]);
        if (raw) fclose(raw);
    }
    bench_stats(all.main, all.n, &f->s);
    f->rank_min = bench_median(all.low, all.n);
    f->rank_mean = bench_median(all.mean, all.n);
    f->rank_max = bench_median(all.high, all.n);
    f->skew = bench_median(all.skew, all.n);
    char word[64];
    for (f->nextra = 0; r->k->extras && bench_axis(r->k->extras, f->nextra, word, sizeof word) == 0; f->nextra++)
        bench_stats(all.extra[f->nextra], all.n, &f->extra[f->nextra]);
}

int bench_measure(struct run *r, struct figures *f)
{
    enum sync sync = sync_kind(r);
    int failed = bench_validate(r), oneshot = (r->k->flags & ONESHOT) != 0;
    f->checked = !r->o->no_check && r->k->check;
    double each = 0;
    struct plan p = {.batch = 1};
    all.n = all.late = 0;
    if (r->k->op) {
        each = warm_up(r);
        p.batch = batch_length(r, each, sync);
    } else if (!oneshot) {
        double start = bench_now();
        r->k->sample(r);
        each = bench_now() - start;
    }
    p.sync = sync;
    if (sync == SYNC_WINDOW) p.spacing = 3 * each + 10e-6;
    double begun = bench_now();
    for (;;) {
        if (r->rank == 0) decide(r, &p, begun, each);
        MPI_Bcast(&p, 6, MPI_DOUBLE, 0, r->comm);
        sync = (enum sync)(int)p.sync;
        if ((int)p.stop != GO) break;
        for (int i = 0; i < (int)p.count; i++) one_sample(r, &p, sync, i);
        collect(r, &p, sync);
    }
    if (!oneshot) failed += bench_validate(r);
    if (sync == SYNC_WINDOW) f->drift = bench_clock_drift(r->comm, 1, &f->drift_bound);
    if (r->rank == 0 && f->drift > f->drift_bound + 1e-6)
        fprintf(stderr, "unisono-bench: %s, size %ld: the ranks' clocks went %.1f us apart while it ran\n", r->k->name,
                r->bytes, f->drift * 1e6);
    if (r->rank == 0) summarise(r, f, &p, sync);
    return failed;
}
