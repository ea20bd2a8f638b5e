// SPDX-License-Identifier: BSD-3-Clause
// What all collective rows share: one operation in the three modes, persistent requests, and the counts of the vector
// variants. Called by k_coll.c, k_vector.c and k_neigh.c.
#include "bench.h"

#include <stdlib.h>

void bench_coll_op(struct run *r, long n)
{
    struct coll *c = r->priv;
    MPI_Request q;
    for (long i = 0; i < n; i++) {
        if (r->mode == BLOCKING) {
            r->k->call(r, NULL);
            continue;
        }
        if (r->mode == PERSISTENT) {
            MPI_Start(&c->q);
            MPI_Wait(&c->q, MPI_STATUS_IGNORE);
            continue;
        }
        r->k->call(r, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
    }
}

static struct coll *coll_of(struct run *r)
{
    if (!r->priv) r->priv = calloc(1, sizeof(struct coll));
    return r->priv;
}

int bench_coll_setup(struct run *r, size_t sbytes, size_t rbytes)
{
    struct coll *c = coll_of(r);
    if (bench_buffers(r, sbytes + 8, rbytes + 8)) return -1;
    if (r->mode == PERSISTENT) {
        r->k->call(r, &c->q);
        c->ready = 1;
    }
    return 0;
}

void bench_coll_end(struct run *r)
{
    struct coll *c = r->priv;
    if (!c) return;
    if (c->ready) MPI_Request_free(&c->q);
    free(c->counts);
    free(c->displs);
    free(c->rcounts);
    free(c->rdispls);
    free(c->types);
    free(c);
    r->priv = NULL;
}

// Share of rank i out of n where the mean share is `count`: even, linear, one heavy, random, every second one empty,
// two partners per rank (alltoallv and w).
static int share(const struct run *r, int i, unsigned long *state)
{
    long n = r->size, count = r->count;
    switch (r->variant) {
    case 1: return (int)(2 * count * (i + 1) / (n + 1));
    case 2: return (int)(i == 0 ? n * count / 2 : n * count / 2 / (n > 1 ? n - 1 : 1));
    case 3: return (int)(bench_uniform(state) * 2 * (double)count);
    case 4: return i % 2 ? 0 : (int)(2 * count);
    case 5: return i < 2 ? (int)count : 0;
    default: return (int)count;
    }
}

int bench_coll_counts(struct run *r)
{
    struct coll *c = coll_of(r);
    unsigned long state = r->o->seed;
    size_t n = (size_t)r->size;
    c->counts = calloc(n, sizeof(int));
    c->displs = calloc(n, sizeof(int));
    c->rcounts = calloc(n, sizeof(int));
    c->rdispls = calloc(n, sizeof(int));
    c->types = calloc(n, sizeof *c->types);
    for (int i = 0; i < r->size; i++) {
        c->counts[i] = share(r, i, &state);
        c->displs[i] = (int)c->total;
        c->total += c->counts[i];
        c->types[i] = r->type;
        if (c->counts[i] > c->largest) c->largest = c->counts[i];
    }
    return 0;
}
