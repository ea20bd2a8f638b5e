# SPDX-License-Identifier: BSD-3-Clause
"""Family p2p, windows and pairs: bandwidth one way and both ways, several pairs at once, fan-in, fan-out, random pairs.

Every window slot has its own part of the buffer; the content of all is checked after each size.
"""

import random

from ..rows import EVEN, HALF, ROOT, objects, row
from ..data import first_difference, pattern
from .p2p import CHECKED, PAIR, pingpong, setup

TAG, ACK = 12, 13


def window_setup(r):
    both, pairs = 2 if "bi" in r.row.name else 1, r.size // 2
    r.msgs = r.window * pairs * both
    r.payload = r.bytes * r.msgs
    r.buffers(r.count * r.window, r.count * r.window)
    r.priv.out, r.priv.into = r.slots(r.sbuf, r.window, r.count), r.slots(r.rbuf, r.window, r.count)
    r.priv.ack = bytearray(1)


def window_fill(r):
    r.fill(r.rank + 1)


def window_check(r):
    receives = r.rank >= r.size // 2 or "bi" in r.row.name
    return r.verify(r.peer + 1, r.bytes * r.window) if receives else -1


WINDOWED = {"setup": window_setup, "fill": window_fill, "check": window_check}


def bw(r, n):
    isend, irecv, waitall, send, recv = r.call.Isend, r.call.Irecv, r.waitall(), r.call.Send, r.call.Recv
    peer, ack, out, into = r.peer, r.priv.ack, r.priv.out, r.priv.into
    if r.rank < r.size // 2:
        for _ in range(n):
            waitall([isend(slot, peer, TAG) for slot in out])
            recv(ack, peer, ACK)
    else:
        for _ in range(n):
            waitall([irecv(slot, peer, TAG) for slot in into])
            send(ack, peer, ACK)


def bibw(r, n):
    isend, irecv, waitall, sendrecv = r.call.Isend, r.call.Irecv, r.waitall(), r.call.Sendrecv
    peer, ack, out, into, back = r.peer, r.priv.ack, r.priv.out, r.priv.into, bytearray(1)
    for _ in range(n):
        requests = [irecv(slot, peer, TAG) for slot in into]
        requests += [isend(slot, peer, TAG) for slot in out]
        waitall(requests)
        sendrecv(ack, peer, ACK, back, peer, ACK)


def bw_send(r, n):
    send, recv, peer, ack, out, into = r.call.Send, r.call.Recv, r.peer, r.priv.ack, r.priv.out, r.priv.into
    if r.rank < r.size // 2:
        for _ in range(n):
            for slot in out:
                send(slot, peer, TAG)
            recv(ack, peer, ACK)
    else:
        for _ in range(n):
            for slot in into:
                recv(slot, peer, TAG)
            send(ack, peer, ACK)


row("bw", "p2p", "window of messages one way, then one byte back", **PAIR, flags=ROOT, **WINDOWED)(bw)
row("bibw", "p2p", "windows both ways at once", **PAIR, **WINDOWED)(bibw)
row("mbw", "p2p", "bw of all pairs at once, sum; message rate", flags=EVEN, **WINDOWED)(bw)
row("mbw-send", "p2p", "mbw with blocking sends and receives", flags=EVEN, **WINDOWED)(bw_send)
row("mbibw", "p2p", "bibw of all pairs at once, sum", flags=EVEN, **WINDOWED)(bibw)


@objects("bw")
def bw_objects(r, n):
    isend, recv, send, peer = r.call.isend, r.call.recv, r.call.send, r.peer
    if r.rank == 0:
        for _ in range(n):
            for request in [isend(slot, peer, TAG) for slot in r.priv.out]:
                request.wait()
            recv(None, peer, ACK)
    else:
        for _ in range(n):
            r.got = [recv(None, peer, TAG) for _ in r.priv.out]
            send(None, peer, ACK)


@objects("bibw")
def bibw_objects(r, n):
    isend, recv, peer = r.call.isend, r.call.recv, r.peer
    for _ in range(n):
        requests = [isend(slot, peer, TAG) for slot in r.priv.out]
        r.got = [recv(None, peer, TAG) for _ in r.priv.out]
        for request in requests:
            request.wait()


def persistent_setup(r):
    window_setup(r)
    sends = [r.method("Send_init")(slot, r.peer, TAG) for slot in r.priv.out]
    receives = [r.method("Recv_init")(slot, r.peer, TAG) for slot in r.priv.into]
    both = r.row.name == "pbibw"
    r.priv.requests = receives + sends if both else sends if r.rank == 0 else receives
    r.priv.unused = [] if both else receives if r.rank == 0 else sends


def persistent_end(r):
    for request in r.priv.requests + r.priv.unused:
        request.Free()


def persistent(r, n):
    requests, startall, waitall, peer, ack = r.priv.requests, r.startall(), r.waitall(), r.peer, r.priv.ack
    both, send, recv, sendrecv = r.row.name == "pbibw", r.call.Send, r.call.Recv, r.call.Sendrecv
    for _ in range(n):
        startall(requests)
        waitall(requests)
        if both:
            sendrecv(ack, peer, ACK, bytearray(1), peer, ACK)
        elif r.rank == 0:
            recv(ack, peer, ACK)
        else:
            send(ack, peer, ACK)


KEPT = {"setup": persistent_setup, "teardown": persistent_end, "fill": window_fill, "check": window_check}
row("pbw", "p2p", "bw with persistent requests", **PAIR, flags=ROOT, **KEPT)(persistent)
row("pbibw", "p2p", "bibw with persistent requests", **PAIR, **KEPT)(persistent)


@row("mlat", "p2p", "ping-pong of all pairs (r, r + n/2) at once, half the round trip", flags=EVEN | HALF, setup=setup,
     **CHECKED)  # fmt: skip
def mlat(r, n):
    pingpong(r, n, r.call.Send, r.call.Recv)


@row("mlat-test", "p2p", "mlat received by looking again and again, half the round trip", flags=EVEN | HALF,
     variants=("test", "iprobe"), setup=setup, **CHECKED)  # fmt: skip
def mlat_test(r, n):
    irecv, recv, iprobe = r.call.Irecv, r.call.Recv, r.method("Iprobe")

    def tested(d, peer, tag):
        test = irecv(d, peer, tag).Test
        while not test():
            pass

    def probed(d, peer, tag):
        while not iprobe(peer, tag):
            pass
        recv(d, peer, tag)

    pingpong(r, n, r.call.Send, tested if r.variant == "test" else probed)


def fan_setup(r):
    others = r.size - 1
    r.window = max(1, r.window // others)
    r.msgs = r.window * others
    r.payload = r.msgs * r.bytes
    whole = r.window * others if r.rank == 0 else r.window
    r.buffers(r.count * whole, r.count * whole)
    peers = [1 + i // r.window for i in range(whole)] if r.rank == 0 else [0] * whole
    sends = (r.row.name == "fan-in") != (r.rank == 0)
    r.priv.slots = list(zip(r.slots(r.sbuf if sends else r.rbuf, whole, r.count), peers, strict=True))
    r.priv.sends, r.priv.ack = sends, bytearray(1)


def fan_content(r, sender):
    """What one sender sends to a rank."""
    return pattern(r.bytes * r.window, sender + 1)


def fan_fill(r):
    r.fill(1)
    if r.rank == 0:
        r.kind.load(r.sbuf, fan_content(r, 0) * (r.size - 1))
    else:
        r.kind.load(r.sbuf, fan_content(r, r.rank))


def fan_check(r):
    if r.priv.sends:
        return -1
    senders = range(1, r.size) if r.rank == 0 else [0]
    return first_difference(r.received(), b"".join(fan_content(r, p) for p in senders))


FAN = {"setup": fan_setup, "fill": fan_fill, "check": fan_check}


def fan(r, n):
    call, waitall = r.call.Isend if r.priv.sends else r.call.Irecv, r.waitall()
    slots, ack, send, recv = r.priv.slots, r.priv.ack, r.call.Send, r.call.Recv
    for _ in range(n):
        waitall([call(slot, peer, TAG) for slot, peer in slots])
        if r.rank:
            send(ack, 0, ACK)
        else:
            for peer in range(1, r.size):
                recv(ack, peer, ACK)


row("fan-in", "p2p", "windows from all others to rank 0", **FAN)(fan)
row("fan-out", "p2p", "windows from rank 0 to all others", **FAN)(fan)


def random_setup(r):
    setup(r)
    r.priv.draw = random.Random(r.o.seed)  # all ranks draw the same order
    pairs = r.size // 2
    r.msgs = {"rand-uni": pairs, "rand-bi": 2 * pairs, "rand-ring": r.size}[r.row.name]
    r.payload = r.msgs * r.bytes


def random_fill(r):
    alone = r.row.name == "rand-uni" or (r.size % 2 and r.row.name == "rand-bi")  # may receive nothing
    r.fill(5)
    if alone:
        r.kind.load(r.rbuf, r.kind.dump(r.sbuf))


def random_check(r):
    return r.verify(5, r.bytes)


RANDOM = {"setup": random_setup, "fill": random_fill, "check": random_check}


def random_pairs(r, n):
    order, shuffle, both = list(range(r.size)), r.priv.draw.shuffle, r.row.name == "rand-bi"
    send, recv, sendrecv = r.call.Send, r.call.Recv, r.call.Sendrecv
    for _ in range(n):
        shuffle(order)
        at = order.index(r.rank)
        if at ^ 1 >= r.size:
            continue
        peer = order[at ^ 1]
        if both:
            sendrecv(r.s, peer, TAG, r.d, peer, TAG)
        elif at % 2 == 0:
            send(r.s, peer, TAG)
        else:
            recv(r.d, peer, TAG)


row("rand-uni", "p2p", "random pairs, one way, drawn anew each time", **RANDOM)(random_pairs)
row("rand-bi", "p2p", "random pairs, both ways, drawn anew each time", **RANDOM)(random_pairs)


@row("rand-ring", "p2p", "ring in a random order, drawn anew each time", **RANDOM)
def random_ring(r, n):
    order, shuffle, sendrecv = list(range(r.size)), r.priv.draw.shuffle, r.call.Sendrecv
    for _ in range(n):
        shuffle(order)
        at = order.index(r.rank)
        sendrecv(r.s, order[(at + 1) % r.size], TAG, r.d, order[at - 1], TAG)
