// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// A rank that waits in MPI_Wait, MPI_Probe, MPI_Waitany, MPI_Recv or MPI_Barrier while the other is busy sleeps: it
// uses less than a tenth of a core, where one that spins uses all of it. How much less is the benchmark's row `idle`.
#include <sys/resource.h>
#include <time.h>

#include "../check.h"

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// Rank 1 waits here until rank 0 comes.
static void meet(int way, int rank)
{
    int token = 0;
    MPI_Request r;
    if (way == 4) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else if (way == 3) {
        MPI_Ibarrier(MPI_COMM_SELF, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        if (way == 1) MPI_Probe(0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &r);
        if (way == 2)
            MPI_Waitany(1, &r, &token, MPI_STATUS_IGNORE);
        else
            MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {    // connections are made, caches warm
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int way = 0; way < 5; way++) {
        double before = cpu_seconds();
        if (rank == 0) {
            struct timespec busy = {.tv_sec = 1};    // what is waited for: a rank at work outside MPI
            nanosleep(&busy, NULL);
        }
        meet(way, rank);
        double used = cpu_seconds() - before;
        printf("rank %d: way %d used %.2f %% of a core\n", rank, way, used * 100);
        CHECK(used <= 0.5);    // one that spins uses all that it gets
    }
    MPI_Finalize();
    return 0;
}
