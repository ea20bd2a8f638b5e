// SPDX-License-Identifier: BSD-3-Clause
// run: np=2,4 chan=shm,tcp
// run: np=4 set=coll_crowded=0
// Sums and products that round, of values of very different size: every reduction, sizes over every algorithm's range,
// ranks arriving in random order, twice each with the same bits, and allreduce with the same bits on all ranks. Prints
// one number made of all bits: suite 38-bits compares it over processes.
#include <math.h>
#include <string.h>
#include <time.h>

#include "coll.h"

static int me, n;
static unsigned long hash = 14695981039346656037ul, noise;

static void mix(const void *p, size_t bytes)
{
    const unsigned char *c = p;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ c[i]) * 1099511628211ul;
}

static unsigned long next(unsigned long *state)
{
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return *state >> 33;
}

// Thirds, scaled by powers of two up to 2^20 both ways: the order of a sum shows in its last bits.
static void fill(double *in, int count)
{
    unsigned long state = (unsigned long)(me + 1) * 977;
    for (int i = 0; i < count; i++) in[i] = ldexp((double)(next(&state) % 1000 + 1) / 3, (int)(next(&state) % 41) - 20);
}

static void arrive(void)
{
    for (volatile unsigned long k = next(&noise) % 20000; k > 0; k--) {
    }
}

// A product that does not commute: 2 x 2 matrices.
static void matrices(void *in, void *inout, int *len, MPI_Datatype *type)
{
    double *a = in, *b = inout;
    (void)type;
    for (int i = 0; i + 3 < *len; i += 4) {
        double p = a[i] * b[i] + a[i + 1] * b[i + 2], q = a[i] * b[i + 1] + a[i + 1] * b[i + 3];
        double r = a[i + 2] * b[i] + a[i + 3] * b[i + 2], s = a[i + 2] * b[i + 1] + a[i + 3] * b[i + 3];
        b[i] = p, b[i + 1] = q, b[i + 2] = r, b[i + 3] = s;
    }
}

enum { REDUCE, ALLREDUCE, BLOCK, SCATTER, SCAN, EXSCAN, KINDS };

// How many elements of out the collective gives this rank.
static int call(int kind, const double *in, double *out, int count, MPI_Op op, enum mode mode)
{
    int share = count / n / 4 * 4, counts[64];
    for (int i = 0; i < n; i++) counts[i] = i == n - 1 ? count - share * (n - 1) : share;
    switch (kind) {
    case REDUCE: CALL(mode, 1, Reduce, Ireduce, in, out, count, MPI_DOUBLE, op, n - 1, MPI_COMM_WORLD); break;
    case ALLREDUCE: CALL(mode, 1, Allreduce, Iallreduce, in, out, count, MPI_DOUBLE, op, MPI_COMM_WORLD); break;
    case BLOCK:
        CALL(mode, 1, Reduce_scatter_block, Ireduce_scatter_block, in, out, share, MPI_DOUBLE, op, MPI_COMM_WORLD);
        return share;
    case SCATTER:
        CALL(mode, 1, Reduce_scatter, Ireduce_scatter, in, out, counts, MPI_DOUBLE, op, MPI_COMM_WORLD);
        return counts[me];
    case SCAN: CALL(mode, 1, Scan, Iscan, in, out, count, MPI_DOUBLE, op, MPI_COMM_WORLD); break;
    default: CALL(mode, 1, Exscan, Iexscan, in, out, count, MPI_DOUBLE, op, MPI_COMM_WORLD); break;
    }
    return (kind == REDUCE && me != n - 1) || (kind == EXSCAN && me == 0) ? 0 : count;
}

static void try(int kind, const double *in, int count, MPI_Op op, enum mode mode)
{
    double *a = calloc((size_t)count, sizeof *a), *b = calloc((size_t)count, sizeof *b);
    arrive();
    int got = call(kind, in, a, count, op, mode);
    arrive();
    call(kind, in, b, count, op, mode);
    CHECK(memcmp(a, b, (size_t)got * sizeof *a) == 0);
    if (kind == ALLREDUCE) {
        memcpy(b, a, (size_t)count * sizeof *a);
        CHECK(MPI_Bcast(b, count, MPI_DOUBLE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(memcmp(a, b, (size_t)count * sizeof *a) == 0);
    }
    mix(a, (size_t)got * sizeof *a);
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    static const int counts[] = {4, 32, 500, 1024, 1500, 4096, 10000, 150000};
    MPI_Op product;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    CHECK(MPI_Op_create(matrices, 0, &product) == MPI_SUCCESS);
    noise = (unsigned long)time(NULL) * 31 + (unsigned long)me;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        double *in = malloc((size_t)counts[c] * sizeof *in);
        fill(in, counts[c]);
        for (int kind = 0; kind < KINDS; kind++)
            for (enum mode mode = BLOCKING; mode <= NONBLOCKING; mode++) {
                try(kind, in, counts[c], MPI_SUM, mode);
                if (counts[c] <= 10000) try(kind, in, counts[c], product, mode);
            }
        free(in);
    }
    unsigned long all[64];
    CHECK(MPI_Gather(&hash, 1, MPI_UNSIGNED_LONG, all, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (me == 0) {
        mix(all, (size_t)n * sizeof *all);
        printf("bits %016lx\n", hash);
    }
    MPI_Op_free(&product);
    MPI_Finalize();
    return 0;
}
