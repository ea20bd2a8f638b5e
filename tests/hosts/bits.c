// SPDX-License-Identifier: BSD-3-Clause
// Sums of doubles whose result depends on the order of the additions, blocking, nonblocking and persistent; rank 0
// prints one hash of all bits it got, so that two runs can be compared. Every rank must have the same bits as rank 0.
// Run by tests/suites/38-hier.
#include <stdint.h>
#include <string.h>

#include "../check.h"

#define MOST 40000

static uint64_t hash = 1469598103934665603ULL;

static void add_bits(const double *x, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211ULL;
    }
}

int main(void)
{
    static double in[MOST], out[MOST], ref[MOST];
    static const int counts[] = {1, 7, 500, 3001, MOST};
    int me, n;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < MOST; i++) in[i] = 1.0 / (1 + me + 0.37 * i) * (i % 3 ? 1 : 1e9);
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        MPI_Request q;
        MPI_Allreduce(in, out, counts[k], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        memcpy(ref, out, sizeof ref);
        MPI_Bcast(ref, counts[k], MPI_DOUBLE, 0, MPI_COMM_WORLD);
        CHECK(memcmp(ref, out, sizeof(double) * (size_t)counts[k]) == 0);
        add_bits(out, counts[k]);
        MPI_Iallreduce(in, out, counts[k], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        add_bits(out, counts[k]);
        MPI_Allreduce_init(in, out, counts[k], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
            add_bits(out, counts[k]);
        }
        MPI_Request_free(&q);
        MPI_Reduce(in, out, counts[k], MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (me == 0) add_bits(out, counts[k]);
    }
    if (me == 0) printf("bits %016llx\n", (unsigned long long)hash);
    MPI_Finalize();
    return 0;
}
