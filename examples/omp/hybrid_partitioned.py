# SPDX-License-Identifier: BSD-3-Clause
"""Partitioned communication from OpenMP threads: each thread fills its partition of the message and calls Pready for
it.

mpiexec -n 2 python hybrid_partitioned.py [threads] [elements per thread]. Rank 0 sends, rank 1 receives and checks
every element. Needs an mpi4py built for MPI 4 (Psend_init) and MPI.THREAD_MULTIPLE.
"""

import sys

import mpi4py

mpi4py.rc.thread_level = "multiple"
import numpy as np  # noqa: E402
from mpi4py import MPI  # noqa: E402
from unisono.omp import *  # noqa: E402


@omp
def send(comm, threads, each, rounds):
    data = np.empty(threads * each)
    request = comm.Psend_init(data, threads, 1, 7)
    for k in range(rounds):
        request.Start()
        with omp("parallel num_threads(threads)"):
            me = omp_get_thread_num()
            data[me * each : (me + 1) * each] = np.arange(each) + 1000.0 * me + k
            request.Pready(me)
        request.Wait()
    request.Free()


@omp
def receive(comm, threads, each, rounds):
    """Each thread waits for its own partition and adds it up; returns how many were wrong."""
    data, wrong = np.empty(threads * each), 0
    request = comm.Precv_init(data, threads, 0, 7)
    for k in range(rounds):
        request.Start()
        with omp("parallel num_threads(threads) reduction(+:wrong)"):
            me = omp_get_thread_num()
            while not request.Parrived(me):
                pass
            wrong += not np.array_equal(data[me * each : (me + 1) * each], np.arange(each) + 1000.0 * me + k)
        request.Wait()
    request.Free()
    return wrong


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    each = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    comm, rounds = MPI.COMM_WORLD, 20
    wrong = 0
    if comm.rank == 0:
        send(comm, threads, each, rounds)
    elif comm.rank == 1:
        wrong = receive(comm, threads, each, rounds)
        print(f"{rounds} messages in {threads} partitions of {each}: {wrong} partitions wrong", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
