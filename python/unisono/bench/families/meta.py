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


@row("callcost", "meta", "ns per call that moves nothing, or 8 bytes within its process", ranks=(1, 1),
     flags=NOSIZE | ALLVARIANTS, unit="ns",
     variants=("comm_rank", "test_null", "send_proc_null", "sendrecv_proc_null", "barrier_self", "bcast_self",
               "allreduce_self", "reduce_local"))  # fmt: skip
def callcost(r, n):
    mpi, nobody = r.mpi, r.mpi.PROC_NULL
    a, b = (r.kind.spec(r.kind.make(8, "d"), "d") for _ in range(2))
    call = {
        "comm_rank": (r.comm.Get_rank,),
        "test_null": (mpi.Request().Test,),
        "send_proc_null": (r.call.Send, a, nobody, 0),
        "sendrecv_proc_null": (r.comm.Sendrecv, a, nobody, 0, b, nobody, 0),
        "barrier_self": (mpi.COMM_SELF.Barrier,),
        "bcast_self": (mpi.COMM_SELF.Bcast, a),
        "allreduce_self": (mpi.COMM_SELF.Allreduce, a, b),
        "reduce_local": (mpi.SUM.Reduce_local, a, b),
    }[r.variant]
    function, arguments = call[0], call[1:]
    for _ in range(n):
        function(*arguments)
