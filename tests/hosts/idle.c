// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// A rank that waits in MPI_Recv while the other is busy for two seconds uses at most 1 % of a core.
#include <sys/resource.h>
#include <time.h>

#include "../check.h"

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {            // connections are made, caches warm
        if (rank == 0) MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        else MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    double before = cpu_seconds();
    if (rank == 0) {
        struct timespec busy = {.tv_sec = 2};     // what is waited for: a rank at work outside MPI
        nanosleep(&busy, NULL);
        MPI_Send(&token, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double used = cpu_seconds() - before;
        printf("waiting used %.2f %% of a core\n", used / 2 * 100);
        CHECK(used <= 0.02);
    }
    MPI_Finalize();
    return 0;
}
