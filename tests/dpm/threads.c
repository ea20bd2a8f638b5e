// SPDX-License-Identifier: BSD-3-Clause
// run: np=2 chan=shm,tcp threads
// Some threads accept or connect, again and again, while another one sends and receives. The two ranks are of one job:
// for ports that makes no difference.
#include <pthread.h>
#include <string.h>

#include "../check.h"

#define MEETINGS 20
#define THREADS 3
#define ROUNDS 2000

static int rank;
static char port[MPI_MAX_PORT_NAME];

static void *meet(void *arg)
{
    (void)arg;
    for (int i = 0; i < MEETINGS; i++) {
        MPI_Comm c;
        int others, out = rank, in = -1;
        if (rank == 0)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c);
        MPI_Comm_remote_size(c, &others);
        CHECK(others == 1);
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 1, &in, 1, MPI_INT, 0, 1, c, MPI_STATUS_IGNORE);
        CHECK(in == 1 - rank);
        MPI_Comm_disconnect(&c);
        CHECK(c == MPI_COMM_NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t thread[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    CHECK(level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, meet, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        int in = -1;
        MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, 2, &in, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(in == i);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Close_port(port);
    MPI_Finalize();
    return 0;
}
