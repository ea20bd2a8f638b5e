// SPDX-License-Identifier: BSD-3-Clause
// A program for test_checkpoint.py: point-to-point, collective and one-sided traffic all the time, every byte checked,
// until the file named by the first argument exists. Rank 0 says `round N` now and then, and at the end
// `sum S after N`: S is right if it is what N rounds give. The second argument, unless empty, is a file that gets the
// same lines. The third: `wait` lets all ranks wait for each other at the end, `print` begins a line before the rounds
// and ends it after them, `fail` ends with status 7.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES (300 * 1024)
#define FLIGHT 24
#define CELLS 512
#define SAY 40

static int rank, size;
static uint32_t sum = 2166136261u;
static unsigned char out[BYTES], in[BYTES];
static atomic_bool over;

static void must(int holds, const char *what, long round)
{
    if (holds) return;
    fprintf(stderr, "rank %d, round %ld: %s is wrong\n", rank, round, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static unsigned char byte_of(int from, long round, int i)
{
    return (unsigned char)(from * 31 + round * 7 + i + (i >> 8));
}

// From each to the next, of a length that changes: short, eager, rendezvous.
static void ring(long round)
{
    static const int lengths[] = {8, 200, 5000, 60000, BYTES};
    int n = lengths[round % 5], next = (rank + 1) % size, before = (rank + size - 1) % size, good = 1;
    for (int i = 0; i < n; i++) out[i] = byte_of(rank, round, i);
    memset(in, 0, sizeof in);
    MPI_Sendrecv(out, n, MPI_BYTE, next, 1, in, n, MPI_BYTE, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) good &= in[i] == byte_of(before, round, i);
    must(good, "a message", round);
}

// Many messages are under way at a time, received out of order.
static void flight(long round)
{
    MPI_Request r[2 * FLIGHT];
    long sent[FLIGHT], got[FLIGHT];
    int to = (int)(rank + 1 + round) % size, from = (int)((rank - 1 - round) % size + 2 * size) % size;
    for (int i = 0; i < FLIGHT; i++) {
        sent[i] = rank * 1000000L + round * 100 + i;
        MPI_Isend(&sent[i], 1, MPI_LONG, to, 100 + i, MPI_COMM_WORLD, &r[i]);
    }
    for (int i = FLIGHT - 1; i >= 0; i--)
        MPI_Irecv(&got[i], 1, MPI_LONG, from, 100 + i, MPI_COMM_WORLD, &r[FLIGHT + i]);
    MPI_Waitall(2 * FLIGHT, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < FLIGHT; i++) must(got[i] == from * 1000000L + round * 100 + i, "one of many messages", round);
}

static void together(long round)
{
    static long many[4096], all[4096];
    long mine = rank + round, total, each[64];
    MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    must(total == (long)size * (size - 1) / 2 + size * round, "a sum", round);
    for (int i = 0; i < 4096; i++) many[i] = (i % 7) * round + rank;
    MPI_Allreduce(many, all, 4096, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < 4096; i++) must(all[i] == (i % 7) * round + size - 1, "a large maximum", round);
    MPI_Allgather(&mine, 1, MPI_LONG, each, 1, MPI_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) must(each[i] == i + round, "what was gathered", round);
    sum = (sum ^ (uint32_t)total) * 16777619u;
}

// Each adds to a cell of all others and puts a block to the next; both are looked at behind a fence.
static void one_sided(MPI_Win w, long *cell, long round)
{
    static long block[CELLS];
    long one = 1;
    for (int i = 0; i < CELLS; i++) block[i] = rank * 10L + round + i;
    MPI_Win_fence(0, w);
    for (int r = 0; r < size; r++) MPI_Accumulate(&one, 1, MPI_LONG, r, 0, 1, MPI_LONG, MPI_SUM, w);
    MPI_Put(block, CELLS, MPI_LONG, (rank + 1) % size, 1, CELLS, MPI_LONG, w);
    MPI_Win_fence(0, w);
    int before = (rank + size - 1) % size;
    must(cell[0] == size * (round + 1), "the cell that all add to", round);
    for (int i = 0; i < CELLS; i++) must(cell[1 + i] == before * 10L + round + i, "what was put", round);
}

// A thread beside, which sleeps and works in turn.
static void *beside(void *arg)
{
    while (!atomic_load(&over)) usleep(200);
    return arg;
}

static void say(long round, const char *path)
{
    static FILE *f;
    printf("round %ld\n", round);
    fflush(stdout);
    if (path == NULL || path[0] == '\0') return;
    if (f == NULL) f = fopen(path, "w");
    if (f == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
    fprintf(f, "round %ld\n", round);
    fflush(f);
}

int main(int argc, char **argv)
{
    int level, stop = 0;
    long round = 0, *cell;
    pthread_t thread;
    MPI_Win w;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc > 3 && strcmp(argv[3], "print") == 0 && rank == size - 1) {
        printf("half a ");
        fflush(stdout);
    }
    pthread_create(&thread, NULL, beside, NULL);
    MPI_Win_allocate((1 + CELLS) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &cell, &w);
    memset(cell, 0, (1 + CELLS) * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    for (; !stop; round++) {
        ring(round);
        flight(round);
        together(round);
        one_sided(w, cell, round);
        if (rank == 0 && round % SAY == 0) say(round, argc > 2 ? argv[2] : NULL);
        if (rank == 0) stop = access(argv[1], F_OK) == 0;
        MPI_Bcast(&stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    if (argc > 3 && strcmp(argv[3], "wait") == 0)
        MPI_Recv(&stop, 1, MPI_INT, (rank + 1) % size, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (argc > 3 && strcmp(argv[3], "print") == 0 && rank == size - 1) printf("line\n");
    MPI_Win_free(&w);
    if (rank == 0) printf("sum %u after %ld\n", sum, round);
    MPI_Finalize();
    return argc > 3 && strcmp(argv[3], "fail") == 0 ? 7 : 0;
}
