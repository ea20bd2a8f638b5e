# SPDX-License-Identifier: BSD-3-Clause
"""Family py: what the binding itself costs: turning a buffer into an address, and pickling."""

import pickle

from .. import buffers
from ..clock import now
from ..rows import ALLVARIANTS, NOSIZE, ROOT, row
from ..run import Skip

ATTACHED = ("bytearray", "array", "memoryview", "mmap", "numpy", "fast", "raw", "bytearray-typed", "numpy-typed")


def attach_setup(r):
    """The call is a send of 8 bytes to nobody: everything up to MPI, and MPI's shortest path."""
    name, _, typed = r.variant.partition("-")
    try:
        kind = buffers.KINDS[name](r.o, r.mpi)
    except buffers.Usage as missing:
        raise Skip(str(missing)) from None
    buf = kind.make(8, "B")
    r.priv.spec = [buf, 8, r.mpi.BYTE] if typed else kind.spec(buf, "B")
    r.priv.call = kind.fast.Comm(r.comm) if hasattr(kind, "fast") else r.comm
    r.priv.memory = r.mpi.memory if hasattr(r.mpi, "memory") else r.mpi.buffer
    r.priv.buf = None if typed or hasattr(kind, "fast") else buf


def memory_cost(r):
    """Seconds to get the address alone, by mpi4py's own class."""
    if r.priv.buf is None:
        return 0.0
    turn, buf, n = r.priv.memory.frombuffer, r.priv.buf, 2000
    start = now()
    for _ in range(n):
        turn(buf)
    return (now() - start) / n


@row("py-attach", "py", "send of 8 bytes to MPI_PROC_NULL, by kind of buffer: what a call costs before MPI moves data",
     ranks=(1, 1), flags=NOSIZE | ALLVARIANTS, variants=ATTACHED, extras=("address ns",), unit="ns",
     setup=attach_setup)  # fmt: skip
def attach(r, n):
    send, spec, nobody = r.priv.call.Send, r.priv.spec, r.mpi.PROC_NULL
    for _ in range(n):
        send(spec, nobody, 0)
    if not r.extra[0]:
        r.extra[0] = memory_cost(r)


OBJECTS = ("bytes", "list", "dict", "array", "array5")


def pickle_setup(r):
    """An object of about the size, the calls that pickle it, and the communicator that sends it."""
    n, kind = r.bytes, r.variant
    if kind.startswith("array"):
        value = buffers.need("numpy").zeros(n, "u1")
    else:
        value = {"bytes": bytes(n), "list": list(range(n // 8)), "dict": {f"k{i}": i for i in range(n // 8)}}[kind]
    r.priv.value, r.payload = value, n
    r.priv.out_of_band = kind == "array5"
    r.priv.comm = buffers.need("mpi4py.util.pkl5").Intracomm(r.comm) if r.priv.out_of_band else r.comm


def alone(r):
    """Seconds to pickle and to unpickle, without a message."""
    parts: list[pickle.PickleBuffer] = []
    keep = parts.append if r.priv.out_of_band else None
    start = now()
    data = pickle.dumps(r.priv.value, 5 if keep else 4, buffer_callback=keep)
    middle = now()
    pickle.loads(data, buffers=parts)
    return middle - start, now() - middle


@row("py-pickle", "py", "ping-pong of a pickled object, half the round trip; pickling alone, and its share",
     ranks=(2, 2), flags=ROOT | ALLVARIANTS, variants=OBJECTS, extras=("dumps us", "loads us", "share %"),
     setup=pickle_setup, sampled=True)  # fmt: skip
def pickled(r):
    send, recv, value, turns = r.priv.comm.send, r.priv.comm.recv, r.priv.value, 10
    dumps, loads = alone(r)
    r.comm.Barrier()
    start = now()
    for _ in range(turns):
        if r.rank == 0:
            send(value, 1, 5)
        got = recv(None, r.peer, 5)
        if r.rank == 1:
            send(value, 0, 5)
    took = (now() - start) / turns / 2
    if len(got) != len(value):
        raise RuntimeError("py-pickle: what came back differs from what was sent")
    r.extra[:] = [dumps, loads, 100 * (dumps + loads) / took]
    return took
