# SPDX-License-Identifier: BSD-3-Clause
"""Family coll, movement of one share per rank: gather, scatter, allgather, alltoall and their vector forms.

Size is the share of one rank (the mean share for vector forms), or one block per peer for alltoall. A block from rank s
to rank d has the seed 1 + s * 4099 + d, so that a misplaced block is found.
"""

import random

from .. import data
from ..rows import MODES, SPAN, VECTOR, row
from .coll import bind, bind_objects, collective, collective_end, collective_objects

IMBALANCE = ("even", "linear", "heavy", "random", "holes")
MOVED = {"flags": SPAN | MODES | VECTOR, "teardown": collective_end, "objects": collective_objects}


def seed(s, d):
    return 1 + s * 4099 + d


def share(r, i, draw):
    """Share of rank i where the mean share is r.count, by the imbalance asked for."""
    n, count = r.size, r.count
    return {
        "linear": 2 * count * (i + 1) // (n + 1),
        "heavy": n * count // 2 if i == 0 else n * count // 2 // max(n - 1, 1),
        "random": int(draw.random() * 2 * count),
        "holes": 0 if i % 2 else 2 * count,
        "sparse": count if i < 2 else 0,  # two partners per rank
    }.get(r.variant, count)


def counts_of(r):
    """The shares of all ranks and where they begin."""
    draw = random.Random(r.o.seed)
    counts = [share(r, i, draw) for i in range(r.size)]
    return counts, [sum(counts[:i]) for i in range(r.size)]


def setup(r):
    """Buffers for all shares; what each rank sends and receives is in r.priv by rank: counts, displs, out, into."""
    r.code, r.count = "B", r.bytes
    p = r.priv
    p.counts, p.displs = counts_of(r)
    if "alltoall" in r.row.name:  # between a and b the share of (a + b) mod n: the same both ways
        p.counts = [p.counts[(r.rank + i) % r.size] for i in range(r.size)]
        p.displs = [sum(p.counts[:i]) for i in range(r.size)]
    total = sum(p.counts)
    r.payload = total if r.row.variants else r.bytes * (r.size - 1)
    if r.row.variants and "alltoall" in r.row.name:
        r.payload = total - p.counts[r.rank]
    gathers, scatters = "gather" in r.row.name, "scatter" in r.row.name
    r.buffers(p.counts[r.rank] if gathers else total, p.counts[r.rank] if scatters else total)
    p.parts = None
    if r.pickled and not gathers:
        p.parts = [r.sbuf[d : d + n] for d, n in zip(p.displs, p.counts, strict=True)]


def fill(r):
    p, name = r.priv, r.row.name
    if "gather" in name:
        content = data.pattern(p.counts[r.rank], seed(r.rank, 0))
    else:
        sender = r.root if "scatter" in name else r.rank
        content = b"".join(data.pattern(n, seed(sender, i)) for i, n in enumerate(p.counts))
    r.kind.load(r.sbuf, content)
    r.kind.load(r.rbuf, bytes(len(r.kind.dump(r.rbuf))))
    r.got = None


def check(r):
    p, name = r.priv, r.row.name
    if "scatter" in name:
        want = data.pattern(p.counts[r.rank], seed(r.root, r.rank))
    elif "gather" in name:
        if not name.startswith("all") and r.rank != r.root:
            return -1
        want = b"".join(data.pattern(n, seed(i, 0)) for i, n in enumerate(p.counts))
    else:
        want = b"".join(data.pattern(n, seed(i, r.rank)) for i, n in enumerate(p.counts))
    return data.first_difference(r.received(), want)


def many(r, buf):
    """The argument that describes every rank's part of a buffer."""
    p = r.priv
    if not r.row.variants:
        return r.s if buf is r.sbuf else r.d
    if r.row.name == "alltoallw":
        return [buf, p.counts, p.displs, [r.mpi.BYTE] * r.size]
    return r.kind.vspec(buf, p.counts, p.displs, r.code)


def prepare(r):
    """The method of the row's name, with its arguments: everybody's part, or the root's alone."""
    name, at_root = r.row.name, r.rank == r.root
    if r.pickled:
        plain = name.rstrip("vw")
        if "scatter" in name:
            return bind_objects(r, plain, r.priv.parts if at_root else None, r.root)
        if name.startswith("all"):
            return bind_objects(r, plain, r.priv.parts or r.obj)
        return bind_objects(r, plain, r.obj, r.root)
    if "scatter" in name:
        return bind(r, name.capitalize(), many(r, r.sbuf) if at_root else None, r.d, r.root)
    if "alltoall" in name:
        return bind(r, name.capitalize(), many(r, r.sbuf), many(r, r.rbuf))
    if name.startswith("all"):
        return bind(r, name.capitalize(), r.s, many(r, r.rbuf))
    return bind(r, name.capitalize(), r.s, many(r, r.rbuf) if at_root else None, r.root)


def axis_of(name):
    """The imbalances that a row knows."""
    return () if name[-1] not in "vw" else (*IMBALANCE, "sparse") if "alltoall" in name else IMBALANCE


HOOKS = {"setup": setup, "prepare": prepare, "fill": fill, "check": check} | MOVED
for NAME, WHAT in (
    ("gather", "gather equal shares at the root"),
    ("gatherv", "gather unequal shares at the root"),
    ("scatter", "scatter equal shares from the root"),
    ("scatterv", "scatter unequal shares from the root"),
    ("allgather", "gather equal shares at all"),
    ("allgatherv", "gather unequal shares at all"),
    ("alltoall", "a block to every peer"),
    ("alltoallv", "unequal blocks to every peer"),
    ("alltoallw", "unequal blocks with a type each"),
):
    row(NAME, "coll", WHAT, variants=axis_of(NAME), **HOOKS)(collective)
