// SPDX-License-Identifier: BSD-3-Clause
// run: np=1,2,3,5,8 chan=shm,tcp
// run: np=2 chan=tcp set=verbose=3 says="bytes over 2 ranks: doubling"
// Every predefined operation on every predefined type it is defined for, through allreduce (small, and large enough to
// be shared out) and reduce; the reference is the fold by MPI_Reduce_local, which has a test of its own. All ranks must
// get the same bits.
#include <complex.h>
#include <stdbool.h>
#include <string.h>

#include "coll.h"

enum kind { INTEGER, FLOAT, DOUBLE, LONG_DOUBLE, CFLOAT, CDOUBLE, BOOL, PAIR };

struct type {
    MPI_Datatype type;
    enum kind kind;
};

static int me, n;

static const struct type types[] = {
    {MPI_SIGNED_CHAR, INTEGER},
    {MPI_UNSIGNED_CHAR, INTEGER},
    {MPI_SHORT, INTEGER},
    {MPI_UNSIGNED_SHORT, INTEGER},
    {MPI_INT, INTEGER},
    {MPI_UNSIGNED, INTEGER},
    {MPI_LONG, INTEGER},
    {MPI_UNSIGNED_LONG, INTEGER},
    {MPI_LONG_LONG, INTEGER},
    {MPI_UNSIGNED_LONG_LONG, INTEGER},
    {MPI_INT8_T, INTEGER},
    {MPI_INT16_T, INTEGER},
    {MPI_INT32_T, INTEGER},
    {MPI_INT64_T, INTEGER},
    {MPI_UINT8_T, INTEGER},
    {MPI_UINT16_T, INTEGER},
    {MPI_UINT32_T, INTEGER},
    {MPI_UINT64_T, INTEGER},
    {MPI_AINT, INTEGER},
    {MPI_OFFSET, INTEGER},
    {MPI_COUNT, INTEGER},
    {MPI_FLOAT, FLOAT},
    {MPI_DOUBLE, DOUBLE},
    {MPI_LONG_DOUBLE, LONG_DOUBLE},
    {MPI_C_FLOAT_COMPLEX, CFLOAT},
    {MPI_C_DOUBLE_COMPLEX, CDOUBLE},
    {MPI_C_BOOL, BOOL},
    {MPI_CHAR, INTEGER},
    {MPI_WCHAR, INTEGER},
    {MPI_CHARACTER, INTEGER},
    {MPI_BYTE, INTEGER},
    {MPI_2INT, PAIR},
    {MPI_FLOAT_INT, PAIR},
    {MPI_DOUBLE_INT, PAIR},
    {MPI_SHORT_INT, PAIR},
    {MPI_LONG_INT, PAIR},
};

struct op {
    MPI_Op op;
    unsigned kinds;
};
#define K(x) (1u << (x))
#define REAL (K(INTEGER) | K(FLOAT) | K(DOUBLE) | K(LONG_DOUBLE))

static const struct op ops[] = {
    {MPI_SUM, REAL | K(CFLOAT) | K(CDOUBLE)},
    {MPI_PROD, REAL | K(CFLOAT) | K(CDOUBLE)},
    {MPI_MAX, REAL},
    {MPI_MIN, REAL},
    {MPI_LAND, K(INTEGER) | K(BOOL)},
    {MPI_LOR, K(INTEGER) | K(BOOL)},
    {MPI_LXOR, K(INTEGER) | K(BOOL)},
    {MPI_BAND, K(INTEGER)},
    {MPI_BOR, K(INTEGER)},
    {MPI_BXOR, K(INTEGER)},
    {MPI_MINLOC, K(PAIR)},
    {MPI_MAXLOC, K(PAIR)},
};

// Small whole numbers: sums and products are exact, so the order of the fold does not show.
static void put(char *at, const struct type *t, MPI_Aint extent, int rank, int i)
{
    int x = 1 + (rank * 7 + i * 5) % 3;
    memset(at, 0, (size_t)extent);
    switch (t->kind) {
    case INTEGER: *at = (char)x; break;
    case BOOL: *(bool *)at = x & 1; break;
    case FLOAT: *(float *)at = (float)x; break;
    case DOUBLE: *(double *)at = x; break;
    case LONG_DOUBLE: *(long double *)at = x; break;
    case CFLOAT: *(float complex *)at = (float)x + (float)(x - 1) * I; break;
    case CDOUBLE: *(double complex *)at = x - (x + 1) * I; break;
    case PAIR:
        if (t->type == MPI_FLOAT_INT) ((float *)at)[0] = (float)x, ((int *)at)[1] = rank;
        if (t->type == MPI_2INT) ((int *)at)[0] = x, ((int *)at)[1] = rank;
        if (t->type == MPI_DOUBLE_INT) ((double *)at)[0] = x, ((int *)at)[2] = rank;
        if (t->type == MPI_LONG_INT) ((long *)at)[0] = x, ((int *)at)[2] = rank;
        if (t->type == MPI_SHORT_INT) ((short *)at)[0] = (short)x, ((int *)at)[1] = rank;
        break;
    }
}

static void try(const struct op *o, const struct type *t, int count)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(t->type, &lb, &extent);
    size_t bytes = (size_t)extent * (size_t)count;
    char *in = malloc(bytes), *want = malloc(bytes), *got = calloc(1, bytes), *other = malloc(bytes);
    for (int r = n - 1; r >= 0; r--) {
        for (int i = 0; i < count; i++) put(r == n - 1 ? want + i * extent : other + i * extent, t, extent, r, i);
        if (r < n - 1) CHECK(MPI_Reduce_local(other, want, count, t->type, o->op) == MPI_SUCCESS);
    }
    for (int i = 0; i < count; i++) put(in + i * extent, t, extent, me, i);
    CHECK(MPI_Allreduce(in, got, count, t->type, o->op, MPI_COMM_WORLD) == MPI_SUCCESS);
    // A long double has six bytes that are nobody's.
    for (int i = 0; i < count; i++)
        CHECK(memcmp(got + i * extent, want + i * extent, t->kind == LONG_DOUBLE ? 10 : (size_t)extent) == 0);
    memset(got, 0, bytes);
    CHECK(MPI_Reduce(in, got, count, t->type, o->op, n - 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < count && me == n - 1; i++)
        CHECK(memcmp(got + i * extent, want + i * extent, t->kind == LONG_DOUBLE ? 10 : (size_t)extent) == 0);
    free(in);
    free(want);
    free(got);
    free(other);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            if (!(ops[o].kinds >> types[t].kind & 1)) continue;
            try(&ops[o], &types[t], 3);
            try(&ops[o], &types[t], 3001);
        }
    }
    MPI_Finalize();
    return 0;
}
