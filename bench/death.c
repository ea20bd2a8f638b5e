// SPDX-License-Identifier: BSD-3-Clause
// `unisono-bench death` inside `mpiexec --survive`: the time from the moment at which a rank kills itself until rank 0,
// which waits for a message of its, hears of the failure. All ranks but rank 0 die in turn, the last one first: a
// figure of a job of n ranks has n - 1 samples. The kernel's own time to end a process is part of it. Called by main.c.
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#if HAVE_FT
enum { GO = 1, TIME, NEVER, MOST = 1000 };

static void await_turn(void)
{
    double now;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    now = bench_now();
    MPI_Send(&now, 1, MPI_DOUBLE, 0, TIME, MPI_COMM_WORLD);
    kill(getpid(), SIGKILL);
}

// Seconds; negative: no failure was told.
static double time_death(int victim)
{
    double died;
    char none;
    MPI_Send(NULL, 0, MPI_BYTE, victim, GO, MPI_COMM_WORLD);
    MPI_Recv(&died, 1, MPI_DOUBLE, victim, TIME, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int code = MPI_Recv(&none, 1, MPI_BYTE, victim, NEVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class;
    double took = bench_now() - died;
    MPI_Error_class(code, &class);
    return class == MPIX_ERR_PROC_FAILED ? took : -1;
}

static void print(const struct opts *o, int np, const struct stats *s)
{
    double us = bench_scale("us");
    if (o->format == TABLE)
        printf("death: %d ranks, known after %.1f us median of %ld (%.1f .. %.1f)\n", np, us * s->median, s->n,
               us * s->min, us * s->max);
    if (o->format == CSV)
        printf("row,np,value,unit,min,max,n\ndeath,%d,%.6g,us,%.6g,%.6g,%ld\n", np, us * s->median, us * s->min,
               us * s->max, s->n);
    if (o->format == JSON)
        printf("{\"schema\": 1, \"row\": \"death\", \"family\": \"comm\", \"np\": %d, \"unit\": \"us\", \"value\": "
               "%.6g, \"min\": %.6g, \"max\": %.6g, \"n\": %ld}\n",
               np, us * s->median, us * s->min, us * s->max, s->n);
}

static int time_all(const struct opts *o, int np)
{
    static double sample[MOST];
    struct stats s;
    int n = 0;
    for (int victim = np - 1; victim > 0 && n < MOST; victim--) {
        sample[n] = time_death(victim);
        if (sample[n++] >= 0) continue;
        fprintf(stderr, "unisono-bench: death: rank 0 does not hear that rank %d has failed\n", victim);
        return 1;
    }
    bench_stats(sample, n, &s);
    print(o, np, &s);
    return 0;
}

int bench_death(const struct opts *o)
{
    int rank, np, bad = 2;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &np);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (np > 1 && rank > 0) await_turn();
    if (np > 1)
        bad = time_all(o, np);
    else
        fprintf(stderr, "unisono-bench: death needs two ranks and mpiexec --survive\n");
    fflush(stdout);
#ifdef OMPI_MAJOR_VERSION
    _exit(bad);    // its MPI_Finalize waits for the dead (5.0.11)
#endif
    MPI_Finalize();
    return bad;
}
#else
int bench_death(const struct opts *o)
{
    (void)o;
    fprintf(stderr, "unisono-bench: death: this MPI has no process failure (MPIX_Comm_agree)\n");
    return 2;
}
#endif
