# SPDX-License-Identifier: BSD-3-Clause
"""The register of rows: what a benchmark is, look-up by name, the peers' names, and `list`.

A row is a function `op(r, n)` (n operations between the clock reads) or `sample(r)` (one sample, timed by itself) with
the decorator `row`. Names, axes and meanings are those of the C suite; a test compares the two lists. Nothing here
imports MPI, so that `list` and the command line work without it.
"""

import dataclasses
from collections.abc import Callable, Iterator

EVEN = 1  # works in pairs; an odd last rank stays idle
THREADED = 2  # needs MPI_THREAD_MULTIPLE
NOSIZE = 4  # no size axis
DEPTH = 8  # the size axis is a count, not bytes
VECTOR = 16  # default sizes end at 1 MiB (collectives)
ROOT = 32  # the figure is rank 0's own interval (ping-pong); otherwise the slowest rank's
SPAN = 64  # last rank out minus agreed start, where clocks are aligned
MODES = 128  # also as i<name> and p<name>
ALLVARIANTS = 256  # runs over the whole axis unless one is asked for
TYPED = 512  # elements of --type, default float (reductions)
ONESHOT = 2048  # one sample says it all
HALF = 8192  # an operation is a round trip, the figure half of it

MODE_PREFIX = {"blocking": "", "nonblocking": "i", "persistent": "p"}


@dataclasses.dataclass
class Row:
    """One benchmark; the hooks get the Run of the size at hand (run.py)."""

    name: str
    family: str
    what: str
    ranks: tuple[int, int] = (2, 0)  # least and most; most 0: any number
    flags: int = 0
    variants: tuple[str, ...] = ()  # the first is the default
    extras: tuple[str, ...] = ()  # "overlap %": name and unit of r.extra[], in order
    unit: str = "us"
    setup: Callable | None = None  # makes the buffers; may raise run.Skip
    op: Callable | None = None
    sample: Callable | None = None
    objects: Callable | None = None  # op with pickled objects; None: the row moves buffers only
    prepare: Callable | None = None  # before a sample whose root differs from the last one's
    fill: Callable | None = None
    check: Callable | None = None  # offset of the first wrong byte, or -1
    teardown: Callable | None = None


FAMILIES = ("meta", "p2p", "threads", "part", "pattern", "coll", "neigh", "rma", "io", "py")
_rows: list[Row] = []


def row(name: str, family: str, what: str, *, sampled: bool = False, **more) -> Callable:
    """Registers the decorated function as a row's op, or as its sample function."""

    def register(function: Callable) -> Callable:
        more["sample" if sampled else "op"] = function
        _rows.append(Row(name, family, what, **more))
        return function

    return register


def objects(name: str) -> Callable:
    """Registers the decorated op as what a row does with --buffer pickle."""

    def register(function: Callable) -> Callable:
        find_exact(name).objects = function
        return function

    return register


def all_rows() -> Iterator[Row]:
    """Every row, family by family."""
    for family in FAMILIES:
        yield from (r for r in _rows if r.family == family)


def find_exact(name: str) -> Row | None:
    """The row of that name, without regard to case."""
    return next((r for r in _rows if r.name == name.lower()), None)


# The peers' names: OMB's and OMB-Py's programs and IMB's tables; "row" or "row/variant".
ALIASES = {
    "latency": "lat", "latency_mt": "mt-lat", "latency_persistent": "plat", "bandwidth": "bw", "bw_persistent": "pbw",
    "bibw_persistent": "pbibw", "bi_bw": "bibw", "multi_lat": "mlat", "mbw_mr": "mbw", "pingpong": "lat",
    "pingpongspecificsource": "lat", "pingpinganysource": "pingping/any", "pingponganysource": "lat-any",
    "uniband": "mbw", "biband": "mbibw", "bw_fan_in": "fan-in", "bw_fan_out": "fan-out",
    "reduce_scatter": "reduce-scatter", "reduce_scatter_block": "reduce-scatter-block", "reduce_local": "reduce-local",
    "neighbor_allgather": "n-allgather", "neighbor_alltoall": "n-alltoall",
    "put_latency": "put-lat", "get_latency": "get-lat", "put_bw": "put-bw", "get_bw": "get-bw",
    "put_bibw": "put-bibw", "acc_latency": "acc-lat", "get_acc_latency": "getacc-lat", "fop_latency": "fop-lat",
    "cas_latency": "cas-lat", "unidir_put": "put-lat", "unidir_get": "get-lat", "bidir_put": "put-bibw",
    "bidir_get": "get-bibw", "accumulate": "acc-lat", "get_accumulate": "getacc-lat", "fetch_and_op": "fop-lat",
    "compare_and_swap": "cas-lat", "sendrecv_replace": "sendrecv-rep", "pingpingmt": "mt-pingping",
    "sendrecvmt": "mt-sendrecv", "unibandmt": "mt-bw",
}  # fmt: skip


def find(name: str) -> tuple[Row, str | None, str | None] | None:
    """(row, mode, variant) of a row's own or a peer's name; mode and variant None when the name does not say."""
    plain = name.lower().removeprefix("osu_")
    for word, mode in ((plain, None), (plain[1:], {"i": "nonblocking", "p": "persistent"}.get(plain[:1]))):
        target, _, variant = ALIASES.get(word, word).partition("/")
        found = find_exact(target)
        if found and (mode is None and word == plain or mode and found.flags & MODES):
            return found, mode, variant or None
    return None


def distance(a: str, b: str) -> int:
    """Edits between two words."""
    line = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        corner, line[0] = line[0], i
        for j, y in enumerate(b, 1):
            corner, line[j] = line[j], min(corner + (x != y), line[j] + 1, line[j - 1] + 1)
    return line[-1]


def nearest(word: str, words: list[str]) -> str | None:
    """The most similar of some words, if it is similar at all."""
    best = min(words, key=lambda w: distance(word, w), default=None)
    return best if best is not None and distance(word, best) <= 2 + len(word) // 3 else None


def listing() -> str:
    """What `list` prints, line by line as the C suite does; [O] marks rows that pickled objects take too."""
    lines, family = [], ""
    for r in all_rows():
        if r.family != family:
            lines += [""] * bool(family) + [r.family]
            family = r.family
        least, most = r.ranks
        ranks = str(least) if least == most else f"{least}-{most}" if most else f"{least}+"
        size = "-" if r.flags & NOSIZE else "count" if r.flags & DEPTH else "bytes"
        name = ("[i|p]" if r.flags & MODES else "") + r.name
        axis = f"  {{{','.join(r.variants)}}}" if r.variants else ""
        lines.append(f"  {name:<26} {ranks:<3} ranks  {size:<5}  {r.what}{axis}{'  [O]' if r.objects else ''}")
    return "\n".join(lines)
