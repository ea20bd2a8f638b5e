// SPDX-License-Identifier: BSD-3-Clause
// Order statistics of a set of samples. Called by the driver on rank 0 after each block and at the end of a size.
// The interval of the median is the distribution-free one from order statistics: ranks n/2 -+ 0.98 sqrt(n).
// No libm: a plain `cc *.c` must link.
#include "bench.h"

#include <stdlib.h>

double bench_sqrt(double x)
{
    if (x <= 0) return 0;
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 200; i++) {
        double next = 0.5 * (r + x / r);
        if (next >= r) break;
        r = next;
    }
    return r;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Linear interpolation between the two nearest ranks.
static double quantile(const double *sorted, long n, double q)
{
    double at = q * (double)(n - 1);
    long i = (long)at;
    if (i + 1 >= n) return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

double bench_median(double *sample, long n)
{
    if (n == 0) return 0;
    qsort(sample, (size_t)n, sizeof *sample, compare);
    return quantile(sample, n, 0.5);
}

void bench_stats(double *x, long n, struct stats *s)
{
    *s = (struct stats){.n = n};
    if (n == 0) return;
    double sum = 0, square = 0, lag = 0;
    for (long i = 0; i < n; i++) sum += x[i];
    s->mean = sum / (double)n;
    for (long i = 0; i < n; i++) square += (x[i] - s->mean) * (x[i] - s->mean);
    for (long i = 0; i + 1 < n; i++) lag += (x[i] - s->mean) * (x[i + 1] - s->mean);
    s->sd = n > 1 ? bench_sqrt(square / (double)(n - 1)) : 0;
    s->lag1 = square > 0 ? lag / square : 0;
    s->median = bench_median(x, n);
    s->min = x[0];
    s->max = x[n - 1];
    s->p1 = quantile(x, n, 0.01);
    s->p5 = quantile(x, n, 0.05);
    s->p25 = quantile(x, n, 0.25);
    s->p75 = quantile(x, n, 0.75);
    s->p95 = quantile(x, n, 0.95);
    s->p99 = quantile(x, n, 0.99);
    double half = 0.98 * bench_sqrt((double)n);
    long lo = (long)((double)n / 2 - half), hi = (long)((double)n / 2 + half) + 1;
    s->lo = x[lo < 0 ? 0 : lo];
    s->hi = x[hi >= n ? n - 1 : hi];
}
