// SPDX-License-Identifier: BSD-3-Clause
// Waits in every way there is, for test_wait.py: one receive, requests, collectives by lines and by copies,
// streamed and partitioned messages, the doorbell, several threads. What is waited for comes late because its sender
// waits first.
#include <mpi.h>
#include <mpi_ext.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 200
#define LARGE (1 << 20)

static int rank, other;
static char *large, *more;

static void one_receive(void)
{
    char b[8] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == i % 2) MPI_Send(b, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD);
        if (rank != i % 2) MPI_Recv(b, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void requests(int bytes)
{
    MPI_Request r[2];
    for (int i = 0; i < ROUNDS / 10; i++) {
        MPI_Irecv(large, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &r[0]);
        MPI_Isend(more, bytes, MPI_CHAR, other, 2, MPI_COMM_WORLD, &r[1]);
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    }
}

static void collectives(void)
{
    for (int i = 0; i < ROUNDS; i++) MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 10; i++) MPI_Allreduce(large, more, LARGE / 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Request r;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Ibarrier(MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
}

static void partitioned(int bytes)
{
    MPI_Request r;
    if (rank == 0)
        MPI_Psend_init(large, 4, bytes / 4, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    else
        MPI_Precv_init(large, 4, bytes / 4, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &r);
    for (int i = 0; i < ROUNDS / 10; i++) {
        MPI_Start(&r);
        if (rank == 0) MPI_Pready_range(0, 3, r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        if (i % 4 == 0) one_receive();
    }
    MPI_Request_free(&r);
}

// As an event loop does it: arm, wait for the descriptor unless ready, test.
static void doorbell(void)
{
    int fd, ready, done;
    char b[8] = {0};
    MPIX_Doorbell_fd(&fd);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == i % 2) MPI_Send(b, 8, MPI_CHAR, other, 4, MPI_COMM_WORLD);
        if (rank == i % 2) continue;
        MPI_Request r;
        MPI_Irecv(b, 8, MPI_CHAR, other, 4, MPI_COMM_WORLD, &r);
        for (done = 0; !done; MPI_Test(&r, &done, MPI_STATUS_IGNORE)) {
            MPIX_Doorbell_arm(1, &r, &ready);
            struct pollfd p = {.fd = fd, .events = POLLIN};
            if (!ready) poll(&p, 1, -1);
        }
        MPIX_Doorbell_disarm();
    }
}

static void *thread(void *arg)
{
    int tag = *(int *)arg;
    char b[8] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == i % 2) MPI_Send(b, 8, MPI_CHAR, other, tag, MPI_COMM_WORLD);
        if (rank != i % 2) MPI_Recv(b, 8, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t t[2];
    int tag[2] = {10, 11};
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, thread, &tag[i]);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
    int many = argc > 1 && strcmp(argv[1], "threads") == 0, level;
    MPI_Init_thread(&argc, &argv, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    large = calloc(LARGE, 1);
    more = calloc(LARGE, 1);
    one_receive();
    requests(64);
    requests(5000);
    requests(LARGE);
    collectives();
    partitioned(512);
    partitioned(LARGE);
    doorbell();
    if (many) threads();
    MPI_Finalize();
    free(large);
    free(more);
    return 0;
}
