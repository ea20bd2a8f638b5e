# SPDX-License-Identifier: BSD-3-Clause
"""Wrong addresses, strangers at the port, half-open connections: refused, said once, and the listener lives on."""

import asyncio
import collections
import contextlib
import json
import logging
import os
import resource
import socket

import dask
import pytest
from conftest import run
from distributed.comm import CommClosedError, connect, listen
from distributed.comm.registry import get_backend
from unisono.dask.hub import hub


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


def open_files():
    """What this process has open, by kind: {"socket": 5, ...}."""
    places = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    return collections.Counter(os.readlink(p).split(":[")[0] for p in places if os.path.lexists(p))


async def closed_again(before):
    """Returns when no more is open than before; the test's time limit says that it never was."""
    while not open_files() <= before:
        await asyncio.sleep(0.01)


def hello(**more):
    return json.dumps({"unisono-dask": 1, "who": "x", "job": "", "rank": 0, **more}).encode() + b"\n"


@pytest.mark.parametrize("wants", [b"", b'{"want": "port"}\n', b'{"want": "world"}\n', b'{"want": 5}\n'])
def test_gone_after_its_first_line(wants):
    """Who said who it is, and perhaps what it wants, and goes: nothing of it is left, and the next one is served."""

    async def test():
        before = None
        async with listen("mpi://127.0.0.1", echo) as listener:
            await works(listener)
            with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
                for turn in range(6):
                    reader, writer = await asyncio.open_connection(*listener.get_host_port())
                    writer.write(hello())
                    assert b'"unisono-dask": 1' in await reader.readline()
                    writer.write(wants)
                    writer.close()
                    await asyncio.wait([asyncio.ensure_future(writer.wait_closed())])
                    while listener.place.greeting:
                        await asyncio.wait(listener.place.greeting)
                    before = before if turn else open_files()  # MPI opens some for its first port
            await closed_again(before)
            await works(listener)

    run(test())


def test_listener_of_another_version():
    """The connecting side says what is wrong with the other one, and leaves nothing open."""

    async def test():
        async def answer(reader, writer):
            await reader.readline()
            writer.write(json.dumps({"unisono-dask": 99, "who": "x", "job": "", "rank": 0, "key": 1}).encode() + b"\n")
            await writer.drain()
            await reader.read()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        before = open_files()
        with pytest.raises(OSError, match="version 99"):
            await get_backend("mpi").get_connector().connect(f"127.0.0.1:{port}")
        await closed_again(before)
        server.close()

    run(test())


def test_client_of_tcp(caplog):
    """A client of tcp:// at a port of mpi:// hears that its connection is closed."""

    async def test():
        async with listen("mpi://127.0.0.1", echo) as listener:
            with pytest.raises(OSError):
                await connect(listener.contact_address.replace("mpi", "tcp"), timeout=0.5)
            while listener.place.greeting:
                await asyncio.wait(listener.place.greeting)
            await works(listener)

    with caplog.at_level(logging.WARNING):
        run(test())
    assert any("does not speak" in r.getMessage() for r in caplog.records)


@contextlib.asynccontextmanager
async def impostor(*lines):
    """The port of a server that answers each line it gets by the next of these, and then says nothing more."""

    async def answer(reader, writer):
        for line in lines:
            await reader.readline()
            writer.write(line)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.mark.parametrize(
    "lines, text",
    [
        ([hello()], "incomplete"),
        ([hello(key=1), b"{}\n"], "no port"),
        ([hello(key=1), b'{"port": 5}\n'], "no port"),
        ([hello(key=1), b'{"port": "x"}\n'], "MPI_ERR_PORT"),
    ],
)
def test_listener_that_answers_nonsense(lines, text):
    async def test():
        async with impostor(*lines) as port:
            before = open_files()
            with pytest.raises(OSError, match=text):
                await get_backend("mpi").get_connector().connect(f"127.0.0.1:{port}")
            if text != "MPI_ERR_PORT":  # MPI opens some for its first meeting
                await closed_again(before)

    run(test())


@pytest.mark.parametrize("lines", [[], [hello(key=1)]])
def test_listener_that_falls_silent(lines):
    """The introduction ends although its caller has given up earlier, so that a later one begins anew."""

    async def test():
        async with impostor(*lines) as port:
            before = open_files()
            with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
                with pytest.raises(OSError):
                    await connect(f"mpi://127.0.0.1:{port}", timeout=0.1)
            while hub().reaching:
                await asyncio.sleep(0.01)
            await closed_again(before)

    run(test())


def test_no_descriptors(caplog):
    """A connection that cannot be accepted is said once, not in each turn of the loop, and accepted when it can be."""

    async def test():
        async with listen("mpi://127.0.0.1", echo) as listener:
            client = socket.socket()
            first_free = os.dup(0)
            os.close(first_free)
            before = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (first_free, before[1]))
            try:
                client.connect(listener.get_host_port())
                while not said():
                    await asyncio.sleep(0)
                for _ in range(100):
                    await asyncio.sleep(0)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, before)
            client.setblocking(False)
            await asyncio.get_running_loop().sock_sendall(client, b"nonsense\n")
            assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
            client.close()
            await works(listener)

    def said():
        return [r for r in caplog.records if "cannot accept" in r.getMessage()]

    with caplog.at_level(logging.WARNING):
        run(test())
    assert len(said()) == 1
