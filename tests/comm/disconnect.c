// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 chan=shm,tcp
// MPI_Comm_disconnect waits for what is under way on the communicator and for nothing else: not for persistent requests
// that are not started, nor for operations that have ended and that nobody has waited for.
#include "../check.h"

enum { BIG = 1 << 18 };

static int rank, size, out[BIG], in[BIG];

static void resting(void)
{
    MPI_Comm c;
    MPI_Request r[6];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS);
    CHECK(MPI_Send_init(out, BIG, MPI_INT, right, 1, c, &r[0]) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(in, BIG, MPI_INT, left, 1, c, &r[1]) == MPI_SUCCESS);
    CHECK(MPI_Barrier_init(c, MPI_INFO_NULL, &r[2]) == MPI_SUCCESS);
    CHECK(MPI_Psend_init(out, 4, 16, MPI_INT, right, 2, c, MPI_INFO_NULL, &r[3]) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, 4, 16, MPI_INT, left, 2, c, MPI_INFO_NULL, &r[4]) == MPI_SUCCESS);
    CHECK(MPI_Ssend_init(out, 1, MPI_INT, right, 3, c, &r[5]) == MPI_SUCCESS);
    CHECK(MPI_Startall(3, r) == MPI_SUCCESS);    // started and ended once
    CHECK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&c) == MPI_SUCCESS && c == MPI_COMM_NULL);
    for (int i = 0; i < 6; i++) CHECK(MPI_Request_free(&r[i]) == MPI_SUCCESS);
}

static void ended(void)
{
    MPI_Comm c;
    MPI_Request r[3];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < BIG; i++) {
        out[i] = rank;
        in[i] = -1;
    }
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &c) == MPI_SUCCESS);
    CHECK(MPI_Irecv(in, BIG, MPI_INT, left, 1, c, &r[0]) == MPI_SUCCESS);
    CHECK(MPI_Isend(out, BIG, MPI_INT, right, 1, c, &r[1]) == MPI_SUCCESS);
    CHECK(MPI_Ibarrier(c, &r[2]) == MPI_SUCCESS);
    CHECK(MPI_Comm_disconnect(&c) == MPI_SUCCESS);
    CHECK(in[0] == left && in[BIG - 1] == left);    // it was waited for
    CHECK(MPI_Waitall(3, r, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; i++) {
        resting();
        ended();
    }
    MPI_Finalize();
    return 0;
}
