# SPDX-License-Identifier: BSD-3-Clause
"""The command line: the options of the C suite with their peers' spellings, and those that only Python has.

Parsed before MPI is started, so that a bad option costs one line on stderr (with the nearest name) and status 2. What
the C suite knows and Python does not do is accepted where it changes nothing and refused with the reason otherwise.
"""

import os
import re
import signal
import sys
from types import SimpleNamespace

from . import rows

KINDS = ("bytearray", "array", "memoryview", "mmap", "numpy", "raw", "fast", "pickle", "pickle5", "cupy", "pycuda",
         "numba", "torch")  # fmt: skip

# name: (kind, default, the peers' spellings, help); a kind that is a tuple lists the words allowed.
TABLE = {
    "--sizes": ("sizes", None, "-m --message-size", "A:B[:xF] (steps of F, default 2) or a list; K, M, G; -m N: 1:N"),
    "--iterations": ("count", 0, "-i -iter", "fixed number of samples instead of adaptive repetition"),
    "--warmup": ("count", 0, "-x --warm-up --skip", "fixed number of warm-up operations"),
    "--time": ("real", 1.0, "", "most seconds of sampling per size (default 1)"),
    "--ci": ("real", 2.0, "", "stop when the 95 % interval of the median is within this per cent (default 2)"),
    "--samples": (("batch", "each"), "batch", "", "batch: many operations per sample; each: one, for the true spread"),
    "--window": ("count", 64, "-W --window-size", "messages in flight (default 64)"),
    "--threads": ("count", 0, "-t", "threads per rank (default 2; partitioned: one per partition)"),
    "--parts": ("count", 8, "--partitions", "partitions of the sender (default 8)"),
    "--parts-recv": ("count", 0, "", "partitions of the receiver (default: as the sender)"),
    "--depth": ("count", 0, "", "radius of a neighbourhood, dimensions or blocks of a pattern"),
    "--dims": ("text", None, "", "process grid of patterns, as 2x2x1"),
    "--variant": ("text", None, "", "one value of the row's axis, or all"),
    "--mode": (("blocking", "nonblocking", "persistent"), "blocking", "", "of collectives; also by name: iallreduce"),
    "--sync": (("auto", "batch", "barrier", "window", "apart"), "auto", "",
               "how ranks start a sample (auto: window, or batch when ranks exceed cores; "
               "apart: a barrier before each call)"),
    "--root": ("root", 0, "-root", "root of rooted collectives, or rotate"),
    "--type": (("byte", "int", "int64", "float", "double"), None, "-d", "elements (reductions: float)"),
    "--op": (("sum", "prod", "max", "min", "band", "bor", "bxor"), "sum", "", "of reductions"),
    "--in-place": ("flag", False, "", "MPI_IN_PLACE where the call allows it"),
    "--cache": (("hot", "flush"), "hot", "", "buffers reused, or flushed from the caches before each sample"),
    "--flush-bytes": ("bytes", 64 << 20, "", "size of the walk for --cache flush (default 64M)"),
    "--align": ("bytes", 0, "", "offset of the buffers from a page boundary (memoryview, mmap, numpy)"),
    "--mem": (("host", "cuda"), "host", "", "cuda: as --device gpu"),
    "--no-check": ("flag", False, "", "do not validate the data"),
    "--check": ("unset no-check", None, "-c --validation", "validate the data (default)"),
    "--thread-level": (("single", "funneled", "serialized", "multiple"), "multiple", "",
                       "level asked of MPI_Init_thread (default multiple, as mpi4py does)"),
    "--session": ("flag", False, "", "start through an MPI-4 session instead of MPI_Init"),
    "--ranks": ("count", 0, "-npmin", "ranks that take part (default all)"),
    "--groups": ("count", 1, "-multi", "disjoint groups that run at once"),
    "--map-reverse": ("flag", False, "", "reverse the order of ranks"),
    "--arrival": (("last", "linear", "random"), "last", "", "coll-skew: who comes late"),
    "--win": (("allocate", "create", "dynamic", "shared"), "allocate", "", "one-sided: how the window is made"),
    "--compute": ("micros", 0.0, "--compute-time", "work between messages, us (overlap, part, pattern)"),
    "--noise": (("none", "single", "uniform", "gauss"), "none", "--noise-type", "noise on that work"),
    "--noise-pct": ("real", 4.0, "--percent-noise", "amount of noise in per cent of the work (default 4)"),
    "--noise-us": ("micros", 0.0, "", "amount of noise in us, on top of that"),
    "--tests": ("count", 8, "--num-test-calls", "ovl-coll: Test calls in the computation (default 8; 0)"),
    "--idle": ("flag", False, "", "ovl-coll: the core sleeps instead of computing (as beside an accelerator)"),
    "--graph": ("text", None, "", "neighbourhood rows: file of edges, a line FROM TO each"),
    "--file": ("text", None, "", "path for the io rows (default: in TMPDIR)"),
    "--seed": ("count", 1, "", "of everything random"),
    "--compat": (("omb", "imb"), None, "", "fixed counts and plain loop as that suite has them"),
    "--format": (("table", "csv", "json", "none"), "table", "", "what goes to stdout"),
    "--json": ("text", None, "", "also write one JSON record per (row, size) to this file"),
    "--raw": ("text", None, "", "also write all samples to this file"),
    "--label": ("text", "", "", "name of this run in the records"),
    "--quick": ("flag", False, "", "few sizes, 30 samples, at most 20 ms per size"),
    "--buffer": (KINDS, "numpy", "-b", "what is sent: a buffer's kind, or pickled objects (default numpy)"),
    "--device": (("cpu", "gpu"), "cpu", "", "gpu: buffers in device memory (cupy, pycuda, numba, torch)"),
    "--gpu-aware": (("auto", "yes", "no"), "auto", "", "whether MPI takes device memory (auto: as it says)"),
    "--against-c": ("flag", False, "", "run the C suite's row too, in the same job, and print what Python adds"),
    "--c-suite": ("text", None, "", "the C suite as a shared library (default: found, or compiled with mpicc)"),
}  # fmt: skip
PYTHON_ONLY = ("--buffer", "--device", "--gpu-aware", "--against-c", "--c-suite")
# Options of the C suite that no row here reads.
C_ONLY = (
    "--bridge",
    "--launcher",
    "--np",
    "--launches",
    "--profile",
    "--gain",
    "--line",
)


class Usage(Exception):
    """A bad command line; the text is the one line to print."""


def speaks() -> bool:
    """Whether this process complains about the command line: by the launchers' variables, only rank 0 does."""
    names = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "UNISONO_RANK", "SLURM_PROCID")
    return all(os.environ.get(name, "0") == "0" for name in names)


def complain(text: str) -> int:
    """The one line of a bad usage; returns the status.

    The other ranks wait to be ended: a launcher ends the job with the first rank that fails, and that must be the one
    that speaks.
    """
    if speaks():
        print(f"unisono.bench: {text}", file=sys.stderr, flush=True)
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        signal.sigtimedwait({signal.SIGTERM}, 20)
    return 2


def bytes_of(text: str) -> int:
    """A number with K, M or G (binary) behind it."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text, re.IGNORECASE)
    if not match:
        raise ValueError(text)
    return int(match[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[match[2].upper()]


def sizes_of(text: str) -> list[int]:
    """A:B, A:B:xF or A,B,C as a list."""
    match = re.fullmatch(r"(\w+):(\w+)(?::[xX]([\d.]+))?", text)
    if not match:
        return [bytes_of(word) for word in text.split(",")]
    low, high, factor = bytes_of(match[1]), bytes_of(match[2]), float(match[3] or 2)
    if high < low or factor <= 1:
        raise ValueError(text)
    found = []
    while low <= high:
        found.append(low)
        low = max(int(low * factor + 0.5), low + 1)
    return found


def peer_sizes(text: str) -> list[int]:
    """The peers' -m: one number is the upper end."""
    low, colon, high = text.partition(":")
    return sizes_of(f"{low or 1}:{high or '4M'}" if colon else f"1:{text}")


def value_of(name: str, given: str, text: str) -> object:
    """The value of one option."""
    kind = TABLE[name][0]
    if isinstance(kind, tuple):
        if text not in kind:
            near = rows.nearest(text, list(kind))
            hint = f" (did you mean {near}?)" if near else ""
            raise Usage(f"{name} takes one of {','.join(kind)}, not '{text}'{hint}")
        return text
    if kind == "text":
        return text
    try:
        if kind == "sizes":
            return sizes_of(text) if given == "--sizes" else peer_sizes(text)
        if kind == "root":
            return -1 if text == "rotate" else int(text)
        number = bytes_of(text) if kind == "bytes" else int(text) if kind == "count" else float(text)
        if not 0 <= number < 1 << 40:
            raise ValueError(text)
        return number * 1e-6 if kind == "micros" else number
    except ValueError:
        what = "sizes are A:B, A:B:xF or A,B,C; this is not" if kind == "sizes" else name
        raise Usage(f"{what} '{text}'") from None


SPELLINGS = {word: name for name, entry in TABLE.items() for word in [name, *entry[2].split()]}


def parse(words: list[str]) -> SimpleNamespace:
    """The options, with the rows named in `rows` and the command in `command`; raises Usage."""
    o = SimpleNamespace(**{n[2:].replace("-", "_"): e[1] for n, e in TABLE.items()}, rows=[], given=set())
    o.command = " ".join(["python -m unisono.bench", *words])
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            o.rows.append(word)
            continue
        given, equal, text = word.partition("=")
        name = SPELLINGS.get(given)
        if not name:
            if given in C_ONLY:
                raise Usage(f"{given} is one that only unisono-bench (C) has")
            near = rows.nearest(given, list(TABLE))
            raise Usage(f"unknown option '{given}'" + (f" (did you mean {near}?)" if near else ""))
        kind = TABLE[name][0]
        o.given.add(name)
        if kind == "flag":
            setattr(o, name[2:].replace("-", "_"), True)
        elif kind == "unset no-check":
            o.no_check = False
        else:
            text = text if equal else next(rest, None)
            if text is None:
                raise Usage(f"a value is missing after '{given}'")
            setattr(o, name[2:].replace("-", "_"), value_of(name, given, text))
    return checked(o)


def checked(o: SimpleNamespace) -> SimpleNamespace:
    """What must hold between options, and what some of them imply."""
    if o.op[0] == "b" and o.type in ("float", "double"):
        raise Usage(f"a bitwise --op has no meaning on --type '{o.type}'")
    for name in ("window", "groups", "parts"):
        if getattr(o, name) < 1:
            raise Usage(f"--{name} must be 1 or more")
    gpu = ("cupy", "pycuda", "numba", "torch")
    if o.mem == "cuda":
        o.device = "gpu"
    if o.device == "gpu" and "--buffer" not in o.given:
        o.buffer = "cupy"
    if o.device == "gpu" and o.buffer not in gpu:
        raise Usage(f"--device gpu needs --buffer {', '.join(gpu)}, not '{o.buffer}'")
    if o.device == "cpu" and o.buffer in gpu[:3]:
        o.device = "gpu"
    if o.quick:
        o.time = 0.02 if "--time" not in o.given else o.time
    if o.compat:
        o.iterations = o.iterations or 1000
        o.warmup = o.warmup or (100 if o.compat == "omb" else 1)
        o.sync = "apart" if o.compat == "omb" else "batch"
    return o


HELP = """usage: python -m unisono.bench ROW... [options]   under mpiexec; rows by name, family, or all
       python -m unisono.bench list               every row and what it measures
       python -m unisono.bench py-delta C.json PY.json   joins records of the two suites
"""


def help_text() -> str:
    """What --help prints."""
    lines = [HELP]
    for name, (kind, _, _, text) in TABLE.items():
        words = f" [{','.join(kind)}]" if isinstance(kind, tuple) else ""
        lines.append(f"  {name:<16} {text}{words}")
    return "\n".join(lines)
