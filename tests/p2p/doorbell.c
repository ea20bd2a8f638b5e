// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// The doorbell as a descriptor: poll() wakes for small and large messages and for room to send, and costs nothing while
// idle.
#include "../check.h"

#include <mpi_ext.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BIG = 1 << 20 };
static int bell;

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

// As an event loop does it: arm, wait for the descriptor unless ready, test.
static void await(MPI_Request *r)
{
    int flag = 0, ready;
    while (!flag) {
        CHECK(MPIX_Doorbell_arm(1, r, &ready) == MPI_SUCCESS);
        struct pollfd p = {.fd = bell, .events = POLLIN};
        if (!ready) CHECK(poll(&p, 1, 300000) == 1);
        CHECK(MPI_Test(r, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPIX_Doorbell_disarm() == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int rank, again;
    MPI_Request r;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPIX_Doorbell_fd(&bell) == MPI_SUCCESS && bell >= 0);
    CHECK(MPIX_Doorbell_fd(&again) == MPI_SUCCESS && again == bell);
    char *buf = malloc(BIG);
    for (int turn = 0; turn < 200; turn++) {
        int n = turn % 3 == 0 ? 8 : turn % 3 == 1 ? 5000 : BIG;
        if ((turn + rank) % 2 == 0) {
            memset(buf, turn, (size_t)n);
            MPI_Isend(buf, n, MPI_BYTE, 1 - rank, turn, MPI_COMM_WORLD, &r);
        } else {
            MPI_Irecv(buf, n, MPI_BYTE, 1 - rank, turn, MPI_COMM_WORLD, &r);
        }
        await(&r);
        CHECK(buf[0] == (char)turn && buf[n - 1] == (char)turn);
    }
    double before = cpu_seconds();
    if (rank == 0) {
        struct timespec busy = {.tv_sec = 2};    // what is waited for: a rank at work outside MPI
        nanosleep(&busy, NULL);
        MPI_Send(buf, 1, MPI_BYTE, 1, 999, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(buf, 1, MPI_BYTE, 0, 999, MPI_COMM_WORLD, &r);
        await(&r);
        CHECK(cpu_seconds() - before <= 1);    // a wait that spins uses two seconds
    }
    free(buf);
    MPI_Finalize();
    return 0;
}
