// SPDX-License-Identifier: BSD-3-Clause
// run: np=0
// MPI_Dims_create against a search of all ways: the largest and the smallest dimension are as near to each other as can
// be, then the largest is as small as can be, then the second largest ... Hard numbers end within the test's time.
#include "../check.h"

#include <limits.h>
#include <string.h>

enum { MOST_DIMS = 10 };

static int way[MOST_DIMS], best[MOST_DIMS];

static int compare(const int *a, const int *b, int k)
{
    if (a[0] - a[k - 1] != b[0] - b[k - 1]) return a[0] - a[k - 1] < b[0] - b[k - 1] ? -1 : 1;
    for (int i = 0; i < k; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

// All non-increasing ways to write n as the factors at .. k - 1.
static void search(int n, int at, int k)
{
    if (at == k - 1) {
        way[at] = n;
        if ((at == 0 || n <= way[at - 1]) && (best[0] == 0 || compare(way, best, k) < 0))
            memcpy(best, way, sizeof best);
        return;
    }
    for (int f = 1; f <= n && (at == 0 || f <= way[at - 1]); f++) {
        if (n % f) continue;
        way[at] = f;
        search(n / f, at + 1, k);
    }
}

static void against_all(int n, int k)
{
    int dims[MOST_DIMS] = {0};
    memset(best, 0, sizeof best);
    search(n, 0, k);
    CHECK(MPI_Dims_create(n, k, dims) == MPI_SUCCESS);
    CHECK(memcmp(dims, best, (size_t)k * sizeof *dims) == 0);
}

static void whole(int n, int k)
{
    int dims[MOST_DIMS] = {0};
    long product = 1;
    CHECK(MPI_Dims_create(n, k, dims) == MPI_SUCCESS);
    for (int i = 0; i < k; i++) {
        product *= dims[i];
        CHECK(dims[i] > 0 && (i == 0 || dims[i] <= dims[i - 1]));
    }
    CHECK(product == n);
}

static void known(int n, int k, const int *want)
{
    int dims[MOST_DIMS] = {0};
    CHECK(MPI_Dims_create(n, k, dims) == MPI_SUCCESS);
    CHECK(memcmp(dims, want, (size_t)k * sizeof *dims) == 0);
}

int main(int argc, char **argv)
{
    // Many divisors, few, large primes, powers.
    static const int hard[] = {2095133040, 1862340480, 735134400,  2147483647, 2147483646, 2147395600,
                               1 << 30,    1162261467, 1836311903, 2146654199, 2118412800, 2053230379};
    MPI_Init(&argc, &argv);
    known(7488, 3, (int[]){26, 18, 16});
    known(6, 2, (int[]){3, 2});
    known(7, 3, (int[]){7, 1, 1});
    known(1 << 20, 10, (int[]){4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
    for (int n = 1; n <= 3000; n++)
        for (int k = 1; k <= 4; k++) against_all(n, k);
    for (int n = 1; n <= 40; n++)
        for (int k = 5; k <= MOST_DIMS; k++) against_all(n * n, k);
    for (int i = 0; i < (int)(sizeof hard / sizeof hard[0]); i++)
        for (int k = 1; k <= MOST_DIMS; k++) whole(hard[i], k);
    unsigned state = 5;
    for (int i = 0; i < 2000; i++) {
        state = state * 1103515245u + 12345u;
        whole((int)(state >> 1 | 1), 1 + i % MOST_DIMS);
        whole((int)(state >> 14) + 1, 1 + i % MOST_DIMS);
    }
    MPI_Finalize();
    return 0;
}
