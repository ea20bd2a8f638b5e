# SPDX-License-Identifier: BSD-3-Clause
"""Connections of one process with itself: messages, both directions, closing from either side, cancelling."""

import asyncio
import gc
import logging
import pickle
import threading

import distributed.protocol.numpy  # noqa: F401 (registers how arrays are sent)
import numpy as np
import pytest
from conftest import pair, run
from distributed.comm import CommClosedError, connect, get_address_host, listen, resolve_address
from distributed.comm.addressing import get_local_address_for
from distributed.protocol import Serialized, deserialize, to_serialize

MESSAGES = [
    None,
    {"op": "gather", "keys": ("a", 1)},
    b"",
    b"x" * 10_000_000,
    ["text" * 100] * 100,
    {str(i): i for i in range(5000)},
]


@pytest.mark.parametrize("n", [0, 1, 500, 8192, 8193, 1 << 20, (1 << 24) + 3])
def test_arrays(n):
    async def test():
        sent = np.arange(n, dtype="u1")
        async with pair() as (a, b):
            size = await a.write({"data": to_serialize(sent)})
            got = (await b.read())["data"]
            assert (got == sent).all() and got.dtype == sent.dtype
            assert size >= n
            assert got.flags.writeable or n <= 1

    run(test())


def test_messages_keep_their_order():
    async def test():
        async with pair() as (a, b):
            for turn in range(3):
                for message in MESSAGES:
                    await (a, b)[turn % 2].write(message)
                for message in MESSAGES:
                    got = await (b, a)[turn % 2].read()
                    assert pickle.dumps(got) == pickle.dumps(message) or got == message or list(got) == list(message)

    run(test())


@pytest.mark.parametrize("count, size", [(3, 0), (600, 3), (600, 5000), (700, 9000), (40, 300_000), (1500, 20_000)])
def test_many_frames(count, size):
    """Tables longer than a slot, packed parts that travel by themselves, more large frames than a slot can list."""

    async def test():
        sent = [np.full(size, i % 251, dtype="u1") for i in range(count)]
        async with pair() as (a, b):
            await a.write([to_serialize(x) for x in sent])
            await a.write("behind")
            got = await b.read()
            assert len(got) == count and all((x == y).all() and len(x) == size for x, y in zip(got, sent))
            assert await b.read() == "behind"

    run(test())


def test_layouts():
    async def test():
        base = np.arange(60000.0).reshape(200, 300)
        async with pair() as (a, b):
            for array in (base.T, base[::2, ::3], np.asfortranarray(base), base[:, 5]):
                await a.write(to_serialize(array))
                assert ((await b.read()) == array).all()

    run(test())


def test_arrays_share_no_memory():
    async def test():
        async with pair() as (a, b):
            for n in (100, 100_000):
                await a.write([to_serialize(np.zeros(n)), to_serialize(np.ones(n))])
                one, two = await b.read()
                owner = [x if x.base is None else x.base for x in (one, two)]
                assert owner[0] is not owner[1] and not np.shares_memory(one, two)

    run(test())


def test_not_deserialized():
    async def test():
        array = np.arange(1 << 17)
        async with pair(deserialize=False) as (a, b):
            await a.write({"x": to_serialize(array)})
            message = await b.read()
            assert isinstance(message["x"], Serialized)
            await b.write(message)
            back = (await a.read())["x"]
            assert (deserialize(back.header, back.frames) == array).all()

    run(test())


def test_both_directions_at_once():
    async def test():
        array = np.arange(1 << 19)
        async with pair() as (a, b):
            reading = [asyncio.create_task(x.read()) for x in (a, b)]
            await asyncio.sleep(0)
            await asyncio.gather(a.write(to_serialize(array)), b.write(to_serialize(array + 1)))
            one, two = await asyncio.gather(*reading)
            assert (one == array + 1).all() and (two == array).all()

    run(test())


def test_closed_turns_true_unread():
    async def test():
        async with pair() as (a, b):
            await a.write("last words")
            await a.close()
            for _ in range(100):
                if b.closed():
                    break
                await asyncio.sleep(0)
            assert b.closed()
            assert await b.read() == "last words"
            with pytest.raises(CommClosedError):
                await b.read()
            with pytest.raises(CommClosedError):
                await b.write(1)
            with pytest.raises(CommClosedError):
                await a.read()
            await a.close()

    run(test())


def test_reader_hears_of_the_end():
    async def test():
        for end in ("close", "abort"):
            async with pair() as (a, b):
                reading = asyncio.create_task(b.read())
                await asyncio.sleep(0)
                done = getattr(a, end)()
                if done is not None:
                    await done
                with pytest.raises(CommClosedError):
                    await reading

    run(test())


@pytest.mark.parametrize("who", [0, 1])
def test_abort_in_the_middle(who):
    """A large message under way when either side gives up: nothing hangs, and the next connection works."""

    async def test():
        async with pair() as both:
            await both[0].write(to_serialize(np.zeros(1 << 22)))
            both[who].abort()
            with pytest.raises(CommClosedError):
                await both[who].read()
        async with pair() as (a, b):
            await a.write(1)
            assert await b.read() == 1

    run(test())


def test_cancelled_read_aborts():
    async def test():
        async with pair() as (a, b):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(b.read(), 0.01)
            assert b.closed()
            while not a.closed():
                await asyncio.sleep(0)

    run(test())


def test_unpicklable():
    async def test():
        async with pair() as (a, b):
            with pytest.raises(Exception, match="serialize"):
                await a.write(to_serialize(threading.Lock()), on_error="raise")
            await a.write(2)
            assert await b.read() == 2

    run(test())


def test_dangling(caplog):
    async def test():
        async with pair() as (a, b):
            del a
        gc.collect()

    async def lost():
        async def handle(comm):
            return None  # nobody refers to it from here on

        async with listen("mpi://127.0.0.1", handle) as listener:
            comm = await connect(listener.contact_address)
            with pytest.raises(CommClosedError):
                await comm.read()

    with caplog.at_level(logging.WARNING):
        run(test())
        run(lost())
    assert "dangling" in caplog.text


def test_addresses():
    async def test():
        async with pair() as (a, b):
            assert a.peer_address == b.local_address and a.local_address == b.peer_address
            assert a.same_host and b.same_host and a.extra_info == {}
            assert "MPIComm" in repr(a) and "closed" not in repr(a)
        assert "closed" in repr(a)

    run(test())
    assert get_address_host("mpi://10.0.0.7:80") == "10.0.0.7"
    assert resolve_address("mpi://localhost:789") in ("mpi://127.0.0.1:789", "mpi://[::1]:789")
    assert get_local_address_for("mpi://127.0.0.1:789") == "mpi://127.0.0.1"


def test_wildcard_and_names():
    """A listener on all interfaces is reached by each of its names, over the one link of the process with itself."""

    async def test():
        async def handle(comm):
            await comm.write(await comm.read())

        async with listen("mpi://", handle) as listener:
            port = listener.listen_address.rsplit(":", 1)[1]
            assert "0.0.0.0" not in listener.contact_address
            for host in ("127.0.0.1", "localhost", "127.0.0.2"):
                comm = await connect(f"mpi://{host}:{port}")
                await comm.write(host)
                assert await comm.read() == host
                await comm.close()

    run(test())


def test_many_listeners():
    async def test():
        async def handle(comm):
            pass

        listeners = [await listen("mpi://127.0.0.1", handle) for _ in range(100)]
        assert len({x.contact_address for x in listeners}) == 100
        for x in listeners:
            x.stop()

    run(test())


def test_many_at_once():
    async def test():
        async def handle(comm):
            await comm.write(await comm.read())

        async with listen("mpi://", handle) as listener:

            async def client(i):
                comm = await connect(listener.contact_address)
                await comm.write(to_serialize(np.full(5000, i)))
                got = await comm.read()
                await comm.close()
                return (got == i).all()

            assert all(await asyncio.gather(*map(client, range(100))))

    run(test())


def test_two_loops():
    """A listener on one thread's loop, a connection from another's: each is woken on its own."""
    address, ready, over = [], threading.Event(), threading.Event()

    async def serve():
        async def handle(comm):
            for _ in range(200):
                await comm.write(to_serialize((await comm.read()) + 1))

        async with listen("mpi://127.0.0.1", handle) as listener:
            address.append(listener.contact_address)
            ready.set()
            await asyncio.to_thread(over.wait)

    async def ask():
        comm = await connect(address[0])
        for i in range(200):
            n = 10 if i % 2 else 1 << 17
            await comm.write(to_serialize(np.full(n, i)))
            got = await comm.read()
            assert got.shape == (n,) and (got == i + 1).all()
        await comm.close()

    thread = threading.Thread(target=run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(300)
        run(ask())
    finally:
        over.set()
        thread.join(300)


def test_more_than_4_gib():
    """One message, one frame. The array sent is of zero pages, all but its end."""
    with open("/proc/meminfo") as file:
        free = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    if free < 10 << 20:
        pytest.skip(f"needs 10 GiB of memory, {free >> 20} are there")

    async def test():
        n = (1 << 32) + 4097
        sent = np.zeros(n, dtype="u1")
        sent[-5:] = 7
        async with pair() as (a, b):
            await a.write(to_serialize(sent))
            got = await b.read()
            assert got.nbytes == n and (got[-5:] == 7).all() and got[-6] == 0

    run(test())
