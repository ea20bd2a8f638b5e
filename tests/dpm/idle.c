// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp
// Waiting for another job costs nothing: rank 0 accepts, or connects, while the other side is at work outside MPI. At
// the doorbell its descriptor stays quiet; in MPI_Wait and MPI_Comm_accept the process sleeps.
#include <mpi_ext.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "../check.h"

enum way { AT_DOORBELL, BY_WAIT, BLOCKING, WAYS };

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void begin(bool accept, const char *port, MPI_Comm *c, MPI_Request *r)
{
    if (accept)
        MPIX_Comm_iaccept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, c, r);
    else
        MPIX_Comm_iconnect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, c, r);
}

// How often the descriptor called before the request was done.
static int await_bell(MPI_Request *r)
{
    int fd, ready, done = 0, calls = 0;
    CHECK(MPIX_Doorbell_fd(&fd) == MPI_SUCCESS);
    while (!done) {
        CHECK(MPIX_Doorbell_arm(1, r, &ready) == MPI_SUCCESS);
        if (!ready) CHECK(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, -1) == 1);
        calls += !ready;
        MPI_Test(r, &done, MPI_STATUS_IGNORE);
    }
    MPIX_Doorbell_disarm();
    return calls;
}

static MPI_Comm wait_long(enum way way, bool accept, const char *port)
{
    MPI_Comm c = MPI_COMM_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    double before = cpu_seconds(), start = MPI_Wtime();
    int calls = 0;
    if (way != BLOCKING) begin(accept, port, &c, &r);
    if (way == AT_DOORBELL) calls = await_bell(&r);
    if (way == BY_WAIT) MPI_Wait(&r, MPI_STATUS_IGNORE);
    if (way == BLOCKING && accept) MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
    if (way == BLOCKING && !accept) MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
    double used = (cpu_seconds() - before) / (MPI_Wtime() - start);
    printf("way %d, %s: %d calls, %.2f %% of a core\n", way, accept ? "accept" : "connect", calls, used * 100);
    CHECK(calls <= 100);    // a few frames; a descriptor that stays readable calls as often as it is asked
    CHECK(used <= 0.5);     // one that spins uses all that it gets
    return c;
}

static MPI_Comm come_late(bool accept, const char *port)
{
    struct timespec busy = {.tv_sec = 1};    // what is waited for: a process at work outside MPI
    MPI_Comm c = MPI_COMM_NULL;
    nanosleep(&busy, NULL);
    if (accept)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
    return c;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 2 * WAYS; turn++) {
        char port[MPI_MAX_PORT_NAME] = "";
        bool waits = rank == 0, accepts = (turn < WAYS) == waits;
        MPI_Comm c;
        if (accepts) MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Bcast(port, sizeof port, MPI_CHAR, turn < WAYS ? 0 : 1, MPI_COMM_WORLD);
        c = waits ? wait_long(turn % WAYS, accepts, port) : come_late(accepts, port);
        int out = rank, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, c, MPI_STATUS_IGNORE);
        CHECK(in == 1 - rank);
        MPI_Comm_disconnect(&c);
        if (accepts) MPI_Close_port(port);
    }
    MPI_Finalize();
    return 0;
}
