// SPDX-License-Identifier: BSD-3-Clause
// Family start: initialisation, sessions, first contact, memory per rank, CPU of a rank that waits, spawned children.
// Whole jobs from launcher start to exit are timed by the tool `hello` (hello.c), which runs outside MPI.
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double init_sample(struct run *r)
{
    MPI_Reduce(&bench_init_time, &r->extra[0], 1, MPI_DOUBLE, MPI_MIN, 0, r->comm);
    double worst = 0;
    MPI_Reduce(&bench_init_time, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    return worst;
}

#if HAVE_MPI4
static double session_sample(struct run *r)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    double start = bench_now();
    if (!bench_ok(r, MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s), "MPI_Session_init")) return 0;
    MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
    MPI_Group mine;
    MPI_Comm_group(r->comm, &mine);
    MPI_Comm_create_from_group(mine, "org.unisono.bench.session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &c);
    double took = bench_now() - start;
    MPI_Comm_free(&c);
    MPI_Group_free(&mine);
    MPI_Group_free(&g);
    MPI_Session_finalize(&s);
    return took;
}
#endif

// A line of a /proc file that starts with `key`, in KiB; 0 if it is not there.
static double proc_kib(const char *file, const char *key)
{
    char line[256];
    double kib = 0;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key))) {
            sscanf(line + strlen(key), "%lf", &kib);
            break;
        }
    if (f) fclose(f);
    return kib;
}

// Smallest to largest distance, so that every rank meets every other once.
static void meet(struct run *r)
{
    char a = 1, b;
    for (int d = 1; d < r->size; d++)
        MPI_Sendrecv(&a, 1, MPI_BYTE, (r->rank + d) % r->size, 1, &b, 1, MPI_BYTE, (r->rank - d + r->size) % r->size, 1,
                     r->comm, MPI_STATUS_IGNORE);
}

static double pss_mean(struct run *r, double *worst)
{
    MPI_Barrier(r->comm);
    double kib = proc_kib("/proc/self/smaps_rollup", "Pss:"), sum = 0;
    if (kib == 0) kib = proc_kib("/proc/self/status", "VmRSS:");
    MPI_Reduce(&kib, worst, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(&kib, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, r->comm);
    MPI_Barrier(r->comm);
    return sum / r->size;
}

static double mem_sample(struct run *r)
{
    double worst = 0;
    r->extra[0] = pss_mean(r, &worst);
    meet(r);
    double after = pss_mean(r, &worst);
    r->extra[1] = worst;
    r->extra[2] = proc_kib("/proc/self/status", "VmRSS:");
    return after;
}

// The suite's own buffers are no part of the figure.
static int mem_setup(struct run *r)
{
    (void)r;
    bench_buffers_free();
    return 0;
}

static double first_sample(struct run *r)
{
    char c = 0;
    double first = 0, steady = 0;
    for (int round = 0; round < 2; round++)
        for (int p = 1; p < r->size; p++) {
            MPI_Barrier(r->comm);
            double start = bench_now();
            if (r->rank == 0) {
                MPI_Send(&c, 1, MPI_BYTE, p, 1, r->comm);
                MPI_Recv(&c, 1, MPI_BYTE, p, 1, r->comm, MPI_STATUS_IGNORE);
            } else if (r->rank == p) {
                MPI_Recv(&c, 1, MPI_BYTE, 0, 1, r->comm, MPI_STATUS_IGNORE);
                MPI_Send(&c, 1, MPI_BYTE, 0, 1, r->comm);
            }
            *(round ? &steady : &first) += (bench_now() - start) / 2 / (r->size - 1);
        }
    r->extra[0] = steady;
    return first;
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// Rank 0 stays away for a while; the others block. CPU share of the busiest of them, in per cent of a core.
static double idle_sample(struct run *r)
{
    double away = r->o->quick ? 0.2 : 1, share = 0, worst;
    char c = 0;
    MPI_Request q;
    MPI_Barrier(r->comm);
    double start = bench_now(), cpu = cpu_seconds();
    if (r->rank == 0) {
        usleep((useconds_t)(away * 1e6));
        for (int p = 1; p < r->size && r->variant < 3; p++) MPI_Send(&c, 1, MPI_BYTE, p, 3, r->comm);
    } else if (r->variant == 0)
        MPI_Recv(&c, 1, MPI_BYTE, 0, 3, r->comm, MPI_STATUS_IGNORE);
    else if (r->variant == 1) {
        MPI_Irecv(&c, 1, MPI_BYTE, 0, 3, r->comm, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    } else if (r->variant == 2) {
        MPI_Probe(0, 3, r->comm, MPI_STATUS_IGNORE);
        share = -1;
    }
    if (r->variant == 3) MPI_Barrier(r->comm);
    share = r->rank ? 100 * (cpu_seconds() - cpu) / (bench_now() - start) : 0;
    if (r->variant == 2 && r->rank) MPI_Recv(&c, 1, MPI_BYTE, 0, 3, r->comm, MPI_STATUS_IGNORE);
    MPI_Reduce(&share, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    return worst;
}

// Children are this same program with the row `spawned`, which only merges, meets at a barrier and leaves.
static double spawn_sample(struct run *r)
{
    char self[1024] = "", *args[] = {"spawned", "--format", "none", NULL};
    int k = r->o->depth ? r->o->depth : 1;
    MPI_Comm inter, all;
    if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return 0;
    double start = bench_now();
    MPI_Comm_spawn(self, args, k, MPI_INFO_NULL, 0, r->comm, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &all);
    MPI_Barrier(all);
    double took = bench_now() - start;
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
    return took;
}

static double spawned_sample(struct run *r)
{
    MPI_Comm parent, all;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) return r->extra[0] = 0;
    MPI_Intercomm_merge(parent, 1, &all);
    MPI_Barrier(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parent);
    return 0;
}

// Rank 0 accepts, rank 1 connects, each for itself alone; the slower one counts. extra: disconnect.
static double connect_sample(struct run *r)
{
    static char port[MPI_MAX_PORT_NAME];
    MPI_Comm c = MPI_COMM_NULL;
    double took = 0, worst = 0, left = 0;
    if (r->rank == 0 && !port[0]) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, r->comm);
    MPI_Barrier(r->comm);
    double start = bench_now();
    if (r->rank == 0) MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
    if (r->rank == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
    took = bench_now() - start;
    if (c != MPI_COMM_NULL) MPI_Comm_disconnect(&c);
    left = bench_now() - start - took;
    MPI_Reduce(&took, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(&left, &r->extra[0], 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    return worst;
}

static double noop_sample(struct run *r)
{
    (void)r;
    return 0;
}

const struct kernel bench_start_rows[] = {
    {.name = "init",
     .family = "start",
     .what = "MPI_Init_thread, slowest rank (extra: fastest)",
     .min_ranks = 1,
     .flags = NOSIZE | ONESHOT,
     .extras = "fastest us",
     .sample = init_sample},
#if HAVE_MPI4
    {.name = "session",
     .family = "start",
     .what = "Session_init, group and communicator from it",
     .min_ranks = 1,
     .flags = NOSIZE,
     .sample = session_sample},
#else
    {.name = "session",
     .family = "start",
     .what = "Session_init, group and communicator from it",
     .min_ranks = 1,
     .flags = NOSIZE,
     .absent = "sessions need MPI 4"},
#endif
    {.name = "first",
     .family = "start",
     .what = "first message to each peer, one way (extra: the second)",
     .min_ranks = 2,
     .flags = NOSIZE | ONESHOT,
     .extras = "steady us",
     .sample = first_sample},
    {.name = "mem",
     .family = "start",
     .what = "memory per rank (PSS, mean) after all pairs have met",
     .min_ranks = 1,
     .flags = NOSIZE | ONESHOT,
     .extras = "before KiB,worst KiB,rss KiB",
     .unit = "KiB",
     .setup = mem_setup,
     .sample = mem_sample},
    {.name = "idle",
     .family = "start",
     .what = "CPU of a rank blocked for one second, % of a core",
     .min_ranks = 2,
     .flags = NOSIZE | ONESHOT,
     .variants = "recv,wait,probe,barrier",
     .unit = "%",
     .sample = idle_sample},
    {.name = "spawn",
     .family = "start",
     .what = "Comm_spawn of --depth children, merge, first barrier",
     .min_ranks = 1,
     .flags = NOSIZE | ALONE,
     .unit = "ms",
     .sample = spawn_sample},
    {.name = "connect",
     .family = "start",
     .what = "Comm_connect and Comm_accept of two ranks, each by itself (extra: disconnect)",
     .min_ranks = 2,
     .flags = NOSIZE | ALONE,
     .extras = "disconnect us",
     .sample = connect_sample},
    {.name = "spawned",
     .family = "start",
     .what = "what the children of `spawn` run",
     .min_ranks = 1,
     .flags = NOSIZE | ONESHOT | ALONE,
     .sample = spawned_sample},
    {.name = "noop",
     .family = "start",
     .what = "nothing: start and end of a job, for `hello`",
     .min_ranks = 1,
     .flags = NOSIZE | ONESHOT | ALONE,
     .sample = noop_sample},
    {0},
};
