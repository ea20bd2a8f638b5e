// SPDX-License-Identifier: BSD-3-Clause
// A program for test_valgrind.py: `watched HOW`, HOW one of hello, traffic, wrong. It uses what it receives, in small
// and large messages and collectives; wrong also uses memory that nobody has set.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define MOST (1 << 18)

static int rank, size;

static void expect(const int *found, const int *wanted, int n, int times)
{
    for (int i = 0; i < n; i++)
        if (found[i] != times * wanted[i]) MPI_Abort(MPI_COMM_WORLD, 7);
}

static void traffic(void)
{
    int *a = malloc(MOST * sizeof *a), *b = malloc(MOST * sizeof *b);
    for (int i = 0; i < MOST; i++) a[i] = i;
    for (int n = 1; n <= MOST; n *= 64) {
        MPI_Sendrecv(a, n, MPI_INT, (rank + 1) % size, 0, b, n, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        expect(b, a, n, 1);
        MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(b, a, n, size);
    }
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "hello") != 0) traffic();
    if (!strcmp(argv[1], "wrong")) {
        volatile int *never_set = malloc(sizeof *never_set);
        if (*never_set == 4711) MPI_Barrier(MPI_COMM_SELF);
        free((void *)never_set);
    }
    MPI_Finalize();
    return 0;
}
