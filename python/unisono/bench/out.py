# SPDX-License-Identifier: BSD-3-Clause
"""What is printed, as the C suite prints it: a table for people, CSV, or JSON. Called on all ranks; rank 0 prints.

With --against-c a line has the C suite's figure, Python's, their difference and quotient; a record has them as c_value,
c_ci and delta. One record per (row, variant, size); the schema is the C suite's with binding, python and buffer added.
"""

import json
import os
import platform
import sys
import time
from types import SimpleNamespace

from . import rows

SCALE = {"us": 1e6, "ns": 1e9, "ms": 1e3, "s": 1.0}
LEVELS = ("single", "funneled", "serialized", "multiple")
_state = SimpleNamespace(silent=True, json=None, head={}, o=None, against=False)
CSV = ("row,mode,variant,size,np,value,unit,ci_lo,ci_hi,min,p5,p95,max,mean,sd,n,batch,MB_s,Mmsg_s,rank_min,rank_mean,"
       "rank_max,skew,sync,stop,checked,extras")  # fmt: skip


def begin(o: SimpleNamespace, world: object, mpi: object, binding: str) -> None:
    """The header, and the file of --json."""
    _state.o, _state.silent, _state.against = o, world.rank != 0, o.against_c
    if _state.silent:
        return
    library = mpi.Get_library_version().strip(" \0").splitlines()[0].split(",")[0].replace("\t", " ")
    library = library[: library.rindex("(") - 1] if "(" in library and ")" not in library else library
    levels = (mpi.THREAD_SINGLE, mpi.THREAD_FUNNELED, mpi.THREAD_SERIALIZED, mpi.THREAD_MULTIPLE)
    level, cores, np = LEVELS[levels.index(mpi.Query_thread())], os.cpu_count(), world.size
    uname = platform.uname()
    host = f"{uname.node} {uname.system} {uname.machine}"
    version, subversion = mpi.Get_version()
    free = not getattr(sys, "_is_gil_enabled", lambda: True)()
    python = platform.python_version() + (" free-threaded" if free else "")
    _state.head = {
        "schema": 1, "library": library, "mpi": f"{version}.{subversion}", "host": host, "np": np, "cores": cores,
        "oversubscribed": np > cores, "thread_level": level, "label": o.label, "time": int(time.time()),
        "command": o.command, "binding": binding, "python": python, "buffer": o.buffer, "device": o.device,
    }  # fmt: skip
    _state.json = open(o.json, "w") if o.json else None
    if o.format == "table":
        over = " (over-subscribed)" if np > cores else ""
        print(f"# {library} | {np} rank{'s' * (np > 1)} on {cores} cores{over} | threads: {level} | {host}")
        print(f"# Python {python} | {binding} | buffer: {o.buffer}")
    if o.format == "csv":
        print(CSV + (",c_value,delta" if o.against_c else ""))


def title(r: object) -> str:
    """Name with the mode's prefix."""
    return (rows.MODE_PREFIX[r.mode] if r.row.flags & rows.MODES else "") + r.row.name


def collective(r: object) -> bool:
    """Whether ranks' mean and skew are shown."""
    return bool(r.row.flags & rows.SPAN) and r.size > 1


def rated(r: object) -> bool:
    """Whether the figure is the time of an operation that moves bytes."""
    return r.payload > 0 and r.row.unit == "us"


def heading(r: object) -> None:
    """The name of a row and its columns."""
    if _state.silent or _state.o.format != "table":
        return
    variant = f"/{r.variant}" if r.variant else ""
    print(f"\n{title(r)}{variant}: {r.row.what}")
    first = "" if r.row.flags & rows.NOSIZE else "count" if r.row.flags & rows.DEPTH else "bytes"
    if _state.against:
        print(
            f"{first:>10} {'C ' + r.row.unit:>12} {'Python ' + r.row.unit:>12} {'difference':>12} {'Python/C':>10}",
            end="",
        )
    else:
        print(f"{first:>10} {r.row.unit:>12} {'p5':>10} {'p95':>10}", end="")
        if collective(r):
            print(f" {'ranks avg':>10} {'skew us':>10}", end="")
        if rated(r):
            print(f" {'MB/s':>10}", end="")
        if r.msgs:
            print(f" {'Mmsg/s':>10}", end="")
        for name in r.row.extras:
            print(f" {name:>14}", end="")
    print(f" {'n':>7} stop", flush=True)


def scaled_extras(r: object, f: SimpleNamespace) -> list[tuple[str, SimpleNamespace, float]]:
    """(name, statistics, scale) of the further figures."""
    found = []
    for text, s in zip(r.row.extras, f.extra, strict=False):
        name, _, unit = text.rpartition(" ")
        found.append((name.replace(" ", "_"), s, SCALE.get(unit, 1)))
    return found


def table(r: object, f: SimpleNamespace, c: dict | None) -> None:
    """One line for people."""
    k, s = SCALE.get(r.row.unit, 1), f.s
    size = "" if r.row.flags & rows.NOSIZE else str(r.bytes)
    if _state.against:
        beside = f"{'-':>12} {s.median * k:12.5g} {'-':>12} {'-':>10}"
        if c:
            value, delta = c["value"], s.median * k - c["value"]
            beside = f"{value:12.5g} {s.median * k:12.5g} {delta:12.4g} {s.median * k / (value or 1e-30):10.3g}"
        print(f"{size:>10} {beside}", end="")
    else:
        print(f"{size:>10} {s.median * k:12.5g} {s.p5 * k:10.4g} {s.p95 * k:10.4g}", end="")
        if collective(r):
            print(f" {f.rank_mean * k:10.4g} {f.skew * 1e6:10.3g}", end="")
        if rated(r):
            print(f" {r.payload / s.median * 1e-6 if s.median else 0:10.5g}", end="")
        if r.msgs:
            print(f" {r.msgs / s.median * 1e-6 if s.median else 0:10.4g}", end="")
        for _, extra, scale in scaled_extras(r, f):
            print(f" {extra.median * scale:14.5g}", end="")
    print(f" {s.n:7d} {f.stop}{'' if f.checked or not r.row.check else ' unchecked'}", flush=True)


def record(r: object, f: SimpleNamespace, c: dict | None) -> dict:
    """One JSON record."""
    k, s = SCALE.get(r.row.unit, 1), f.s
    found = _state.head | {
        "row": title(r), "family": r.row.family, "variant": r.variant, "size": r.bytes, "ranks": r.size,
        "unit": r.row.unit, "value": s.median * k, "ci": [s.lo * k, s.hi * k], "n": s.n,
    }  # fmt: skip
    for name in ("mean", "sd", "min", "p1", "p5", "p25", "p75", "p95", "p99", "max"):
        found[name] = getattr(s, name) * k
    found |= {
        "lag1": s.lag1, "rank_min": f.rank_min * k, "rank_mean": f.rank_mean * k, "rank_max": f.rank_max * k,
        "skew": f.skew * k, "late": f.late, "batch": f.batch, "stop": f.stop, "sync": f.sync, "checked": f.checked,
        "window": r.window, "threads": _state.o.threads, "parts": _state.o.parts,
    }  # fmt: skip
    if rated(r) and s.median:
        found["MB_s"] = r.payload / s.median * 1e-6
    if r.msgs and s.median:
        found["Mmsg_s"] = r.msgs / s.median * 1e-6
    for name, extra, scale in scaled_extras(r, f):
        found |= {name: extra.median * scale, f"{name}_lo": extra.lo * scale, f"{name}_hi": extra.hi * scale}
    if c:
        found |= {"c_value": c["value"], "c_ci": c["ci"], "delta": found["value"] - c["value"]}
    return {name: rounded(v) for name, v in found.items()}


def rounded(value: object) -> object:
    """Floats to six digits, in lists too."""
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def csv(r: object, f: SimpleNamespace, c: dict | None) -> str:
    """One line of CSV."""
    one = record(r, f, c)
    mode = rows.MODE_PREFIX[r.mode] if r.row.flags & rows.MODES else ""
    fields = [one["row"], mode, r.variant, r.bytes, r.size, one["value"], r.row.unit, *one["ci"]]
    fields += [one[n] for n in ("min", "p5", "p95", "max", "mean", "sd", "n", "batch")]
    fields += [one.get("MB_s", 0), one.get("Mmsg_s", 0)]
    fields += [one[n] for n in ("rank_min", "rank_mean", "rank_max", "skew", "sync", "stop")] + [int(one["checked"])]
    fields.append(";".join(f"{name}={s.median * scale:.6g}" for name, s, scale in scaled_extras(r, f)))
    if _state.against:
        fields += [one.get("c_value", ""), one.get("delta", "")]
    return ",".join(f"{v:.6g}" if isinstance(v, float) else str(v) for v in fields)


def line(r: object, f: SimpleNamespace, c: dict | None) -> None:
    """One (row, size) is measured."""
    if _state.silent or r.comm.rank:
        return
    if _state.o.format == "table":
        table(r, f, c)
    elif _state.o.format == "csv":
        print(csv(r, f, c), flush=True)
    elif _state.o.format == "json":
        print(json.dumps(record(r, f, c)), flush=True)
    if _state.json:
        print(json.dumps(record(r, f, c)), file=_state.json, flush=True)


def skip(name: str, variant: str, why: str) -> None:
    """A row that cannot run, with the reason."""
    if _state.silent:
        return
    one = json.dumps(_state.head | {"row": name, "variant": variant, "skipped": why})
    if _state.o.format == "table":
        print(f"\n{name}{'/' if variant else ''}{variant}: skipped: {why}", flush=True)
    elif _state.o.format == "csv":
        print(f"{name},,{variant}{',' * 24}skipped: {why.replace(',', ';')}", flush=True)
    elif _state.o.format == "json":
        print(one, flush=True)
    if _state.json:
        print(one, file=_state.json, flush=True)


def end() -> None:
    """Closes the file of --json."""
    if _state.json:
        _state.json.close()
