// SPDX-License-Identifier: BSD-3-Clause
// Family coll: barrier, broadcast, the reductions, and what happens when ranks come late or compute meanwhile.
// Size is the whole vector. Operands are small integers, so results are exact in every type and checked element by
// element.
#include "bench.h"

#include <string.h>
#include <time.h>

static void barrier(struct run *r, MPI_Request *q)
{
    switch (r->mode) {
    case BLOCKING: MPI_Barrier(r->comm); break;
    case NONBLOCKING: MPI_Ibarrier(r->comm, q); break;
    case PERSISTENT: MPI_Barrier_init(r->comm, MPI_INFO_NULL, q); break;
    }
}

static void bcast(struct run *r, MPI_Request *q)
{
    switch (r->mode) {
    case BLOCKING: MPI_Bcast(r->sbuf, r->count, r->type, r->root, r->comm); break;
    case NONBLOCKING: MPI_Ibcast(r->sbuf, r->count, r->type, r->root, r->comm, q); break;
    case PERSISTENT: MPI_Bcast_init(r->sbuf, r->count, r->type, r->root, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void reduce(struct run *r, MPI_Request *q)
{
    void *in = r->o->in_place && r->rank == r->root ? MPI_IN_PLACE : r->sbuf;
    switch (r->mode) {
    case BLOCKING: MPI_Reduce(in, r->rbuf, r->count, r->type, r->op, r->root, r->comm); break;
    case NONBLOCKING: MPI_Ireduce(in, r->rbuf, r->count, r->type, r->op, r->root, r->comm, q); break;
    case PERSISTENT: MPI_Reduce_init(in, r->rbuf, r->count, r->type, r->op, r->root, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void allreduce(struct run *r, MPI_Request *q)
{
    void *in = r->o->in_place ? MPI_IN_PLACE : r->sbuf;
    switch (r->mode) {
    case BLOCKING: MPI_Allreduce(in, r->rbuf, r->count, r->type, r->op, r->comm); break;
    case NONBLOCKING: MPI_Iallreduce(in, r->rbuf, r->count, r->type, r->op, r->comm, q); break;
    case PERSISTENT: MPI_Allreduce_init(in, r->rbuf, r->count, r->type, r->op, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void reduce_scatter(struct run *r, MPI_Request *q)
{
    int *n = ((struct coll *)r->priv)->counts;
    switch (r->mode) {
    case BLOCKING: MPI_Reduce_scatter(r->sbuf, r->rbuf, n, r->type, r->op, r->comm); break;
    case NONBLOCKING: MPI_Ireduce_scatter(r->sbuf, r->rbuf, n, r->type, r->op, r->comm, q); break;
    case PERSISTENT: MPI_Reduce_scatter_init(r->sbuf, r->rbuf, n, r->type, r->op, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void reduce_scatter_block(struct run *r, MPI_Request *q)
{
    int n = r->count / r->size;
    switch (r->mode) {
    case BLOCKING: MPI_Reduce_scatter_block(r->sbuf, r->rbuf, n, r->type, r->op, r->comm); break;
    case NONBLOCKING: MPI_Ireduce_scatter_block(r->sbuf, r->rbuf, n, r->type, r->op, r->comm, q); break;
    case PERSISTENT:
        MPI_Reduce_scatter_block_init(r->sbuf, r->rbuf, n, r->type, r->op, r->comm, MPI_INFO_NULL, q);
        break;
    }
}

static void scan(struct run *r, MPI_Request *q)
{
    switch (r->mode) {
    case BLOCKING: MPI_Scan(r->sbuf, r->rbuf, r->count, r->type, r->op, r->comm); break;
    case NONBLOCKING: MPI_Iscan(r->sbuf, r->rbuf, r->count, r->type, r->op, r->comm, q); break;
    case PERSISTENT: MPI_Scan_init(r->sbuf, r->rbuf, r->count, r->type, r->op, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void exscan(struct run *r, MPI_Request *q)
{
    switch (r->mode) {
    case BLOCKING: MPI_Exscan(r->sbuf, r->rbuf, r->count, r->type, r->op, r->comm); break;
    case NONBLOCKING: MPI_Iexscan(r->sbuf, r->rbuf, r->count, r->type, r->op, r->comm, q); break;
    case PERSISTENT: MPI_Exscan_init(r->sbuf, r->rbuf, r->count, r->type, r->op, r->comm, MPI_INFO_NULL, q); break;
    }
}

static int vector_setup(struct run *r)
{
    if (r->bytes && strcmp(r->k->name, "barrier") != 0) r->payload = (double)r->bytes;
    return bench_coll_setup(r, (size_t)r->bytes, (size_t)r->bytes);
}

static int scatter_setup(struct run *r)
{
    if (bench_coll_counts(r)) return -1;
    struct coll *c = r->priv;
    for (int i = 0; i < r->size; i++) c->counts[i] = r->count / r->size + (i < r->count % r->size);
    return vector_setup(r);
}

static int block_setup(struct run *r)
{
    r->count -= r->count % r->size;    // whole blocks; a vector shorter than the ranks makes blocks of one element
    if (r->count < r->size) r->count = r->size;
    int width;
    MPI_Type_size(r->type, &width);
    r->payload = (double)r->count * width;
    return bench_coll_setup(r, (size_t)r->payload, (size_t)r->payload);
}

static void fill_values(struct run *r)
{
    bench_values(r, r->sbuf, 0, r->count, r->rank);
    bench_values(r, r->rbuf, 0, r->count, r->rank);    // the operand, if in place
}

static long check_all(struct run *r)
{
    return bench_values_check(r, r->rbuf, 0, r->count, 0, r->size);
}

static long check_at_root(struct run *r)
{
    return r->rank == r->root ? check_all(r) : -1;
}

static long check_share(struct run *r)
{
    struct coll *c = r->priv;
    long first = 0;
    for (int i = 0; i < r->rank; i++) first += c->counts[i];
    return bench_values_check(r, r->rbuf, first, c->counts[r->rank], 0, r->size);
}

static long check_block(struct run *r)
{
    long n = r->count / r->size;
    return bench_values_check(r, r->rbuf, r->rank * n, n, 0, r->size);
}

static long check_scan(struct run *r)
{
    return bench_values_check(r, r->rbuf, 0, r->count, 0, r->rank + 1);
}

static long check_exscan(struct run *r)
{
    return r->rank == 0 ? -1 : bench_values_check(r, r->rbuf, 0, r->count, 0, r->rank);
}

static void fill_root(struct run *r)
{
    if (r->rank == r->root)
        bench_fill(r->sbuf, (size_t)r->bytes, 77);
    else
        memset(r->sbuf, 0, (size_t)r->bytes);
}

static long check_root(struct run *r)
{
    return bench_check(r->sbuf, (size_t)r->bytes, 77);
}

static void reduce_local(struct run *r, long n)
{
    for (long i = 0; i < n; i++) MPI_Reduce_local(r->sbuf, r->rbuf, r->count, r->type, r->op);
}

static void fill_local(struct run *r)
{
    bench_values(r, r->sbuf, 0, r->count, 0);
    bench_values(r, r->rbuf, 0, r->count, 1);
}

static long check_local(struct run *r)
{
    return bench_values_check(r, r->rbuf, 0, r->count, 0, 2);
}

#define OVER "barrier,bcast,reduce,allreduce,allgather,alltoall"
// The collectives of the two rows below, by place in OVER; sizes fit r->count elements per rank.
static void chosen(struct run *r, MPI_Request *q)
{
    void *s = r->sbuf, *d = r->rbuf;
    switch (r->variant) {
    case 0: barrier(r, q); break;
    case 1: bcast(r, q); break;
    case 2: reduce(r, q); break;
    case 3: allreduce(r, q); break;
    case 4:
        if (q)
            MPI_Iallgather(s, r->count, r->type, d, r->count, r->type, r->comm, q);
        else
            MPI_Allgather(s, r->count, r->type, d, r->count, r->type, r->comm);
        break;
    default:
        if (q)
            MPI_Ialltoall(s, r->count, r->type, d, r->count, r->type, r->comm, q);
        else
            MPI_Alltoall(s, r->count, r->type, d, r->count, r->type, r->comm);
    }
}

static int any_setup(struct run *r)
{
    size_t all = (size_t)r->bytes * (size_t)r->size;
    return bench_buffers(r, all + 8, all + 8);
}

// Ranks come late by the pattern; the figure runs from the last arrival on the common clock.
static double skew_sample(struct run *r)
{
    static unsigned long state = 1;
    double most = r->o->compute > 0 ? r->o->compute : 20e-6, delay = 0, in, out, last, end;
    if (!strcmp(r->o->arrival, "last"))
        delay = r->rank == r->size - 1 ? most : 0;
    else if (!strcmp(r->o->arrival, "linear"))
        delay = most * r->rank / r->size;
    else
        for (int i = 0; i <= r->rank; i++) delay = most * bench_uniform(&state);
    enum mode mode = r->mode;
    r->mode = BLOCKING;
    MPI_Barrier(r->comm);
    bench_compute(delay);
    in = bench_now() - bench_offset;
    chosen(r, NULL);
    out = bench_now() - bench_offset;
    r->mode = mode;
    MPI_Reduce(&in, &last, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(&out, &end, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    r->extra[0] = out - in;
    return r->rank ? 0 : end - last;
}

// The computation of an overlapped operation.
static void spend(const struct run *r, double seconds)
{
    if (r->o->idle)
        nanosleep(
            &(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))},
            NULL);
    else
        bench_compute(seconds);
}

// Start, work in slices with a Test after each (--tests; 0: one piece of work, no Test), Wait. Times of the three
// phases are this rank's.
static double nonblocking(struct run *r, double work, double *phase)
{
    int slices = r->o->tests ? r->o->tests : 1;
    MPI_Request q;
    int done;
    MPI_Barrier(r->comm);
    double start = bench_now();
    chosen(r, &q);
    double started = bench_now();
    for (int i = 0; work > 0 && i < slices; i++) {
        spend(r, work / slices);
        if (r->o->tests) MPI_Test(&q, &done, MPI_STATUS_IGNORE);
    }
    double worked = bench_now();
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    double end = bench_now();
    phase[0] = started - start;
    phase[1] = end - worked;
    return end - start;
}

static double ovl_sample(struct run *r)
{
    double phase[2], pure, work, alone;
    enum mode mode = r->mode;
    r->mode = NONBLOCKING;
    pure = nonblocking(r, 0, phase);
    MPI_Allreduce(MPI_IN_PLACE, &pure, 1, MPI_DOUBLE, MPI_MAX, r->comm);
    work = r->o->compute > 0 ? r->o->compute : pure;
    alone = bench_now();
    spend(r, work);
    alone = bench_now() - alone;
    double total = nonblocking(r, work, phase), least = pure < alone ? pure : alone;
    r->mode = mode;
    double mine = 100 * (pure + alone - total) / least, worst, sum, slowest;
    mine = mine < 0 ? 0 : mine > 100 ? 100 : mine;
    MPI_Reduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MIN, 0, r->comm);
    MPI_Reduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, r->comm);
    MPI_Reduce(&total, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    r->extra[0] = sum / r->size;
    r->extra[1] = worst;
    r->extra[2] = pure;
    r->extra[3] = alone;
    r->extra[4] = phase[0];
    r->extra[5] = phase[1];
    return slowest;
}

#define COLL .family = "coll", .op = bench_coll_op, .teardown = bench_coll_end
const struct kernel bench_coll_rows[] = {
    {.name = "barrier",
     COLL,
     .what = "barrier",
     .min_ranks = 2,
     .flags = SPAN | MODES | NOSIZE,
     .setup = vector_setup,
     .call = barrier},
    {.name = "bcast",
     COLL,
     .what = "broadcast of a whole vector",
     .min_ranks = 2,
     .flags = SPAN | MODES | VECTOR,
     .setup = vector_setup,
     .call = bcast,
     .fill = fill_root,
     .check = check_root},
    {.name = "reduce",
     COLL,
     .what = "reduction to the root",
     .min_ranks = 2,
     .flags = SPAN | MODES | TYPED,
     .setup = vector_setup,
     .call = reduce,
     .fill = fill_values,
     .check = check_at_root},
    {.name = "allreduce",
     COLL,
     .what = "reduction to all",
     .min_ranks = 2,
     .flags = SPAN | MODES | TYPED,
     .setup = vector_setup,
     .call = allreduce,
     .fill = fill_values,
     .check = check_all},
    {.name = "reduce-scatter",
     COLL,
     .what = "reduction, vector split over ranks",
     .min_ranks = 2,
     .flags = SPAN | MODES | TYPED,
     .setup = scatter_setup,
     .call = reduce_scatter,
     .fill = fill_values,
     .check = check_share},
    {.name = "reduce-scatter-block",
     COLL,
     .what = "reduction, equal blocks over ranks",
     .min_ranks = 2,
     .flags = SPAN | MODES | TYPED,
     .setup = block_setup,
     .call = reduce_scatter_block,
     .fill = fill_values,
     .check = check_block},
    {.name = "scan",
     COLL,
     .what = "inclusive prefix reduction",
     .min_ranks = 2,
     .flags = SPAN | MODES | TYPED,
     .setup = vector_setup,
     .call = scan,
     .fill = fill_values,
     .check = check_scan},
    {.name = "exscan",
     COLL,
     .what = "exclusive prefix reduction",
     .min_ranks = 2,
     .flags = SPAN | MODES | TYPED,
     .setup = vector_setup,
     .call = exscan,
     .fill = fill_values,
     .check = check_exscan},
    {.name = "reduce-local",
     .family = "coll",
     .what = "combine two vectors in one rank",
     .min_ranks = 1,
     .max_ranks = 1,
     .flags = TYPED,
     .setup = vector_setup,
     .op = reduce_local,
     .fill = fill_local,
     .check = check_local,
     .teardown = bench_coll_end},
    {.name = "coll-skew",
     .family = "coll",
     .what = "blocking collective with late ranks, after the last arrival (--arrival, --compute)",
     .min_ranks = 2,
     .flags = TYPED,
     .variants = OVER,
     .extras = "root call us",
     .setup = any_setup,
     .sample = skew_sample},
    {.name = "ovl-coll",
     .family = "coll",
     .what = "nonblocking collective with computation: total, slowest rank",
     .min_ranks = 2,
     .flags = TYPED | ALLVARIANTS,
     .variants = OVER,
     .extras = "overlap %,worst %,pure us,compute us,start us,wait us",
     .setup = any_setup,
     .sample = ovl_sample},
    {0},
};
