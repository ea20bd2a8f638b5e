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

// One call: of comm_rank and so on, by the number of its variant.
static void cheap(struct run *r, double *a, double *b)
{
    MPI_Request null = MPI_REQUEST_NULL;
    int x;
    switch (r->variant) {
    case 0: MPI_Comm_rank(r->comm, &x); break;
    case 1: MPI_Test(&null, &x, MPI_STATUS_IGNORE); break;
    case 2: MPI_Send(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, r->comm); break;
    case 3:
        MPI_Sendrecv(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, b, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, r->comm,
                     MPI_STATUS_IGNORE);
        break;
    case 4: MPI_Barrier(MPI_COMM_SELF); break;
    case 5: MPI_Bcast(a, 1, MPI_DOUBLE, 0, MPI_COMM_SELF); break;
    case 6: MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); break;
    default: MPI_Reduce_local(a, b, 1, MPI_DOUBLE, MPI_SUM); break;
    }
}

static void callcost(struct run *r, long n)
{
    double a = 0, b = 0;
    for (long i = 0; i < n; i++) cheap(r, &a, &b);
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
     .what = "ns per call that moves nothing, or 8 bytes within its process",
     .min_ranks = 1,
     .max_ranks = 1,
     .flags = NOSIZE | ALLVARIANTS,
     .variants = "comm_rank,test_null,send_proc_null,sendrecv_proc_null,barrier_self,bcast_self,allreduce_self,"
                 "reduce_local",
     .unit = "ns",
     .op = callcost},
    {0},
};
