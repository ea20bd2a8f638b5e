# SPDX-License-Identifier: BSD-3-Clause
"""Family threads: patterns run by thread i of a rank with thread i of another, all at once, with or without a GIL.

Each thread has its own tag and buffers; a communicator shared by all, or one of its own (variant). The interval runs
from the first thread's start to the last one's end, and so measures what the GIL does to communication.
"""

from .. import data
from ..rows import HALF, NOSIZE, THREADED, TYPED, VECTOR, row
from ..team import Team, threads_of
from .p2p import bounce

PAIR = {"ranks": (2, 2)}
OWN = ("shared", "own")
MOST = 64


def crew(r, work, slots=1):
    """Buffers and communicators per thread, and the team that works on them."""
    p, threads = r.priv, threads_of(r, 2, MOST)
    r.buffers(r.count * slots * threads, r.count * slots * threads)
    own = r.variant == "own" or not r.row.variants
    p.comms = [r.comm.Dup() for _ in range(threads)] if own else []
    wrap = type(r.call) if r.call is not r.comm else lambda comm: comm
    p.calls = [wrap(comm) for comm in p.comms] or [r.call] * threads
    p.out, p.into = (
        [r.slots(r.kind.cut(buf, t * slots * r.count, slots * r.count, r.code), slots, r.count) for t in range(threads)]
        for buf in (r.sbuf, r.rbuf)
    )
    p.team = Team(threads, lambda t, n: work(r, t, n))


def once(r, n):
    r.inner = r.priv.team.run(n)


def end(r):
    r.priv.team.end()
    for comm in r.priv.comms:
        comm.Free()


def fill(r):
    r.fill(r.rank + 1)


def check_peer(r):
    return r.verify(r.peer + 1, len(r.received()))


def check_receiver(r):
    return check_peer(r) if r.rank or r.row.name == "mt-bibw" else -1


def check_left(r):
    return r.verify((r.rank - 1) % r.size + 1, len(r.received()))


def lat_work(r, t, n):
    call, (s,), (d,) = r.priv.calls[t], r.priv.out[t], r.priv.into[t]
    bounce(r, n, (call.Send, call.Recv), (s, d), t)


def one_to_many_work(r, t, n):
    """One thread on rank 0 serves the T of rank 1 in turn."""
    if r.rank == 1:
        return lat_work(r, t, n)
    send, recv = r.call.Send, r.call.Recv
    for _ in range(n if t == 0 else 0):
        for to in range(threads_of(r, 2, MOST)):
            send(r.priv.out[to][0], 1, to)
            recv(r.priv.into[to][0], 1, to)
    return None


def lat_setup(r):
    r.msgs = threads_of(r, 2, MOST)
    crew(r, one_to_many_work if r.variant == "1:T" else lat_work)


def pingping_work(r, t, n):
    call, (s,), (d,), peer = r.priv.calls[t], r.priv.out[t], r.priv.into[t], r.peer
    for _ in range(n):
        request = call.Isend(s, peer, t)
        call.Recv(d, peer, t)
        request.Wait()


def ring_work(r, t, n):
    sendrecv, (s,), (d,) = r.priv.calls[t].Sendrecv, r.priv.out[t], r.priv.into[t]
    left, right = (r.rank - 1) % r.size, (r.rank + 1) % r.size
    for _ in range(n):
        sendrecv(s, right, t, d, left, t)


def window_work(r, t, n):
    call, out, into, peer, waitall = r.priv.calls[t], r.priv.out[t], r.priv.into[t], r.peer, r.waitall()
    both, ack = r.row.name == "mt-bibw", bytearray(1)
    for _ in range(n):
        requests = [call.Irecv(slot, peer, t) for slot in into] if both or r.rank else []
        requests += [call.Isend(slot, peer, t) for slot in out] if both or r.rank == 0 else []
        waitall(requests)
        if r.rank:
            call.Send(ack, peer, t)
        else:
            call.Recv(ack, peer, t)


def window_setup(r):
    r.window = max(1, r.window // threads_of(r, 2, MOST))
    r.msgs = r.window * threads_of(r, 2, MOST) * (2 if r.row.name == "mt-bibw" else 1)
    r.payload = r.msgs * r.bytes
    crew(r, window_work, r.window)


def coll_work(r, t, n):
    call, (s,), (d,) = r.priv.calls[t], r.priv.out[t], r.priv.into[t]
    name = r.row.name.removeprefix("mt-")
    args = {"barrier": (), "bcast": (d, 0), "reduce": (s, d if r.rank == 0 else None, r.op, 0)}.get(name, (s, d, r.op))
    method = getattr(call, name.capitalize())
    for _ in range(n):
        method(*args)


def bcast_fill(r):
    r.fill(1)
    if r.rank == 0:
        r.kind.load(r.rbuf, r.kind.dump(r.sbuf))


def values_fill(r):
    r.fill(1)
    r.kind.load(r.sbuf, data.values(r.code, r.o.op, 0, r.count, range(r.rank, r.rank + 1)) * threads_of(r, 2, MOST))


def values_check(r):
    if r.row.name == "mt-reduce" and r.rank:
        return -1
    want = data.values(r.code, r.o.op, 0, r.count, range(r.size)) * threads_of(r, 2, MOST)
    return data.first_difference(r.received(), want)


def add(name, what, setup, **more):
    """A row of this family."""
    flags = more.pop("flags", 0) | THREADED
    row(name, "threads", what, flags=flags, setup=setup, teardown=end, **more)(once)


PEER = PAIR | {"variants": OWN, "fill": fill, "check": check_peer}
add("mt-lat", "ping-pong of each thread pair, half the round trip", lat_setup, flags=HALF,
    **PEER | {"variants": (*OWN, "1:T")})  # fmt: skip
add("mt-pingping", "both send at once, per thread pair", lambda r: crew(r, pingping_work), **PEER)
add("mt-sendrecv", "ring of threads, to the right and from the left", lambda r: crew(r, ring_work),
    variants=OWN, fill=fill, check=check_left)  # fmt: skip
add("mt-bw", "a window per thread, one way", window_setup, **PEER | {"check": check_receiver})
add("mt-bibw", "a window per thread, both ways", window_setup, **PEER)
COLL = {"setup": lambda r: crew(r, coll_work)}
add("mt-barrier", "a barrier per thread, each on its communicator", flags=NOSIZE, **COLL)
add("mt-bcast", "a broadcast per thread", flags=VECTOR, fill=bcast_fill,
    check=lambda r: r.verify(1, len(r.received())), **COLL)  # fmt: skip
add("mt-reduce", "a reduction per thread", flags=TYPED, fill=values_fill, check=values_check, **COLL)
add("mt-allreduce", "an allreduce per thread", flags=TYPED, fill=values_fill, check=values_check, **COLL)
