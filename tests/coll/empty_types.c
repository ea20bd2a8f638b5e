// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp
// run: np=2 set=check_types=1
// Types of size 0 in every collective and in messages: blocks of nothing may lie upon each other, and nothing moves.
#include "../check.h"

enum { MOST = 8 };

static MPI_Datatype empty[3];
static int ones[MOST], zeros[MOST], many[MOST];

static void alltoalls(MPI_Datatype t, char *buf)
{
    MPI_Datatype types[MOST];
    MPI_Request r;
    char out[64] = {0};
    for (int i = 0; i < MOST; i++) types[i] = t;
    CHECK(MPI_Alltoallv(out, many, zeros, t, buf, many, zeros, t, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Alltoallw(out, many, zeros, types, buf, many, zeros, types, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Ialltoallv(out, many, zeros, t, buf, many, zeros, t, MPI_COMM_WORLD, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, t, buf, ones, zeros, t, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Alltoall(out, 3, t, buf, 3, t, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void others(MPI_Datatype t, char *buf)
{
    char out[64] = {0};
    CHECK(MPI_Allgatherv(out, 3, t, buf, many, zeros, t, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Gatherv(out, 3, t, buf, many, zeros, t, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Scatterv(out, many, zeros, t, buf, 3, t, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Allgather(out, 3, t, buf, 3, t, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Allgather(buf, 3, t, buf, 3, t, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Bcast(buf, 3, t, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Bcast(NULL, 3, t, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void neighbours(MPI_Datatype t, char *buf)
{
    int size, rank, dims[1] = {0}, periods[1] = {1};
    MPI_Comm ring;
    char out[64] = {0};
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dims[0] = size;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring) == MPI_SUCCESS);
    MPI_Comm_rank(ring, &rank);
    CHECK(MPI_Neighbor_alltoallv(out, many, zeros, t, buf, many, zeros, t, ring) == MPI_SUCCESS);
    CHECK(MPI_Neighbor_allgatherv(out, 3, t, buf, many, zeros, t, ring) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(out, 5, t, (rank + 1) % size, 1, buf, 5, t, (rank + size - 1) % size, 1, ring,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&ring) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < MOST; i++) {
        ones[i] = 1;
        many[i] = 3;
    }
    MPI_Type_contiguous(0, MPI_INT, &empty[0]);
    MPI_Type_create_resized(empty[0], 0, 4, &empty[1]);
    MPI_Type_vector(0, 2, 3, MPI_DOUBLE, &empty[2]);
    for (int i = 0; i < 3; i++) {
        char buf[64];
        for (int k = 0; k < 64; k++) buf[k] = (char)k;
        CHECK(MPI_Type_commit(&empty[i]) == MPI_SUCCESS);
        alltoalls(empty[i], buf);
        others(empty[i], buf);
        neighbours(empty[i], buf);
        for (int k = 0; k < 64; k++) CHECK(buf[k] == k);
        MPI_Type_free(&empty[i]);
    }
    MPI_Finalize();
    return 0;
}
