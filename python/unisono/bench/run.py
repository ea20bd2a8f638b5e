# SPDX-License-Identifier: BSD-3-Clause
"""Runs one row: picks the ranks, makes their communicator, walks the axis and the sizes, measures and prints.

A row that cannot run here ends as `skipped: reason` on all ranks alike; a call that the library or mpi4py does not have
is such a reason. Any other error ends the job. Kernels get a Run and use only its communicators.
"""

import dataclasses
from types import SimpleNamespace

from . import buffers, data, measure, out, rows
from .options import sizes_of


class Skip(Exception):
    """Why a row cannot run."""


@dataclasses.dataclass
class Run:
    """One row at one size on the ranks that take part."""

    row: rows.Row
    o: SimpleNamespace
    mpi: object  # the module mpi4py.MPI
    comm: object  # mpi4py's communicator
    call: object  # whose methods move the data: comm, unisono.fast's or mpi4py.util.pkl5's
    kind: object  # of the buffers
    mode: str = "blocking"
    variant: str = ""
    peer: int = 0
    bytes: int = 0
    count: int = 0
    code: str = "B"  # array.array type code of the elements
    root: int = 0
    window: int = 0
    payload: float = 0  # bytes of one operation for the MB/s column
    msgs: float = 0

    def __post_init__(self) -> None:
        self.rank, self.size = self.comm.rank, self.comm.size
        self.extra: list[float] = []
        self.priv = SimpleNamespace()
        self.pickled = isinstance(self.kind, buffers.Pickle)
        self.op = getattr(self.mpi, self.o.op.upper())
        self.inner: tuple[float, float] | None = None  # an op may give its own interval (threads)

    def buffers(self, send: int, receive: int) -> None:
        """Two buffers of so many elements, and what calls get for the whole of them."""
        self.sbuf = self.kind.make(send, self.code, "send")
        self.rbuf = self.kind.make(receive, self.code, "receive")
        self.s, self.d = self.kind.spec(self.sbuf, self.code), self.kind.spec(self.rbuf, self.code)
        self.obj, self.got = self.sbuf, None  # what is sent as an object; what arrived as one, or a list of them

    def slots(self, buf: object, n: int, count: int) -> list:
        """What calls get for n consecutive parts of a buffer."""
        cut, spec = self.kind.cut, self.kind.spec
        return [spec(cut(buf, i * count, count, self.code), self.code) for i in range(n)]

    def fill(self, seed: int, clear: bool = True) -> None:
        """The content of a seed into the send buffer, nothing into the receive buffer."""
        size = len(self.kind.dump(self.sbuf))
        content = data.pattern(size, seed)
        self.kind.load(self.sbuf, content)
        if clear:
            self.kind.load(self.rbuf, bytes(len(self.kind.dump(self.rbuf))))
        self.got = None

    def received(self) -> bytes:
        """What arrived: in the receive buffer, or as an object."""
        if not self.pickled:
            return self.kind.dump(self.rbuf)
        parts = self.got if isinstance(self.got, list) else [] if self.got is None else [self.got]
        return b"".join(part.tobytes() for part in parts)

    def verify(self, seed: int, n: int) -> int:
        """Offset of the first byte of what arrived that is not the content of a seed, or -1."""
        return data.first_difference(self.received()[:n], data.pattern(n, seed))

    def waitall(self) -> object:
        """The function that completes a list of requests."""
        return self.kind.fast.waitall if hasattr(self.kind, "fast") else self.mpi.Request.Waitall

    def startall(self) -> object:
        """The function that starts a list of persistent requests."""
        return self.kind.fast.startall if hasattr(self.kind, "fast") else self.mpi.Prequest.Startall

    def method(self, name: str) -> object:
        """A method of the object that moves the data; Skip where it has none."""
        found = getattr(self.call, name, None)
        if found is None:
            raise Skip(f"--buffer {self.o.buffer}: no {name} in {type(self.call).__module__}")
        return found


def sizes(row: rows.Row, o: SimpleNamespace) -> list[int]:
    """The sizes asked for, or the row's defaults."""
    if row.flags & rows.NOSIZE:
        return [0]
    if o.sizes:
        return o.sizes
    if row.flags & rows.DEPTH:
        return sizes_of("0,16,256" if o.quick else "0,1,4,16,64,256,1024,4096")
    if o.quick:
        return sizes_of("4,1K,64K" if row.flags & rows.TYPED else "1,1K,64K")
    if row.flags & (rows.TYPED | rows.VECTOR):
        return sizes_of("4:1M" if row.flags & rows.TYPED else "1:1M")
    return [0, *sizes_of("1:4M")]


def take_size(r: Run, n: int) -> bool:
    """Sets what depends on the size; False if it is none for the type."""
    kind = r.o.type or ("byte" if not r.row.flags & rows.TYPED else "int" if r.o.op[0] == "b" else "float")
    r.code = data.CODES[kind]
    width = 1 if r.row.flags & rows.DEPTH else {"i": 4, "f": 4, "q": 8, "d": 8}.get(r.code, 1)
    if n % width:
        return False
    r.bytes, r.count, r.payload, r.msgs = n, n // width, 0, 0
    r.window = r.o.window if r.row.flags & rows.DEPTH else max(1, min(r.o.window, (64 << 20) // max(n, 1)))
    r.root = max(r.o.root, 0) % r.size
    r.extra, r.priv = [0.0] * len(r.row.extras), SimpleNamespace()
    return True


def operation(r: Run) -> object:
    """The function that runs n operations."""
    if r.pickled and r.row.family not in ("meta", "py"):
        if not r.row.objects:
            raise Skip(f"--buffer {r.o.buffer}: the row moves buffers only")
        if r.mode != "blocking":
            raise Skip(f"--buffer {r.o.buffer}: lower-case collectives block")
        return r.row.objects
    return r.row.op


def attempt(r: Run) -> str:
    """Setup and a first operation, where a missing call shows. Why it cannot run, on all ranks alike; or ""."""
    why = ""
    for step in ("setup", "first"):
        try:
            if step == "first":
                first_operation(r)
            elif r.row.setup:
                r.operation = operation(r)
                r.row.setup(r)
            else:
                r.operation = operation(r)
                r.buffers(r.count, r.count)
        except (Skip, NotImplementedError, MemoryError) as error:
            why = str(error) or type(error).__name__
        except r.mpi.Exception as error:
            if error.Get_error_class() != getattr(r.mpi, "ERR_UNSUPPORTED_OPERATION", -1):
                raise
            why = f"not in this MPI yet: {error.Get_error_string()}"
        said = [w for w in r.comm.allgather(why) if w]
        if said:
            return said[0]
    return ""


def first_operation(r: Run) -> None:
    if r.row.prepare:
        r.row.prepare(r)
    if r.operation:
        r.operation(r, 1)
    elif not r.row.flags & rows.ONESHOT:
        r.row.sample(r)


def run_variant(r: Run, c_suite: object) -> int:
    """All sizes of one value of the axis; the number of failures."""
    failed, begun = 0, False
    for n in sizes(r.row, r.o):
        if not take_size(r, n):
            continue
        why = attempt(r)
        if why:
            out.skip(r.row.name, r.variant, why)
            break
        if not begun:
            out.heading(r)
            begun = True
        figures, bad = measure.measure(r)
        beside = c_suite.run(r) if c_suite else None
        out.line(r, figures, beside)
        failed += bad
        if r.row.teardown:
            r.row.teardown(r)
    return failed


def cannot(row: rows.Row, variant: str | None, mpi: object) -> str:
    """Why a row cannot run at all; or ""."""
    if row.flags & rows.THREADED and mpi.Query_thread() < mpi.THREAD_MULTIPLE:
        return "needs MPI_THREAD_MULTIPLE, which this MPI did not grant"
    if variant and variant != "all" and variant not in row.variants:
        return f"has no variant '{variant}' ({','.join(row.variants) or 'no axis'})"
    return ""


def run_row(row: rows.Row, mode: str, variant: str | None, o: SimpleNamespace, job: SimpleNamespace) -> int:
    """Runs one row over its sizes and variants; returns the number of failures."""
    world, mpi = job.world, job.mpi
    group, most = world.size // o.groups, row.ranks[1]
    used = min(group, most) if most else group
    used -= used % 2 if row.flags & rows.EVEN else 0
    why = cannot(row, variant, mpi)
    if not why and used < row.ranks[0]:
        why = f"needs {row.ranks[0]} ranks, this job has {group}" if group else "fewer ranks than groups"
    if not why and job.kind.device and not job.gpu_aware:
        why = "this MPI does not say that it takes device memory (mpi_memory_alloc_kinds); --gpu-aware yes runs it"
    if why:
        out.skip(row.name, variant or "", why)
        return 0
    mine = world.rank // group < o.groups and world.rank % group < used
    comm = world.Split(world.rank // group if mine else mpi.UNDEFINED, -world.rank if o.map_reverse else world.rank)
    if not mine:
        return 0
    call = job.wrap(comm)
    r = Run(row, o, mpi, comm, call, job.kind, mode if row.flags & rows.MODES else "blocking")
    r.peer = (r.rank + used // 2) % used
    everything = variant == "all" if variant else bool(row.flags & rows.ALLVARIANTS)
    axis = ("",) if not row.variants else row.variants if everything else (variant or row.variants[0],)
    failed = 0
    for r.variant in axis:
        failed += run_variant(r, job.c_suite)
    comm.Free()
    return failed
