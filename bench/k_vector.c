// SPDX-License-Identifier: BSD-3-Clause
// Family coll, movement of one share per rank: gather, scatter, allgather, alltoall and their vector forms with an axis
// of imbalance. Size is the share of one rank (the mean share for vector forms), or one block per peer for alltoall. A
// block from rank s to rank d is filled with the seed 1 + s * 4099 + d, so that a misplaced block is found.
#include "bench.h"

#include <string.h>

static unsigned long seed(int s, int d)
{
    return 1 + (unsigned long)s * 4099 + (unsigned long)d;
}

static struct coll *co(struct run *r)
{
    return r->priv;
}

static void gather(struct run *r, MPI_Request *q)
{
    int n = r->count, to = r->root;
    switch (r->mode) {
    case BLOCKING: MPI_Gather(r->sbuf, n, r->type, r->rbuf, n, r->type, to, r->comm); break;
    case NONBLOCKING: MPI_Igather(r->sbuf, n, r->type, r->rbuf, n, r->type, to, r->comm, q); break;
    case PERSISTENT: MPI_Gather_init(r->sbuf, n, r->type, r->rbuf, n, r->type, to, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void gatherv(struct run *r, MPI_Request *q)
{
    int n = co(r)->counts[r->rank], *c = co(r)->counts, *d = co(r)->displs, to = r->root;
    switch (r->mode) {
    case BLOCKING: MPI_Gatherv(r->sbuf, n, r->type, r->rbuf, c, d, r->type, to, r->comm); break;
    case NONBLOCKING: MPI_Igatherv(r->sbuf, n, r->type, r->rbuf, c, d, r->type, to, r->comm, q); break;
    case PERSISTENT:
        MPI_Gatherv_init(r->sbuf, n, r->type, r->rbuf, c, d, r->type, to, r->comm, MPI_INFO_NULL, q);
        break;
    }
}

static void scatter(struct run *r, MPI_Request *q)
{
    int n = r->count, from = r->root;
    switch (r->mode) {
    case BLOCKING: MPI_Scatter(r->sbuf, n, r->type, r->rbuf, n, r->type, from, r->comm); break;
    case NONBLOCKING: MPI_Iscatter(r->sbuf, n, r->type, r->rbuf, n, r->type, from, r->comm, q); break;
    case PERSISTENT: MPI_Scatter_init(r->sbuf, n, r->type, r->rbuf, n, r->type, from, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void scatterv(struct run *r, MPI_Request *q)
{
    int n = co(r)->counts[r->rank], *c = co(r)->counts, *d = co(r)->displs, from = r->root;
    switch (r->mode) {
    case BLOCKING: MPI_Scatterv(r->sbuf, c, d, r->type, r->rbuf, n, r->type, from, r->comm); break;
    case NONBLOCKING: MPI_Iscatterv(r->sbuf, c, d, r->type, r->rbuf, n, r->type, from, r->comm, q); break;
    case PERSISTENT:
        MPI_Scatterv_init(r->sbuf, c, d, r->type, r->rbuf, n, r->type, from, r->comm, MPI_INFO_NULL, q);
        break;
    }
}

static void allgather(struct run *r, MPI_Request *q)
{
    int n = r->count;
    switch (r->mode) {
    case BLOCKING: MPI_Allgather(r->sbuf, n, r->type, r->rbuf, n, r->type, r->comm); break;
    case NONBLOCKING: MPI_Iallgather(r->sbuf, n, r->type, r->rbuf, n, r->type, r->comm, q); break;
    case PERSISTENT: MPI_Allgather_init(r->sbuf, n, r->type, r->rbuf, n, r->type, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void allgatherv(struct run *r, MPI_Request *q)
{
    int n = co(r)->counts[r->rank], *c = co(r)->counts, *d = co(r)->displs;
    switch (r->mode) {
    case BLOCKING: MPI_Allgatherv(r->sbuf, n, r->type, r->rbuf, c, d, r->type, r->comm); break;
    case NONBLOCKING: MPI_Iallgatherv(r->sbuf, n, r->type, r->rbuf, c, d, r->type, r->comm, q); break;
    case PERSISTENT: MPI_Allgatherv_init(r->sbuf, n, r->type, r->rbuf, c, d, r->type, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void alltoall(struct run *r, MPI_Request *q)
{
    int n = r->count;
    switch (r->mode) {
    case BLOCKING: MPI_Alltoall(r->sbuf, n, r->type, r->rbuf, n, r->type, r->comm); break;
    case NONBLOCKING: MPI_Ialltoall(r->sbuf, n, r->type, r->rbuf, n, r->type, r->comm, q); break;
    case PERSISTENT: MPI_Alltoall_init(r->sbuf, n, r->type, r->rbuf, n, r->type, r->comm, MPI_INFO_NULL, q); break;
    }
}

static void alltoallv(struct run *r, MPI_Request *q)
{
    struct coll *c = r->priv;
    int *n = c->rcounts, *d = c->rdispls;    // symmetric: what goes to p is as much as comes from p
    switch (r->mode) {
    case BLOCKING: MPI_Alltoallv(r->sbuf, n, d, r->type, r->rbuf, n, d, r->type, r->comm); break;
    case NONBLOCKING: MPI_Ialltoallv(r->sbuf, n, d, r->type, r->rbuf, n, d, r->type, r->comm, q); break;
    case PERSISTENT:
        MPI_Alltoallv_init(r->sbuf, n, d, r->type, r->rbuf, n, d, r->type, r->comm, MPI_INFO_NULL, q);
        break;
    }
}

static void alltoallw(struct run *r, MPI_Request *q)
{
    struct coll *c = r->priv;
    int *n = c->rcounts, *d = c->rdispls;
    switch (r->mode) {
    case BLOCKING: MPI_Alltoallw(r->sbuf, n, d, c->types, r->rbuf, n, d, c->types, r->comm); break;
    case NONBLOCKING: MPI_Ialltoallw(r->sbuf, n, d, c->types, r->rbuf, n, d, c->types, r->comm, q); break;
    case PERSISTENT:
        MPI_Alltoallw_init(r->sbuf, n, d, c->types, r->rbuf, n, d, c->types, r->comm, MPI_INFO_NULL, q);
        break;
    }
}

static int even_setup(struct run *r)
{
    size_t all = (size_t)r->bytes * (size_t)r->size;
    r->payload = (double)r->bytes * (r->size - 1);
    r->type = MPI_BYTE;
    r->count = (int)r->bytes;
    return bench_coll_setup(r, all, all);
}

static int vector_setup(struct run *r)
{
    r->type = MPI_BYTE;
    r->count = (int)r->bytes;
    if (bench_coll_counts(r)) return -1;
    size_t all = (size_t)co(r)->total + (size_t)co(r)->largest;
    r->payload = (double)co(r)->total;
    return bench_coll_setup(r, all, all);
}

// The block between ranks a and b has the share of (a + b) mod n: the same both ways.
static int pairwise_setup(struct run *r)
{
    r->type = MPI_BYTE;
    r->count = (int)r->bytes;
    if (bench_coll_counts(r)) return -1;
    struct coll *c = r->priv;
    long total = 0;
    for (int p = 0; p < r->size; p++) {
        c->rcounts[p] = c->counts[(r->rank + p) % r->size];
        c->rdispls[p] = (int)total;
        total += c->rcounts[p];
    }
    r->payload = (double)(total - c->rcounts[r->rank]);
    return bench_coll_setup(r, (size_t)total, (size_t)total);
}

static int count_of(struct run *r, int rank)
{
    return co(r)->counts ? co(r)->counts[rank] : r->count;
}

static long offset_of(struct run *r, int rank)
{
    return co(r)->counts ? co(r)->displs[rank] : (long)rank * r->count;
}

static void fill_gather(struct run *r)
{
    bench_fill(r->sbuf, (size_t)count_of(r, r->rank), seed(r->rank, 0));
    memset(r->rbuf, 0, (size_t)offset_of(r, r->size - 1) + (size_t)count_of(r, r->size - 1));
}

static long check_gather(struct run *r)
{
    int everybody = strstr(r->k->name, "all") != NULL;
    if (!everybody && r->rank != r->root) return -1;
    for (int p = 0; p < r->size; p++) {
        long bad = bench_check(r->rbuf + offset_of(r, p), (size_t)count_of(r, p), seed(p, 0));
        if (bad >= 0) return offset_of(r, p) + bad;
    }
    return -1;
}

static void fill_scatter(struct run *r)
{
    for (int p = 0; p < r->size; p++) bench_fill(r->sbuf + offset_of(r, p), (size_t)count_of(r, p), seed(r->root, p));
    memset(r->rbuf, 0, (size_t)count_of(r, r->rank));
}

static long check_scatter(struct run *r)
{
    return bench_check(r->rbuf, (size_t)count_of(r, r->rank), seed(r->root, r->rank));
}

static void fill_pairs(struct run *r)
{
    struct coll *c = r->priv;
    for (int p = 0; p < r->size; p++) {
        size_t n = (size_t)(c->counts ? c->rcounts[p] : r->count);
        long at = c->counts ? c->rdispls[p] : (long)p * r->count;
        bench_fill(r->sbuf + at, n, seed(r->rank, p));
        memset(r->rbuf + at, 0, n);
    }
}

static long check_pairs(struct run *r)
{
    struct coll *c = r->priv;
    for (int p = 0; p < r->size; p++) {
        size_t n = (size_t)(c->counts ? c->rcounts[p] : r->count);
        long at = c->counts ? c->rdispls[p] : (long)p * r->count;
        long bad = bench_check(r->rbuf + at, n, seed(p, r->rank));
        if (bad >= 0) return at + bad;
    }
    return -1;
}

#define COLL                                                                                                           \
    .family = "coll", .min_ranks = 2, .flags = SPAN | MODES | VECTOR, .op = bench_coll_op, .teardown = bench_coll_end
#define SHARES .variants = "even,linear,heavy,random,holes", .setup = vector_setup
#define PAIRS                                                                                                          \
    .variants = "even,linear,heavy,random,holes,sparse", .setup = pairwise_setup, .fill = fill_pairs,                  \
    .check = check_pairs
const struct kernel bench_vector_rows[] = {
    {.name = "gather",
     COLL,
     .what = "gather equal shares at the root",
     .setup = even_setup,
     .call = gather,
     .fill = fill_gather,
     .check = check_gather},
    {.name = "gatherv",
     COLL,
     .what = "gather unequal shares at the root",
     SHARES,
     .call = gatherv,
     .fill = fill_gather,
     .check = check_gather},
    {.name = "scatter",
     COLL,
     .what = "scatter equal shares from the root",
     .setup = even_setup,
     .call = scatter,
     .fill = fill_scatter,
     .check = check_scatter},
    {.name = "scatterv",
     COLL,
     .what = "scatter unequal shares from the root",
     SHARES,
     .call = scatterv,
     .fill = fill_scatter,
     .check = check_scatter},
    {.name = "allgather",
     COLL,
     .what = "gather equal shares at all",
     .setup = even_setup,
     .call = allgather,
     .fill = fill_gather,
     .check = check_gather},
    {.name = "allgatherv",
     COLL,
     .what = "gather unequal shares at all",
     SHARES,
     .call = allgatherv,
     .fill = fill_gather,
     .check = check_gather},
    {.name = "alltoall",
     COLL,
     .what = "a block to every peer",
     .setup = even_setup,
     .call = alltoall,
     .fill = fill_pairs,
     .check = check_pairs},
    {.name = "alltoallv", COLL, .what = "unequal blocks to every peer", PAIRS, .call = alltoallv},
    {.name = "alltoallw", COLL, .what = "unequal blocks with a type each", PAIRS, .call = alltoallw},
    {0},
};
