// SPDX-License-Identifier: BSD-3-Clause
// For test_stopped.py. `reply`: every rank but 0 says its process id and waits for a message that rank 0 sends when a
// line comes on standard input; each answers it, and the job ends. `deadlock`: after that line every rank waits for one
// that nobody sends.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, number = 0;
    char line[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d is %d\n", rank, (int)getpid());
    fflush(stdout);
    if (rank == 0 && !fgets(line, sizeof line, stdin)) return 9;
    if (argc > 1 && strcmp(argv[1], "deadlock") == 0)
        MPI_Recv(&number, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int r = 1; rank == 0 && r < size; r++) MPI_Send(&r, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
    for (int r = 1; rank == 0 && r < size; r++) {
        MPI_Recv(&number, 1, MPI_INT, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number != r + 1) return 8;
    }
    if (rank != 0) {
        MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        number++;
        MPI_Send(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
