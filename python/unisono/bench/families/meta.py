# SPDX-License-Identifier: BSD-3-Clause
"""Family meta: the clock, the ranks' clock offsets, and what a call costs from Python before it does anything."""

from .. import clock
from ..rows import ALLVARIANTS, NOSIZE, row


@row("clock", "meta", "cost of one read of the OS clock; of MPI_Wtime; their ticks", ranks=(1, 1), flags=NOSIZE,
     extras=("wtime ns", "tick ns", "wtick ns"), unit="ns", sampled=True)  # fmt: skip
def clock_row(r):
    cost, tick = clock.measure()
    wtime = r.mpi.Wtime
    start = clock.now()
    for _ in range(1000):
        wtime()
    r.extra[:] = [(clock.now() - start) / 1000, tick, r.mpi.Wtick()]
    return cost


@row("clksync", "meta", "error bound of the ranks' clock offsets, by ping-pong", flags=NOSIZE, extras=("offset us",),
     sampled=True)  # fmt: skip
def clksync(r):
    found = clock.sync(r.comm, r.mpi, remote_only=False)
    worst = r.comm.allreduce(found[1], op=r.mpi.MAX)
    r.extra[0] = r.comm.allreduce(abs(clock.offset), op=r.mpi.MAX)
    return worst


@row("callcost", "meta", "ns per call that moves nothing", ranks=(1, 1), flags=NOSIZE | ALLVARIANTS, unit="ns",
     variants=("comm_rank", "test_null", "send_proc_null", "barrier_self"))  # fmt: skip
def callcost(r, n):
    nobody, buf = r.mpi.PROC_NULL, r.kind.spec(r.kind.make(1, "B"), "B")
    call = {
        "comm_rank": r.comm.Get_rank,
        "test_null": r.mpi.Request().Test,
        "send_proc_null": lambda: None,
        "barrier_self": r.mpi.COMM_SELF.Barrier,
    }[r.variant]
    if r.variant == "send_proc_null":
        send = r.call.Send
        for _ in range(n):
            send(buf, nobody, 0)
        return
    for _ in range(n):
        call()
