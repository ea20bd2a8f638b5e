# SPDX-License-Identifier: BSD-3-Clause
"""Family neigh: neighbourhood collectives on a graph where every rank has the --depth nearest ranks on either side.

--graph FILE gives the edges instead: a line `FROM TO` each.
"""

from .. import data
from ..rows import MODES, SPAN, VECTOR, row
from ..run import Skip
from .coll import bind, collective, collective_end
from .vector import seed


def edges(path):
    """(from, to) of each line of a file; # begins a comment."""
    try:
        with open(path) as file:
            words = [(n, line.partition("#")[0].split()) for n, line in enumerate(file, 1)]
    except OSError:
        raise Skip(f"--graph {path} cannot be read") from None
    for n, pair in words:
        if pair and (len(pair) != 2 or not all(word.isdigit() for word in pair)):
            raise Skip(f"--graph {path}, line {n}: FROM TO is needed")
    return [(int(pair[0]), int(pair[1])) for _, pair in words if pair]


def neighbours(r):
    """Ranks that this one receives from, and those it sends to; edges of absent ranks are left out."""
    if r.o.graph:
        known = [(a, b) for a, b in edges(r.o.graph) if a < r.size and b < r.size]
        return [a for a, b in known if b == r.rank], [b for a, b in known if a == r.rank]
    who = []
    for d in range(1, (r.o.depth or 1) + 1):
        if 2 * d < r.size:
            who += [(r.rank + d) % r.size, (r.rank - d) % r.size]
    return who, who


def setup(r):
    r.code, r.count = "B", r.bytes
    p = r.priv
    p.one = "gather" in r.row.name
    p.source, p.target = neighbours(r)
    p.graph = r.comm.Create_dist_graph_adjacent(p.source, p.target)
    r.payload = r.bytes * len(p.target)
    r.buffers(r.count if p.one else r.count * len(p.target), r.count * len(p.source))


def blocks(r, buf, n, last):
    """What a call with a count (and a type) for each of n blocks gets."""
    counts, displs = [r.count] * n, [i * r.count for i in range(n)]
    if last == "w":
        return [buf, counts, displs, [r.mpi.BYTE] * n]
    return r.kind.vspec(buf, counts, displs, r.code)


def prepare(r):
    p, name = r.priv, r.row.name.removeprefix("n-")
    send, receive = r.s, r.d
    if name[-1] in "vw":
        receive = blocks(r, r.rbuf, len(p.source), name[-1])
        send = r.s if p.one else blocks(r, r.sbuf, len(p.target), name[-1])
    if r.call is not r.comm:
        r.method(f"Neighbor_{name}")
    bind(r, f"Neighbor_{name}", send, receive, on=p.graph)


def fill(r):
    targets = [0] if r.priv.one else r.priv.target
    r.kind.load(r.sbuf, b"".join(data.pattern(r.bytes, seed(r.rank, d)) for d in targets))
    r.kind.load(r.rbuf, bytes(r.bytes * len(r.priv.source)))


def check(r):
    want = b"".join(data.pattern(r.bytes, seed(s, 0 if r.priv.one else r.rank)) for s in r.priv.source)
    return data.first_difference(r.received(), want)


def end(r):
    collective_end(r)
    r.priv.graph.Free()


for NAME, WHAT in (
    ("n-allgather", "a block to all neighbours"),
    ("n-allgatherv", "the same with counts"),
    ("n-alltoall", "a block to each neighbour"),
    ("n-alltoallv", "the same with counts"),
    ("n-alltoallw", "the same with counts and types"),
):
    row(NAME, "neigh", WHAT, ranks=(3, 0), flags=SPAN | MODES | VECTOR, setup=setup, prepare=prepare, fill=fill,
        check=check, teardown=end)(collective)  # fmt: skip
