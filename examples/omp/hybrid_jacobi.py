# SPDX-License-Identifier: BSD-3-Clause
"""Jacobi with MPI between processes (mpi4py: Allgather and Allreduce) and OpenMP inside them.

mpiexec -n 2 python hybrid_jacobi.py 1 (two processes, one thread each), mpiexec -n 1 python hybrid_jacobi.py 2 (one
with two threads). Each rank owns a block of rows; the threads share out its rows. MPI is called by one thread, in
single. Checks the solution.
"""

import sys
import time

import numpy as np
from mpi4py import MPI
from unisono.omp import *


@omp
def solve(comm, rows, b, first, x, iterations, tolerance, threads):
    """Solves for x; rows are this rank's rows of the matrix, starting with row `first`. Returns (x, iterations,
    change)."""
    count, done, change, going = len(rows), 0, 0.0, True
    mine = np.empty(count)
    buffers = [row.tolist() for row in rows]
    with omp("parallel num_threads(threads)"):
        while going:
            now = x.tolist()  # the thread's own floats
            with omp("single"):
                change = 0.0
            with omp("for reduction(+:change)"):
                for i in range(count):
                    row, g = buffers[i], first + i
                    sigma = 0.0
                    for j in range(len(row)):
                        sigma += row[j] * now[j]
                    value = (b[g] - sigma + row[g] * now[g]) / row[g]
                    mine[i] = value
                    change += (value - now[g]) ** 2
            with omp("single"):
                total = np.array([change])
                comm.Allreduce(MPI.IN_PLACE, total)
                comm.Allgather(mine, x)
                change = float(total[0])
                done += 1
                going = change >= tolerance and done < iterations  # nobody writes it before everybody has read it
    return x, done, change


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    comm = MPI.COMM_WORLD
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 240
    n -= n % comm.size
    rng = np.random.default_rng(1)
    a = rng.random((n, n)) + n * np.eye(n)
    b = rng.random(n)
    first, count = comm.rank * n // comm.size, n // comm.size
    comm.Barrier()
    begin = time.perf_counter()
    x, done, change = solve(comm, a[first : first + count], b, first, np.zeros(n), 100, 1e-20, threads)
    seconds = time.perf_counter() - begin
    error = float(np.abs(a @ x - b).max())
    if comm.rank == 0:
        print(
            f"{comm.size} ranks x {threads} threads: {done} iterations, {seconds:.3f} s, error {error:.1e}", flush=True
        )
    sys.exit(0 if error < 1e-8 else 1)


if __name__ == "__main__":
    main()
