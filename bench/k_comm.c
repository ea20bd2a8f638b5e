// SPDX-License-Identifier: BSD-3-Clause
// Family comm: making and freeing communicators, groups and topologies. No size; the figure is the slowest rank's time
// for one of them.
#include "bench.h"

#include <stdlib.h>

static void comm_dup(struct run *r, long n)
{
    MPI_Comm c;
    MPI_Request q;
    for (long i = 0; i < n; i++) {
        if (r->variant == 0)
            MPI_Comm_dup(r->comm, &c);
        else {
            MPI_Comm_idup(r->comm, &c, &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
        MPI_Comm_free(&c);
    }
}

static void comm_split(struct run *r, long n)
{
    MPI_Comm c;
    for (long i = 0; i < n; i++) {
        if (r->variant == 0)
            MPI_Comm_split(r->comm, r->rank % 2, r->rank, &c);
        else
            MPI_Comm_split_type(r->comm, MPI_COMM_TYPE_SHARED, r->rank, MPI_INFO_NULL, &c);
        MPI_Comm_free(&c);
    }
}

static void comm_group(struct run *r, long n)
{
    MPI_Group all, some;
    MPI_Comm c;
    int range[1][3] = {{0, r->size - 1, 1}};
    for (long i = 0; i < n; i++) {
        MPI_Comm_group(r->comm, &all);
        MPI_Group_range_incl(all, 1, range, &some);
        if (r->variant == 0)
            MPI_Comm_create(r->comm, some, &c);
        else
            MPI_Comm_create_group(r->comm, some, 5, &c);
        MPI_Comm_free(&c);
        MPI_Group_free(&some);
        MPI_Group_free(&all);
    }
}

static void make_graph(struct run *r, int adjacent, MPI_Comm *c)
{
    int *volatile unweighted = MPI_UNWEIGHTED;    // gcc takes the constant for an array too short to read
    int mine = r->rank, degree = 2, ends[2] = {(r->rank + 1) % r->size, (r->rank + r->size - 1) % r->size};
    if (adjacent)
        MPI_Dist_graph_create_adjacent(r->comm, 2, ends, unweighted, 2, ends, unweighted, MPI_INFO_NULL, 0, c);
    else
        MPI_Dist_graph_create(r->comm, 1, &mine, &degree, ends, unweighted, MPI_INFO_NULL, 0, c);
}

static void topo(struct run *r, long n)
{
    MPI_Comm c;
    for (long i = 0; i < n; i++) {
        int dims[2] = {0, 0}, wrap[2] = {1, 1};
        MPI_Dims_create(r->size, 2, dims);
        if (r->variant <= 1)
            MPI_Cart_create(r->comm, 2, dims, wrap, r->variant, &c);
        else
            make_graph(r, r->variant == 3, &c);
        MPI_Comm_free(&c);
    }
}

#if HAVE_FT
static void agree(struct run *r, long n)
{
    MPI_Request q;
    for (long i = 0; i < n; i++) {
        int flag = 1;
        if (r->variant == 0)
            MPIX_Comm_agree(r->comm, &flag);
        else {
            MPIX_Comm_iagree(r->comm, &flag, &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
        }
    }
}

static void comm_shrink(struct run *r, long n)
{
    MPI_Comm c;
    for (long i = 0; i < n; i++) {
        MPIX_Comm_shrink(r->comm, &c);
        MPI_Comm_free(&c);
    }
}
#define AGREE .op = agree
#define SHRINK .op = comm_shrink
#else
#define AGREE .absent = "this MPI has no process failure (MPIX_Comm_agree)"
#define SHRINK AGREE
#endif

#define COMM .family = "comm", .flags = NOSIZE | ALLVARIANTS
const struct kernel bench_comm_rows[] = {
    {.name = "comm-dup", COMM, .what = "Comm_dup and free", .min_ranks = 1, .variants = "dup,idup", .op = comm_dup},
    {.name = "comm-split",
     COMM,
     .what = "Comm_split and free",
     .min_ranks = 1,
     .variants = "halves,shared",
     .op = comm_split},
    {.name = "comm-group",
     COMM,
     .what = "communicator from a group, and free",
     .min_ranks = 1,
     .variants = "create,create_group",
     .op = comm_group},
    {.name = "topo",
     COMM,
     .what = "topology and free",
     .min_ranks = 3,
     .variants = "cart,reorder,graph,adjacent",
     .op = topo},
    {.name = "agree", COMM, .what = "MPIX_Comm_agree", .min_ranks = 1, .variants = "agree,iagree", AGREE},
    {.name = "comm-shrink", COMM, .what = "MPIX_Comm_shrink and free, nobody dead", .min_ranks = 1, SHRINK},
    {0},
};
