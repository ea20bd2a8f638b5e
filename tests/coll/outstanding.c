// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5,8 chan=shm,tcp
// Many operations outstanding on one communicator at once, completed out of order, mixed with blocking ones and
// point-to-point; persistent ones started in different orders on different ranks; operation, type and communicator
// freed while in use; progress made from inside another call.
#include "coll.h"

#define MANY 24

static int me, n;

static void mixed(void)
{
    MPI_Request q[MANY];
    int in[MANY], out[MANY], sum = 0, one = 1, token = me;
    for (int i = 0; i < MANY; i++) {
        in[i] = me + i;
        out[i] = -1;
        if (i % 3 == 0)
            MPI_Iallreduce(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[i]);
        else if (i % 3 == 1)
            MPI_Iscan(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q[i]);
        else
            MPI_Ibarrier(MPI_COMM_WORLD, &q[i]);
        if (i % 8 == 5)
            CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == n);
    }
    // Tag and rank like those of the collectives' inside must not meet them.
    int got = -1;
    CHECK(MPI_Sendrecv(&token, 1, MPI_INT, (me + 1) % n, 0, &got, 1, MPI_INT, (me + n - 1) % n, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == (me + n - 1) % n);
    for (int i = MANY - 1; i >= 0; i--) CHECK(MPI_Wait(&q[(i * 7 + me) % MANY], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        if (i % 3 == 0) CHECK(out[i] == n * (n - 1) / 2 + n * i);
        if (i % 3 == 1) CHECK(out[i] == me * (me + 1) / 2 + (me + 1) * i);
    }
}

static void persistent(void)
{
    MPI_Request q[MANY];
    int in[MANY], out[MANY];
    for (int i = 0; i < MANY; i++)
        CHECK(MPI_Allreduce_init(&in[i], &out[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[i]) ==
              MPI_SUCCESS);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) in[i] = me * round + i;
        if (me & 1) {
            CHECK(MPI_Startall(MANY, q) == MPI_SUCCESS);
        } else {
            for (int i = MANY - 1; i >= 0; i--) CHECK(MPI_Start(&q[i]) == MPI_SUCCESS);
        }
        CHECK(MPI_Waitall(MANY, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < MANY; i++) CHECK(out[i] == n * (n - 1) / 2 * round + n * i && q[i] != MPI_REQUEST_NULL);
    }
    for (int i = 0; i < MANY; i++) CHECK(MPI_Request_free(&q[i]) == MPI_SUCCESS && q[i] == MPI_REQUEST_NULL);
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *len; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void freed_in_use(void)
{
    MPI_Op op;
    MPI_Comm comm;
    MPI_Datatype pair;
    MPI_Request q[3];
    enum { N = 30000 };
    static int in[2 * N], out[2 * N], b[2 * N];
    CHECK(MPI_Op_create(add, 1, &op) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Type_vector(N, 1, 2, MPI_INT, &pair) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&pair) == MPI_SUCCESS);
    for (int i = 0; i < 2 * N; i++) {
        in[i] = me + i;
        b[i] = me == 0 ? i : -1;
    }
    CHECK(MPI_Iallreduce(in, out, 2 * N, MPI_INT, op, comm, &q[0]) == MPI_SUCCESS);
    CHECK(MPI_Ibcast(b, 1, pair, 0, comm, &q[1]) == MPI_SUCCESS);
    CHECK(MPI_Ibarrier(comm, &q[2]) == MPI_SUCCESS);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS && MPI_Type_free(&pair) == MPI_SUCCESS &&
          MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Waitall(3, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < 2 * N; i++) CHECK(out[i] == n * (n - 1) / 2 + n * i);
    for (int i = 0; i < N; i++) CHECK(b[2 * i] == 2 * i && b[2 * i + 1] == (me == 0 ? 2 * i + 1 : -1));
}

// A rank that only polls its own operation lets the others' go on too.
static void polled(void)
{
    MPI_Request q;
    int flag = 0, in = me, out;
    CHECK(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    while (!flag) CHECK(MPI_Test(&q, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(out == n - 1 && q == MPI_REQUEST_NULL);
    CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&q) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    mixed();
    persistent();
    freed_in_use();
    polled();
    // Many communicators, each with a segment of its own, made and freed: the heap does not run out.
    for (int i = 0; i < 300; i++) {
        MPI_Comm c;
        int sum = 0, one = 1;
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS);
        CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, c) == MPI_SUCCESS && sum == n);
        CHECK(MPI_Comm_free(&c) == MPI_SUCCESS);
    }
    MPI_Finalize();
    return 0;
}
