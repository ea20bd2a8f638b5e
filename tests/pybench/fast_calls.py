# SPDX-License-Identifier: BSD-3-Clause
"""unisono.fast beside mpi4py on the same communicator: every call, its arguments, its errors. Any number of ranks."""

import array
import gc
import sys
import threading

import numpy
from mpi4py import MPI
from unisono import fast

WORLD = MPI.COMM_WORLD
comm = fast.Comm(WORLD)
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size


def raises(kind, text, call, *args, **words):
    try:
        call(*args, **words)
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"{call} raised nothing")


def point_to_point():
    """Around the ring, by every kind of object, small and large, both libraries mixed."""
    for n in (0, 1, 5, 1000, 100000):
        for make in (bytearray, lambda k: array.array("i", [0] * k), numpy.zeros, lambda k: memoryview(bytearray(k))):
            out, into = make(n), make(n)
            memoryview(out).cast("B")[:] = bytes((rank + i) % 251 for i in range(memoryview(out).nbytes)) if n else b""
            request = comm.Irecv(into, left, 3)
            comm.Send(out, dest=right, tag=3)
            request.Wait()
            want = bytes((left + i) % 251 for i in range(memoryview(out).nbytes))
            assert memoryview(into).tobytes() == want
            request = WORLD.Irecv(into, left, 4)  # mpi4py receives what we send, and the other way round
            comm.Send(buf=out, tag=4, dest=right)
            request.Wait()
            request = comm.Isend(out, right, 5)
            WORLD.Recv(into, left, 5)
            assert request.Test() or request.Wait() is None
            comm.Sendrecv(out, right, 6, into, left, 6)
            comm.Sendrecv(sendbuf=out, dest=right, recvbuf=into, source=left)
            assert memoryview(into).tobytes() == want


def bound_and_persistent():
    """A Buffer, started again and again; lists of requests longer than what fits the stack."""
    out, into = array.array("d", [0.0] * 4), array.array("d", [0.0] * 4)
    send, receive = comm.Send_init(fast.Buffer(out), right, 7), comm.Recv_init(fast.Buffer(into), left, 7)
    for turn in range(5):
        out[0] = 10.0 * rank + turn
        fast.startall([receive, send])
        fast.waitall([receive, send])
        assert into[0] == 10.0 * left + turn
    send.Free()
    receive.Free()
    parts = [fast.Buffer(bytearray(1)) for _ in range(300)]
    requests = [comm.Irecv(part, left, i) for i, part in enumerate(parts)]
    requests += [comm.Isend(bytes([i % 256]), right, i) for i in range(300)]
    fast.waitall(requests)
    assert len(parts[0]) == 1


def collectives():
    """Every collective against its definition."""
    mine = numpy.arange(6, dtype="f4") + rank
    total = numpy.zeros(6, "f4")
    comm.Allreduce(mine, total)
    assert (total == sum(numpy.arange(6) + r for r in range(size))).all()
    comm.Allreduce(mine, total, MPI.MAX)
    assert (total == numpy.arange(6) + size - 1).all()
    comm.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
    assert (total == size * (numpy.arange(6) + size - 1)).all()
    comm.Reduce(mine, total if rank == size - 1 else None, MPI.PROD, size - 1)
    if rank == size - 1:
        assert total[0] == numpy.prod([float(r) for r in range(size)])
    comm.Scan(mine, total)
    assert total[1] == sum(1 + r for r in range(rank + 1))
    comm.Exscan(mine, total, MPI.SUM)
    assert rank == 0 or total[1] == sum(1 + r for r in range(rank))
    word = array.array("q", [rank, 7])
    comm.Bcast(word, root=size - 1)
    assert word[0] == size - 1
    every = numpy.zeros(2 * size, "i8")
    comm.Allgather(word, every)
    comm.Gather(numpy.array([rank, -rank]), every if rank == 0 else None)
    assert rank or (every[::2] == numpy.arange(size)).all()
    back = numpy.zeros(2, "i8")
    comm.Scatter(every if rank == 0 else None, back, root=0)
    assert (back == [rank, -rank]).all()
    turned = bytearray(size)
    comm.Alltoall(bytes(range(rank, rank + size)), turned)
    assert turned == bytes(r + rank for r in range(size))
    comm.Barrier()


def arrays():
    """NumPy's arrays as they are: every type, shape and order, by both libraries and reduced as NumPy reduces."""
    for letter in "?bBhHiIlLqQfdFDgeS":
        kind = "S8" if letter == "S" else letter
        for shape in ((), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 2)):
            out, into = numpy.zeros(shape, kind), numpy.zeros(shape, kind)
            out.reshape(-1).view("u1")[:] = rank % 2 if letter == "?" else rank + 1
            into.reshape(-1).view("u1")[:] = 0
            request = WORLD.Irecv([into, into.nbytes, MPI.BYTE], left, 8)
            comm.Send(out, right, 8)
            request.Wait()
            assert into.tobytes() == bytes([left % 2 if letter == "?" else left + 1]) * into.nbytes, (letter, shape)
    for letter in "bBhHiIlLqQfd":
        mine, total = numpy.full((3, 4), rank + 1, letter), numpy.zeros((3, 4), letter)
        comm.Allreduce(mine, total, MPI.SUM)
        assert (total == size * (size + 1) // 2).all(), letter
    mixed = numpy.array([rank], ">i4")  # neither the machine's order nor a type of MPI's: bytes
    got = numpy.zeros(1, ">i4")
    comm.Sendrecv(mixed, right, 9, got, left, 9)
    assert got[0] == left
    own = numpy.zeros(4).view(type("Own", (numpy.ndarray,), {}))
    comm.Sendrecv(own + rank, right, 9, own, left, 9)
    assert (own == left).all()
    fixed, turned = numpy.zeros(4), numpy.zeros((4, 3)).T
    fixed.flags.writeable = False
    raises(ValueError, "read-only", comm.Recv, fixed, left)
    raises(ValueError, "read-only", comm.Allreduce, fixed, fixed)
    raises(ValueError, "contiguous", comm.Send, turned, right)
    raises(ValueError, "contiguous", comm.Recv, numpy.zeros(8)[::2], left)
    raises(ValueError, "differ", comm.Allreduce, numpy.zeros(2), numpy.zeros(2, "f4"))
    comm.Sendrecv(fixed, right, 9, numpy.zeros(4), left, 9)


def no_views():
    """An array is passed without a view, for which NumPy allocates a description of its shape."""
    pairs = [(numpy.zeros(3), numpy.zeros(3)) for _ in range(500)]
    before = sys.getallocatedblocks()
    for out, into in pairs:
        comm.Sendrecv(out, right, 1, into, left, 1)
    assert sys.getallocatedblocks() - before < len(pairs), "a view of each array was made"


def wrong():
    """A mistake is an exception with a name that says it, before anything is sent."""
    raises(BufferError, "writable", comm.Recv, b"ab", left)
    raises(TypeError, "misses 'dest'", comm.Send, bytearray(1))
    raises(TypeError, "at most 3", comm.Send, bytearray(1), 0, 0, 0)
    raises(TypeError, "no argument 'tga'", comm.Send, bytearray(1), right, tga=1)
    raises(TypeError, "twice the argument 'dest'", comm.Send, bytearray(1), right, dest=1)
    raises(TypeError, "int", comm.Send, 3, right)
    raises(TypeError, "integer", comm.Send, bytearray(1), "x")
    raises(MPI.Exception, "rank", comm.Send, bytearray(1), size + 7)
    raises(ValueError, "differ", comm.Allreduce, numpy.zeros(2), numpy.zeros(3))
    raises(ValueError, "combine", comm.Allreduce, numpy.zeros(2, "S3"), numpy.zeros(2, "S3"))
    if size > 1:
        raises(ValueError, "equal share", comm.Allgather, bytearray(1), bytearray(size + 1))
    raises(TypeError, "list", fast.waitall, (1,))
    raises(TypeError, "unisono.fast requests", fast.waitall, [1])
    raises(AttributeError, "handle", fast.Comm, "world")
    raises(ValueError, "contiguous", comm.Send, numpy.zeros((4, 4))[:, 1], right)
    bound = bytearray(4)
    keep = fast.Buffer(bound)
    raises(BufferError, "re-sized", bound.extend, b"x")
    del keep
    bound.extend(b"x")


def references():
    """Nothing is kept: not the buffers, not the requests."""
    buf = bytearray(8)
    before = sys.getrefcount(buf), len(gc.get_objects())
    for _ in range(1000):
        comm.Sendrecv(buf, right, 1, bytearray(8), left, 1)
        request = comm.Irecv(bytearray(8), left, 2)
        comm.Isend(buf, right, 2).Wait()
        request.Wait()
    del request
    assert sys.getrefcount(buf) == before[0]
    assert len(gc.get_objects()) < before[1] + 100


def threads():
    """Two threads of one process wait for each other: a blocking call must let the other one run."""
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return
    own = fast.Comm(MPI.COMM_SELF)
    for n in (8, 1 << 20):
        into = bytearray(n)
        receiver = threading.Thread(target=own.Recv, args=(into, 0, 9))
        receiver.start()
        own.Send(b"\7" * n, 0, 9)
        receiver.join(300)
        assert not receiver.is_alive() and into == b"\7" * n


for check in (point_to_point, bound_and_persistent, collectives, arrays, no_views, wrong, references, threads):
    check()
    WORLD.Barrier()
print(f"rank {rank}: ok")
