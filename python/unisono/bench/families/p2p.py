# SPDX-License-Identifier: BSD-3-Clause
"""Family p2p, two ranks or a ring: latency in its forms, rings, matching, unexpected messages, overlap.

The sender fills its buffer with the seed of its rank; the receiver compares every byte outside the timed interval.
"""

from ..clock import compute, now
from ..data import first_difference, pattern
from ..rows import ALLVARIANTS, DEPTH, HALF, ROOT, objects, row

TAG = 11
PAIR = {"ranks": (2, 2)}


def fill_own(r):
    r.fill(r.rank + 1)


def check_peer(r):
    return r.verify(r.peer + 1, r.bytes)


def setup(r):
    r.buffers(r.count, r.count)


CHECKED = {"fill": fill_own, "check": check_peer}


def bounce(r, n, calls, buffers, tag):
    """n times to and fro: the lower half of the ranks sends first. The calls take peer and tag by position."""
    (send, recv), (s, d), peer = calls, buffers, r.peer
    if r.rank < r.size // 2:
        for _ in range(n):
            send(s, peer, tag)
            recv(d, peer, tag)
    else:
        for _ in range(n):
            recv(d, peer, tag)
            send(s, peer, tag)


def pingpong(r, n, send, recv):
    """Half of all latency rows."""
    bounce(r, n, (send, recv), (r.s, r.d), TAG)


def ready(r, n):
    """Each side posts its receive before it sends what lets the other one send."""
    irecv, rsend = r.call.Irecv, r.method("Rsend")
    request = irecv(r.d, r.peer, TAG)
    r.comm.Barrier()
    for i in range(n):
        if r.rank == 0:
            rsend(r.s, r.peer, TAG)
        request.Wait()
        if i + 1 < n:
            request = irecv(r.d, r.peer, TAG)
        if r.rank == 1:
            rsend(r.s, r.peer, TAG)


def lat_setup(r):
    setup(r)
    if r.variant == "buffered":
        r.priv.attached = bytearray(4 * (r.bytes + r.mpi.BSEND_OVERHEAD) + 4096)
        r.mpi.Attach_buffer(r.priv.attached)


def lat_teardown(r):
    if r.variant == "buffered":
        r.mpi.Detach_buffer()


@row("lat", "p2p", "ping-pong, half the round trip", **PAIR, flags=ROOT | HALF, **CHECKED,
     variants=("std", "sync", "ready", "buffered", "isend"), setup=lat_setup, teardown=lat_teardown)  # fmt: skip
def lat(r, n):
    if r.variant == "ready":
        return ready(r, n)
    if r.variant == "isend":
        isend = r.call.Isend
        return pingpong(r, n, lambda s, peer, tag: isend(s, peer, tag).Wait(), r.call.Recv)
    send = r.method({"std": "Send", "sync": "Ssend", "buffered": "Bsend"}[r.variant])
    return pingpong(r, n, send, r.call.Recv)


@objects("lat")
def lat_objects(r, n):
    send = r.method({"std": "send", "sync": "ssend", "buffered": "bsend"}.get(r.variant, "isend"))
    recv, obj, peer, got = r.call.recv, r.obj, r.peer, None
    if r.variant in ("ready", "isend"):
        isend = send
        send = lambda obj, peer, tag: isend(obj, peer, tag).wait()  # noqa: E731
    for _ in range(n):
        if r.rank == 0:
            send(obj, peer, TAG)
        got = recv(None, peer, TAG)
        if r.rank == 1:
            send(obj, peer, TAG)
    r.got = got


@row("plat", "p2p", "ping-pong with persistent requests, half the round trip", **PAIR, flags=ROOT | HALF, **CHECKED)
def plat(r, n):
    both = [r.method("Send_init")(r.s, r.peer, TAG), r.method("Recv_init")(r.d, r.peer, TAG)]
    first, second = both if r.rank == 0 else both[::-1]
    for _ in range(n):
        first.Start()
        first.Wait()
        second.Start()
        second.Wait()
    for request in both:
        request.Free()


@row("lat-any", "p2p", "ping-pong received from a wildcard, half the round trip", **PAIR, flags=ROOT | HALF,
     variants=("source", "tag", "both"), **CHECKED)  # fmt: skip
def lat_any(r, n):
    source = r.peer if r.variant == "tag" else r.mpi.ANY_SOURCE
    tag = TAG if r.variant == "source" else r.mpi.ANY_TAG
    recv = r.call.Recv
    pingpong(r, n, r.call.Send, lambda d, _peer, _tag: recv(d, source, tag))


@row("lat-probe", "p2p", "ping-pong, size found by a probe, half the round trip", **PAIR, flags=ROOT | HALF,
     variants=("probe", "mprobe"), **CHECKED)  # fmt: skip
def lat_probe(r, n):
    probe, mprobe, recv = r.method("Probe"), r.method("Mprobe"), r.call.Recv
    status, kind = r.mpi.Status(), r.mpi.BYTE

    def probed(d, peer, tag):
        probe(peer, tag, status)
        status.Get_count(kind)
        recv(d, peer, tag)

    def matched(d, peer, tag):
        message = mprobe(peer, tag, status)
        status.Get_count(kind)
        message.Recv(d)

    pingpong(r, n, r.call.Send, probed if r.variant == "probe" else matched)


@objects("lat-probe")
def lat_probe_objects(r, n):
    send, probe, mprobe, recv = r.call.send, r.method("probe"), r.method("mprobe"), r.call.recv
    obj, peer, status, got = r.obj, r.peer, r.mpi.Status(), None
    for _ in range(n):
        if r.rank == 0:
            send(obj, peer, TAG)
        if r.variant == "probe":
            probe(peer, TAG, status)
            got = recv(None, peer, TAG)
        else:
            got = mprobe(peer, TAG, status).recv()
        if r.rank == 1:
            send(obj, peer, TAG)
    r.got = got


def once_setup(r):
    r.payload = r.bytes
    setup(r)


@row("pingping", "p2p", "both send at once: Isend, Recv, Wait", **PAIR, variants=("source", "any"), setup=once_setup,
     **CHECKED)  # fmt: skip
def pingping(r, n):
    isend, recv, s, d, peer = r.call.Isend, r.call.Recv, r.s, r.d, r.peer
    source = r.mpi.ANY_SOURCE if r.variant == "any" else peer
    for _ in range(n):
        request = isend(s, peer, TAG)
        recv(d, source, TAG)
        request.Wait()


def ring_setup(r):
    r.payload = 2 * r.bytes
    setup(r)
    r.priv.left, r.priv.right = (r.rank - 1) % r.size, (r.rank + 1) % r.size


def check_left(r):
    return r.verify(r.priv.left + 1, r.bytes)


@row("sendrecv", "p2p", "periodic ring, to the right and from the left", setup=ring_setup, fill=fill_own,
     check=check_left)  # fmt: skip
def sendrecv(r, n):
    call, s, d, left, right = r.call.Sendrecv, r.s, r.d, r.priv.left, r.priv.right
    for _ in range(n):
        call(s, right, TAG, d, left, TAG)


@objects("sendrecv")
def sendrecv_objects(r, n):
    call, obj, left, right = r.method("sendrecv"), r.obj, r.priv.left, r.priv.right
    for _ in range(n):
        r.got = call(obj, right, TAG, None, left, TAG)


def check_replaced(r):
    r.kind.load(r.rbuf, r.kind.dump(r.sbuf))
    return check_left(r)


@row("sendrecv-rep", "p2p", "periodic ring in place", setup=ring_setup, fill=fill_own, check=check_replaced)
def sendrecv_replace(r, n):
    call, s, left, right = r.method("Sendrecv_replace"), r.s, r.priv.left, r.priv.right
    for _ in range(n):
        call(s, right, TAG, left, TAG)


def exchange_setup(r):
    r.priv.left, r.priv.right = (r.rank - 1) % r.size, (r.rank + 1) % r.size
    r.payload = 4 * r.bytes
    r.buffers(r.count, 2 * r.count)
    r.priv.parts = r.slots(r.rbuf, 2, r.count)


def check_both(r):
    want = pattern(r.bytes, r.priv.left + 1) + pattern(r.bytes, r.priv.right + 1)
    return first_difference(r.received(), want)


@row("exchange", "p2p", "ring with both neighbours, 2 Isend + 2 Irecv + Waitall", setup=exchange_setup, fill=fill_own,
     check=check_both)  # fmt: skip
def exchange(r, n):
    isend, irecv, waitall = r.call.Isend, r.call.Irecv, r.waitall()
    s, left, right, (first, second) = r.s, r.priv.left, r.priv.right, r.priv.parts
    for _ in range(n):
        waitall([irecv(first, left, TAG), irecv(second, right, TAG + 1), isend(s, right, TAG), isend(s, left, TAG + 1)])


@row("match", "p2p", "1 B latency behind posted receives that cannot match", **PAIR, flags=DEPTH, sampled=True)
def match(r):
    depth, turns = r.bytes, 20
    ping, junk = bytearray(1), [bytearray(1) for _ in range(depth)]
    requests = [r.comm.Irecv(junk[i], r.peer, 1000 + i) for i in range(depth)]
    send, recv = r.comm.Send, r.comm.Recv
    r.comm.Barrier()
    start = now()
    for _ in range(turns):
        if r.rank == 0:
            send(ping, r.peer, TAG)
        recv(ping, r.peer, TAG)
        if r.rank == 1:
            send(ping, r.peer, TAG)
    took = (now() - start) / turns / 2
    r.comm.Barrier()
    for i in range(depth):
        send(ping, r.peer, 1000 + i)
    r.mpi.Request.Waitall(requests)
    return took


def check_root(r):
    return -1 if r.rank else check_peer(r)


@row("unexp", "p2p", "receive of a message that came before it", **PAIR, setup=once_setup, sampled=True, fill=fill_own,
     check=check_root)  # fmt: skip
def unexp(r):
    request, took = r.call.Isend(r.s, 0, TAG) if r.rank else None, 0.0
    r.comm.Barrier()
    if r.rank == 0:
        start = now()
        r.call.Recv(r.d, 1, TAG)
        took = now() - start
    else:
        request.Wait()
    return took


def transfer(r, work):
    """One message with work meanwhile on rank 0; rank 1 answers in MPI at once."""
    call = r.call.Isend if (r.variant == "sender") == (r.rank == 0) else r.call.Irecv
    buf = r.s if call == r.call.Isend else r.d
    r.comm.Barrier()
    start = now()
    request = call(buf, r.peer, TAG)
    if r.rank == 0:
        compute(work)
    request.Wait()
    return now() - start


@row("ovl-p2p", "p2p", "start, compute, wait: total; overlap cut to 0..100, raw", **PAIR, flags=ALLVARIANTS,
     variants=("sender", "receiver"), extras=("overlap %", "raw %", "pure us", "compute us"), setup=setup,
     sampled=True)  # fmt: skip
def ovl_p2p(r):
    pure = transfer(r, 0)
    work = r.o.compute or pure
    start = now()
    compute(work)
    alone = now() - start
    total = transfer(r, work)
    raw = 100 * (pure + alone - total) / min(pure, alone) if min(pure, alone) > 0 else 0.0
    r.extra[:] = [min(max(raw, 0.0), 100.0), raw, pure, alone]
    return total
