# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of one MPI_COMM_WORLD, run by mpiexec: each is connected with each, over one link per pair, while mpi4py's own
messages go on in a thread. Prints `ok` on rank 0."""

import asyncio

import distributed.protocol.numpy  # noqa: F401
import numpy as np
from distributed.comm import connect, listen
from distributed.protocol import to_serialize
from mpi4py import MPI
from unisono.dask.hub import hub

world = MPI.COMM_WORLD
SIZES = (1, 1000, 1 << 16, 1 << 20, 1 << 24)


async def echo(comm):
    try:
        while True:
            await comm.write(to_serialize((await comm.read()) + 1))
    except OSError:
        pass


async def ask(address):
    comm = await connect(address)
    for n in SIZES:
        sent = np.full(n, world.rank, dtype="u1")
        await comm.write(to_serialize(sent))
        got = await comm.read()
        assert got.shape == (n,) and (got == world.rank + 1).all()
    idle = [await connect(address) for _ in range(20)]
    await comm.write(to_serialize(np.zeros(3)))
    assert ((await comm.read()) == 1).all()
    for one in [*idle, comm]:
        await one.close()


def chatter(turns):
    """mpi4py in another thread, blocking."""
    for i in range(turns):
        got = world.sendrecv(i, (world.rank + 1) % world.size, 7, source=(world.rank - 1) % world.size, recvtag=7)
        assert got == i


async def main():
    async with listen("mpi://127.0.0.1", echo) as listener:
        addresses = world.allgather(listener.contact_address)
        talking = asyncio.to_thread(chatter, 300)
        await asyncio.gather(talking, *map(ask, addresses))
        await asyncio.to_thread(world.Barrier)
        peers = hub().peers
        assert len(peers) == world.size, (len(peers), world.size)


asyncio.run(asyncio.wait_for(main(), 600))
if world.rank == 0:
    print("ok")
