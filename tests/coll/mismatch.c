// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 chan=shm,tcp set=check_collectives=1
// run: np=3 set=coll_crowded=0 set=check_collectives=1
// The checking mode: ranks that disagree on the collective, its root, operation or amount of data are all told, with
// both calls, and may go on; what agrees works as ever. Blocking, nonblocking and persistent, also mixed up with each
// other.
#include "mismatch.h"

static int me, n;

// Told at each start; the ranks that agree with themselves may go on with others.
static void persistent(int odd)
{
    MPI_Request q[2];
    int x = 1, y = 0;
    CHECK(MPI_Allreduce_init(&x, &y, 1, MPI_INT, odd ? MPI_MIN : MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]) ==
          MPI_SUCCESS);
    CHECK(MPI_Allreduce_init(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]) == MPI_SUCCESS);
    for (int k = 0; k < 2; k++) {
        CHECK(MPI_Start(&q[0]) == MPI_SUCCESS);
        expect(MPI_Wait(&q[0], MPI_STATUS_IGNORE), MPI_ERR_OP, "MPI_Allreduce_init", "op");
        CHECK(MPI_Start(&q[1]) == MPI_SUCCESS);
        CHECK(MPI_Wait(&q[1], MPI_STATUS_IGNORE) == MPI_SUCCESS && y == n);
    }
    CHECK(MPI_Request_free(&q[0]) == MPI_SUCCESS && MPI_Request_free(&q[1]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int x = 1, y = 0, z[64] = {0};
    MPI_Request q;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int odd = me == n - 1;
    CHECK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && y == n);
    expect(odd ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
           MPI_ERR_OTHER, "MPI_Barrier", "MPI_Allreduce");
    expect(MPI_Bcast(&x, 1, MPI_INT, odd, MPI_COMM_WORLD), MPI_ERR_ROOT, "root 0", "root 1");
    expect(MPI_Allreduce(&x, &y, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP, "rank 0", "op");
    expect(MPI_Bcast(z, odd ? 64 : 63, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "252 bytes", "256 bytes");
    expect(MPI_Bcast(z, 8, odd ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "types", "rank 0");
    expect(MPI_Allgather(&x, 1, odd ? MPI_FLOAT : MPI_INT, z, 1, odd ? MPI_FLOAT : MPI_INT, MPI_COMM_WORLD),
           MPI_ERR_TYPE, "types", "rank 0");
    if (odd)
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    else
        CHECK(MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    expect(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "MPI_Ibarrier", "MPI_Iallreduce");
    CHECK(MPI_Ireduce(&x, &y, 1, MPI_INT, MPI_SUM, odd, MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    expect(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_ROOT, "root 0", "root 1");
    CHECK(MPI_Ialltoall(z, 1 + odd, MPI_INT, z + 20, 1 + odd, MPI_INT, MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    expect(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_COUNT, "4 bytes", "8 bytes");
    persistent(odd);
    // Blocking on one rank, nonblocking or persistent on the others.
    if (odd)
        expect(MPI_Barrier(MPI_COMM_WORLD), MPI_ERR_OTHER, "MPI_Barrier", "MPI_Ibarrier");
    else
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    if (!odd) expect(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "MPI_Barrier", "MPI_Ibarrier");
    if (!odd) CHECK(MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &q) == MPI_SUCCESS);
    if (!odd) CHECK(MPI_Start(&q) == MPI_SUCCESS);
    expect(odd ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "MPI_Barrier",
           "MPI_Barrier_init");
    if (!odd) CHECK(MPI_Request_free(&q) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && y == n);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
