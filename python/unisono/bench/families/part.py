# SPDX-License-Identifier: BSD-3-Clause
"""Family part, partitioned point-to-point between two ranks: calls one by one, the whole exchange against a plain send,
and the four figures of an episode in which threads compute, call Pready, and the receiver notes each arrival (see
docs/partitioned-figures.md). Partitions are never empty: the size is rounded up to a multiple of both sides' counts.
"""

import array
import math
import os
import random
import sys
from types import SimpleNamespace

from .. import clock
from ..clock import now
from ..rows import ROOT, THREADED, row
from ..run import Skip
from ..team import Team, delays, threads_of

TAG, MOST, WINDOW = 21, 4096, 8
EMPTY = bytearray(0)
_warned: set[str] = set()


def share(p, t):
    """The partitions of one thread: a contiguous run."""
    return range(p.sends * t // p.threads, p.sends * (t + 1) // p.threads)


def prepare(r, window):
    """Buffers of true bytes, and what this rank starts, in r.priv."""
    p, o = r.priv, r.o
    if not hasattr(r.comm, "Psend_init"):
        raise Skip("needs the partitioned calls of MPI 4, and of mpi4py 4")
    if r.call is not r.comm:
        raise Skip(f"--buffer {o.buffer}: no Psend_init in {type(r.call).__module__}")
    p.sends = min(o.parts, MOST)
    p.recvs = min(o.parts_recv or p.sends, MOST)
    unit = math.lcm(p.sends, p.recvs)
    r.code, p.total = "B", max((r.bytes + unit - 1) // unit, 1) * unit
    p.requests, p.team, p.threads, p.random = [], None, 1, random.Random(o.seed + r.rank)
    r.payload = p.total * window
    r.buffers(r.payload, r.payload)
    return p


def make(r, n):
    """n partitioned requests, each with its part of the buffer."""
    p, comm = r.priv, r.comm
    for slot in r.slots(r.sbuf if r.rank == 0 else r.rbuf, n, p.total):
        if r.rank == 0:
            p.requests.append(comm.Psend_init(slot, p.sends, 1, TAG))
        else:
            p.requests.append(comm.Precv_init(slot, p.recvs, 0, TAG))


def end(r):
    if r.priv.team:
        r.priv.team.end()
    for request in r.priv.requests:
        request.Free()


def fill(r):
    r.fill(3)


def check(r):
    return -1 if r.rank == 0 else r.verify(3, r.payload)


PART = {"ranks": (2, 2), "fill": fill, "check": check, "teardown": end}

# ---- calls one by one ----


def call_setup(r):
    prepare(r, 1)


class Watch:
    """Seconds since the last look."""

    def __init__(self):
        self.mark = now()

    def __call__(self):
        last, self.mark = self.mark, now()
        return self.mark - last


@row("part-call", "part", "Pready (extras: the other calls), each timed alone", unit="ns", sampled=True,
     extras=("init ns", "start ns", "pready ns", "range ns", "list ns", "test ns", "parrived ns"), setup=call_setup,
     **PART)  # fmt: skip
def call(r):
    """Three rounds with Pready one by one, by range, by list. Rank 1 times Parrived and hands its figure over."""
    p, x, arrived = r.priv, [0.0] * 7, array.array("d", [0.0])
    every, since = list(range(p.sends)), Watch()
    make(r, 1)
    x[0], request = since(), p.requests[0]
    for turn in range(3):
        r.comm.Barrier()
        since()
        request.Start()
        x[1] = since()
        if r.rank == 0:
            if turn == 0:
                ready_all(p, 0, request)
                x[2] = since() / p.sends
            elif turn == 1:
                request.Pready_range(0, p.sends - 1)
                x[3] = since()
            else:
                request.Pready_list(every)
                x[4] = since()
            request.Test()
            x[5] = since()
        else:
            for k in range(p.recvs):
                request.Parrived(k)
            arrived[0] = since() / p.recvs
        request.Wait()
    p.requests.pop().Free()
    if r.rank == 1:
        r.comm.Send(arrived, 0, TAG)
    else:
        r.comm.Recv(arrived, 1, TAG)
    r.extra[:] = [*x[:6], arrived[0]]
    return x[2]


def ready_all(p, t, request):
    ready = request.Pready
    for k in share(p, t):
        ready(k)


# ---- the whole exchange ----


def answer(r):
    """An empty message back."""
    if r.rank == 0:
        r.comm.Recv(EMPTY, 1, TAG)
    else:
        r.comm.Send(EMPTY, 0, TAG)


def exchange(r, t, n):
    p, request = r.priv, r.priv.requests[0]
    for _ in range(n):
        if t == 0:
            request.Start()
        if r.rank == 0:
            if p.team:
                p.team.meet()
            ready_all(p, t, request)
            if p.team:
                p.team.meet()
        if t == 0:
            request.Wait()
            answer(r)


def partitioned(r):
    """Seconds of one exchange."""
    p = r.priv
    if p.team:
        start, stop = p.team.run(p.turns)
    else:
        start = now()
        exchange(r, 0, p.turns)
        stop = now()
    return (stop - start) / p.turns


def plain(r):
    turns, start = r.priv.turns, now()
    for _ in range(turns):
        if r.rank == 0:
            r.comm.Send(r.s, 1, TAG + 1)
        else:
            r.comm.Recv(r.d, 0, TAG + 1)
        answer(r)
    return (now() - start) / turns


def lat_setup(r):
    p = prepare(r, 1)
    make(r, 1)
    p.turns, threads = 1, threads_of(r, 1, p.sends)
    if threads > 1 and r.rank == 0:
        p.threads, p.team = threads, Team(threads, lambda t, n: exchange(r, t, n))
    each = 0.0
    for _ in range(3):
        each = partitioned(r)
    p.turns = r.comm.bcast(max(1, int(200e-6 / max(each, 1e-8))))


@row("part-lat", "part", "Start, Pready each, Wait, answered by an empty message; against a plain send", sampled=True,
     extras=("plain us", "ratio x"), setup=lat_setup, **PART)  # fmt: skip
def lat(r):
    took = partitioned(r)
    bare = plain(r)
    r.extra[:] = [bare, took / bare]
    return took


def bw_setup(r):
    r.msgs = min(r.window, WINDOW)
    prepare(r, r.msgs)
    make(r, r.msgs)


@row("part-bw", "part", "8 partitioned requests in flight, then an empty message back", flags=ROOT, setup=bw_setup,
     **PART)  # fmt: skip
def bw(r, n):
    p, startall, waitall = r.priv, r.mpi.Prequest.Startall, r.mpi.Request.Waitall
    for _ in range(n):
        startall(p.requests)
        for request in p.requests if r.rank == 0 else ():
            ready_all(p, 0, request)
        waitall(p.requests)
        answer(r)


# ---- episodes ----


def episode_turn(r, t):
    """One thread of an episode: work, then Pready, partition by partition of its share."""
    p = r.priv
    for k in share(p, t):
        clock.compute(p.delay[k])
        p.ready[k] = now()
        if p.talk:
            p.requests[0].Pready(k)


def watch(p):
    """Notes when each partition has arrived."""
    arrived, left = p.requests[0].Parrived, list(range(p.recvs))
    while left:
        here = [k for k in left if arrived(k)]
        when = now() - clock.offset
        for k in here:
            p.arrival[k] = when
        left = [k for k in left if k not in here]


def spans(p):
    """(ready, arrived) of each receive partition, in order; ready: when the last partition it covers was."""
    found = []
    for k in range(p.recvs):
        first, behind = k * p.sends // p.recvs, ((k + 1) * p.sends + p.recvs - 1) // p.recvs
        ready = max(p.ready[first:behind])
        found.append((ready, max(p.arrival[k], ready)))
    return sorted(found)


def merge(p, e):
    """Overlapping transfers are one; what of them lies before the join of the silent twin is early."""
    e.busy = e.early = 0.0
    start, stop = -math.inf, -math.inf
    for ready, arrived in [*spans(p), (math.inf, math.inf)]:
        if ready <= stop:
            stop = max(stop, arrived)
            continue
        if stop > -math.inf:
            e.busy += stop - start
            e.early += max(min(stop, e.join) - start, 0.0)
        start, stop = ready, arrived
    e.late = e.busy - e.early
    e.first, e.last_ready, e.last_arrival = min(p.ready), max(p.ready), max(p.arrival)


def plain_once(r):
    """One plain send of the same bytes until it has arrived, on rank 0's clock."""
    stop = array.array("d", [0.0])
    r.comm.Barrier()
    start = now()
    if r.rank == 0:
        r.comm.Send(r.s, 1, TAG + 1)
        r.comm.Recv(stop, 1, TAG)
        return stop[0] - start
    r.comm.Recv(r.d, 0, TAG + 1)
    stop[0] = now() - clock.offset
    r.comm.Send(stop, 0, TAG)
    return 0.0


def episode(r):
    """Its figures on rank 0; zeros on rank 1."""
    p = r.priv
    e = SimpleNamespace(plain=plain_once(r), busy=0.0, early=0.0, late=0.0, first=0.0, last_ready=0.0, last_arrival=0.0)
    p.delay = delays(r, p.random, p.sends)
    r.comm.Barrier()
    if r.rank == 0:  # fork, compute, join with no message
        p.talk = False
        start, stop = p.team.run(1)
        silent = stop - start
    p.requests[0].Start()
    r.comm.Barrier()
    if r.rank == 0:
        p.talk = True
        start, _ = p.team.run(1)
        e.join = start + silent
    else:
        watch(p)
    p.requests[0].Wait()
    if r.rank == 1:
        r.comm.Send(p.arrival, 0, TAG)
    else:
        r.comm.Recv(p.arrival, 1, TAG)
        merge(p, e)
    return e


def episode_setup(r):
    p = prepare(r, 1)
    make(r, 1)
    p.threads = threads_of(r, min(p.sends, 64), p.sends)
    p.ready, p.arrival = array.array("d", [0.0] * p.sends), array.array("d", [0.0] * p.recvs)
    if r.rank == 0:
        if p.threads + 1 > os.cpu_count() and "cores" not in _warned:
            _warned.add("cores")
            print(f"unisono.bench: {p.threads} threads and a receiver share {os.cpu_count()} cores: times include "
                  "waiting for a core", file=sys.stderr, flush=True)  # fmt: skip
        p.team = Team(p.threads, lambda t, _: episode_turn(r, t))
    clock.compute(0)


def over(value, by):
    return value / by if by > 0 else 0.0


EPISODE = PART | {"flags": THREADED, "setup": episode_setup, "sampled": True}


@row("part-over", "part", "overhead: first Pready to last arrival, over one plain send",
     extras=("ratio x", "busy_ratio x", "plain us", "busy us"), **EPISODE)  # fmt: skip
def overhead(r):
    e = episode(r)
    span = e.last_arrival - e.first
    r.extra[:] = [over(span, e.plain), over(e.busy, e.plain), e.plain, e.busy]
    return span


@row("part-pbw", "part", "perceived bandwidth: true bytes over the time after the last Pready",
     extras=("plain us", "rest x", "rest_less_2us x"), **EPISODE)  # fmt: skip
def perceived(r):
    e = episode(r)
    rest = e.last_arrival - e.last_ready
    r.extra[:] = [e.plain, over(rest, e.plain), over(rest - 2e-6, e.plain)]
    return rest


@row("part-avail", "part", "availability: 1 - transfer after the join / plain send", unit="%",
     extras=("plain us", "late us"), **EPISODE)  # fmt: skip
def availability(r):
    e = episode(r)
    r.extra[:] = [e.plain, e.late]
    return 100 * (1 - e.late / e.plain) if e.plain > 0 else 0.0


@row("part-early", "part", "early bird: share of the transfer done before the join", unit="%",
     extras=("busy us", "early us"), **EPISODE)  # fmt: skip
def early_bird(r):
    e = episode(r)
    r.extra[:] = [e.busy, e.early]
    return 100 * over(e.early, e.busy)
