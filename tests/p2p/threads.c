// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2 chan=shm,tcp threads
// MPI_THREAD_MULTIPLE: four threads per rank exchange messages of all sizes with the same thread of the other rank, on
// one communicator and on their own, while others wait, test and probe.
#include "../check.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, TURNS = 60, MAX = 70000 };
static int rank, other;
static MPI_Comm own[THREADS];

static void *exchange(void *arg)
{
    int me = (int)(size_t)arg;
    char *out = malloc(MAX), *in = malloc(MAX);
    for (int turn = 0; turn < TURNS; turn++) {
        int n = turn % 4 == 0 ? 0 : turn % 4 == 1 ? 30 : turn % 4 == 2 ? 4000 : MAX;
        MPI_Comm comm = turn % 2 ? own[me] : MPI_COMM_WORLD;
        MPI_Request r[2];
        MPI_Status s;
        int count;
        memset(out, me * 16 + turn, (size_t)n);
        CHECK(MPI_Irecv(in, MAX, MPI_BYTE, other, me, comm, &r[0]) == MPI_SUCCESS);
        CHECK(MPI_Isend(out, n, MPI_BYTE, other, me, comm, &r[1]) == MPI_SUCCESS);
        if (turn % 3 == 0) {
            int flag = 0;
            while (!flag) CHECK(MPI_Test(&r[0], &flag, &s) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Wait(&r[0], &s) == MPI_SUCCESS);
        }
        CHECK(MPI_Wait(&r[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        MPI_Get_count(&s, MPI_BYTE, &count);
        CHECK(count == n && s.MPI_TAG == me);
        for (int i = 0; i < n; i++) CHECK(in[i] == (char)(me * 16 + turn));
        MPI_Send(&turn, 1, MPI_INT, other, 100 + me, comm);
        MPI_Probe(other, 100 + me, comm, &s);
        CHECK(MPI_Recv(&count, 1, MPI_INT, other, 100 + me, comm, &s) == MPI_SUCCESS && count == turn);
    }
    free(out), free(in);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, size;
    pthread_t t[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    other = size == 1 ? 0 : 1 - rank;
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (size_t i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, exchange, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&own[i]);
    MPI_Finalize();
    return 0;
}
