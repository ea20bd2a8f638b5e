// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp threads
// The doorbell beside a thread that waits inside MPI: what wakes the one must not keep the other asleep. Rank 0 has a
// thread that receives with tag 1, while its first thread waits for tag 2 at the descriptor, testing before it arms.
#include "../check.h"

#include <mpi_ext.h>
#include <poll.h>
#include <pthread.h>

enum { TURNS = 4000, THREAD = 1, LOOP = 2 };

static void *receive(void *unused)
{
    int got;
    for (int i = 0; i < TURNS; i++) {
        CHECK(MPI_Recv(&got, 1, MPI_INT, 1, THREAD, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got == i);
        CHECK(MPI_Send(&got, 1, MPI_INT, 1, THREAD, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    return unused;
}

// A loop that tests first and arms only when nothing has ended.
static void await(MPI_Request *r, int bell)
{
    int ended = 0, ready;
    for (;;) {
        CHECK(MPI_Test(r, &ended, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        if (ended) return;
        CHECK(MPIX_Doorbell_arm(0, NULL, &ready) == MPI_SUCCESS && ready == 0);
        CHECK(MPI_Test(r, &ended, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        if (ended) return;
        struct pollfd p = {.fd = bell, .events = POLLIN};
        CHECK(poll(&p, 1, 30000) == 1);
    }
}

static void serve(void)
{
    int bell, got;
    pthread_t thread;
    MPI_Request r;
    CHECK(MPIX_Doorbell_fd(&bell) == MPI_SUCCESS);
    pthread_create(&thread, NULL, receive, NULL);
    for (int i = 0; i < TURNS; i++) {
        MPI_Irecv(&got, 1, MPI_INT, 1, LOOP, MPI_COMM_WORLD, &r);
        await(&r, bell);
        CHECK(got == i);
        MPI_Send(&got, 1, MPI_INT, 1, LOOP, MPI_COMM_WORLD);
    }
    pthread_join(thread, NULL);
    CHECK(MPIX_Doorbell_disarm() == MPI_SUCCESS);
}

static void ask(void)
{
    int back, tags[2] = {THREAD, LOOP};
    for (int i = 0; i < TURNS; i++) {
        for (int k = 0; k < 2; k++) MPI_Send(&i, 1, MPI_INT, 0, tags[(i + k) % 2], MPI_COMM_WORLD);
        for (int k = 0; k < 2; k++) {
            MPI_Recv(&back, 1, MPI_INT, 0, tags[k], MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(back == i);
        }
    }
}

int main(int argc, char **argv)
{
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        serve();
    else
        ask();
    MPI_Finalize();
    return 0;
}
