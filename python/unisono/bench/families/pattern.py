# SPDX-License-Identifier: BSD-3-Clause
"""Family pattern: halo exchange in 2, 3 or n dimensions and the wavefront sweep of a transport code.

Variants move the same bytes: one thread (st), every thread its part of a face (mt), one partitioned request per face
whose parts the threads make ready (part), persistent requests (pers), a neighbourhood collective (ncoll). Every step:
all threads compute (--compute, --noise), then exchange. With a GIL the threads compute in turn.
"""

import random

from .. import clock, data
from ..rows import THREADED, row
from ..run import Skip
from ..team import Team, delays, threads_of

TAG, DIMS, MOST = 31, 4, 64
FACES = 2 * DIMS
HALO = ("st", "mt", "part", "pers", "ncoll")


def dimensions(r, dims):
    """The grid's extents: --dims, or as even as can be."""
    given = [int(word) if word.isdigit() else 0 for word in (r.o.dims or "").split("x") if r.o.dims][:dims]
    product = 1
    for one in given:
        product *= one
    if r.o.dims and product != r.size:
        raise Skip(f"--dims {r.o.dims} is not a grid of {r.size} ranks in {dims} dimensions")
    return r.mpi.Compute_dims(r.size, given + [0] * (dims - len(given)))


def tag_of(face):
    """Tag of a message that leaves through a face: distinct also where both neighbours are the same rank."""
    return TAG + face


def prepare(r, dims, periodic):
    """The grid, its neighbours and the faces, in r.priv. Sweeps are not periodic, halos are."""
    p = r.priv
    p.grid, p.team, p.requests = None, None, []
    if r.call is not r.comm:
        raise Skip(f"--buffer {r.o.buffer}: patterns move their faces by mpi4py's calls")
    if r.variant == "part" and not hasattr(r.comm, "Psend_init"):
        raise Skip("needs the partitioned calls of MPI 4, and of mpi4py 4")
    p.dims, p.threads, p.random = dims, threads_of(r, 1, MOST), random.Random(r.o.seed + r.rank)
    p.extents = dimensions(r, dims)
    p.face = (r.bytes + p.threads - 1) // p.threads * p.threads
    r.code = "B"
    r.buffers(p.face * FACES, p.face * FACES)
    p.grid = r.comm.Create_cart(p.extents, [periodic] * dims, False)
    p.to = [rank for d in range(dims) for rank in p.grid.Shift(d, 1)]
    p.out, p.into = ([part_of(r, buf, f, 1) for f in range(2 * dims)] for buf in (r.sbuf, r.rbuf))
    p.out_cut, p.into_cut = ([part_of(r, buf, f, p.threads) for f in range(2 * dims)] for buf in (r.sbuf, r.rbuf))
    return p


def part_of(r, buf, face, cuts):
    """What calls get for a face in so many parts."""
    whole, part = r.priv.face, r.priv.face // cuts
    cut, spec = r.kind.cut, r.kind.spec
    return [spec(cut(buf, face * whole + i * part, part, r.code), r.code) for i in range(cuts)]


def make_requests(r):
    """A pair of receive and send per face; None where there is no neighbour."""
    p, grid = r.priv, r.priv.grid
    for f, peer in enumerate(p.to):
        (out,), (into,) = p.out[f], p.into[f]
        pair = [None, None]
        if peer != r.mpi.PROC_NULL and r.variant == "pers":
            pair = [grid.Recv_init(into, peer, tag_of(f ^ 1)), grid.Send_init(out, peer, tag_of(f))]
        elif peer != r.mpi.PROC_NULL:
            pair = [grid.Precv_init(into, p.threads, peer, tag_of(f ^ 1)),
                    grid.Psend_init(out, p.threads, peer, tag_of(f))]  # fmt: skip
        p.requests += pair


def end(r):
    p = r.priv
    if p.team:
        p.team.end()
    for request in p.requests:
        if request:
            request.Free()
    if p.grid:
        p.grid.Free()


def op(r, n):
    r.priv.delay = delays(r, r.priv.random, r.priv.threads)
    r.inner = r.priv.team.run(n)


def seed(r, rank, face):
    """Of a rank's face. In a dimension of one or two ranks both neighbours are the same rank, and libraries differ in
    which of its two blocks of a neighbourhood collective comes first; both faces then hold the same data.
    """
    same = r.variant == "ncoll" and r.priv.extents[face // 2] <= 2
    return rank * FACES + (face & ~1 if same else face) + 1


def fill(r):
    p = r.priv
    r.kind.load(r.sbuf, b"".join(data.pattern(p.face, seed(r, r.rank, f)) for f in range(2 * p.dims)))
    r.kind.load(r.rbuf, bytes(p.face * FACES))


def check(r):
    p, got = r.priv, r.received()
    for f, peer in enumerate(p.to):
        if peer == r.mpi.PROC_NULL:
            continue
        bad = data.first_difference(got[f * p.face : (f + 1) * p.face], data.pattern(p.face, seed(r, peer, f ^ 1)))
        if bad >= 0:
            return f * p.face + bad
    return -1


# ---- halo ----


def swap_faces(r, out, into, part):
    """All faces, of each the part with that number."""
    p, grid, requests = r.priv, r.priv.grid, []
    for f, peer in enumerate(p.to):
        requests.append(grid.Irecv(into[f][part], peer, tag_of(f ^ 1) + FACES * part))
        requests.append(grid.Isend(out[f][part], peer, tag_of(f) + FACES * part))
    r.mpi.Request.Waitall(requests)


def halo_step(r, t):
    p, variant = r.priv, r.variant
    if variant == "part" and t == 0:
        r.mpi.Prequest.Startall(p.requests)
    p.team.meet()
    clock.compute(p.delay[t])
    if variant == "mt":
        swap_faces(r, p.out_cut, p.into_cut, t)
    elif variant == "part":
        for send in p.requests[1::2]:
            send.Pready(t)
    if variant != "part":
        p.team.meet()  # join
    if t > 0 or variant == "mt":
        return
    if variant == "st":
        swap_faces(r, p.out, p.into, 0)
    elif variant == "ncoll":
        p.grid.Neighbor_alltoall(p.all_out, p.all_into)
    else:
        if variant == "pers":
            r.mpi.Prequest.Startall(p.requests)
        r.mpi.Request.Waitall(p.requests)


def steps(r, t, n):
    for _ in range(n):
        halo_step(r, t)


def halo_setup(r):
    dims = {"halo2d": 2, "halo3d": 3}.get(r.row.name, min(r.o.depth or DIMS, DIMS))
    p = prepare(r, dims, True)
    if r.variant in ("part", "pers"):
        make_requests(r)
    cut, spec, n = r.kind.cut, r.kind.spec, 2 * dims * p.face
    p.all_out, p.all_into = (spec(cut(buf, 0, n, r.code), r.code) for buf in (r.sbuf, r.rbuf))
    p.team = Team(p.threads, lambda t, n: steps(r, t, n))
    r.payload = 2 * dims * p.face


PATTERN = {"flags": THREADED, "fill": fill, "check": check, "teardown": end}
row("halo2d", "pattern", "a step of a 5-point halo exchange, periodic; size of a face", ranks=(4, 0), variants=HALO,
    setup=halo_setup, **PATTERN)(op)  # fmt: skip
row("halo3d", "pattern", "a step of a 7-point halo exchange, periodic; size of a face", ranks=(8, 0), variants=HALO,
    setup=halo_setup, **PATTERN)(op)  # fmt: skip
row("halo-nd", "pattern", "the same in --depth dimensions (default 4)", ranks=(2, 0), variants=HALO, setup=halo_setup,
    **PATTERN)(op)  # fmt: skip

# ---- sweep ----


def take(r, faces, part, into):
    for f in faces:
        r.priv.grid.Recv(into[f][part], r.priv.to[f], tag_of(f ^ 1) + FACES * part)


def give(r, faces, part, out):
    for f in faces:
        r.priv.grid.Send(out[f][part], r.priv.to[f], tag_of(f) + FACES * part)


def block_plain(r, t, ins, outs):
    """One thread moves whole faces, the others wait for it."""
    p = r.priv
    if t == 0:
        take(r, ins, 0, p.into)
    p.team.meet()
    clock.compute(p.delay[t])
    p.team.meet()
    if t == 0:
        give(r, outs, 0, p.out)


def block_threads(r, t, ins, outs):
    """Each thread moves its parts."""
    take(r, ins, t, r.priv.into_cut)
    clock.compute(r.priv.delay[t])
    give(r, outs, t, r.priv.out_cut)


def block_parts(r, t, ins, outs):
    """One thread starts and ends the requests, each makes its parts ready."""
    p = r.priv
    recvs, sends = [p.requests[2 * f] for f in ins], [p.requests[2 * f + 1] for f in outs]
    if t == 0:
        for recv, send in zip(recvs, sends, strict=True):
            for request in filter(None, (recv, send)):
                request.Start()
            if recv:
                recv.Wait()
    p.team.meet()
    clock.compute(p.delay[t])
    for send in filter(None, sends):
        send.Pready(t)
    p.team.meet()
    if t == 0:
        for send in filter(None, sends):
            send.Wait()


def sweeps(r, t, n):
    """The wave enters at each corner in turn and leaves by the opposite faces, in blocks along the third axis."""
    block = {"st": block_plain, "mt": block_threads, "part": block_parts}[r.variant]
    for _ in range(n):
        for corner in range(8):
            x, y = corner & 1, (corner >> 1) & 1
            ins, outs = (x, 2 + y), (x ^ 1, 2 + (y ^ 1))
            for _ in range(r.o.depth or 4):
                block(r, t, ins, outs)


def sweep_setup(r):
    p = prepare(r, 2, False)
    if r.variant == "part":
        make_requests(r)
    p.team = Team(p.threads, lambda t, n: sweeps(r, t, n))
    ways = sum(peer != r.mpi.PROC_NULL for peer in p.to)
    r.payload = 4 * (r.o.depth or 4) * ways * p.face  # each face is left through by half of the corners


row("sweep3d", "pattern", "8 corner sweeps over a 2-D grid in --depth blocks (default 4); size of a block's face",
    ranks=(4, 0), variants=HALO[:3], setup=sweep_setup, **PATTERN)(op)  # fmt: skip
