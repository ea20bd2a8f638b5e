# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of mpi:// share: a pair of connected ends, and a look at what a test left behind."""

import asyncio
import contextlib
import gc

import pytest
from distributed.comm import connect, listen


def run(coroutine, seconds=600):
    """Runs a test's coroutine on a loop of its own, bounded in time."""

    async def bounded():
        return await asyncio.wait_for(coroutine, seconds)

    return asyncio.run(bounded())


@contextlib.asynccontextmanager
async def pair(address="mpi://127.0.0.1", **options):
    """(connecting side, accepting side) of one connection."""
    arrived = asyncio.get_running_loop().create_future()

    async def handle(comm):
        arrived.set_result(comm)

    async with listen(address, handle, **options) as listener:
        comm = await connect(listener.contact_address, deserialize=options.get("deserialize", True))
        other = await arrived
        try:
            yield comm, other
        finally:
            comm.abort()
            other.abort()


@pytest.fixture(autouse=True)
def nothing_left():
    """After each test no send is under way and no connection is open."""
    yield
    gc.collect()
    from unisono.dask import _mpi

    assert _mpi.busy() == 0
