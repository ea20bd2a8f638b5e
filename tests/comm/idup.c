// SPDX-License-Identifier: BSD-3-Clause
// run: np=0,1,2,3,5 chan=shm,tcp
// MPI_Comm_idup: truly nonblocking, many at once and in any order of completion, with attributes copied at the call.
#include "../check.h"

static int rank, size, copied;

static int on_copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
    (void)c, (void)key, (void)extra;
    copied++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static void ring(MPI_Comm c, int v)
{
    int in = -1, out = 10 * v + rank, left = (rank + size - 1) % size;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 2, &in, 1, MPI_INT, left, 2, c, MPI_STATUS_IGNORE);
    CHECK(in == 10 * v + left);
}

// Rank 0 waits for a message that the others send only when they have returned from the call: no rank waits for another
// in it.
static void does_not_block(void)
{
    MPI_Comm c;
    MPI_Request r;
    int v = rank;
    if (rank == size - 1) {
        for (int i = 0; i < size - 1; i++) MPI_Recv(&v, 1, MPI_INT, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &c, &r) == MPI_SUCCESS);
    if (rank != size - 1) MPI_Send(&v, 1, MPI_INT, size - 1, 9, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    CHECK(r == MPI_REQUEST_NULL);
    ring(c, 1);
    MPI_Comm_free(&c);
}

static void many(void)
{
    enum { N = 9 };
    MPI_Comm c[N];
    MPI_Request r[N];
    int key, flag, *got, value = 4;
    MPI_Comm parent;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_create_keyval(on_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(parent, key, &value);
    for (int i = 0; i < N; i++) {
        CHECK(MPI_Comm_idup(parent, &c[i], &r[i]) == MPI_SUCCESS && copied == i + 1);
    }
    MPI_Comm_delete_attr(parent, key);
    MPI_Comm_free(&parent);    // the operations go on
    for (int i = 0; i < N; i++) {
        int k = rank % 2 ? N - 1 - i : i, done = 0;
        while (!done) MPI_Test(&r[k], &done, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < N; i++) {
        MPI_Comm_get_attr(c[i], key, &got, &flag);
        CHECK(flag && *got == 4);
        ring(c[i], i);
    }
    for (int i = 0; i < N; i++) MPI_Comm_free(&c[i]);
    MPI_Comm_free_keyval(&key);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    does_not_block();
    many();
    MPI_Finalize();
    return 0;
}
