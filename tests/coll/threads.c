// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,4 chan=shm,tcp threads
// Four threads per rank, each with a communicator of its own, run blocking, nonblocking and persistent collectives at
// once; each rank starts its threads in another order, so that threads of one process wait for different ones of
// another.
#include <pthread.h>

#include "coll.h"

#define THREADS 4
#define ROUNDS 60

static MPI_Comm comms[THREADS];
static int me, n;

static void *work(void *arg)
{
    int t = (int)(size_t)arg, in = me + t, out = 0, all[64], big[5000], sum[5000];
    MPI_Comm comm = comms[t];
    MPI_Request q;
    CHECK(MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &q) == MPI_SUCCESS);
    for (int i = 0; i < 5000; i++) big[i] = me * t + i;
    for (int k = 0; k < ROUNDS; k++) {
        int word = me == k % n ? 1000 * t + k : -1;
        MPI_Request one;
        CHECK(MPI_Bcast(&word, 1, MPI_INT, k % n, comm) == MPI_SUCCESS && word == 1000 * t + k);
        CHECK(MPI_Allgather(&in, 1, MPI_INT, all, 1, MPI_INT, comm) == MPI_SUCCESS);
        for (int r = 0; r < n; r++) CHECK(all[r] == r + t);
        CHECK(MPI_Iallreduce(&in, &all[n], 1, MPI_INT, MPI_SUM, comm, &one) == MPI_SUCCESS);
        CHECK(MPI_Start(&q) == MPI_SUCCESS);
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
        CHECK(MPI_Wait(&one, MPI_STATUS_IGNORE) == MPI_SUCCESS && all[n] == n * (n - 1) / 2 + n * t);
        CHECK(MPI_Wait(&q, MPI_STATUS_IGNORE) == MPI_SUCCESS && out == n - 1 + t);
        if (k % 8 == 4) {
            MPI_Request two[2];
            for (int i = 0; i < 5000; i++) sum[i] = -1;
            CHECK(MPI_Iallreduce(big, sum, 5000, MPI_INT, MPI_SUM, comm, &two[0]) == MPI_SUCCESS);
            CHECK(MPI_Ibarrier(comm, &two[1]) == MPI_SUCCESS);
            CHECK(MPI_Waitall(2, two, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
            for (int i = 0; i < 5000; i++) CHECK(sum[i] == n * (n - 1) / 2 * t + n * i);
        }
        if (k % 8 == 0) CHECK(MPI_Allreduce(big, sum, 5000, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
        for (int i = 0; i < 5000 && k % 8 == 0; i++) CHECK(sum[i] == n * (n - 1) / 2 * t + n * i);
    }
    CHECK(MPI_Request_free(&q) == MPI_SUCCESS);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    pthread_t thread[THREADS];
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS && level == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int t = 0; t < THREADS; t++) CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        int t = (i + me) % THREADS;
        CHECK(pthread_create(&thread[t], NULL, work, (void *)(size_t)t) == 0);
    }
    for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
    for (int t = 0; t < THREADS; t++) CHECK(MPI_Comm_free(&comms[t]) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
