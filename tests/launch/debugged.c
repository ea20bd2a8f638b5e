// SPDX-License-Identifier: BSD-3-Clause
// What runs under mpiexec --gdb, for test_debug.py: each rank says what the sum of all is. "fail R": rank R aborts
// then. "wait": rank 0 waits for a message that nobody sends.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A place to stop at.
__attribute__((noinline)) static int part_of(int rank)
{
    return rank + 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int part = part_of(rank);
    MPI_Allreduce(&part, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d has %d\n", rank, sum);
    fflush(stdout);
    if (strcmp(how, "fail") == 0 && atoi(argv[2]) == rank) abort();
    if (strcmp(how, "wait") == 0 && rank == 0) MPI_Recv(&sum, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(how, "fail") == 0) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
