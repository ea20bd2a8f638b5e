// SPDX-License-Identifier: BSD-3-Clause
// Family threads: patterns run by thread i of a rank with thread i of another, all threads at once. Each thread has its
// own tag, buffer and window; a communicator shared by all, or one of its own (variant). The interval runs from the
// first thread's start to the last one's end.
#include "bench.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

struct crew {
    struct run *r;
    struct team *team;
    MPI_Comm comm[MOST];
    MPI_Request *req;
    long n;
    void (*work)(struct crew *c, int t);
    int threads;
};

static char *area(struct crew *c, char *base, int t)
{
    return base + (size_t)t * (size_t)c->r->bytes * (size_t)c->r->window;
}

static void turn(void *arg, int t)
{
    struct crew *c = arg;
    c->work(c, t);
}

static void one_op(struct run *r, long n)
{
    struct crew *c = r->priv;
    c->n = n;
    bench_team_run(c->team, &r->in, &r->out);
}

static int crew_setup(struct run *r, void (*work)(struct crew *c, int t), int own_comm)
{
    struct crew *c = calloc(1, sizeof *c);
    c->r = r;
    c->work = work;
    c->threads = bench_threads(r, 2, MOST);
    size_t all = (size_t)c->threads * (size_t)r->bytes * (size_t)r->window + 64;
    c->req = malloc((size_t)(2 * c->threads * r->window + 4) * sizeof *c->req);
    for (int t = 0; t < c->threads; t++) {
        c->comm[t] = r->comm;
        if (own_comm) MPI_Comm_dup(r->comm, &c->comm[t]);
    }
    c->team = bench_team(c->threads, turn, c);
    r->priv = c;
    return bench_buffers(r, all, all);
}

static void crew_end(struct run *r)
{
    struct crew *c = r->priv;
    if (!c) return;
    bench_team_end(c->team);
    for (int t = 0; t < c->threads; t++)
        if (c->comm[t] != r->comm) MPI_Comm_free(&c->comm[t]);
    free(c->req);
    free(c);
    r->priv = NULL;
}

static void fill_pair(struct run *r)
{
    struct crew *c = r->priv;
    for (int t = 0; t < c->threads; t++)
        bench_fill(area(c, r->sbuf, t), (size_t)r->bytes * (size_t)r->window, (unsigned long)(r->rank * MOST + t) + 1);
    memset(r->rbuf, 0, (size_t)c->threads * (size_t)r->bytes * (size_t)r->window);
}

static long check_from(struct run *r, int from, int slots)
{
    struct crew *c = r->priv;
    for (int t = 0; t < c->threads; t++) {
        long bad =
            bench_check(area(c, r->rbuf, t), (size_t)r->bytes * (size_t)slots, (unsigned long)(from * MOST + t) + 1);
        if (bad >= 0) return bad;
    }
    return -1;
}

static long check_pair(struct run *r)
{
    return check_from(r, r->peer, 1);
}

static void lat_work(struct crew *c, int t)
{
    struct run *r = c->r;
    char *s = area(c, r->sbuf, t), *d = area(c, r->rbuf, t);
    for (long i = 0; i < c->n; i++) {
        if (r->rank == 0) MPI_Send(s, r->count, r->type, r->peer, t, c->comm[t]);
        MPI_Recv(d, r->count, r->type, r->peer, t, c->comm[t], MPI_STATUS_IGNORE);
        if (r->rank == 1) MPI_Send(s, r->count, r->type, r->peer, t, c->comm[t]);
    }
}

// One thread on rank 0 against T on rank 1: it serves them in turn.
static void one_to_many_work(struct crew *c, int t)
{
    struct run *r = c->r;
    char *s = area(c, r->sbuf, t), *d = area(c, r->rbuf, t);
    if (r->rank == 1) {
        for (long i = 0; i < c->n; i++) {
            MPI_Recv(d, r->count, r->type, 0, t, r->comm, MPI_STATUS_IGNORE);
            MPI_Send(s, r->count, r->type, 0, t, r->comm);
        }
    } else if (t == 0) {
        for (long i = 0; i < c->n; i++)
            for (int to = 0; to < c->threads; to++) {
                MPI_Send(area(c, r->sbuf, to), r->count, r->type, 1, to, r->comm);
                MPI_Recv(area(c, r->rbuf, to), r->count, r->type, 1, to, r->comm, MPI_STATUS_IGNORE);
            }
    }
}

static int lat_setup(struct run *r)
{
    r->window = 1;
    r->msgs = bench_threads(r, 2, MOST);
    return crew_setup(r, r->variant == 2 ? one_to_many_work : lat_work, r->variant == 1);
}

static void ring_work(struct crew *c, int t)
{
    struct run *r = c->r;
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    char *s = area(c, r->sbuf, t), *d = area(c, r->rbuf, t);
    for (long i = 0; i < c->n; i++)
        MPI_Sendrecv(s, r->count, r->type, right, t, d, r->count, r->type, left, t, c->comm[t], MPI_STATUS_IGNORE);
}

static void pingping_work(struct crew *c, int t)
{
    struct run *r = c->r;
    char *s = area(c, r->sbuf, t), *d = area(c, r->rbuf, t);
    MPI_Request q;
    for (long i = 0; i < c->n; i++) {
        MPI_Isend(s, r->count, r->type, r->peer, t, c->comm[t], &q);
        MPI_Recv(d, r->count, r->type, r->peer, t, c->comm[t], MPI_STATUS_IGNORE);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
}

static void exchange_work(struct crew *c, int t)
{
    struct run *r = c->r;
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    char *s = area(c, r->sbuf, t), *d = area(c, r->rbuf, t);
    MPI_Request q[4];
    for (long i = 0; i < c->n; i++) {
        MPI_Irecv(d, r->count, r->type, left, t, c->comm[t], &q[0]);
        MPI_Irecv(d + r->bytes, r->count, r->type, right, t + MOST, c->comm[t], &q[1]);
        MPI_Isend(s, r->count, r->type, right, t, c->comm[t], &q[2]);
        MPI_Isend(s, r->count, r->type, left, t + MOST, c->comm[t], &q[3]);
        MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    }
}

static int pattern_setup(struct run *r)
{
    static const struct {
        const char *name;
        void (*work)(struct crew *c, int t);
    } works[] = {{"mt-sendrecv", ring_work}, {"mt-pingping", pingping_work}, {"mt-exchange", exchange_work}};
    int i = 0;
    while (strcmp(works[i].name, r->k->name) != 0) i++;
    r->window = i == 2 ? 2 : 1;
    r->payload = (double)r->bytes * bench_threads(r, 2, MOST) * (i == 0 ? 2 : i == 1 ? 1 : 4);
    return crew_setup(r, works[i].work, r->variant == 1);
}

static long check_left(struct run *r)
{
    return check_from(r, (r->rank + r->size - 1) % r->size, 1);
}

static void bw_work(struct crew *c, int t)
{
    struct run *r = c->r;
    int both = !strcmp(r->k->name, "mt-bibw"), w = r->window, sends = both || r->rank == 0,
        receives = both || r->rank == 1;
    MPI_Request *q = c->req + (size_t)t * 2 * (size_t)w;
    char ack = 0, got;
    for (long i = 0; i < c->n; i++) {
        int n = 0;
        for (int k = 0; k < w && receives; k++)
            MPI_Irecv(area(c, r->rbuf, t) + k * r->bytes, r->count, r->type, r->peer, t, c->comm[t], &q[n++]);
        for (int k = 0; k < w && sends; k++)
            MPI_Isend(area(c, r->sbuf, t) + k * r->bytes, r->count, r->type, r->peer, t, c->comm[t], &q[n++]);
        MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
        if (receives) MPI_Send(&ack, 1, MPI_BYTE, r->peer, t + MOST, c->comm[t]);
        if (sends) MPI_Recv(&got, 1, MPI_BYTE, r->peer, t + MOST, c->comm[t], MPI_STATUS_IGNORE);
    }
}

static int bw_setup(struct run *r)
{
    int both = !strcmp(r->k->name, "mt-bibw"), threads = bench_threads(r, 2, MOST), fit = r->window / threads;
    if (r->bytes * r->window * threads > 64L << 20) r->window = fit > 0 ? fit : 1;
    r->msgs = (double)threads * r->window * (both ? 2 : 1);
    r->payload = r->msgs * (double)r->bytes;
    return crew_setup(r, bw_work, r->variant == 1);
}

static long check_window(struct run *r)
{
    return !strcmp(r->k->name, "mt-bw") && r->rank == 0 ? -1 : check_from(r, r->peer, r->window);
}

static void coll_work(struct crew *c, int t)
{
    struct run *r = c->r;
    char *s = area(c, r->sbuf, t), *d = area(c, r->rbuf, t),
         kind = r->k->name[4];    // mt-barrier, -bcast, -reduce, -allreduce
    for (long i = 0; i < c->n; i++) {
        if (kind == 'a')
            MPI_Barrier(c->comm[t]);
        else if (kind == 'c')
            MPI_Bcast(s, r->count, r->type, 0, c->comm[t]);
        else if (kind == 'e')
            MPI_Reduce(s, d, r->count, r->type, r->op, 0, c->comm[t]);
        else
            MPI_Allreduce(s, d, r->count, r->type, r->op, c->comm[t]);
    }
}

static int coll_setup(struct run *r)
{
    r->window = 1;
    return crew_setup(r, coll_work, 1);
}

static void fill_values(struct run *r)
{
    struct crew *c = r->priv;
    for (int t = 0; t < c->threads; t++) bench_values(r, area(c, r->sbuf, t), 0, r->count, r->rank);
}

static long check_values(struct run *r)
{
    struct crew *c = r->priv;
    if (!strcmp(r->k->name, "mt-reduce") && r->rank) return -1;
    for (int t = 0; t < c->threads; t++) {
        long bad = bench_values_check(r, area(c, r->rbuf, t), 0, r->count, 0, r->size);
        if (bad >= 0) return bad;
    }
    return -1;
}

static void fill_bcast(struct run *r)
{
    struct crew *c = r->priv;
    for (int t = 0; t < c->threads; t++)
        bench_fill(area(c, r->sbuf, t), (size_t)r->bytes, r->rank ? 999 : (unsigned long)t + 1);
}

static long check_bcast(struct run *r)
{
    struct crew *c = r->priv;
    for (int t = 0; t < c->threads; t++) {
        long bad = bench_check(area(c, r->sbuf, t), (size_t)r->bytes, (unsigned long)t + 1);
        if (bad >= 0) return bad;
    }
    return -1;
}

static void level_lat(struct run *r, long n)
{
    for (long i = 0; i < n; i++) {
        if (r->rank == 0) MPI_Send(r->sbuf, r->count, r->type, 1, 1, r->comm);
        MPI_Recv(r->rbuf, r->count, r->type, r->peer, 1, r->comm, MPI_STATUS_IGNORE);
        if (r->rank == 1) MPI_Send(r->sbuf, r->count, r->type, 0, 1, r->comm);
    }
}

#define MT .family = "threads", .min_ranks = 2
#define CREW .op = one_op, .teardown = crew_end
const struct kernel bench_thread_rows[] = {
    {.name = "mt-lat",
     MT,
     .max_ranks = 2,
     .what = "ping-pong of each thread pair, half the round trip",
     .flags = THREADED | HALF,
     .variants = "shared,own,1:T",
     .setup = lat_setup,
     .fill = fill_pair,
     .check = check_pair,
     CREW},
    {.name = "mt-pingping",
     MT,
     .max_ranks = 2,
     .what = "both send at once, per thread pair",
     .flags = THREADED,
     .variants = "shared,own",
     .setup = pattern_setup,
     .fill = fill_pair,
     .check = check_pair,
     CREW},
    {.name = "mt-sendrecv",
     MT,
     .what = "ring of threads, to the right and from the left",
     .flags = THREADED,
     .variants = "shared,own",
     .setup = pattern_setup,
     .fill = fill_pair,
     .check = check_left,
     CREW},
    {.name = "mt-exchange",
     MT,
     .what = "ring of threads, both neighbours",
     .flags = THREADED,
     .variants = "shared,own",
     .setup = pattern_setup,
     .fill = fill_pair,
     .check = check_left,
     CREW},
    {.name = "mt-bw",
     MT,
     .max_ranks = 2,
     .what = "a window per thread, one way",
     .flags = THREADED,
     .variants = "shared,own",
     .setup = bw_setup,
     .fill = fill_pair,
     .check = check_window,
     CREW},
    {.name = "mt-bibw",
     MT,
     .max_ranks = 2,
     .what = "a window per thread, both ways",
     .flags = THREADED,
     .variants = "shared,own",
     .setup = bw_setup,
     .fill = fill_pair,
     .check = check_window,
     CREW},
    {.name = "mt-barrier",
     MT,
     .what = "a barrier per thread, each on its communicator",
     .flags = THREADED | NOSIZE,
     .setup = coll_setup,
     CREW},
    {.name = "mt-bcast",
     MT,
     .what = "a broadcast per thread",
     .flags = THREADED | VECTOR,
     .setup = coll_setup,
     .fill = fill_bcast,
     .check = check_bcast,
     CREW},
    {.name = "mt-reduce",
     MT,
     .what = "a reduction per thread",
     .flags = THREADED | TYPED,
     .setup = coll_setup,
     .fill = fill_values,
     .check = check_values,
     CREW},
    {.name = "mt-allreduce",
     MT,
     .what = "an allreduce per thread",
     .flags = THREADED | TYPED,
     .setup = coll_setup,
     .fill = fill_values,
     .check = check_values,
     CREW},
    {.name = "mt-level",
     MT,
     .max_ranks = 2,
     .what = "lat with one thread at the level of --thread-level (default multiple)",
     .flags = THREADED | HALF | ROOT,
     .op = level_lat,
     .fill = NULL},
    {0},
};
