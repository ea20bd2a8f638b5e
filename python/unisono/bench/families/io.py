# SPDX-License-Identifier: BSD-3-Clause
"""Family io: files through mpi4py, each way of writing and reading, tiles that ranks fill together, what a call costs
beside the system's own, a write beside computation.

Size is what one rank moves in one call. The file lies in --file or TMPDIR and is removed.
"""

import os
import pathlib
import statistics

from .. import clock
from ..rows import ALLVARIANTS, NOSIZE, VECTOR, row
from ..run import Skip

ACCESS = ("individual", "explicit", "collective", "explicit-all", "shared", "ordered", "nonblocking", "private",
          "fsync", "posix")  # fmt: skip
HOW = ("tile", "tile-own", "small", "small-own", "one")
ROW, SMALL_ROW, TURNS = 4096, 256, 8


def open_file(r, size, mine=False):
    """Buffers of so many bytes with this rank's content, and the file, in r.priv."""
    if r.call is not r.comm or r.kind.device:
        raise Skip(f"--buffer {r.o.buffer}: io rows move host memory by mpi4py's calls")
    p, mpi = r.priv, r.mpi
    r.buffers(size, size)
    r.fill(r.rank + 1)
    place = r.o.file or f"{os.environ.get('TMPDIR', '/tmp')}/unisono-bench.{r.comm.bcast(os.getpid())}"
    p.path = pathlib.Path(f"{place}.{r.rank}" if mine else place)
    p.removes, p.fd, p.view = mine or r.rank == 0, -1, None
    p.file = mpi.File.Open(mpi.COMM_SELF if mine else r.comm, str(p.path), mpi.MODE_CREATE | mpi.MODE_RDWR)
    p.at = 0 if mine else r.rank * r.bytes


def settle(r):
    """What all wrote is there for all."""
    r.priv.file.Sync()
    r.comm.Barrier()
    r.priv.file.Sync()


def close_file(r):
    p = r.priv
    if not getattr(p, "file", None):
        return
    if p.fd >= 0:
        os.close(p.fd)
    p.file.Close()
    if p.view:
        p.view.Free()
    if p.removes:
        p.path.unlink(missing_ok=True)


def clear(r):
    r.kind.load(r.rbuf, bytes(len(r.kind.dump(r.rbuf))))


# ---- one block per rank ----


def setup(r):
    open_file(r, r.bytes, r.variant == "private")
    r.payload = r.bytes * r.size
    r.priv.file.Write_at(r.priv.at, r.s)
    if r.variant == "posix":
        r.priv.fd = os.open(r.priv.path, os.O_RDWR)
    settle(r)


def once(r, write):
    """A function of no arguments that writes, or reads, the block by the variant's calls."""
    p, file, kind = r.priv, r.priv.file, r.variant
    buf, verb = (r.s, "Write") if write else (r.d, "Read")
    names = {"individual": "", "collective": "_all", "shared": "_shared", "ordered": "_ordered",
             "explicit-all": "_at_all", "nonblocking": "_at"}  # fmt: skip
    call = getattr(file, ("I" + verb.lower() if kind == "nonblocking" else verb) + names.get(kind, "_at"))
    if kind in ("individual", "collective"):
        return lambda: (file.Seek(p.at), call(buf))
    if kind in ("shared", "ordered"):
        return lambda: (file.Seek_shared(0), call(buf))
    if kind == "nonblocking":
        return lambda: call(p.at, buf).Wait()
    if kind == "fsync":
        return lambda: (call(p.at, buf), file.Sync())
    if kind == "posix":
        memory = r.kind.view(r.sbuf if write else r.rbuf)
        return (lambda: os.pwrite(p.fd, memory, p.at)) if write else (lambda: os.preadv(p.fd, [memory], p.at))
    return lambda: call(p.at, buf)


def check(r):
    """What a shared pointer hands to a rank may be any rank's block; in the others it is the own one."""
    if r.row.name == "io-write":
        settle(r)
        r.priv.file.Read_at(r.priv.at, r.d)
    bad = -1
    for i in range(r.size if r.variant == "shared" else 1):
        bad = r.verify((r.rank + i) % r.size + 1, r.bytes)
        if bad < 0:
            break
    return bad


BLOCKS = {"ranks": (1, 0), "flags": VECTOR, "variants": ACCESS, "setup": setup, "fill": clear, "check": check,
          "teardown": close_file}  # fmt: skip


@row("io-write", "io", "every rank writes its block", **BLOCKS)
def io_write(r, n):
    move = once(r, True)
    for _ in range(n):
        move()


@row("io-read", "io", "every rank reads its block", **BLOCKS)
def io_read(r, n):
    move = once(r, False)
    for _ in range(n):
        move()


@row("io-open", "io", "open and close a file", ranks=(1, 0), flags=NOSIZE, setup=setup, teardown=close_file)
def io_open(r, n):
    for _ in range(n):
        r.mpi.File.Open(r.comm, str(r.priv.path), r.mpi.MODE_RDWR).Close()


# ---- tiles ----


def set_up_tiles(r):
    """The ranks in a grid, each with a tile whose rows are short and lie between those of its neighbours."""
    width, one = SMALL_ROW if r.variant.startswith("small") else ROW, r.variant == "one"
    if r.bytes % width:
        raise Skip(f"{r.bytes} bytes are no whole rows of {width}")
    open_file(r, r.bytes * (r.size if one else 1))
    p, mpi = r.priv, r.mpi
    r.payload = r.bytes * r.size
    grid, rows = mpi.Compute_dims(r.size, 2), r.bytes // width
    begin = [r.rank // grid[0] * rows, r.rank % grid[0] * width]
    p.view = mpi.BYTE.Create_subarray([grid[1] * rows, grid[0] * width], [rows, width], begin).Commit()
    p.file.Set_view(0, mpi.BYTE, mpi.BYTE if one else p.view)
    if not one or r.rank == 0:
        p.file.Write_at(0, r.s)
    settle(r)


def move_tiles(r, n, write):
    verb, buf = ("Write", r.s) if write else ("Read", r.d)
    if r.variant == "one" and r.rank > 0:
        return
    call = getattr(r.priv.file, verb + ("_at_all" if r.variant in ("tile", "small") else "_at"))
    for _ in range(n):
        call(0, buf)


def check_tiles(r):
    if r.variant == "one" and r.rank > 0:
        return -1
    if r.row.name == "io-tile-write":
        r.priv.file.Read_at(0, r.d)
    return r.verify(r.rank + 1, r.bytes)


TILES = {"flags": VECTOR | ALLVARIANTS, "variants": HOW, "setup": set_up_tiles, "fill": clear, "check": check_tiles,
         "teardown": close_file}  # fmt: skip


@row("io-tile-write", "io", "the ranks write tiles of a matrix, or one rank all", **TILES)
def tile_write(r, n):
    move_tiles(r, n, True)


@row("io-tile-read", "io", "the ranks read tiles of a matrix, or one rank all", **TILES)
def tile_read(r, n):
    move_tiles(r, n, False)


# ---- beside the system's own calls, beside computation ----


def set_up_floor(r):
    open_file(r, r.bytes)
    r.payload = r.bytes
    r.priv.file.Write_at(0, r.s)
    r.priv.fd = os.open(r.priv.path, os.O_RDWR)


def timed(call, *arguments):
    start = clock.now()
    call(*arguments)
    return clock.now() - start


@row("io-floor", "io", "a call beside the system's own", ranks=(1, 1), flags=ALLVARIANTS | VECTOR,
     sampled=True, variants=("write", "read"), extras=("posix us", "over_posix x"), setup=set_up_floor,
     teardown=close_file)  # fmt: skip
def io_floor(r):
    p, out, back = r.priv, r.kind.view(r.sbuf), r.kind.view(r.rbuf)
    ours, bare = [], []
    for _ in range(TURNS):  # in turn, so that what disturbs the machine hits both
        if r.variant == "write":
            ours.append(timed(p.file.Write_at, 0, r.s))
            bare.append(timed(os.pwrite, p.fd, out, 0))
        else:
            ours.append(timed(p.file.Read_at, 0, r.d))
            bare.append(timed(os.preadv, p.fd, [back], 0))
    mine, floor = statistics.median(ours), statistics.median(bare)
    r.extra[:] = [floor, mine / floor]
    return mine


def set_up_beside(r):
    open_file(r, r.bytes)
    clock.compute(0)
    write_beside(r, 0)


def write_beside(r, work):
    start = clock.now()
    request = r.priv.file.Iwrite_at(r.priv.at, r.s)
    if work > 0:
        clock.compute(work)
    request.Wait()
    return clock.now() - start


@row("io-beside", "io", "a nonblocking write with as much computation: total", ranks=(1, 0), flags=VECTOR, sampled=True,
     extras=("pure us", "compute us", "over_longer x"), setup=set_up_beside, teardown=close_file)  # fmt: skip
def io_beside(r):
    pure = write_beside(r, 0)
    alone = timed(clock.compute, pure)
    total = write_beside(r, pure)
    r.extra[:] = [pure, alone, total / max(pure, alone)]
    return total
