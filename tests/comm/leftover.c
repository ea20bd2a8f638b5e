// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,3 env=UNISONO_VERBOSE=1 says="1 communicators were never freed"
// What a program leaves behind is told at MPI_Finalize, and a communicator may be freed with messages that nobody
// received.
#include "../check.h"

int main(void)
{
    MPI_Comm a, b;
    int rank, v = 1;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    if (rank == 0) {
        for (int i = 0; i < 5; i++) MPI_Send(&v, 1, MPI_INT, 1, i, a);
        MPI_Send(&v, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(&v, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);    // those on `a` are here by now
    }
    MPI_Comm_free(&a);
    MPI_Finalize();
    return 0;
}
