// SPDX-License-Identifier: BSD-3-Clause
// A program whose counters are known, for test_stats.py: `counted HOW`, HOW one of end, abort, crash.
#include <mpi.h>
#include <signal.h>
#include <string.h>

// A partitioned send of 4 x 1000 bytes to the next rank, twice.
static void partitions(char *out, char *in, int to, int from)
{
    MPI_Request r[2];
    MPI_Psend_init(out, 4, 1000, MPI_BYTE, to, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
    MPI_Precv_init(in, 4, 1000, MPI_BYTE, from, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, r);
        MPI_Pready_range(0, 3, r[0]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
}

int main(int argc, char **argv)
{
    static char out[1 << 20], in[1 << 20];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    // Rank r sends 10 + r small messages to the next one, whose receives are the same number.
    for (int i = 0; i < 10 + rank; i++) MPI_Send(out, 8, MPI_BYTE, to, 1, MPI_COMM_WORLD);
    for (int i = 0; i < 10 + from; i++) MPI_Recv(in, 8, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        MPI_Sendrecv(out, sizeof out, MPI_BYTE, to, 2, in, sizeof in, MPI_BYTE, from, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    partitions(out, in, to, from);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1 && !strcmp(argv[1], "abort") && rank == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (argc > 1 && !strcmp(argv[1], "crash") && rank == 0) raise(SIGSEGV);
    MPI_Finalize();
    return 0;
}
