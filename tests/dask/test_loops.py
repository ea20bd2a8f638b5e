# SPDX-License-Identifier: BSD-3-Clause
"""On whose loop, within what and in which context readers and handlers go on; by which address a process is reached."""

import asyncio
import contextvars
import socket

import pytest
from conftest import pair, run
from distributed.comm import connect, get_address_host, listen
from unisono.dask.loops import Wait, wake_after


def test_waits():
    """As futures: a wait that is cancelled, before it ends and between its end and the reader's turn; one that ends."""

    async def test():
        loop = asyncio.get_running_loop()

        async def reader(wait):
            await wait
            return "went on"

        for ends, cancelled in (True, False), (False, True), (True, True):
            wait = Wait(loop)
            assert asyncio.isfuture(wait)
            task = loop.create_task(reader(wait))
            await asyncio.sleep(0)
            if ends:
                wait.set_result(None)
            if cancelled:
                task.cancel()
            (said,) = await asyncio.gather(task, return_exceptions=True)
            assert wait.done() and wait.cancelled() == (not ends)
            assert isinstance(said, asyncio.CancelledError) if cancelled else said == "went on"
        assert await reader(wait) == "went on"  # it has ended before

    run(test())


def test_readers_go_on_within_the_callback():
    """All of them, and behind the callback's own work; also where one ends the program."""

    async def test():
        loop = asyncio.get_running_loop()
        seen = []

        async def reader(wait, name):
            await wait
            seen.append(name)
            if name == "ends":
                raise SystemExit

        waits = [Wait(loop) for _ in range(3)]
        tasks = [loop.create_task(reader(wait, name)) for wait, name in zip(waits, ("first", "ends", "last"))]
        await asyncio.sleep(0)

        def callback(loop):
            for wait in waits:
                wait.set_result(None)
            seen.append("callback")

        over = loop.create_future()

        def call():
            with pytest.raises(SystemExit):
                wake_after(loop, callback)
            over.set_result(list(seen))

        loop.call_soon(call)
        assert await over == ["callback", "first", "ends"]
        said = await asyncio.gather(*tasks, return_exceptions=True)
        assert seen[-1] == "last" and isinstance(said[1], SystemExit)

    run(test())


WHERE = contextvars.ContextVar("WHERE", default="nowhere")


@pytest.mark.parametrize("turn", ["first", "later"])
def test_handlers_context(turn):
    """A handler runs in the context of its listener's start, as with tcp://, not in that of who connects."""

    async def test():
        seen = asyncio.get_running_loop().create_future()

        async def handle(comm):
            seen.set_result(WHERE.get())
            comm.abort()

        WHERE.set("listening")
        listener = await listen("mpi://127.0.0.1", handle)
        if turn == "later":
            async with pair():
                pass
        WHERE.set("connecting")
        comm = await connect(listener.contact_address)
        assert await seen == "listening"
        comm.abort()
        listener.stop()

    run(test())


def test_local_address_is_of_the_route():
    """As a socket's: the machine's address by which it reaches that one, which is not always the same."""

    async def test():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
            route.connect(("127.0.0.2", 80))
            expected = route.getsockname()[0]
        async with pair("mpi://127.0.0.2") as (a, b):
            assert get_address_host(a.local_address) == get_address_host(b.peer_address) == expected

    run(test())
