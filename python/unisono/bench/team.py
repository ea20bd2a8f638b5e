# SPDX-License-Identifier: BSD-3-Clause
"""Threads that work together within a sample, and the work before each of their messages (--compute, --noise).

As bench/team.c; with a GIL the threads take turns, and that is part of what the rows measure.
"""

import random
import threading
from collections.abc import Callable

from .clock import now


class Team:
    """Threads that stay for a whole run; thread 0 is the caller. `run` gives the first start and the last end."""

    def __init__(self, n: int, work: Callable[[int, int], None]):
        self.work, self.n, self.over = work, n, False
        self.gate, self.times, self.failure = threading.Barrier(n), [(0.0, 0.0)] * n, None
        self.threads = [threading.Thread(target=self.loop, args=(t,), daemon=True) for t in range(1, n)]
        for thread in self.threads:
            thread.start()

    def turn(self, t: int) -> None:
        """One run of a thread; a failure lets nobody wait for it."""
        try:
            start = now()
            self.work(t, self.count)
            self.times[t] = start, now()
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            self.failure = error
            self.gate.abort()

    def loop(self, t: int) -> None:
        """The life of a thread."""
        try:
            while True:
                self.gate.wait()
                if self.over:
                    return
                self.turn(t)
                self.gate.wait()
        except threading.BrokenBarrierError:
            return  # another thread failed; the caller raises it

    def meet(self) -> None:
        """Waits for all threads of the team, in the middle of their work."""
        if self.n > 1:
            self.gate.wait()

    def run(self, count: int) -> tuple[float, float]:
        """All threads work once, with `count`."""
        self.count = count
        try:
            self.gate.wait()
            self.turn(0)
            self.gate.wait()
        except threading.BrokenBarrierError:
            pass
        if self.failure:
            raise self.failure
        return min(s for s, _ in self.times), max(e for _, e in self.times)

    def end(self) -> None:
        """Lets the threads go."""
        self.over = True
        try:
            self.gate.wait()
        except threading.BrokenBarrierError:
            pass
        for thread in self.threads:
            thread.join()


def threads_of(r: object, least: int, most: int) -> int:
    """Threads per rank: --threads, or what the row has by default."""
    return max(1, min(r.o.threads or least, most))


def delays(r: object, source: random.Random, n: int) -> list[float]:
    """Seconds of work before each of n partitions (or threads): --compute, and --noise upon it. Never negative."""
    o = r.o
    amount = o.compute * o.noise_pct / 100 + o.noise_us
    extra = {
        "none": lambda i: 0.0,
        "single": lambda i: amount if i == n - 1 else 0.0,
        "uniform": lambda i: amount * source.uniform(-1, 1),
        "gauss": lambda i: amount * source.gauss(0, 1),
    }[o.noise]
    return [max(0.0, o.compute + extra(i)) for i in range(n)]
