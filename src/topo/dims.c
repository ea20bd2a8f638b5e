// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create: among all ways to write a number as a product of k factors, the one whose largest and smallest
// factor are nearest to each other; among those the one with the smallest largest factor, then the smallest second
// largest, and so on.
// Always holds: factors are non-increasing; the search tries them in increasing order from the root on, so of equally
// good ways the first one found is the answer, and each one found cuts off all that are no better.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "topo/topo.h"

struct divisors {
    int n, value[1600];
};    // no int has more than 1,536

static void list_divisors(int n, struct divisors *d)
{
    d->n = 0;
    for (int i = 1; (long)i * i <= n; i++)
        if (n % i == 0) d->value[d->n++] = i;
    for (int i = d->n - 1; i >= 0; i--)    // the partners, from the root on
        if (d->value[i] != n / d->value[i]) d->value[d->n++] = n / d->value[i];
}

// base to the power of k, or LONG_MAX when that is more than an int holds.
static long power(long base, int k)
{
    long p = 1;
    while (k-- > 0 && p <= INT_MAX) p *= base;
    return p <= INT_MAX ? p : LONG_MAX;
}

struct search {
    const struct divisors *divisors;
    int k, low;         // factors wanted; below `low` a factor makes the way no better than the best
    int *way, *best;    // [k]
};

// The index of the first divisor whose k-th power reaches n.
static int first_from(const struct divisors *d, int n, int k)
{
    int from = 0, to = d->n;
    while (from < to) {
        int half = (from + to) / 2;
        if (power(d->value[half], k) < n)
            from = half + 1;
        else
            to = half;
    }
    return from;
}

// Writes n as the last left factors of a way, none above the factor before them.
static void descend(struct search *s, int n, int left)
{
    int *out = s->way + s->k - left, limit = out[-1];
    if (left == 1) {
        if (n < s->low || n > limit) return;
        *out = n;
        memcpy(s->best, s->way, (size_t)s->k * sizeof *s->best);
        s->low = n + 1;
        return;
    }
    for (int i = first_from(s->divisors, n, left); i < s->divisors->n && s->divisors->value[i] <= limit; i++) {
        int f = s->divisors->value[i];
        if (power(s->low, left - 1) > n / f) return;
        if (n % f) continue;
        *out = f;
        descend(s, n / f, left - 1);
    }
}

static void factor(const struct divisors *d, int n, int k, int *way, int *best)
{
    struct search s = {.divisors = d, .k = k, .low = 1, .way = way, .best = best};
    int spread = INT_MAX;
    if (k == 1) best[0] = n;
    for (int i = first_from(d, n, k); k > 1 && i < d->n; i++) {
        int most = d->value[i];
        s.low = spread > most ? 1 : most - spread + 1;
        if (power(s.low, k - 1) > n / most) return;
        way[0] = most;
        descend(&s, n / most, k - 1);
        if (best[0] == most) spread = most - best[k - 1];
    }
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
    int *factors = calloc(2 * (size_t)open, sizeof *factors);
    if (!factors) return uno_fail(MPI_ERR_NO_MEM, "no memory for %d dimensions", open);
    struct divisors d;
    int rest = (int)(nnodes / fixed);
    list_divisors(rest, &d);
    factor(&d, rest, open, factors + open, factors);
    for (int i = 0, k = 0; i < ndims; i++) {
        if (dims[i] == 0) dims[i] = factors[k++];
    }
    free(factors);
    return MPI_SUCCESS;
}
