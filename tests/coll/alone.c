// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,3
// Every collective on a communicator of one rank, blocking and nonblocking: what the rank gives it takes, from one
// layout into another, the bytes between left alone; in place nothing moves, and no operation is applied.
#include <stdbool.h>

#include "../check.h"

#define SELF MPI_COMM_SELF
#define N 6

static void never(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
    CHECK(!"an operation is applied to one rank's contribution");
}

static int in[2 * N], out[2 * N];
static MPI_Datatype apart;    // an int, and a gap of one

static void fresh(void)
{
    for (int i = 0; i < 2 * N; i++) in[i] = 100 + i, out[i] = -1;
}

// The first n ints have arrived `stride` apart, from every `from`th of the input on; nothing else has changed.
static void holds(int n, int stride, int from, int first)
{
    for (int i = 0; i < 2 * N; i++) {
        bool filled = i >= first && (i - first) % stride == 0 && (i - first) / stride < n;
        CHECK(out[i] == (filled ? 100 + (i - first) / stride * from : -1));
    }
    fresh();
}

static void moves(void)
{
    int n = N, two = 2, at = 2 * (int)sizeof(int);
    fresh();
    MPI_Gather(in, N, MPI_INT, out, N, MPI_INT, 0, SELF), holds(N, 1, 1, 0);
    MPI_Gather(in, N, MPI_INT, out, N, apart, 0, SELF), holds(N, 2, 1, 0);
    MPI_Scatter(in, N, apart, out, N, MPI_INT, 0, SELF), holds(N, 1, 2, 0);
    MPI_Scatter(in, N, apart, out, N, apart, 0, SELF), holds(N, 2, 2, 0);
    MPI_Allgather(in, N, MPI_INT, out, N, apart, SELF), holds(N, 2, 1, 0);
    MPI_Alltoall(in, N, apart, out, N, MPI_INT, SELF), holds(N, 1, 2, 0);
    MPI_Gatherv(in, N, MPI_INT, out, &n, &two, MPI_INT, 0, SELF), holds(N, 1, 1, 2);
    MPI_Scatterv(in, &n, (int[]){0}, MPI_INT, out, N, MPI_INT, 0, SELF), holds(N, 1, 1, 0);
    MPI_Allgatherv(in, N, MPI_INT, out, &n, &two, MPI_INT, SELF), holds(N, 1, 1, 2);
    MPI_Alltoallv(in, &n, (int[]){0}, MPI_INT, out, &n, &two, MPI_INT, SELF), holds(N, 1, 1, 2);
    MPI_Alltoallw(in, &n, (int[]){0}, (MPI_Datatype[]){MPI_INT}, out, &n, &at, (MPI_Datatype[]){MPI_INT}, SELF),
        holds(N, 1, 1, 2);
    MPI_Bcast(out, N, MPI_INT, 0, SELF), holds(0, 1, 1, 0);
    MPI_Gather(in, 0, MPI_INT, out, 0, MPI_INT, 0, SELF), holds(0, 1, 1, 0);
}

static void reductions(MPI_Op op)
{
    int n = N;
    fresh();
    MPI_Reduce(in, out, N, MPI_INT, op, 0, SELF), holds(N, 1, 1, 0);
    MPI_Allreduce(in, out, N, MPI_INT, op, SELF), holds(N, 1, 1, 0);
    MPI_Scan(in, out, N, MPI_INT, op, SELF), holds(N, 1, 1, 0);
    MPI_Exscan(in, out, N, MPI_INT, op, SELF), holds(0, 1, 1, 0);
    MPI_Reduce_scatter(in, out, &n, MPI_INT, op, SELF), holds(N, 1, 1, 0);
    MPI_Reduce_scatter_block(in, out, N, MPI_INT, op, SELF), holds(N, 1, 1, 0);
    MPI_Allreduce(MPI_IN_PLACE, out, N, MPI_INT, op, SELF), holds(0, 1, 1, 0);
}

static void in_place(void)
{
    int n = N, zero = 0;
    fresh();
    MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, N, MPI_INT, 0, SELF), holds(0, 1, 1, 0);
    MPI_Scatter(out, N, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, SELF), holds(0, 1, 1, 0);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, N, MPI_INT, SELF), holds(0, 1, 1, 0);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, N, MPI_INT, SELF), holds(0, 1, 1, 0);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, &n, &zero, MPI_INT, SELF), holds(0, 1, 1, 0);
    MPI_Reduce_scatter(MPI_IN_PLACE, out, &n, MPI_INT, MPI_SUM, SELF), holds(0, 1, 1, 0);
}

// The request is done, its status empty.
static void ends(MPI_Request *r)
{
    MPI_Status status;
    int count = -1;
    CHECK(MPI_Wait(r, &status) == MPI_SUCCESS && *r == MPI_REQUEST_NULL);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == 0 && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
}

static void nonblocking(MPI_Op op)
{
    MPI_Request r;
    fresh();
    MPI_Ibarrier(SELF, &r), ends(&r);
    MPI_Iallreduce(in, out, N, apart, op, SELF, &r), ends(&r);
    for (int i = 0; i < N; i++) CHECK(out[2 * i] == 100 + 2 * i && out[2 * i + 1] == -1);
    fresh();
    MPI_Igather(in, N, apart, out, N, MPI_INT, 0, SELF, &r), ends(&r), holds(N, 1, 2, 0);
    MPI_Iexscan(in, out, N, MPI_INT, MPI_SUM, SELF, &r), ends(&r), holds(0, 1, 1, 0);
    CHECK(MPI_Allreduce_init(in, out, N, MPI_INT, MPI_SUM, SELF, MPI_INFO_NULL, &r) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) MPI_Start(&r), MPI_Wait(&r, MPI_STATUS_IGNORE), holds(N, 1, 1, 0);
    MPI_Request_free(&r);
}

int main(int argc, char **argv)
{
    MPI_Op op;
    MPI_Datatype one;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Type_vector(1, 1, 2, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, 2 * (MPI_Aint)sizeof(int), &apart);
    MPI_Type_commit(&apart);
    MPI_Type_free(&one);
    MPI_Op_create(never, 0, &op);
    CHECK(MPI_Barrier(SELF) == MPI_SUCCESS);
    moves();
    reductions(MPI_SUM);
    reductions(op);
    in_place();
    nonblocking(op);
    MPI_Op_free(&op);
    MPI_Type_free(&apart);
    MPI_Finalize();
    return 0;
}
