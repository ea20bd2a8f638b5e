# SPDX-License-Identifier: BSD-3-Clause
"""Family neigh: neighbourhood collectives on a graph where every rank has the --depth nearest ranks on either side."""

from .. import data
from ..rows import MODES, SPAN, VECTOR, row
from .coll import bind, collective, collective_end
from .vector import seed


def setup(r):
    r.code, r.count = "B", r.bytes
    who = []
    for d in range(1, (r.o.depth or 1) + 1):
        if 2 * d < r.size:
            who += [(r.rank + d) % r.size, (r.rank - d) % r.size]
    p = r.priv
    p.who, p.one = who, "gather" in r.row.name
    p.counts, p.displs = [r.count] * len(who), [i * r.count for i in range(len(who))]
    p.graph = r.comm.Create_dist_graph_adjacent(who, who)
    r.payload = r.bytes * len(who)
    r.buffers(r.count if p.one else r.count * len(who), r.count * len(who))


def prepare(r):
    p, name = r.priv, r.row.name.removeprefix("n-")
    if name[-1] == "w":
        types = [r.mpi.BYTE] * len(p.who)
        send, receive = ([buf, p.counts, p.displs, types] for buf in (r.sbuf, r.rbuf))
    elif name[-1] == "v":
        receive = r.kind.vspec(r.rbuf, p.counts, p.displs, r.code)
        send = r.s if p.one else r.kind.vspec(r.sbuf, p.counts, p.displs, r.code)
    else:
        send, receive = r.s, r.d
    if r.call is not r.comm:
        r.method(f"Neighbor_{name}")
    bind(r, f"Neighbor_{name}", send, receive, on=p.graph)


def fill(r):
    blocks = [0] if r.priv.one else r.priv.who
    r.kind.load(r.sbuf, b"".join(data.pattern(r.bytes, seed(r.rank, d)) for d in blocks))
    r.kind.load(r.rbuf, bytes(r.bytes * len(r.priv.who)))


def check(r):
    want = b"".join(data.pattern(r.bytes, seed(s, 0 if r.priv.one else r.rank)) for s in r.priv.who)
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
