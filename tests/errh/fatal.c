// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3 status=fail says="MPI_Send: tag -5 is negative (0 .. 2147483647 allowed) on MPI_COMM_WORLD, rank 0"
// The default handler ends the job, and says which call was wrong in what.
#include "../check.h"

int main(void)
{
    int rank, v = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(&v, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
    else
        MPI_Recv(&v, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
