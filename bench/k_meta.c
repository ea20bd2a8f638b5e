// SPDX-License-Identifier: BSD-3-Clause
// Family meta: the clock, the ranks' clock offsets, and what a call costs before it does anything.
#include "bench.h"

static double clock_sample(struct run *r)
{
    struct bench_clock c;
    bench_clock_measure(&c);
    double start = bench_now();
    for (int i = 0; i < 1000; i++) (void)MPI_Wtime();
    r->extra[0] = (bench_now() - start) / 1000;
    r->extra[1] = c.tick;
    r->extra[2] = MPI_Wtick();
    return c.cost;
}

static double clksync_sample(struct run *r)
{
    double bound = bench_clock_sync(r->comm, 0), worst;
    MPI_Reduce(&bound, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    double apart = bench_offset < 0 ? -bench_offset : bench_offset;
    MPI_Reduce(&apart, &r->extra[0], 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    r->extra[1] = bench_clock_drift(r->comm, 0, &bound);
    return worst;
}

static void callcost(struct run *r, long n)
{
    MPI_Request null = MPI_REQUEST_NULL;
    int x;
    for (long i = 0; i < n; i++) {
        if (r->variant == 0)
            MPI_Comm_rank(r->comm, &x);
        else if (r->variant == 1)
            MPI_Test(&null, &x, MPI_STATUS_IGNORE);
        else if (r->variant == 2)
            MPI_Send(r->sbuf, 1, MPI_BYTE, MPI_PROC_NULL, 0, r->comm);
        else
            MPI_Barrier(MPI_COMM_SELF);
    }
}

const struct kernel bench_meta_rows[] = {
    {.name = "clock",
     .family = "meta",
     .what = "cost of one read of the OS clock; of MPI_Wtime; their ticks",
     .min_ranks = 1,
     .max_ranks = 1,
     .flags = NOSIZE,
     .extras = "wtime ns,tick ns,wtick ns",
     .unit = "ns",
     .sample = clock_sample},
    {.name = "clksync",
     .family = "meta",
     .what = "error bound of the ranks' clock offsets, by ping-pong",
     .min_ranks = 2,
     .flags = NOSIZE,
     .extras = "offset us,drift us",
     .sample = clksync_sample},
    {.name = "callcost",
     .family = "meta",
     .what = "ns per call that moves nothing",
     .min_ranks = 1,
     .max_ranks = 1,
     .flags = NOSIZE | ALLVARIANTS,
     .variants = "comm_rank,test_null,send_proc_null,barrier_self",
     .unit = "ns",
     .op = callcost},
    {0},
};
