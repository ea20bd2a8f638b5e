// SPDX-License-Identifier: BSD-3-Clause
// A team of threads that stays for a whole run of a row; thread 0 is the caller. A run starts and ends at barriers that
// sleep, so more threads than cores do no harm, and each thread notes its own start and end. Threads are pinned to the
// cores the process may use, in turn, when the process is bound and there are enough of them.
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

struct team {
    int n, quit;
    void (*work)(void *arg, int thread);
    void *arg;
    pthread_barrier_t gate;
    pthread_t *id;
    struct seat {
        struct team *team;
        int thread;
        double in, out;
        char pad[64];
    } * seat;
};

static void pin(int thread, int n)
{
    cpu_set_t may, one;
    if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < n) return;
    if (CPU_COUNT(&may) == sysconf(_SC_NPROCESSORS_ONLN)) return;    // unbound: other ranks share these cores
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &may) || seen++ != thread) continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        return;
    }
}

static void turn(struct seat *s)
{
    s->in = bench_now();
    s->team->work(s->team->arg, s->thread);
    s->out = bench_now();
}

static void *sit(void *arg)
{
    struct seat *s = arg;
    if (s->team->n > 1 && s->team->n <= 64) pin(s->thread, s->team->n);
    for (;;) {
        pthread_barrier_wait(&s->team->gate);
        if (s->team->quit) return NULL;
        turn(s);
        pthread_barrier_wait(&s->team->gate);
    }
}

struct team *bench_team(int n, void (*work)(void *arg, int thread), void *arg)
{
    struct team *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->n = n;
    t->work = work;
    t->arg = arg;
    t->id = calloc((size_t)n, sizeof *t->id);
    t->seat = calloc((size_t)n, sizeof *t->seat);
    pthread_barrier_init(&t->gate, NULL, (unsigned)n);
    for (int i = 0; i < n; i++) t->seat[i] = (struct seat){.team = t, .thread = i};
    for (int i = 1; i < n; i++)
        if (pthread_create(&t->id[i], NULL, sit, &t->seat[i])) abort();
    return t;
}

void bench_team_run(struct team *t, double *in, double *out)
{
    pthread_barrier_wait(&t->gate);
    turn(&t->seat[0]);
    pthread_barrier_wait(&t->gate);
    *in = t->seat[0].in;
    *out = t->seat[0].out;
    for (int i = 1; i < t->n; i++) {
        if (t->seat[i].in < *in) *in = t->seat[i].in;
        if (t->seat[i].out > *out) *out = t->seat[i].out;
    }
}

void bench_team_end(struct team *t)
{
    if (!t) return;
    t->quit = 1;
    pthread_barrier_wait(&t->gate);
    for (int i = 1; i < t->n; i++) pthread_join(t->id[i], NULL);
    pthread_barrier_destroy(&t->gate);
    free(t->id);
    free(t->seat);
    free(t);
}

void bench_team_meet(struct team *t)
{
    if (t->n > 1) pthread_barrier_wait(&t->gate);
}

int bench_threads(const struct run *r, int least, int most)
{
    int n = r->o->threads ? r->o->threads : least;
    return n > most ? most : n < 1 ? 1 : n;
}

// Work before each of n partitions (or threads). single: the last one is late; uniform: each by up to the amount either
// way; gauss: with the amount as deviation. Never negative.
void bench_delays(const struct run *r, unsigned long *state, double *delay, int n)
{
    const struct opts *o = r->o;
    double amount = o->compute * o->noise_pct / 100 + o->noise_abs;
    for (int i = 0; i < n; i++) {
        double extra = 0;
        if (o->noise == NOISE_SINGLE) extra = i == n - 1 ? amount : 0;
        if (o->noise == NOISE_UNIFORM) extra = amount * (2 * bench_uniform(state) - 1);
        if (o->noise == NOISE_GAUSS) extra = amount * bench_gauss(state);
        delay[i] = o->compute + extra > 0 ? o->compute + extra : 0;
    }
}
