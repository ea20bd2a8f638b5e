# SPDX-License-Identifier: BSD-3-Clause
"""Family coll: barrier, broadcast, the reductions, and what happens when ranks come late or compute meanwhile.

Size is the whole vector. Operands are small integers, so results are exact in every type and checked element by
element. All blocking, nonblocking and persistent collectives share `collective`: a row is a method name and arguments.
"""

import random
import time
from collections.abc import Callable

from .. import data
from ..clock import compute, now
from .. import clock
from ..rows import ALLVARIANTS, MODES, NOSIZE, SPAN, TYPED, VECTOR, objects, row
from ..run import Skip


def repeat(call: Callable, args: tuple, n: int) -> object:
    """n calls with the same arguments, spelt out as a user would; the last one's result."""
    result = None
    if len(args) == 2:
        a, b = args
        for _ in range(n):
            result = call(a, b)
    elif len(args) == 3:
        a, b, c = args
        for _ in range(n):
            result = call(a, b, c)
    else:
        for _ in range(n):
            result = call(*args)
    return result


def collective(r, n):
    """n operations in the run's mode."""
    priv = r.priv
    if r.mode == "blocking":
        repeat(priv.call, priv.args, n)
    elif r.mode == "nonblocking":
        call, args = priv.call, priv.args
        for _ in range(n):
            call(*args).Wait()
    else:
        start, wait = priv.request.Start, priv.request.Wait
        for _ in range(n):
            start()
            wait()


def collective_objects(r, n):
    """n lower-case operations; what came is kept."""
    r.got = repeat(r.priv.call, r.priv.args, n)


def collective_end(r):
    request = getattr(r.priv, "request", None)
    if request:
        request.Free()


def bind(r, name: str, *args: object, on: object = None) -> None:
    """Keeps the method of a collective in the run's mode, and its arguments."""
    if r.mode == "nonblocking":
        name = f"I{name.lower()}"
    elif r.mode == "persistent":
        name = f"{name}_init"
    call = r.method(name) if on is None else getattr(on, name)
    collective_end(r)
    r.priv.call, r.priv.args, r.priv.request = call, args, None
    if r.mode == "persistent":
        r.priv.request = call(*args)


def bind_objects(r, name: str, *args: object) -> None:
    """The same for a lower-case call."""
    r.priv.call, r.priv.args, r.priv.request = r.method(name), args, None


def no_content(r):
    pass


def vector_setup(r):
    r.payload = r.bytes
    r.buffers(r.count, r.count)


@row("barrier", "coll", "barrier", flags=SPAN | MODES | NOSIZE, prepare=lambda r: bind(r, "Barrier"),
     setup=no_content, teardown=collective_end)  # fmt: skip
def barrier(r, n):
    collective(r, n)


objects("barrier")(collective)


def in_place(r, allowed=True):
    """The send argument of a reduction."""
    return r.mpi.IN_PLACE if r.o.in_place and allowed else r.s


def bcast_prepare(r):
    if r.pickled:
        return bind_objects(r, "bcast", r.obj if r.rank == r.root else None, r.root)
    return bind(r, "Bcast", r.s, r.root)


def bcast_fill(r):
    r.fill(77)
    if r.rank != r.root:
        r.kind.load(r.sbuf, bytes(r.bytes))


def bcast_check(r):
    got = r.received() if r.pickled else r.kind.dump(r.sbuf)
    return data.first_difference(got, data.pattern(r.bytes, 77))


row("bcast", "coll", "broadcast of a whole vector", flags=SPAN | MODES | VECTOR, setup=vector_setup, fill=bcast_fill,
    prepare=bcast_prepare, check=bcast_check, teardown=collective_end,
    objects=collective_objects)(collective)  # fmt: skip


def fill_values(r):
    """This rank's operands in both buffers: the receive buffer is the operand, if in place."""
    mine = data.values(r.code, r.o.op, 0, r.count, range(r.rank, r.rank + 1))
    r.kind.load(r.sbuf, mine)
    r.kind.load(r.rbuf, mine)
    r.got = None


def combined(r, first, n, ranks):
    """Checks what arrived against the combination of some ranks' vectors."""
    want = data.values(r.code, r.o.op, first, n, ranks)
    return data.first_difference(r.received()[: len(want)], want)


def check_all(r):
    return combined(r, 0, r.count, range(r.size))


def check_at_root(r):
    return check_all(r) if r.rank == r.root else -1


def reduce_prepare(r):
    if r.pickled:
        return bind_objects(r, "reduce", r.obj, r.op, r.root)
    at_root = r.rank == r.root
    return bind(r, "Reduce", in_place(r, at_root), r.d if at_root else None, r.op, r.root)


def allreduce_prepare(r):
    if r.pickled:
        return bind_objects(r, "allreduce", r.obj, r.op)
    return bind(r, "Allreduce", in_place(r), r.d, r.op)


REDUCED = {"flags": SPAN | MODES | TYPED, "setup": vector_setup, "fill": fill_values, "teardown": collective_end}
row("reduce", "coll", "reduction to the root", prepare=reduce_prepare, check=check_at_root, **REDUCED,
    objects=collective_objects)(collective)  # fmt: skip
row("allreduce", "coll", "reduction to all", prepare=allreduce_prepare, check=check_all, **REDUCED,
    objects=collective_objects)(collective)  # fmt: skip


def scatter_setup(r):
    vector_setup(r)
    r.priv.counts = [r.count // r.size + (i < r.count % r.size) for i in range(r.size)]
    cut = r.kind.cut(r.rbuf, 0, r.priv.counts[r.rank], r.code)
    r.priv.into = r.kind.spec(cut, r.code)


def check_share(r):
    first = sum(r.priv.counts[: r.rank])
    return combined(r, first, r.priv.counts[r.rank], range(r.size))


def block_setup(r):
    # Whole blocks; a vector shorter than the ranks makes blocks of one element.
    r.count = max(r.count - r.count % r.size, r.size)
    vector_setup(r)
    r.payload = len(r.kind.dump(r.sbuf))
    cut = r.kind.cut(r.rbuf, 0, r.count // r.size, r.code)
    r.priv.into = r.kind.spec(cut, r.code)


def check_block(r):
    n = r.count // r.size
    return combined(r, r.rank * n, n, range(r.size))


row("reduce-scatter", "coll", "reduction, vector split over ranks", **REDUCED | {"setup": scatter_setup},
    prepare=lambda r: bind(r, "Reduce_scatter", r.s, r.priv.into, r.priv.counts, r.op),
    check=check_share)(collective)  # fmt: skip
row("reduce-scatter-block", "coll", "reduction, equal blocks over ranks", **REDUCED | {"setup": block_setup},
    prepare=lambda r: bind(r, "Reduce_scatter_block", r.s, r.priv.into, r.op),
    check=check_block)(collective)  # fmt: skip


def scan_prepare(r):
    name = r.row.name
    if r.pickled:
        return bind_objects(r, name, r.obj, r.op)
    return bind(r, name.capitalize(), r.s, r.d, r.op)


row("scan", "coll", "inclusive prefix reduction", prepare=scan_prepare, **REDUCED, objects=collective_objects,
    check=lambda r: combined(r, 0, r.count, range(r.rank + 1)))(collective)  # fmt: skip
row("exscan", "coll", "exclusive prefix reduction", prepare=scan_prepare, **REDUCED, objects=collective_objects,
    check=lambda r: combined(r, 0, r.count, range(r.rank)) if r.rank else -1)(collective)  # fmt: skip


def local_fill(r):
    r.kind.load(r.sbuf, data.values(r.code, r.o.op, 0, r.count, range(0, 1)))
    r.kind.load(r.rbuf, data.values(r.code, r.o.op, 0, r.count, range(1, 2)))


def local_setup(r):
    if r.call is not r.comm:
        raise Skip(f"--buffer {r.o.buffer}: no Reduce_local in {type(r.call).__module__}")
    vector_setup(r)


@row("reduce-local", "coll", "combine two vectors in one rank", ranks=(1, 1), flags=TYPED, setup=local_setup,
     fill=local_fill, check=lambda r: combined(r, 0, r.count, range(2)))  # fmt: skip
def reduce_local(r, n):
    call, s, d = r.op.Reduce_local, r.s, r.d
    for _ in range(n):
        call(s, d)


OVER = ("barrier", "bcast", "reduce", "allreduce", "allgather", "alltoall")


def any_setup(r):
    r.buffers(r.count * r.size, r.count * r.size)
    small = r.slots(r.sbuf, 1, r.count)[0], r.slots(r.rbuf, 1, r.count)[0]
    r.priv.args = {
        "barrier": (), "bcast": (small[0], r.root), "reduce": (*small, r.op, r.root), "allreduce": (*small, r.op),
        "allgather": (small[0], r.d), "alltoall": (r.s, r.d),
    }[r.variant]  # fmt: skip
    r.priv.blocking, r.priv.start = r.method(r.variant.capitalize()), r.method(f"I{r.variant}")


@row("coll-skew", "coll", "blocking collective with late ranks, after the last arrival (--arrival, --compute)",
     flags=TYPED, variants=OVER, extras=("root call us",), setup=any_setup, sampled=True)  # fmt: skip
def coll_skew(r):
    most, arrival = r.o.compute or 20e-6, r.o.arrival
    if arrival == "last":
        delay = most * (r.rank == r.size - 1)
    elif arrival == "linear":
        delay = most * r.rank / r.size
    else:
        delay = most * random.random()
    r.comm.Barrier()
    compute(delay)
    start = now() - clock.offset
    r.priv.blocking(*r.priv.args)
    end = now() - clock.offset
    last, done = r.comm.allreduce(start, op=r.mpi.MAX), r.comm.allreduce(end, op=r.mpi.MAX)
    r.extra[0] = end - start
    return done - last


def spend(r, seconds):
    """The computation of an overlapped operation."""
    if r.o.idle:
        time.sleep(seconds)
    else:
        compute(seconds)


def phases(r, work):
    """Start, work in slices with a Test after each (none with --tests 0), Wait: (all, start, wait) in seconds."""
    slices = r.o.tests or 1
    r.comm.Barrier()
    begun = now()
    request = r.priv.start(*r.priv.args)
    started = now()
    if work:
        for _ in range(slices):
            spend(r, work / slices)
            if r.o.tests:
                request.Test()
    worked = now()
    request.Wait()
    end = now()
    return end - begun, started - begun, end - worked


@row("ovl-coll", "coll", "nonblocking collective with computation: total, slowest rank", flags=TYPED | ALLVARIANTS,
     variants=OVER, extras=("overlap %", "worst %", "pure us", "compute us", "start us", "wait us"), setup=any_setup,
     sampled=True)  # fmt: skip
def ovl_coll(r):
    pure = r.comm.allreduce(phases(r, 0)[0], op=r.mpi.MAX)
    work = r.o.compute or pure
    alone = now()
    spend(r, work)
    alone = now() - alone
    total, start, wait = phases(r, work)
    mine = min(max(100 * (pure + alone - total) / min(pure, alone), 0.0), 100.0)
    worst, mean = r.comm.allreduce(mine, op=r.mpi.MIN), r.comm.allreduce(mine) / r.size
    r.extra[:] = [mean, worst, pure, alone, start, wait]
    return r.comm.allreduce(total, op=r.mpi.MAX)
