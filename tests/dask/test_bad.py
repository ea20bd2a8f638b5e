# SPDX-License-Identifier: BSD-3-Clause
"""Wrong addresses, strangers at the port, half-open connections: refused, said once, and the listener lives on."""

import asyncio
import json
import logging
import socket

import dask
import pytest
from conftest import run
from distributed.comm import CommClosedError, connect, listen
from distributed.comm.registry import get_backend


async def echo(comm):
    await comm.write(await comm.read())


async def works(listener):
    comm = await connect(listener.contact_address)
    await comm.write("still there")
    assert await comm.read() == "still there"
    await comm.close()


@pytest.mark.parametrize(
    "address, kind, text",
    [
        ("mpi://127.0.0.1:65536", ValueError, "out of range"),
        ("mpi://127.0.0.1:-1", ValueError, "out of range"),
        ("mpi://127.0.0.1", ValueError, "port"),
        ("mpi://no.such.host.invalid:80", OSError, "Timed out"),
        ("mpi://127.0.0.1:1", OSError, "Timed out"),
    ],
)
def test_wrong_address(address, kind, text):
    async def test():
        with pytest.raises(kind, match=text):
            await connect(address, timeout=0.5)

    run(test())


def test_another_scheme():
    """A listener of tcp:// sends its own greeting, or nothing: the connection is not made."""

    async def test():
        async with listen("tcp://127.0.0.1", echo) as listener:
            with pytest.raises(OSError):
                await connect(listener.contact_address.replace("tcp", "mpi"), timeout=0.5)

    run(test())


STRANGERS = {
    "http": (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "does not speak"),
    "version": (json.dumps({"unisono-dask": 99, "who": "x", "job": "", "rank": 0}).encode() + b"\n", "version 99"),
    "incomplete": (b'{"unisono-dask": 1}\n', "incomplete"),
    "endless": (b"{" * 5000, "does not speak"),
    "list": (b"{}[]\n", "does not speak"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_stranger(name, caplog):
    text, said = STRANGERS[name]

    async def test():
        async with listen("mpi://127.0.0.1", echo) as listener:
            reader, writer = await asyncio.open_connection(*listener.get_host_port())
            writer.write(text)
            try:
                assert await reader.read() == b""  # it was closed without an answer
            except ConnectionResetError:
                pass
            writer.close()
            await works(listener)

    with caplog.at_level(logging.WARNING):
        run(test())
    assert len([r for r in caplog.records if said in r.getMessage()]) == 1


def test_half_open(caplog):
    """Nothing is said: closed after the time for connecting. Closed in the middle: not worth a word."""

    async def test():
        with dask.config.set({"distributed.comm.timeouts.connect": "200ms"}):
            async with listen("mpi://127.0.0.1", echo) as listener:
                silent = socket.create_connection(listener.get_host_port())
                rude = socket.create_connection(listener.get_host_port())
                rude.sendall(b'{"unisono')
                rude.close()
                silent.setblocking(False)
                assert await asyncio.get_running_loop().sock_recv(silent, 1) == b""
                silent.close()
        async with listen("mpi://127.0.0.1", echo) as listener:
            await works(listener)

    with caplog.at_level(logging.WARNING):
        run(test())
    assert len([r for r in caplog.records if "who it is" in r.getMessage()]) == 1


def test_stopped_listener():
    async def test():
        listener = await listen("mpi://127.0.0.1", echo)
        await works(listener)
        comm = await connect(listener.contact_address)
        listener.stop()
        listener.stop()
        with pytest.raises(OSError):
            await connect(listener.contact_address, timeout=0.3)
        await comm.write(5)  # a connection that is there stays
        assert await comm.read() == 5
        await comm.close()

    run(test())


def test_encryption_is_refused():
    async def test():
        with pytest.raises(RuntimeError, match="encryption required"):
            listen("mpi://127.0.0.1", echo, require_encryption=True)
        with pytest.raises(RuntimeError, match="encryption required"):
            await connect("mpi://127.0.0.1:1", require_encryption=True)

    run(test())


def test_handler_fails_in_handshake():
    """The other side vanishes before its half of Dask's handshake: the listener serves the next one."""

    async def test():
        async with listen("mpi://127.0.0.1", echo) as listener:
            connector = get_backend("mpi").get_connector()
            comms = [await connector.connect(listener.contact_address.split("://")[1]) for _ in range(3)]
            comms[0].abort()
            await comms[1].close()
            await works(listener)
            assert isinstance(await comms[2].read(), dict)
            await comms[2].close()
            with pytest.raises(CommClosedError):
                await comms[0].read()

    run(test())
