# SPDX-License-Identifier: BSD-3-Clause
"""Family rma: put, get, accumulate and their like, between pairs, from one to all and all to all.

The variant is the kind of synchronisation, --win the kind of window. Put is checked in the target's window, get in the
origin's buffer, sums element by element. An MPI without one-sided communication skips the rows in its own words.
"""

import array

from .. import data
from ..rows import EVEN, NOSIZE, ROOT, TYPED, row
from ..run import Skip

SYNCS = ("flush", "lock", "lock_all", "flush_local", "pscw", "fence")
PAIR = {"ranks": (2, 2)}


def make_window(r, size):
    """The window of --win, its memory as bytes, and the displacement of the peer's part."""
    p, win, kind = r.priv, r.mpi.Win, r.o.win
    p.here = 0
    if kind == "create":
        p.memory = bytearray(size)
        p.win = win.Create(p.memory, 1, comm=r.comm)
    elif kind == "dynamic":
        p.memory = bytearray(size)
        p.win = win.Create_dynamic(comm=r.comm)
        p.win.Attach(p.memory)
        p.here = r.mpi.Get_address(p.memory)
    else:
        p.win = (win.Allocate_shared if kind == "shared" else win.Allocate)(size, 1, comm=r.comm)
        p.memory = memoryview(p.win.tomemory()).cast("B")
    p.origin = r.comm.sendrecv(p.here, r.peer, 1, source=r.peer, recvtag=1)


def open_window(r, size, accesses, target):
    """Buffers, the window and what the kind of synchronisation needs."""
    if r.call is not r.comm or r.kind.device:
        raise Skip(f"--buffer {r.o.buffer}: one-sided rows move host memory by mpi4py's calls")
    p = r.priv
    p.accesses, p.target, p.win = accesses, target, None
    make_window(r, size + 64)
    p.size, p.held = size, r.variant.startswith("flush") or not r.variant
    every = r.comm.Get_group()
    p.peers = every.Incl([r.peer])
    every.Free()
    if p.held:
        p.win.Lock_all()
    elif r.variant == "fence":
        p.win.Fence()


def close_window(r):
    p = r.priv
    if not getattr(p, "win", None):
        return
    if p.held:
        p.win.Unlock_all()
    r.comm.Barrier()
    if r.o.win == "dynamic":
        p.win.Detach(p.memory)
    p.memory = None
    p.win.Free()
    p.peers.Free()


def epoch(r):
    """(begin, end) of an epoch, two functions without arguments."""
    p, kind, peer = r.priv, r.variant, r.peer
    win = p.win

    def nothing():
        pass

    def begin_pscw():
        if p.target:
            win.Post(p.peers)
        if p.accesses:
            win.Start(p.peers)

    def end_pscw():
        if p.accesses:
            win.Complete()
        if p.target:
            win.Wait()

    if kind == "pscw":
        return begin_pscw, end_pscw
    if kind == "fence":
        return nothing, win.Fence
    if not p.accesses:
        return nothing, nothing
    return {
        "lock": (lambda: win.Lock(peer, r.mpi.LOCK_SHARED), lambda: win.Unlock(peer)),
        "lock_all": (win.Lock_all, win.Unlock_all),
        "flush": (nothing, lambda: win.Flush(peer)),
        "flush_local": (nothing, lambda: win.Flush_local(peer)),
    }[kind]


def read(r):
    """Makes what others wrote visible to this rank's loads; collective."""
    p = r.priv
    if p.held and p.accesses:
        p.win.Flush_all()
    r.comm.Barrier()
    if p.held:
        p.win.Sync()
    elif r.variant == "fence":
        p.win.Fence()
    else:
        p.win.Lock(r.rank, r.mpi.LOCK_SHARED)
        p.win.Unlock(r.rank)


def setup(r):
    name, first, pairs = r.row.name, r.rank < r.size // 2, r.size // 2
    both = "bibw" in name
    if "bw" in name or name.startswith("r"):
        r.msgs = r.window * pairs * (2 if both else 1)
        r.payload = r.msgs * r.bytes
    else:
        r.window = 1
    r.buffers(r.count * r.window, r.count * r.window)
    p, size = r.priv, r.bytes * r.window
    p.out, p.into = r.slots(r.sbuf, r.window, r.count), r.slots(r.rbuf, r.window, r.count)
    open_window(r, size, both or first, both or not first)
    kind = r.kind.types[r.code]
    p.places = [(p.origin + i * r.bytes, r.count, kind) for i in range(r.window)]


def accesses(r):
    """What one epoch's accesses are: a list of (function, arguments)."""
    p, win, peer, name = r.priv, r.priv.win, r.peer, r.row.name
    if not p.accesses:
        return []
    calls = []
    for out, into, place in zip(p.out, p.into, p.places, strict=True):
        if "getacc" in name:
            calls.append((win.Get_accumulate, (out, into, peer, place, r.op)))
        elif "acc" in name:
            calls.append((win.Raccumulate if name == "racc" else win.Accumulate, (out, peer, place, r.op)))
        elif "get" in name:
            calls.append((win.Rget if name == "rget" else win.Get, (into, peer, place)))
        else:
            calls.append((win.Rput if name == "rput" else win.Put, (out, peer, place)))
    return calls


def epochs(r, n):
    begin, end = epoch(r)
    calls = accesses(r)
    for _ in range(n):
        begin()
        for call, args in calls:
            call(*args)
        end()


def requests(r, n):
    calls, waitall, flush, peer = accesses(r), r.mpi.Request.Waitall, r.priv.win.Flush, r.peer
    for _ in range(n if calls else 0):
        waitall([call(*args) for call, args in calls])
        flush(peer)


def fill_bytes(r):
    size = r.priv.size
    r.fill(r.rank + 1)
    r.priv.memory[:size] = data.pattern(size, r.rank + 1001)
    read(r)


def check_put(r):
    read(r)
    size = r.priv.size
    want = data.pattern(size, r.peer + 1)
    return data.first_difference(bytes(r.priv.memory[:size]), want) if r.priv.target else -1


def check_get(r):
    p = r.priv
    if p.held and p.accesses:
        p.win.Flush_all()
    return r.verify(r.peer + 1001, p.size) if p.accesses else -1


def fill_sum(r):
    one = [data.values(r.code, r.o.op, 0, r.count, range(i, i + 1)) for i in range(2)]
    r.kind.load(r.sbuf, one[0] * r.window)
    r.priv.memory[: r.priv.size] = one[1] * r.window
    read(r)


def check_sum(r):
    read(r)
    want = data.values(r.code, r.o.op, 0, r.count, range(2)) * r.window
    return data.first_difference(bytes(r.priv.memory[: r.priv.size]), want) if r.priv.target else -1


RMA = {"setup": setup, "teardown": close_window, "variants": SYNCS}
PUT = RMA | {"fill": fill_bytes, "check": check_put}
GET = RMA | {"fill": fill_bytes, "check": check_get}
SUM = RMA | {"fill": fill_sum, "check": check_sum}
for NAME, WHAT, MORE in (
    ("put-lat", "one put and its synchronisation", PUT | PAIR | {"flags": ROOT}),
    ("get-lat", "one get and its synchronisation", GET | PAIR | {"flags": ROOT}),
    ("put-bw", "a window of puts, one synchronisation", PUT | PAIR | {"flags": ROOT}),
    ("get-bw", "a window of gets, one synchronisation", GET | PAIR | {"flags": ROOT}),
    ("put-bibw", "windows of puts both ways", PUT | PAIR),
    ("get-bibw", "windows of gets both ways", GET | PAIR),
    ("put-mbw", "put-bw of all pairs (r, r + n/2) at once, sum", PUT | {"flags": EVEN}),
    ("get-mbw", "get-bw of all pairs at once, sum", GET | {"flags": EVEN}),
    ("put-mlat", "put-lat of all pairs at once", PUT | {"flags": EVEN}),
    ("get-mlat", "get-lat of all pairs at once", GET | {"flags": EVEN}),
    ("acc-lat", "one accumulate and its synchronisation", SUM | PAIR | {"flags": ROOT | TYPED}),
    ("getacc-lat", "one get_accumulate and its synchronisation", SUM | PAIR | {"flags": ROOT | TYPED}),
):
    row(NAME, "rma", WHAT, **MORE)(epochs)


def word_setup(r):
    if r.size > 2 and r.o.win == "dynamic":
        raise Skip("more than 2 ranks on a dynamic window")
    r.msgs = r.size - 1
    open_window(r, 64, r.rank != r.size - 1, r.rank == r.size - 1)


def word_fill(r):
    r.priv.memory[:8] = bytes(8)
    read(r)


def word_check(r):
    read(r)
    if not r.priv.target:
        return -1
    value = int.from_bytes(bytes(r.priv.memory[:8]), "little")
    good = value == r.size - 1 if r.row.name == "fop-lat" else 1 <= value <= r.size - 1
    return -1 if good else 0


WORD = {"flags": NOSIZE, "setup": word_setup, "teardown": close_window, "fill": word_fill, "check": word_check}


@row("fop-lat", "rma", "fetch_and_op on one word of the last rank, all others at once", **WORD)
def fetch_and_op(r, n):
    one, old, win, last = array.array("q", [1]), array.array("q", [0]), r.priv.win, r.size - 1
    at, kind = r.priv.origin if r.size == 2 else 0, r.mpi.INT64_T
    for _ in range(n if r.rank != last else 0):
        win.Fetch_and_op([one, kind], [old, kind], last, at)
        win.Flush(last)


@row("cas-lat", "rma", "compare_and_swap on one word of the last rank, all others at once", **WORD)
def compare_and_swap(r, n):
    one, old, seen = array.array("q", [1]), array.array("q", [0]), array.array("q", [0])
    win, last, kind = r.priv.win, r.size - 1, r.mpi.INT64_T
    at = r.priv.origin if r.size == 2 else 0
    for _ in range(n if r.rank != last else 0):
        one[0] = old[0] + 1
        win.Compare_and_swap([one, kind], [old, kind], [seen, kind], last, at)
        win.Flush(last)
        old[0] = one[0] if seen[0] == old[0] else seen[0]


REQUESTS = {"flags": ROOT, "setup": setup, "teardown": close_window} | PAIR
row("rput", "rma", "a window of request-based puts, Waitall, flush", fill=fill_bytes, check=check_put,
    **REQUESTS)(requests)  # fmt: skip
row("rget", "rma", "a window of request-based gets, Waitall", fill=fill_bytes, check=check_get,
    **REQUESTS)(requests)  # fmt: skip
row("racc", "rma", "a window of request-based accumulates, Waitall, flush", fill=fill_sum, check=check_sum,
    **REQUESTS | {"flags": ROOT | TYPED})(requests)  # fmt: skip


def all_setup(r):
    if r.o.win == "dynamic":
        raise Skip("one to all on a dynamic window")
    origins = r.size if "allall" in r.row.name else 1
    r.payload = r.bytes * (r.size - 1) * origins
    r.buffers(r.count, r.count * r.size)
    r.priv.into = r.slots(r.rbuf, r.size, r.count)
    open_window(r, r.bytes * r.size, True, True)


def all_fill(r):
    n = r.bytes
    r.fill(r.rank + 1)
    gets = r.row.name[0] == "g"
    content = b"".join(data.pattern(n, r.rank * 4099 + p + 1) for p in range(r.size)) if gets else bytes(n * r.size)
    r.priv.memory[: n * r.size] = content
    r.priv.win.Sync()


def all_check(r):
    n, everyone, gets = r.bytes, "allall" in r.row.name, r.row.name[0] == "g"
    r.priv.win.Flush_all()
    r.comm.Barrier()
    r.priv.win.Sync()
    got = r.received() if gets else bytes(r.priv.memory[: n * r.size])
    for p in range(r.size):
        if p == r.rank or (not everyone and (r.rank if gets else p) != 0):
            continue
        want = data.pattern(n, p * 4099 + r.rank + 1 if gets else p + 1)
        bad = data.first_difference(got[p * n : (p + 1) * n], want)
        if bad >= 0:
            return p * n + bad
    return -1


def to_all(r, n):
    gets, win, me, size = r.row.name[0] == "g", r.priv.win, r.rank, r.size
    place = (me * r.bytes, r.count, r.kind.types[r.code])
    flush = win.Flush_all if r.variant == "flush_all" else win.Flush_local_all
    if "allall" not in r.row.name and me:
        return
    for _ in range(n):
        for d in range(1, size):
            to = (me + d) % size
            if gets:
                win.Get(r.priv.into[to], to, place)
            else:
                win.Put(r.s, to, place)
        flush()


ALL = {"setup": all_setup, "teardown": close_window, "fill": all_fill, "check": all_check,
       "variants": ("flush_all", "flush_local_all")}  # fmt: skip
row("put-1all", "rma", "rank 0 puts to all others", flags=ROOT, **ALL)(to_all)
row("get-1all", "rma", "rank 0 gets from all others", flags=ROOT, **ALL)(to_all)
row("put-allall", "rma", "all put to all others, rotated order", **ALL)(to_all)
row("get-allall", "rma", "all get from all others, rotated order", **ALL)(to_all)
