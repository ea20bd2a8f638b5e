# SPDX-License-Identifier: BSD-3-Clause
"""Two processes and connections between them: latency, throughput, many connections, connecting.

A row is a generator of (case, unit, value) for a scheme.
"""

import asyncio
import statistics
import subprocess
import sys
from time import perf_counter

import distributed.protocol.numpy  # noqa: F401 (registers how arrays are sent)
import numpy as np
from distributed.comm import CommClosedError, connect, listen
from distributed.protocol import to_serialize

ROWS = {}
SIZES = [1 << 10, 1 << 16, 1 << 20, 1 << 26, 1 << 30]


def row(function):
    ROWS[function.__name__.replace("_", "-")] = function
    return function


class Server:
    """Another process, which echoes; known by its address."""

    def __init__(self, scheme):
        words = [sys.executable, "-m", "unisono.dask.bench", "serve", scheme]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        said = iter(self.process.stdout.readline, "")  # a transport's library may print, too
        self.address = next((line.strip() for line in said if line.startswith(f"{scheme}://")), None)
        if not self.address:
            raise OSError(f"the server of {scheme}:// ended with status {self.process.wait()} before it listened")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()  # the end of its input ends it


async def serve(scheme):
    """Echoes until the standard input ends."""

    async def handle(comm):
        try:
            while True:
                message = await comm.read()
                await comm.write(to_serialize(message) if isinstance(message, np.ndarray) else message)
        except CommClosedError:
            pass

    async with listen(f"{scheme}://127.0.0.1", handle) as listener:
        print(listener.contact_address, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def turns(nbytes):
    """How often a message of this size goes to and fro."""
    return max(5, min(1000, (1 << 24) // max(nbytes, 1)))


async def to_and_fro(comm, message, count):
    """Median of half a round trip, seconds."""
    times = []
    for turn in range(count + count // 5 + 1):
        start = perf_counter()
        await comm.write(message)
        await comm.read()
        if turn > count // 5:
            times.append((perf_counter() - start) / 2)
    return statistics.median(times)


@row
def latency(scheme, options):
    """Half of a round trip: one byte, a small dictionary, NumPy arrays."""

    async def run(address):
        comm = await connect(address)
        yield "1 B", "us", 1e6 * await to_and_fro(comm, b"x", 1000)
        yield "dict", "us", 1e6 * await to_and_fro(comm, {"op": "x"}, 1000)
        for n in SIZES:
            if n <= options.max_bytes:
                seconds = await to_and_fro(comm, to_serialize(np.ones(n, dtype="u1")), turns(n))
                yield f"{n >> 10} KiB NumPy", "us", 1e6 * seconds
        await comm.close()

    yield from gathered(scheme, run)


@row
def idle_peers(scheme, _options):
    """One byte while a hundred other connections stand by."""

    async def run(address):
        comm = await connect(address)
        yield "none", "us", 1e6 * await to_and_fro(comm, b"x", 1000)
        others = [await connect(address) for _ in range(100)]
        yield "100", "us", 1e6 * await to_and_fro(comm, b"x", 1000)
        for one in [*others, comm]:
            await one.close()

    yield from gathered(scheme, run)


@row
def connecting(scheme, _options):
    """To connect, Dask's handshake included, to a process that is known already."""

    async def run(address):
        comms, times = [await connect(address)], []
        for _ in range(100):
            start = perf_counter()
            comms.append(await connect(address))
            times.append(perf_counter() - start)
        yield "connect", "us", 1e6 * statistics.median(times)
        for comm in comms:
            await comm.close()

    yield from gathered(scheme, run)


@row
def many(scheme, _options):
    """Fifty connections at once, each with messages of 1 KiB to and fro: messages per second."""

    async def run(address):
        comms = [await connect(address) for _ in range(50)]
        start = perf_counter()
        await asyncio.gather(*(to_and_fro(comm, b"x" * 1024, 40) for comm in comms))
        yield "50", "messages/s", 50 * 49 * 2 / (perf_counter() - start)
        for comm in comms:
            await comm.close()

    yield from gathered(scheme, run)


def gathered(scheme, run):
    """What an asynchronous row yields, with a server of its own."""

    async def collect(address):
        return [item async for item in run(address)]

    with Server(scheme) as server:
        return asyncio.run(collect(server.address))
