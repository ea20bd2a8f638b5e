// SPDX-License-Identifier: BSD-3-Clause
// Prints the rank and the size; built as C and as C++ by the CMake project beside it, by mpicc and by pkg-config.
// Used by tests/suites/11-install on an installation that was moved.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank = -1, size = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d\n", rank, size);
    return MPI_Finalize() != MPI_SUCCESS;
}
