// SPDX-License-Identifier: BSD-3-Clause
// A program whose traffic is known, for test_profile.py: `profiled HOW`, HOW one of end, abort, kill, threads,
// together, nothing. Built with mpicc of the stage. Its calls stand in functions of their own, which the profile must
// name.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, other;
static char out[100000], in[100000];

// Three messages of 100 bytes to the next rank, by a communicator in which the ranks are reversed.
static void blocking_part(void)
{
    MPI_Comm back;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
    int to = size - 1 - (rank + 1) % size, from = size - 1 - (rank + size - 1) % size;
    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(out, 100, MPI_BYTE, to, 1, in, 100, MPI_BYTE, from, 1, back, MPI_STATUS_IGNORE);
    MPI_Comm_free(&back);
}

// Two of 100,000 bytes, waited for together; rank 0 comes late, so the others' time is in Waitall.
static void nonblocking_part(void)
{
    MPI_Request q[3];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        for (double end = MPI_Wtime() + 0.05; MPI_Wtime() < end;) continue;
    MPI_Irecv(in, 100000, MPI_BYTE, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(out, 25000, MPI_INT, other, 2, MPI_COMM_WORLD, &q[1]);
    MPI_Isend(out, 0, MPI_BYTE, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &q[2]);
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
}

static void persistent_part(void)
{
    MPI_Request q[2];
    MPI_Send_init(out, 8, MPI_DOUBLE, other, 3, MPI_COMM_WORLD, &q[0]);
    MPI_Recv_init(in, 8, MPI_DOUBLE, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &q[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, q);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

static void *reduce_often(void *comm)
{
    int one = 1, all;
    for (int i = 0; i < 50; i++) MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)comm);
    return NULL;
}

static void threads_part(void)
{
    MPI_Comm own[4];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, reduce_often, &own[i]);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < 4; i++) MPI_Comm_free(&own[i]);
}

static atomic_int receiving;

static void *receive(void *tag)
{
    char byte;
    atomic_fetch_add(&receiving, 1);
    MPI_Recv(&byte, 1, MPI_BYTE, rank, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

// Four threads wait in MPI at the same time, for as long as the rest of the program takes ten times over.
static void together_part(double begun)
{
    pthread_t t[4];
    int tag[4] = {4, 5, 6, 7};
    for (int i = 0; i < 4; i++) pthread_create(&t[i], NULL, receive, &tag[i]);
    while (atomic_load(&receiving) < 4) continue;
    double until = MPI_Wtime();
    until += 10 * (until - begun) + 0.2;
    while (MPI_Wtime() < until) continue;
    for (int i = 0; i < 4; i++) MPI_Send(out, 1, MPI_BYTE, rank, tag[i], MPI_COMM_WORLD);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "end";
    int level;
    int threads = strcmp(how, "threads") == 0 || strcmp(how, "together") == 0;
    MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    double begun = MPI_Wtime();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    other = (rank + 1) % size;
    if (strcmp(how, "nothing") == 0) return MPI_Finalize();
    blocking_part();
    nonblocking_part();
    persistent_part();
    if (strcmp(how, "threads") == 0) threads_part();
    if (strcmp(how, "together") == 0) together_part(begun);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "abort") == 0 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "kill") == 0 && rank == size - 1) raise(SIGKILL);
    if (strcmp(how, "abort") == 0 || strcmp(how, "kill") == 0)
        MPI_Recv(in, 1, MPI_BYTE, other, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
