// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create: among all ways to write a number as a product of k factors in non-increasing order, the one whose
// largest factor is smallest, then the second largest, and so on: as near to a cube as the divisors allow.
// Always holds: the search tries divisors in increasing order from the k-th root on, so the first way found is the
// answer.
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/fail.h"
#include "topo/topo.h"

struct divisors {
    int n, value[1600];
};    // no int has more than 1,536

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void list_divisors(int n, struct divisors *d)
{
    d->n = 0;
    for (int i = 1; (long)i * i <= n; i++) {
        if (n % i) continue;
        d->value[d->n++] = i;
        if (i != n / i) d->value[d->n++] = n / i;
    }
    qsort(d->value, (size_t)d->n, sizeof d->value[0], by_value);
}

// base to the power of k, or LONG_MAX when that is more than an int holds.
static long power(long base, int k)
{
    long p = 1;
    while (k-- > 0 && p <= INT_MAX) p *= base;
    return p <= INT_MAX ? p : LONG_MAX;
}

// Writes n as k factors, none above limit, the largest as small as can be. false: there is no way.
static bool factor(const struct divisors *d, int n, int k, int limit, int *out)
{
    if (k == 1) {
        out[0] = n;
        return n <= limit;
    }
    for (int i = 0; i < d->n && d->value[i] <= limit && d->value[i] <= n; i++) {
        int f = d->value[i];
        if (n % f || power(f, k) < n) continue;
        out[0] = f;
        if (factor(d, n / f, k - 1, f, out + 1)) return true;
    }
    return false;
}

int uno_dims_create(int nnodes, int ndims, int *dims)
{
    long fixed = 1;
    int open = 0;
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0) return uno_fail(MPI_ERR_DIMS, "dims[%d] is %d (0 or more allowed)", i, dims[i]);
        open += dims[i] == 0;
        if (dims[i] > 0) fixed = fixed * dims[i] > INT_MAX ? (long)INT_MAX + 1 : fixed * dims[i];
    }
    if (nnodes % fixed || (open == 0 && fixed != nnodes)) {
        return uno_fail(MPI_ERR_DIMS, "the product %ld of the given dims does not divide nnodes %d", fixed, nnodes);
    }
    if (open == 0) return MPI_SUCCESS;
    int *factors = calloc((size_t)open, sizeof *factors);
    if (!factors) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d dimensions", open);
    struct divisors d;
    int rest = (int)(nnodes / fixed);
    list_divisors(rest, &d);
    factor(&d, rest, open, rest, factors);
    for (int i = 0, k = 0; i < ndims; i++) {
        if (dims[i] == 0) dims[i] = factors[k++];
    }
    free(factors);
    return MPI_SUCCESS;
}
