// SPDX-License-Identifier: BSD-3-Clause
// run: np=4,300 says="right" timeout=1200
//
// So many ranks that what grows with their square shows. Every rank meets all others in barriers and allreduces (as
// many as the argument says, 1); rank 0 tells what came of it, the memory that the ranks take, and how long each
// operation took, the first of which waits for the last rank to start. `tools/judges ranks` runs it with 4,096.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double kib(const char *file, const char *name)
{
    char line[256];
    double value = 0;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0) value = atof(line + strlen(name));
    if (f) fclose(f);
    return value;
}

int main(int argc, char **argv)
{
    int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double at[3] = {MPI_Wtime()};
    for (int i = 0; i < rounds; i++) MPI_Barrier(MPI_COMM_WORLD);
    at[1] = MPI_Wtime();
    long long mine = rank + 1, sum = 0, want = (long long)size * (size + 1) / 2;
    int wrong = 0, all_wrong = -1;
    for (int i = 0; i < rounds; i++) {
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != want;
    }
    at[2] = MPI_Wtime();
    double own = kib("/proc/self/smaps_rollup", "Pss:"), mean = 0, most = 0;
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks: %s, PSS %.0f KiB, most %.0f KiB, barrier %.0f us, allreduce %.0f us\n", size,
               all_wrong == 0 ? "right" : "WRONG", mean / size, most, 1e6 * (at[1] - at[0]) / rounds,
               1e6 * (at[2] - at[1]) / rounds);
    MPI_Finalize();
    return all_wrong != 0 && rank == 0;
}
