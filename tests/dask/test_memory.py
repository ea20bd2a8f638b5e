# SPDX-License-Identifier: BSD-3-Clause
"""Memory that large frames arrive in: used again when nobody has it any more, never while somebody does."""

import asyncio
import gc

import distributed.protocol.numpy  # noqa: F401
import numpy as np
import pytest
from conftest import pair, run
from distributed.protocol import to_serialize
from unisono.dask import _mpi

MIB = 1 << 20


def address(array):
    return array.__array_interface__["data"][0]


async def sent(a, b, n, value):
    """An array of n bytes of this value, from a to b."""
    await a.write(to_serialize(np.full(n, value, dtype="u1")))
    got = await b.read()
    assert got.nbytes == n and (got == value).all() and got.flags.writeable
    return got


async def let_go():
    """The loop's own reference to what was read ends with the task's turn."""
    await asyncio.sleep(0)
    gc.collect()


def test_used_again():
    async def test():
        async with pair() as (a, b):
            first = address(await sent(a, b, 38 * MIB, 1))
            await let_go()
            again = await sent(a, b, 37 * MIB, 2)  # nearly as large: the same place
            assert address(again) == first
            other = await sent(a, b, 38 * MIB, 3)  # that one is in use
            assert address(other) != first and (again == 2).all()

    run(test())


def test_views_keep_it():
    """A part of an array holds all of its memory."""

    async def test():
        async with pair() as (a, b):
            part = (await sent(a, b, 4 * MIB, 5))[17:29]
            await let_go()
            await sent(a, b, 4 * MIB, 6)
            assert (part == 5).all()

    run(test())


@pytest.mark.parametrize("nbytes", [MIB - 1, MIB, 2 * MIB, 2 * MIB + 1, 5 * MIB + 4097])
def test_sizes(nbytes):
    async def test():
        async with pair() as (a, b):
            for value in range(4):
                await sent(a, b, nbytes, value)

    run(test())


def test_limit():
    """What is kept stays within its limit, however much was received at once."""

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096

    async def test():
        async with pair() as (a, b):
            message = [to_serialize(np.ones(16 * MIB, dtype="u1")) for _ in range(24)]
            await a.write(message)
            held = await b.read()
            before = resident()
            del held
            await let_go()
            assert resident() < before - (24 * 16 - 128 - 64) * MIB

    run(test())


def test_in_flight_when_its_reader_gives_up():
    """Memory of a message that nobody reads any more is not used again before all of it is there."""

    async def test():
        async with pair() as (a, b), pair() as (c, d):
            await a.write(to_serialize(np.full(32 * MIB, 9, dtype="u1")))
            b.abort()
            got = [await sent(c, d, 32 * MIB, value) for value in (1, 2)]
            await asyncio.sleep(0)
            assert (got[0] == 1).all() and (got[1] == 2).all()

    run(test())


@pytest.mark.parametrize(
    "message, expected",
    [
        (b"x", True),
        (None, True),
        ({"op": "gather", "keys": ["a", ("b", 1)], "x": 1.5, "y": True}, True),
        ("x" * 20_000, False),
        (b"x" * 70_000, False),
        (list(range(1000)), False),
        ({"a": np.ones(3)}, False),
        ({"a": to_serialize(1)}, False),
        ({1, 2}, False),
        (type("Text", (str,), {})("x"), False),
    ],
)
def test_plain(message, expected):
    assert _mpi.plain(message) is expected


def test_plain_does_not_recurse_for_ever():
    endless = []
    endless.append(endless)
    assert not _mpi.plain(endless)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert not _mpi.plain(deep)
