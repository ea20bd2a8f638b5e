// SPDX-License-Identifier: BSD-3-Clause
// What a debugger should find, for test_gdb.py. Rank 0 has two posted receives, a message that came whole before its
// receive and one that was only announced, one that it has not read from the ring (rank 1 says "sent"), and a
// communicator with a name; it says "ready" and goes on when its input ends. "alone" only stops in ready().
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#define LARGE (1 << 20)
static char large[LARGE];

// A place to stop at.
__attribute__((noinline)) static void ready(void)
{
    printf("ready\n");
    fflush(stdout);
}

static void receive(MPI_Comm halo)
{
    int ints[10];
    double doubles[4];
    char small[16];
    MPI_Request r[2];
    MPI_Irecv(ints, 10, MPI_INT, 1, 7, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(doubles, 4, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, halo, &r[1]);
    MPI_Recv(small, 1, MPI_CHAR, 1, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);    // the two before it have come
    MPI_Send(small, 1, MPI_CHAR, 1, 14, MPI_COMM_WORLD);                       // the last call until the input ends
    ready();
    while (getchar() != EOF) continue;
    MPI_Send(small, 1, MPI_CHAR, 1, 12, MPI_COMM_WORLD);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Recv(small, 16, MPI_CHAR, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(large, LARGE, MPI_CHAR, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(small, 1, MPI_CHAR, 1, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send(MPI_Comm halo)
{
    int ints[10] = {0};
    double doubles[4] = {0};
    char small[16] = {0};
    MPI_Request r;
    MPI_Send(small, 16, MPI_CHAR, 0, 9, MPI_COMM_WORLD);
    MPI_Isend(large, LARGE, MPI_CHAR, 0, 11, MPI_COMM_WORLD, &r);
    MPI_Send(small, 1, MPI_CHAR, 0, 10, MPI_COMM_WORLD);
    MPI_Recv(small, 1, MPI_CHAR, 0, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(small, 1, MPI_CHAR, 0, 13, MPI_COMM_WORLD);
    printf("sent\n");
    fflush(stdout);
    MPI_Recv(small, 1, MPI_CHAR, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(ints, 10, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Send(doubles, 4, MPI_DOUBLE, 0, 8, halo);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);    // a debugger that is not an ancestor may look too
    if (argc > 1 && strcmp(argv[1], "before") == 0) ready();
    MPI_Init(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "alone") == 0) ready();
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 2) {
        MPI_Comm halo;
        MPI_Comm_dup(MPI_COMM_WORLD, &halo);
        MPI_Comm_set_name(halo, "halo");
        (rank == 0 ? receive : send)(halo);
        MPI_Comm_free(&halo);
    }
    MPI_Finalize();
    if (argc > 1 && strcmp(argv[1], "after") == 0) ready();
    return 0;
}
