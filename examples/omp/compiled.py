# SPDX-License-Identifier: BSD-3-Clause
"""pi and jacobi with @omp(compile=True), against Numba's prange and against C with gcc -O2 -fopenmp (if there is a
gcc).

python compiled.py [threads]. Prints seconds, best of five.
"""

import subprocess
import sys
import tempfile
import time

import numba
import numpy as np
from unisono.omp import *

N_PI, N, ITERATIONS = 100_000_000, 2000, 50


@omp(compile=True)
def pi(n, t):
    w, total = 1.0 / n, 0.0
    with omp("parallel for reduction(+:total) num_threads(t)"):
        for i in range(n):
            x = (i + 0.5) * w
            total += 4.0 / (1.0 + x * x)
    return total * w


@numba.njit(parallel=True)
def prange_pi(n):
    w, total = 1.0 / n, 0.0
    for i in numba.prange(n):
        x = (i + 0.5) * w
        total += 4.0 / (1.0 + x * x)
    return total * w


@omp(compile=True)
def jacobi(a, b, iterations, t):
    n = b.shape[0]
    x, new = np.zeros(n), np.zeros(n)
    with omp("parallel num_threads(t)"):
        for k in range(iterations):
            old, to = (new, x) if k % 2 else (x, new)  # each thread's own names for them, as in the C program
            with omp("for"):
                for i in range(n):
                    sigma = 0.0
                    for j in range(n):
                        sigma += a[i, j] * old[j]
                    to[i] = (b[i] - sigma + a[i, i] * old[i]) / a[i, i]
    return new if iterations % 2 else x


@numba.njit(parallel=True)
def prange_jacobi(a, b, iterations):
    n = b.shape[0]
    x, new = np.zeros(n), np.zeros(n)
    for _ in range(iterations):
        for i in numba.prange(n):
            sigma = 0.0
            for j in range(n):
                sigma += a[i, j] * x[j]
            new[i] = (b[i] - sigma + a[i, i] * x[i]) / a[i, i]
        x, new = new, x
    return x


C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static double pi(long n) {
    double w = 1.0 / n, total = 0;
    #pragma omp parallel for reduction(+:total)
    for (long i = 0; i < n; i++) { double x = (i + 0.5) * w; total += 4.0 / (1.0 + x * x); }
    return total * w;
}
static void jacobi(double *a, double *b, double *x, double *y, int n, int iterations) {
    #pragma omp parallel
    for (int k = 0; k < iterations; k++) {
        double *from = k % 2 ? y : x, *to = k % 2 ? x : y;
        #pragma omp for
        for (int i = 0; i < n; i++) {
            double sigma = 0;
            for (int j = 0; j < n; j++) sigma += a[(long)i * n + j] * from[j];
            to[i] = (b[i] - sigma + a[(long)i * n + i] * from[i]) / a[(long)i * n + i];
        }
    }
}
int main(void) {
    int n = N;
    double *a = malloc(sizeof(double) * n * n), *b = malloc(8 * n), *x = calloc(n, 8), *y = calloc(n, 8), best[2] =
    {1e9, 1e9}, sum = 0; for (long i = 0; i < (long)n * n; i++) a[i] = (i % 97) / 97.0 + (i % (n + 1) == 0 ? n : 0);
    for (int i = 0; i < n; i++) b[i] = i % 13;
    for (int k = 0; k < 5; k++) {
        double t = now(); sum += pi(N_PI); t = now() - t; if (t < best[0]) best[0] = t;
        t = now(); jacobi(a, b, x, y, n, ITERATIONS); t = now() - t; if (t < best[1]) best[1] = t;
    }
    printf("%g %g %g\n", best[0], best[1], sum);
}
"""


def best(function, *args):
    function(*args)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - begin)
    return min(times)


def c_times(threads):
    with tempfile.TemporaryDirectory() as d:
        with open(d + "/c.c", "w") as f:
            f.write(C)
        subprocess.run(
            [
                "gcc",
                "-O2",
                "-fopenmp",
                f"-DN={N}",
                f"-DN_PI={N_PI}",
                f"-DITERATIONS={ITERATIONS}",
                d + "/c.c",
                "-o",
                d + "/c",
            ],
            check=True,
        )
        out = subprocess.run(
            [d + "/c"], env={"OMP_NUM_THREADS": str(threads)}, capture_output=True, text=True, check=True
        ).stdout
    return [float(v) for v in out.split()[:2]]


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    numba.set_num_threads(threads)
    rng = np.random.default_rng(1)
    a, b = rng.random((N, N)) + N * np.eye(N), rng.random(N)
    assert np.abs(a @ jacobi(a, b, ITERATIONS, threads) - b).max() < 1e-8
    ours = best(pi, N_PI, threads), best(jacobi, a, b, ITERATIONS, threads)
    prange = best(prange_pi, N_PI), best(prange_jacobi, a, b, ITERATIONS)
    try:
        c = c_times(threads)
    except (OSError, subprocess.CalledProcessError):
        c = [float("nan")] * 2
    print(f"{threads} threads, seconds (best of 5)\n{'':8}{'ours':>10}{'prange':>10}{'C':>10}")
    for i, n in enumerate(("pi", "jacobi")):
        print(f"{n:8}{ours[i]:10.4f}{prange[i]:10.4f}{c[i]:10.4f}")


if __name__ == "__main__":
    main()
