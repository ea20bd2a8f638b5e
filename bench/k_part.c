// SPDX-License-Identifier: BSD-3-Clause
// Family part: partitioned point-to-point between two ranks. Calls one by one, the whole exchange against one plain
// send, and the four figures of an episode in which threads compute, call Pready, and the receiver notes each arrival
// (see docs/partitioned-figures.md). Partitions are never empty: the size is rounded up to a multiple of both sides'
// counts, and the true bytes are what is counted.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if HAVE_MPI4
enum { TAG = 21, MOST = 4096, WINDOW = 8 };

struct part {
    int sends, recvs, threads;    // partitions of the two sides
    size_t total;                 // true bytes
    long turns;                   // exchanges per sample (part-lat)
    MPI_Request q[WINDOW];
    int made;
    struct team *team;
    struct run *r;
    int talk;    // 0: the silent twin of an episode
    unsigned long state;
    double delay[MOST], ready[MOST], arrival[MOST];
};

static size_t common(size_t a, size_t b)
{
    size_t x = a, y = b;
    while (y) {
        size_t rest = x % y;
        x = y;
        y = rest;
    }
    return x > 0 ? a / x * b : 1;
}

static int make(struct run *r, struct part *p, int n)
{
    for (int i = 0; i < n; i++) {
        char *at = (r->rank == 0 ? r->sbuf : r->rbuf) + (size_t)i * p->total;
        int parts = r->rank == 0 ? p->sends : p->recvs, code;
        MPI_Count each = (MPI_Count)(p->total / (size_t)parts);
        if (r->rank == 0)
            code = MPI_Psend_init(at, parts, each, MPI_BYTE, 1, TAG, r->comm, MPI_INFO_NULL, &p->q[i]);
        else
            code = MPI_Precv_init(at, parts, each, MPI_BYTE, 0, TAG, r->comm, MPI_INFO_NULL, &p->q[i]);
        if (!bench_ok(r, code, "partitioned init")) return -1;
    }
    p->made = n;
    return 0;
}

static struct part *prepare(struct run *r, int window)
{
    struct part *p = calloc(1, sizeof *p);
    p->r = r;
    p->sends = r->o->parts < MOST ? r->o->parts : MOST;
    p->recvs = !r->o->parts_recv ? p->sends : r->o->parts_recv < MOST ? r->o->parts_recv : MOST;
    size_t unit = common((size_t)p->sends, (size_t)p->recvs);
    p->total = ((size_t)r->bytes + unit - 1) / unit * unit;
    if (p->total == 0) p->total = unit;
    p->state = r->o->seed + (unsigned long)r->rank;
    r->priv = p;
    r->payload = (double)p->total * window;
    return bench_buffers(r, p->total * (size_t)window + 8, p->total * (size_t)window + 8) ? NULL : p;
}

static void part_end(struct run *r)
{
    struct part *p = r->priv;
    if (!p) return;
    bench_team_end(p->team);
    for (int i = 0; i < p->made; i++) MPI_Request_free(&p->q[i]);
    free(p);
    r->priv = NULL;
}

static void part_fill(struct run *r)
{
    struct part *p = r->priv;
    size_t n = p->total * (size_t)(p->made > 1 ? p->made : 1);
    bench_fill(r->sbuf, n, 3);
    memset(r->rbuf, 0, n);
}

static long part_check(struct run *r)
{
    struct part *p = r->priv;
    return r->rank == 0 ? -1 : bench_check(r->rbuf, p->total * (size_t)(p->made > 1 ? p->made : 1), 3);
}

// Pready of the share of one thread: a contiguous run of partitions.
static void ready_share(struct part *p, int t, int threads, int i)
{
    int from = (int)((long)p->sends * t / threads), to = (int)((long)p->sends * (t + 1) / threads);
    for (int k = from; k < to; k++) MPI_Pready(k, p->q[i]);
}

static void exchange(struct run *r, long n, int threads, int t)
{
    struct part *p = r->priv;
    for (long i = 0; i < n; i++) {
        if (t == 0) MPI_Start(&p->q[0]);
        if (r->rank == 0) {
            if (threads > 1) bench_team_meet(p->team);
            ready_share(p, t, threads, 0);
            if (threads > 1) bench_team_meet(p->team);
        }
        if (t > 0) continue;
        MPI_Wait(&p->q[0], MPI_STATUS_IGNORE);
        if (r->rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, r->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, r->comm);
    }
}

static void lat_turn(void *arg, int t)
{
    struct part *p = arg;
    exchange(p->r, p->turns, p->threads, t);
}

static double partitioned(struct run *r)
{
    struct part *p = r->priv;
    double in = bench_now(), out;
    if (r->rank == 0 && p->team)
        bench_team_run(p->team, &in, &out);
    else
        exchange(r, p->turns, 1, 0), out = bench_now();
    return (out - in) / (double)p->turns;
}

static double plain(struct run *r)
{
    struct part *p = r->priv;
    double start = bench_now();
    for (long i = 0; i < p->turns; i++) {
        if (r->rank == 0) {
            MPI_Send(r->sbuf, (int)p->total, MPI_BYTE, 1, TAG + 1, r->comm);
            MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, r->comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(r->rbuf, (int)p->total, MPI_BYTE, 0, TAG + 1, r->comm, MPI_STATUS_IGNORE);
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, r->comm);
        }
    }
    return (bench_now() - start) / (double)p->turns;
}

static int lat_setup(struct run *r)
{
    struct part *p = prepare(r, 1);
    if (!p || make(r, p, 1)) return -1;
    p->threads = bench_threads(r, 1, p->sends);
    if (p->threads > 1 && r->rank == 0) p->team = bench_team(p->threads, lat_turn, p);
    p->turns = 1;
    double each = 0;
    for (int i = 0; i < 3; i++) each = partitioned(r);
    double turns = 200e-6 / (each > 1e-8 ? each : 1e-8);
    MPI_Bcast(&turns, 1, MPI_DOUBLE, 0, r->comm);
    p->turns = turns < 1 ? 1 : (long)turns;
    return 0;
}

static double lat_sample(struct run *r)
{
    double t = partitioned(r);
    r->extra[0] = plain(r);
    r->extra[1] = t / r->extra[0];
    return t;
}

static int bw_setup(struct run *r)
{
    int window = r->window < WINDOW ? r->window : WINDOW;
    struct part *p = prepare(r, window);
    if (!p) return -1;
    r->msgs = window;
    return make(r, p, window);
}

static void bw(struct run *r, long n)
{
    struct part *p = r->priv;
    for (long i = 0; i < n; i++) {
        MPI_Startall(p->made, p->q);
        for (int k = 0; k < p->made && r->rank == 0; k++) ready_share(p, 0, 1, k);
        MPI_Waitall(p->made, p->q, MPI_STATUSES_IGNORE);
        if (r->rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, r->comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, r->comm);
    }
}

static double since(double *mark)
{
    double now = bench_now(), took = now - *mark;
    *mark = now;
    return took;
}

static int call_setup(struct run *r)
{
    return prepare(r, 1) ? 0 : -1;
}

// Three rounds with Pready one by one, by range, by list; each step timed once. Rank 1 times Parrived and hands its
// figure over.
static double call_sample(struct run *r)
{
    struct part *p = r->priv;
    int list[MOST], flag = 0;
    double x[7] = {0}, arrived = 0, mark = bench_now();
    for (int i = 0; i < p->sends; i++) list[i] = i;
    if (make(r, p, 1)) return 0;
    x[0] = since(&mark);
    for (int round = 0; round < 3; round++) {
        MPI_Barrier(r->comm);
        mark = bench_now();
        MPI_Start(&p->q[0]);
        x[1] = since(&mark);
        if (r->rank == 0) {
            if (round == 0) ready_share(p, 0, 1, 0), x[2] = since(&mark) / p->sends;
            if (round == 1) MPI_Pready_range(0, p->sends - 1, p->q[0]), x[3] = since(&mark);
            if (round == 2) MPI_Pready_list(p->sends, list, p->q[0]), x[4] = since(&mark);
            MPI_Test(&p->q[0], &flag, MPI_STATUS_IGNORE);
            x[5] = since(&mark);
        }
        for (int k = 0; k < p->recvs && r->rank == 1; k++) MPI_Parrived(p->q[0], k, &flag);
        arrived = since(&mark) / p->recvs;
        MPI_Wait(&p->q[0], MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&p->q[0]);
    p->made = 0;
    if (r->rank == 1)
        MPI_Send(&arrived, 1, MPI_DOUBLE, 0, TAG, r->comm);
    else
        MPI_Recv(&x[6], 1, MPI_DOUBLE, 1, TAG, r->comm, MPI_STATUS_IGNORE);
    r->extra[0] = x[0];
    for (int i = 1; i < 7; i++) r->extra[i] = x[i];
    return x[2];
}

// One thread of an episode: work, then Pready, partition by partition of its share.
static void episode_turn(void *arg, int t)
{
    struct part *p = arg;
    int from = (int)((long)p->sends * t / p->threads), to = (int)((long)p->sends * (t + 1) / p->threads);
    for (int k = from; k < to; k++) {
        bench_compute(p->delay[k]);
        p->ready[k] = bench_now();
        if (p->talk) MPI_Pready(k, p->q[0]);
    }
}

static void watch(struct part *p)
{
    char seen[MOST] = {0};
    for (int left = p->recvs, flag; left > 0;)
        for (int k = 0; k < p->recvs; k++) {
            if (seen[k]) continue;
            MPI_Parrived(p->q[0], k, &flag);
            if (!flag) continue;
            p->arrival[k] = bench_now() - bench_offset;
            seen[k] = 1;
            left--;
        }
}

static int by_start(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct episode {
    double first, last_ready, last_arrival, busy, late,
        early;    // late, early: transfer after and before the join of the silent twin
    double join, plain;
};

// Transfer of receive partition k starts when the last send partition it covers was ready. Overlapping transfers are
// merged; a merged one ends at the larger end.
static void merge(const struct part *p, struct episode *e)
{
    double span[MOST][2];
    for (int k = 0; k < p->recvs; k++) {
        int to = (int)(((long)(k + 1) * p->sends + p->recvs - 1) / p->recvs),
            from = (int)((long)k * p->sends / p->recvs);
        span[k][0] = p->ready[from];
        for (int s = from; s < to; s++)
            if (p->ready[s] > span[k][0]) span[k][0] = p->ready[s];
        span[k][1] = p->arrival[k] > span[k][0] ? p->arrival[k] : span[k][0];
    }
    qsort(span, (size_t)p->recvs, sizeof span[0], by_start);
    double from = span[0][0], to = span[0][1];
    e->busy = e->early = 0;
    for (int k = 1; k <= p->recvs; k++) {
        if (k < p->recvs && span[k][0] <= to) {
            if (span[k][1] > to) to = span[k][1];
            continue;
        }
        double before = (to < e->join ? to : e->join) - from;
        e->busy += to - from;
        e->early += before > 0 ? before : 0;
        if (k < p->recvs) from = span[k][0], to = span[k][1];
    }
    e->late = e->busy - e->early;
    e->first = e->last_ready = p->ready[0];
    for (int k = 0; k < p->sends; k++) {
        if (p->ready[k] < e->first) e->first = p->ready[k];
        if (p->ready[k] > e->last_ready) e->last_ready = p->ready[k];
    }
    e->last_arrival = p->arrival[0];
    for (int k = 0; k < p->recvs; k++)
        if (p->arrival[k] > e->last_arrival) e->last_arrival = p->arrival[k];
}

// One plain send of the same bytes until it has arrived, on rank 0's clock.
static double plain_once(struct run *r)
{
    struct part *p = r->priv;
    double start, end;
    MPI_Barrier(r->comm);
    start = bench_now();
    if (r->rank == 0) {
        MPI_Send(r->sbuf, (int)p->total, MPI_BYTE, 1, TAG + 1, r->comm);
        MPI_Recv(&end, 1, MPI_DOUBLE, 1, TAG, r->comm, MPI_STATUS_IGNORE);
        return end - start;
    }
    MPI_Recv(r->rbuf, (int)p->total, MPI_BYTE, 0, TAG + 1, r->comm, MPI_STATUS_IGNORE);
    end = bench_now() - bench_offset;
    MPI_Send(&end, 1, MPI_DOUBLE, 0, TAG, r->comm);
    return 0;
}

static void run_episode(struct run *r, struct episode *e)
{
    struct part *p = r->priv;
    double in = 0, out = 0, silent = 0;
    e->plain = plain_once(r);
    bench_delays(r, &p->state, p->delay, p->sends);
    MPI_Barrier(r->comm);
    if (r->rank == 0) {    // fork, compute, join with no message
        p->talk = 0;
        bench_team_run(p->team, &in, &out);
        silent = out - in;
    }
    MPI_Start(&p->q[0]);
    MPI_Barrier(r->comm);
    if (r->rank == 0) {
        p->talk = 1;
        bench_team_run(p->team, &in, &out);
    } else
        watch(p);
    MPI_Wait(&p->q[0], MPI_STATUS_IGNORE);
    if (r->rank == 1)
        MPI_Send(p->arrival, p->recvs, MPI_DOUBLE, 0, TAG, r->comm);
    else {
        MPI_Recv(p->arrival, p->recvs, MPI_DOUBLE, 1, TAG, r->comm, MPI_STATUS_IGNORE);
        e->join = in + silent;
        merge(p, e);
    }
}

static int episode_setup(struct run *r)
{
    struct part *p = prepare(r, 1);
    if (!p || make(r, p, 1)) return -1;
    static int warned;
    p->threads = bench_threads(r, p->sends < 64 ? p->sends : 64, p->sends);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->rank == 0 && p->threads + 1 > cores && !warned++)
        fprintf(stderr, "unisono-bench: %d threads and a receiver share %ld cores: times include waiting for a core\n",
                p->threads, cores);
    if (r->rank == 0) p->team = bench_team(p->threads, episode_turn, p);
    bench_compute_calibrate();
    return 0;
}

static double over_sample(struct run *r)
{
    struct episode e = {0};
    run_episode(r, &e);
    double span = e.last_arrival - e.first;
    r->extra[0] = e.plain > 0 ? span / e.plain : 0;
    r->extra[1] = e.plain > 0 ? e.busy / e.plain : 0;
    r->extra[2] = e.plain;
    r->extra[3] = e.busy;
    return span;
}

static double pbw_sample(struct run *r)
{
    struct episode e = {0};
    run_episode(r, &e);
    double rest = e.last_arrival - e.last_ready;
    r->extra[0] = e.plain;
    r->extra[1] = e.plain > 0 ? rest / e.plain : 0;
    r->extra[2] = e.plain > 0 ? (rest - 2e-6) / e.plain : 0;
    return rest;
}

static double avail_sample(struct run *r)
{
    struct episode e = {0};
    run_episode(r, &e);
    r->extra[0] = e.plain;
    r->extra[1] = e.late;
    return e.plain > 0 ? 100 * (1 - e.late / e.plain) : 0;
}

static double early_sample(struct run *r)
{
    struct episode e = {0};
    run_episode(r, &e);
    r->extra[0] = e.busy;
    r->extra[1] = e.early;
    return e.busy > 0 ? 100 * e.early / e.busy : 0;
}

#define PART .family = "part", .min_ranks = 2, .max_ranks = 2, .teardown = part_end
#define EPISODE PART, .flags = THREADED, .setup = episode_setup, .fill = part_fill, .check = part_check
const struct kernel bench_part_rows[] = {
    {.name = "part-call",
     PART,
     .what = "Pready (extras: the other calls), each timed alone",
     .unit = "ns",
     .extras = "init ns,start ns,pready ns,range ns,list ns,test ns,parrived ns",
     .setup = call_setup,
     .sample = call_sample,
     .fill = part_fill,
     .check = part_check},
    {.name = "part-lat",
     PART,
     .what = "Start, Pready each, Wait, answered by an empty message; against a plain send",
     .extras = "plain us,ratio x",
     .setup = lat_setup,
     .sample = lat_sample,
     .fill = part_fill,
     .check = part_check},
    {.name = "part-bw",
     PART,
     .what = "8 partitioned requests in flight, then an empty message back",
     .flags = ROOT,
     .setup = bw_setup,
     .op = bw,
     .fill = part_fill,
     .check = part_check},
    {.name = "part-over",
     EPISODE,
     .what = "overhead: first Pready to last arrival, over one plain send",
     .extras = "ratio x,busy_ratio x,plain us,busy us",
     .sample = over_sample},
    {.name = "part-pbw",
     EPISODE,
     .what = "perceived bandwidth: true bytes over the time after the last Pready",
     .extras = "plain us,rest x,rest_less_2us x",
     .sample = pbw_sample},
    {.name = "part-avail",
     EPISODE,
     .what = "availability: 1 - transfer after the join / plain send",
     .unit = "%",
     .extras = "plain us,late us",
     .sample = avail_sample},
    {.name = "part-early",
     EPISODE,
     .what = "early bird: share of the transfer done before the join",
     .unit = "%",
     .extras = "busy us,early us",
     .sample = early_sample},
    {0},
};
#else
#define ABSENT(row, text)                                                                                              \
    {                                                                                                                  \
        .name = row, .family = "part", .what = text, .min_ranks = 2, .max_ranks = 2,                                   \
        .absent = "needs the partitioned calls of MPI 4"                                                               \
    }
const struct kernel bench_part_rows[] = {
    ABSENT("part-call", "the calls one by one"),
    ABSENT("part-lat", "whole exchange against a plain send"),
    ABSENT("part-bw", "partitioned requests in flight"),
    ABSENT("part-over", "overhead"),
    ABSENT("part-pbw", "perceived bandwidth"),
    ABSENT("part-avail", "availability"),
    ABSENT("part-early", "early bird"),
    {0},
};
#endif
