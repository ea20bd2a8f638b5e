// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3,5 chan=shm,tcp set=check_collectives=1 timeout=30
// The checking mode: ranks that disagree on the collective, its root, operation or amount of data are all told, with
// both calls, and may go on; what agrees works as ever.
#include <string.h>

#include "coll.h"

static int me, n;

static void expect(int err, int wanted, const char *first, const char *second)
{
    char text[MPI_MAX_ERROR_STRING];
    int class, len;
    MPI_Error_class(err, &class);
    CHECK(class == wanted);
    CHECK(MPI_Error_string(err, text, &len) == MPI_SUCCESS);
    CHECK(strstr(text, first) && strstr(text, second));
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
    if (odd)
        CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    else
        CHECK(MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &q) == MPI_SUCCESS);
    expect(MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_ERR_OTHER, "", "");
    CHECK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && y == n);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
