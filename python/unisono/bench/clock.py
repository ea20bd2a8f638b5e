# SPDX-License-Identifier: BSD-3-Clause
"""The clock: its cost and tick, the offset of this rank's clock from rank 0's, and the calibrated work loop.

`now` is the OS monotonic clock, which ranks of one host share; for others rank 0 pings each rank and keeps the smallest
round trip. Seconds everywhere.
"""

import array
import time

now = time.perf_counter
offset = 0.0  # this rank's clock minus rank 0's; set by sync()
_loops_per_second = 0.0


def measure() -> tuple[float, float]:
    """(cost of one read, tick) of the clock."""
    reads = 20000
    first = now()
    for _ in range(reads):
        now()
    return (now() - first) / reads, time.get_clock_info("perf_counter").resolution


def _ping(comm: object, rank: int) -> tuple[float, float]:
    word, best, found = array.array("d", [0.0]), 1e9, 0.0
    for _ in range(100):
        sent = now()
        comm.Send(word, rank, 7)
        comm.Recv(word, rank, 7)
        trip = now() - sent
        if trip < best:
            best, found = trip, word[0] - (sent + trip / 2)
    return found, best / 2


def _pong(comm: object) -> None:
    word = array.array("d", [0.0])
    for _ in range(100):
        comm.Recv(word, 0, 7)
        word[0] = now()
        comm.Send(word, 0, 7)


def sync(comm: object, mpi: object, remote_only: bool) -> tuple[float, float]:
    """(offset, error bound) of this rank's clock; hosts that are rank 0's have offset 0 when remote_only."""
    global offset
    hosts = comm.allgather(mpi.Get_processor_name())
    answer = (0.0, 0.0)
    for i in range(1, comm.size):
        if remote_only and hosts[i] == hosts[0]:
            continue
        if comm.rank == 0:
            comm.send(_ping(comm, i), i, 8)
        elif comm.rank == i:
            _pong(comm)
            answer = comm.recv(source=0, tag=8)
    if remote_only:
        offset = answer[0]
    return answer


def _work(loops: int) -> float:
    x = 0.5
    for _ in range(loops):
        x = x * 0.999999 + 1e-3
    return x


def compute(seconds: float) -> None:
    """A loop of Python of about that long, without MPI or clock reads."""
    global _loops_per_second
    if not _loops_per_second:
        times = []
        for _ in range(5):
            start = now()
            _work(20000)
            times.append(now() - start)
        _loops_per_second = 20000 / min(times)
    if seconds > 0:
        _work(int(seconds * _loops_per_second))
