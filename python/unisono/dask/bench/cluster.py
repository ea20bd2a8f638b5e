# SPDX-License-Identifier: BSD-3-Clause
"""Clusters of processes: what idling costs, tasks per second, and three applications.

A row is a generator of (case, unit, value) for a scheme. Workers have one thread each, and are not nannied.
"""

import contextlib
import itertools
import os
from time import perf_counter, sleep

from distributed import Client, LocalCluster, wait

ROWS = {}
TURNS = 4  # of which the shortest counts
SEEDS = itertools.count(1)


def row(function):
    ROWS[function.__name__.replace("_", "-")] = function
    return function


@contextlib.contextmanager
def cluster(scheme, workers):
    """A client of a cluster of so many processes."""
    with (
        LocalCluster(
            protocol=scheme, n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as made,
        Client(made) as client,
    ):
        client.wait_for_workers(workers)
        yield client


def processor_seconds(pid):
    """User and system time of a process so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(function):
    """Seconds that it takes."""
    start = perf_counter()
    function()
    return perf_counter() - start


@row
def idle(scheme, _options):
    """Processor time of an idle worker, per cent of a core (Dask's own timers included)."""
    with cluster(scheme, 1) as client:
        (pid,) = client.run(os.getpid).values()
        sleep(2)
        before, start = processor_seconds(pid), perf_counter()
        sleep(8)
        yield "worker", "%", 100 * (processor_seconds(pid) - before) / (perf_counter() - start)


def nothing(i):
    return i


@row
def tasks(scheme, _options):
    """A thousand tasks that do nothing, on two workers: tasks per second."""
    with cluster(scheme, 2) as client:

        def once():
            return timed(lambda: client.gather(client.map(nothing, range(1000), pure=False)))

        yield "2 workers", "tasks/s", 1000 / min(once() for _ in range(TURNS))


@row
def transpose(scheme, _options):
    """Sum of an array and its transpose, 4000 x 4000 in chunks of 1000, on one to four workers."""
    import dask.array as da

    for workers in (1, 2, 4):
        with cluster(scheme, workers) as client:

            def once(client=client):
                x = client.persist(da.random.random((4000, 4000), chunks=(1000, 1000)))
                wait(x)
                return timed((x + x.T).sum().compute)

            yield f"{workers} workers", "ms", 1e3 * min(once() for _ in range(TURNS))


def frames(client, workers, rows):
    """Two data frames, `rows` per worker each, with a common key. Their data are new each time: Dask does not compute
    again what it still has under the same name."""
    import dask.dataframe as dd
    import numpy as np
    import pandas as pd

    def part(i, rows, what, seed):
        rng = np.random.default_rng([i, rows, seed])
        return pd.DataFrame({"key": rng.integers(0, rows * workers, rows), what: rng.random(rows)})

    made = []
    for what in "ab":
        meta = part(0, 1, what, 0)
        frame = dd.from_map(part, range(4 * workers), rows=rows // 4, what=what, seed=next(SEEDS), meta=meta)
        made.append(client.persist(frame))
    wait(made)
    return made


@row
def merge(scheme, _options):
    """Merge of two data frames, 500,000 rows per worker each, on one to four workers; the result stays there."""
    for workers in (1, 2, 4):
        with cluster(scheme, workers) as client:

            def once(client=client, workers=workers):
                left, right = frames(client, workers, 500_000)
                return timed(lambda: wait(client.persist(left.merge(right, on="key"))))

            yield f"{workers} workers", "ms", 1e3 * min(once() for _ in range(TURNS))


@row
def shuffle(scheme, _options):
    """Shuffle of a data frame of 1,000,000 rows per worker, on two workers, by messages between them (p2p)."""
    import dask

    with cluster(scheme, 2) as client, dask.config.set({"dataframe.shuffle.method": "p2p"}):

        def once():
            left, _ = frames(client, 2, 1_000_000)
            return timed(lambda: wait(client.persist(left.shuffle("key"))))  # its length needs no shuffle

        yield "2 workers", "ms", 1e3 * min(once() for _ in range(TURNS))
