// run: np=1,3
// SPDX-License-Identifier: BSD-3-Clause
// Operations of the user (both kinds of function, commutative or not, derived types), the local reduction, and
// mistakes. That every predefined operation is right on every type is the unit test's business (src/core/op_test.c).
#include "check.h"
#include <stdint.h>
#include <string.h>

static MPI_Datatype seen;
static MPI_Count seen_len;

// Composition of x -> a x + b: associative, not commutative.
static void compose(void *in, void *inout, int *len, MPI_Datatype *t)
{
    long(*f)[2] = in, (*g)[2] = inout;
    seen = *t;
    for (int i = 0; i < *len; i++) {
        long a = f[i][0] * g[i][0], b = f[i][0] * g[i][1] + f[i][1];
        g[i][0] = a;
        g[i][1] = b;
    }
}

static void larger(void *in, void *inout, MPI_Count *len, MPI_Datatype *t)
{
    int *a = in, *b = inout;
    seen = *t;
    seen_len = *len;
    for (MPI_Count i = 0; i < *len; i++) b[i] = a[i] > b[i] ? a[i] : b[i];
}

static void users(int rank, int size)
{
    MPI_Op op, op_c;
    MPI_Datatype pair;
    int commutes = 7;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    MPI_Op_commutative(op, &commutes);
    CHECK(commutes == 0);
    // ((x + rank + 1) applied in rank order) and a factor that makes the order matter.
    long f[2] = {2, rank + 1}, result[2], want[2] = {2, 1};
    for (int r = 1; r < size; r++) {
        want[1] = want[0] * (r + 1) + want[1];
        want[0] *= 2;
    }
    MPI_Allreduce(f, result, 1, pair, op, MPI_COMM_WORLD);
    CHECK(result[0] == want[0] && result[1] == want[1]);
    long g[2] = {3, 4};
    MPI_Reduce_local(f, g, 1, pair, op);
    CHECK(g[0] == 6 && g[1] == 8 + rank + 1 && seen == pair);
    MPI_Op_create_c(larger, 1, &op_c);
    MPI_Op_commutative(op_c, &commutes);
    CHECK(commutes == 1);
    int a[3] = {1, 5, 3}, b[3] = {4, 2, 3};
    MPI_Reduce_local_c(a, b, 3, MPI_INT, op_c);
    CHECK(b[0] == 4 && b[1] == 5 && b[2] == 3 && seen_len == 3 && seen == MPI_INT);
    MPI_Op stale = op_c;
    MPI_Op_free(&op);
    MPI_Op_free(&op_c);
    CHECK(op == MPI_OP_NULL);
    CHECK(MPI_Op_commutative(stale, &commutes) == MPI_ERR_OP);
    MPI_Type_free(&pair);
}

static void local(void)
{
    double x[5] = {1, 2, 3, 4, 5}, y[5] = {10, 10, 10, 10, 10};
    MPI_Reduce_local(x, y, 5, MPI_DOUBLE, MPI_SUM);
    CHECK(y[0] == 11 && y[4] == 15);
    MPI_Reduce_local_c(x, y, 5, MPI_DOUBLE, MPI_MIN);
    CHECK(memcmp(x, y, sizeof x) == 0);
    struct {
        double v;
        int i;
    } a[2] = {{1, 3}, {2, 3}}, b[2] = {{1, 2}, {1, 9}};
    MPI_Reduce_local(a, b, 2, MPI_DOUBLE_INT, MPI_MAXLOC);
    CHECK(b[0].v == 1 && b[0].i == 2 && b[1].v == 2 && b[1].i == 3);
    int commutes = 0;
    MPI_Op_commutative(MPI_SUM, &commutes);
    CHECK(commutes == 1);
}

static void mistakes(void)
{
    int x = 1, y = 2;
    MPI_Op op = MPI_SUM, null = MPI_OP_NULL;
    char text[MPI_MAX_ERROR_STRING];
    int n, err = MPI_Reduce_local(&x, &y, 1, MPI_C_BOOL, MPI_SUM);
    CHECK(err == MPI_ERR_OP);
    MPI_Error_string(err, text, &n);
    CHECK(strstr(text, "MPI_SUM") && strstr(text, "MPI_C_BOOL"));
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_INT, MPI_OP_NULL) == MPI_ERR_OP);
    CHECK(MPI_Reduce_local(&x, &y, 1, MPI_INT, (MPI_Op)(uintptr_t)37) == MPI_ERR_OP);
    CHECK(MPI_Reduce_local(&x, &y, -1, MPI_INT, MPI_SUM) == MPI_ERR_COUNT);
    CHECK(MPI_Reduce_local(&x, NULL, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_local(&x, &x, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    CHECK(MPI_Op_free(&op) == MPI_ERR_OP && op == MPI_SUM);
    CHECK(MPI_Op_free(&null) == MPI_ERR_OP);
    CHECK(MPI_Op_create(NULL, 1, &op) == MPI_ERR_ARG);
    CHECK(y == 2);
}

int main(void)
{
    int rank, size;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    users(rank, size);
    local();
    mistakes();
    MPI_Finalize();
    return 0;
}
