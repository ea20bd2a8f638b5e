# SPDX-License-Identifier: BSD-3-Clause
# run: np=2 chan=shm,tcp needs=mpi4py
"""Receives awaited inside asyncio through the doorbell's descriptor: other tasks go on, and idling costs nothing."""

import asyncio
import ctypes
import os
import resource
import shutil
import tempfile
import time

from mpi4py import MPI

library = ctypes.CDLL("libmpi_abi.so.1")
comm = MPI.COMM_WORLD
rank = comm.Get_rank()
TICKS = 10


def check(err):
    """An MPI error class as an exception."""
    if err:
        raise MPI.Exception(err)


class Bell:
    """Awaits MPI requests on the running loop."""

    def __init__(self):
        number = ctypes.c_int(-1)
        check(library.MPIX_Doorbell_fd(ctypes.byref(number)))
        self.fd = number.value

    async def wait(self, request):
        """Until request has completed."""
        loop = asyncio.get_running_loop()
        ready = ctypes.c_int(0)
        handle = (ctypes.c_void_p * 1)(request.handle)
        while not request.Test():
            handle[0] = request.handle
            check(library.MPIX_Doorbell_arm(1, handle, ctypes.byref(ready)))
            if ready.value:
                continue
            rung = loop.create_future()
            loop.add_reader(self.fd, lambda f=rung: f.done() or f.set_result(None))
            await asyncio.wait_for(rung, 300)
            loop.remove_reader(self.fd)
        library.MPIX_Doorbell_disarm()


async def main():
    """A rank that waits for the other one, which waits until a clock in the loop of the first has ticked."""
    bell = Bell()
    fifo = None
    if rank == 1:
        fifo = os.path.join(tempfile.mkdtemp(), "ticked")
        os.mkfifo(fifo)
    fifo = comm.bcast(fifo, root=1)

    async def clock():
        for _ in range(TICKS):
            await asyncio.sleep(0.2)
        os.close(os.open(fifo, os.O_WRONLY))

    buffer = bytearray(1 << 16)
    for turn in range(50):
        if (turn + rank) % 2:
            await bell.wait(comm.Irecv(buffer, 1 - rank, turn))
            assert buffer[0] == turn and buffer[-1] == turn
        else:
            await bell.wait(comm.Isend(bytes([turn]) * len(buffer), 1 - rank, turn))
    if rank == 0:
        os.close(os.open(fifo, os.O_RDONLY))  # comes back when the other one opens it
        comm.Send(b"x", 1, 77)
        return
    ticking = asyncio.create_task(clock())
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    await bell.wait(comm.Irecv(bytearray(1), 0, 77))
    after, over = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    assert ticking.done()
    shutil.rmtree(os.path.dirname(fifo))
    # One that spins uses all that it gets.
    assert used <= (over - start) / 2, f"{used:.3f} of {over - start:.3f} s"


asyncio.run(main())
assert os.getpid() > 0
