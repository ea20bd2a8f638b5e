# SPDX-License-Identifier: BSD-3-Clause
"""The C suite beside the Python one (--against-c): the same row and size, in the same processes and communicator.

The suite's C sources are compiled once with the MPI's own mpicc into a shared library in the user's cache, loaded by
ctypes into this process, and given a communicator. So both suites see the same pinning, connections and thread level.
"""

import ctypes
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from types import SimpleNamespace

from . import options, rows

# Options that a run in C takes over as they are given.
SHARED = ("--iterations", "--warmup", "--time", "--ci", "--samples", "--window", "--threads", "--parts", "--parts-recv",
          "--depth", "--sync", "--root", "--type", "--op", "--cache", "--flush-bytes", "--align", "--seed", "--compat",
          "--win", "--tests", "--compute", "--noise", "--noise-pct", "--noise-us", "--dims", "--arrival", "--graph",
          "--file")  # fmt: skip


def cache() -> pathlib.Path:
    """The user's cache folder of the project."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "unisono" / "bench"


def sources() -> pathlib.Path:
    """The folder of the suite's C sources: of the source tree, or of an installation whose programs are in PATH."""
    places = [pathlib.Path(__file__).resolve().parents[3] / "bench"]
    for name in ("unisono-bench", "mpicc", "mpiexec"):
        found = shutil.which(name)
        if found:
            places.append(pathlib.Path(found).resolve().parents[1] / "share/unisono/bench")
    for place in places:
        if (place / "bench.h").exists():
            return place
    raise options.Usage("--against-c: the C suite is neither in PATH nor given by --c-suite")


def compiled() -> pathlib.Path:
    """The shared library, made by the mpicc in MPICC or PATH; kept by what went into it."""
    mpicc = os.environ.get("MPICC") or shutil.which("mpicc")
    if not mpicc:
        raise options.Usage("--against-c: no mpicc in PATH to compile the C suite with (or set MPICC)")
    folder = sources()
    files = sorted(folder.glob("*.c"))
    digest = hashlib.sha256(mpicc.encode() + str(os.path.getmtime(shutil.which(mpicc) or mpicc)).encode())
    for file in [*files, *sorted(folder.glob("*.h"))]:
        digest.update(file.read_bytes())
    library = cache() / f"unisono-bench-{digest.hexdigest()[:12]}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        draft = library.with_suffix(f".{os.getpid()}")
        command = [mpicc, "-O2", "-shared", "-fPIC", "-pthread", "-o", str(draft), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise options.Usage(f"--against-c: {mpicc} does not compile the C suite: {done.stderr.splitlines()[0]}")
        draft.replace(library)
    return library


class Twin:
    """The C suite, loaded; `run` gives the record of the row and size that a Run stands for."""

    def __init__(self, path: pathlib.Path, o: SimpleNamespace):
        self.library, self.o = ctypes.CDLL(str(path)), o
        flag = ctypes.c_int(0)
        self.library.MPI_Initialized(ctypes.byref(flag))
        if not flag.value:
            raise options.Usage(f"--against-c: {path} was compiled for another MPI than mpi4py uses; set MPICC")
        self.folder = tempfile.TemporaryDirectory(prefix="unisono-bench-")

    def arguments(self, r: object, path: str) -> list[str]:
        """The command line of that row and size."""
        prefix = rows.MODE_PREFIX[r.mode] if r.row.flags & rows.MODES else ""
        words = ["unisono-bench", prefix + r.row.name, "--format", "none", "--json", path]
        if not r.row.flags & rows.NOSIZE:
            words += ["--sizes", str(r.bytes)]
        if r.variant:
            words += ["--variant", r.variant]
        for name in SHARED:
            value = getattr(self.o, name[2:].replace("-", "_"))
            if name == "--time" or value != options.TABLE[name][1]:
                value = "rotate" if name == "--root" and value == -1 else value
                words += [name, str(value * 1e6 if options.TABLE[name][0] == "micros" else value)]
        return words + ["--in-place"] * self.o.in_place + ["--idle"] * self.o.idle + ["--no-check"] * self.o.no_check

    def run(self, r: object) -> dict | None:
        """The C suite's record, on rank 0; None where it has none. Collective over the run's communicator."""
        if r.row.family == "py":
            return None
        path = os.path.join(self.folder.name, "record.json")
        words = [w.encode() for w in self.arguments(r, path)]
        argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)
        if self.library.bench_rows_on(ctypes.c_void_p(r.comm.handle), len(words), argv) == 2:
            raise options.Usage(f"--against-c: the C suite does not take: {' '.join(w.decode() for w in words[1:])}")
        if r.rank:
            return None
        with open(path) as file:
            records = [json.loads(line) for line in file if line.startswith("{")]
        return next((one for one in records if one.get("n")), None)


def load(o: SimpleNamespace, job: SimpleNamespace) -> Twin:
    """Found or compiled by rank 0, loaded by all."""
    why = path = None
    if job.world.rank == 0:
        try:
            path = o.c_suite or str(compiled())
        except options.Usage as usage:
            why = str(usage)
    why, path = job.world.bcast((why, path))
    if why:
        raise options.Usage(why)
    return Twin(pathlib.Path(path), o)
