# SPDX-License-Identifier: BSD-3-Clause
"""python -m unisono.bench: parses the command line, starts MPI by mpi4py, runs the rows chosen in order.

Ends with 1 if a validation failed and with 2 if the usage was wrong, after one line. Any other exception on one rank
ends the whole job, so that nobody hangs.
"""

import sys
import traceback
from types import SimpleNamespace

from . import buffers, clock, options, out, rows, run
from .families import coll, io, meta, multi, neigh, p2p, part, pattern  # noqa: F401  (register rows)
from .families import pickles, rma, threads, vector  # noqa: F401

FAMILY_WORDS = (*rows.FAMILIES, "all")


def choose(o: SimpleNamespace) -> list[tuple[rows.Row, str, str | None]]:
    """(row, mode, variant) of everything named on the command line."""
    chosen = []
    for word in o.rows:
        family = [r for r in rows.all_rows() if word in ("all", r.family)]
        if family:
            chosen += [(r, o.mode, o.variant) for r in family]
            continue
        found = rows.find(word)
        if not found:
            names = [r.name for r in rows.all_rows()] + ["list", "py-delta", *FAMILY_WORDS]
            near = rows.nearest(word, names)
            hint = f" (did you mean {near}?)" if near else "; try `python -m unisono.bench list`"
            raise options.Usage(f"no row or family '{word}'{hint}")
        row, mode, variant = found
        chosen.append((row, mode or o.mode, variant or o.variant))
    if not chosen:
        raise options.Usage("name a row, a family, all, or list; --help shows the options")
    return chosen


def start(o: SimpleNamespace) -> SimpleNamespace:
    """MPI started at the level asked for, and the suite's communicator."""
    mpi4py = buffers.need("mpi4py")
    mpi4py.rc.initialize, mpi4py.rc.finalize = False, False
    MPI = buffers.need("mpi4py.MPI", "mpi4py, and an MPI library that it finds")
    job = SimpleNamespace(mpi=MPI, session=None, binding=f"mpi4py {mpi4py.__version__}")
    if o.session:
        job.session = MPI.Session.Init()
        group = job.session.Create_group("mpi://WORLD")
        world = MPI.Intracomm.Create_from_group(group, "org.unisono.bench")
    else:
        MPI.Init_thread(getattr(MPI, f"THREAD_{o.thread_level.upper()}"))
        world = MPI.COMM_WORLD
    job.world = world.Split(0 if not o.ranks or world.rank < o.ranks else MPI.UNDEFINED, world.rank)
    return job


def wrapper(o: SimpleNamespace, kind: object) -> object:
    """From a communicator to the object whose methods move the data."""
    if isinstance(kind, buffers.Pickle):
        return kind.wrap
    return kind.fast.Comm if hasattr(kind, "fast") else lambda comm: comm


def run_all(o: SimpleNamespace, chosen: list) -> int:
    """Everything between the start of MPI and its end; the number of failures."""
    job = start(o)
    failed = 0
    try:
        if job.world != job.mpi.COMM_NULL:
            job.kind = buffers.make_kind(o, job.mpi)
            job.wrap, job.c_suite, job.gpu_aware = wrapper(o, job.kind), None, True
            if job.kind.device:
                from . import device

                job.gpu_aware = device.aware(job.world, o)
            if o.against_c:
                from . import twin

                job.c_suite = twin.load(o, job)
            clock.sync(job.world, job.mpi, remote_only=True)
            out.begin(o, job.world, job.mpi, job.binding)
            for row, mode, variant in chosen:
                failed += run.run_row(row, mode, variant, o, job)
                job.world.Barrier()
            out.end()
    except options.Usage as usage:
        if job.world.rank == 0:
            print(f"unisono.bench: {usage}", file=sys.stderr, flush=True)
        failed = -1
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        (job.world or job.mpi.COMM_SELF).Abort(1)
    if job.session:
        job.session.Finalize()
    else:
        job.mpi.Finalize()
    return failed


def main(words: list[str]) -> int:
    """The program; returns its status."""
    if "-h" in words or "--help" in words:
        print(options.help_text())
        return 0
    if words[:1] == ["list"]:
        print(rows.listing())
        return 0
    try:
        if words[:1] == ["py-delta"]:
            from . import delta

            return delta.main(words[1:])
        o = options.parse(words)
        chosen = choose(o)
        buffers.check(o)
        failed = run_all(o, chosen)
    except options.Usage as usage:
        return options.complain(str(usage))
    return 2 if failed < 0 else 1 if failed else 0
