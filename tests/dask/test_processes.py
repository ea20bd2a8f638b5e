# SPDX-License-Identifier: BSD-3-Clause
"""Processes that were started apart, and meet by their addresses: clusters, clients, workers that come, go and die."""

import asyncio
import os
import signal
import subprocess
import sys
import time

import distributed.protocol.numpy  # noqa: F401
import numpy as np
import pytest
from conftest import run
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError, connect
from distributed.protocol import to_serialize

HERE = os.path.dirname(__file__)


class Child:
    """Another process that echoes (child.py), known by its address."""

    def __init__(self, *words):
        command = [sys.executable, os.path.join(HERE, "child.py"), *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


async def ended(comm, limit=300):
    """Whether the connection is known to be closed, unread, within the time."""
    end = time.monotonic() + limit
    while not comm.closed() and time.monotonic() < end:
        await asyncio.sleep(0.001)
    return comm.closed()


@pytest.mark.parametrize("n", [1, 1000, 10_000, 1 << 20, 1 << 26])
def test_echo(n):
    async def test():
        with Child() as child:
            comm = await connect(child.address)
            for i in range(3):
                await comm.write(to_serialize(np.full(n, i, dtype="u1")))
                got = await comm.read()
                assert got.shape == (n,) and (got == i + 1).all()
            await comm.close()

    run(test())


WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
import asyncio
from distributed.comm import connect

async def main(address):
    comm = await connect(address)
    for n in (1, 10_000, 100_000, 3 << 20):
        await comm.write({"data": b"x" * n})
        assert bytes((await comm.read())["data"]) == b"x" * n
    await comm.close()

asyncio.run(main(sys.argv[1]))
"""


def test_without_numpy():
    """Dask does without NumPy, so this does, too."""
    with Child("plain") as child:
        subprocess.run([sys.executable, "-c", WITHOUT_NUMPY, child.address], check=True, timeout=300)


def test_many_over_one_link():
    """Fifty connections to a process and from it: one link, one control socket."""

    async def test():
        from unisono.dask.hub import hub

        with Child() as child:
            before = len(hub().peers), len(os.listdir("/proc/self/fd"))
            comms = await asyncio.gather(*(connect(child.address) for _ in range(50)))
            assert (len(hub().peers), len(os.listdir("/proc/self/fd"))) <= (before[0] + 1, before[1] + 8)
            for i, comm in enumerate(comms):
                await comm.write(to_serialize(np.full(3000, i)))
            for i, comm in enumerate(comms):
                assert ((await comm.read()) == i + 1).all()
            for comm in comms:
                await comm.close()
        for _ in range(1000):
            if len(hub().peers) == before[0]:
                break
            await asyncio.sleep(0.01)
        assert len(hub().peers) == before[0]

    run(test())


def test_killed_peer():
    """Its connections are closed, unread and in the middle of a message; those to others live on."""

    async def test():
        with Child() as one, Child() as two:
            comms = [await connect(one.address) for _ in range(3)]
            other = await connect(two.address)
            reading = asyncio.create_task(comms[0].read())
            await comms[1].write(to_serialize(np.zeros(1 << 27)))  # 1 GiB, under way when the process dies
            os.kill(one.process.pid, signal.SIGKILL)
            with pytest.raises(CommClosedError):
                await reading
            assert all([await ended(comm) for comm in comms])
            with pytest.raises(CommClosedError):
                await comms[2].write(1)
            for comm in comms:
                await comm.close()
            await other.write(to_serialize(np.zeros(10)))
            assert ((await other.read()) == 1).all()
            await other.close()
            with pytest.raises(OSError):
                await connect(one.address, timeout=0.3)

    run(test())


def test_peer_dies_while_it_sends():
    async def test():
        with Child("die") as child:
            comm = await connect(child.address)
            with pytest.raises(CommClosedError):
                while True:
                    await comm.read()
            assert comm.closed()

    run(test())


def test_last_words():
    """What a process wrote before it closed and left is read."""

    async def test():
        with Child("farewell") as child:
            comm = await connect(child.address)
            got = await comm.read()
            assert got.nbytes == 1 << 24 and (got == 3).all()
            assert await comm.read() == "farewell"
            with pytest.raises(CommClosedError):
                await comm.read()

    run(test(), 60)


def inc(x):
    return x + 1


def test_cluster_of_processes():
    """Nannies, their workers, a client outside; a worker that is killed comes back, workers join and leave."""
    with (
        LocalCluster(protocol="mpi", n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        workers = list(client.scheduler_info()["workers"])
        assert all(w.startswith("mpi://") for w in workers)
        one = client.submit(np.arange, 1 << 20, workers=workers[:1])
        assert client.submit(np.sum, one, workers=workers[1:]).result() == (1 << 19) * ((1 << 20) - 1)
        assert sum(client.gather(client.map(inc, range(200)))) == sum(range(201))
        os.kill(client.run(os.getpid)[workers[0]], signal.SIGKILL)
        assert sum(client.gather(client.map(inc, range(200, 400)))) == sum(range(201, 401))
        cluster.scale(3)
        client.wait_for_workers(3, timeout=600)
        cluster.scale(1)
        assert sum(client.gather(client.map(inc, range(400, 500)))) == sum(range(401, 501))


@pytest.mark.parametrize("apart", [[], ["unshare", "-pf", "--kill-child", "--mount-proc"]], ids=["here", "other-host"])
def test_command_line(tmp_path, apart):
    """dask scheduler and dask worker, a client that finds them by the scheduler file. A worker in a numbering of
    processes of its own shares no memory with the others: it plays another host."""
    if apart and os.geteuid() != 0:
        pytest.skip("only root may number processes anew")
    file = str(tmp_path / "scheduler.json")
    dask = [sys.executable, "-m", "dask"]
    here = ["--protocol", "mpi", "--port", "0", "--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file]
    scheduler = subprocess.Popen([*dask, "scheduler", *here], stderr=subprocess.DEVNULL)
    options = ["--scheduler-file", file, "--no-dashboard", "--nthreads", "1", "--local-directory", str(tmp_path)]
    worker = subprocess.Popen([*apart, *dask, "worker", *options], stderr=subprocess.DEVNULL)
    try:
        with Client(scheduler_file=file, timeout=600) as client:
            assert client.scheduler.address.startswith("mpi://")
            assert client.submit(sum, [1, 1]).result(timeout=600) == 2
            numbers = client.scatter(np.arange(1 << 20))
            assert client.submit(np.negative, numbers).result(timeout=600)[-1] == 1 - (1 << 20)
            assert list(client.scheduler_info()["workers"])[0].startswith("mpi://")
    finally:
        for process in (worker, scheduler):
            process.terminate()
        for process in (worker, scheduler):
            process.wait(300)
