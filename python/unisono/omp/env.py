# SPDX-License-Identifier: BSD-3-Clause
"""Reads the OMP_* variables into the run-time's settings. Called once, at import. A value that makes no sense is
reported on standard error and ignored, as the standard asks."""

import os
import sys

from . import _rt

SCHEDULES = {"static": 1, "dynamic": 2, "guided": 3, "auto": 4}
BINDS = {"false": 0, "true": 1, "master": 2, "primary": 2, "close": 3, "spread": 4}
NAMES = (
    "OMP_NUM_THREADS",
    "OMP_SCHEDULE",
    "OMP_DYNAMIC",
    "OMP_NESTED",
    "OMP_STACKSIZE",
    "OMP_WAIT_POLICY",
    "OMP_MAX_ACTIVE_LEVELS",
    "OMP_THREAD_LIMIT",
    "OMP_CANCELLATION",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_DISPLAY_ENV",
    "OMP_DISPLAY_AFFINITY",
    "OMP_AFFINITY_FORMAT",
    "OMP_MAX_TASK_PRIORITY",
)
UNLIMITED = 2147483647
values = {
    "stacksize": 0,
    "wait_policy": "default",
    "binds": [],
    "display_affinity": False,
    "affinity_format": "level %L thread %n of %N on %H bound to %A",
}


def _complain(name, text, expected):
    print(f"unisono.omp: {name}={text!r} is ignored: {expected} expected", file=sys.stderr)


def _bool(text):
    return {"true": 1, "false": 0}[text.strip().lower()]


def _positive(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _natural(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def _num_threads(text):
    numbers = [_positive(t) for t in text.split(",")]
    _rt.setting("nthreads", numbers[0])
    if len(numbers) > 1:
        _rt.setting("list", numbers)
        _rt.setting("max_active", UNLIMITED)


def _schedule(text):
    kind, _, chunk = text.partition(":")[2].partition(",") if ":" in text else text.partition(",")
    _rt.setting("sched", SCHEDULES[kind.strip().lower()])
    _rt.setting("chunk", _positive(chunk) if chunk else (1 if kind.strip().lower() in ("dynamic", "guided") else 0))


def _stacksize(text):
    text = text.strip()
    scale = {"B": 1, "K": 1024, "M": 1 << 20, "G": 1 << 30}.get(text[-1].upper())
    values["stacksize"] = int(text[:-1]) * scale if scale else int(text) * 1024


def _wait_policy(text):
    policy = text.strip().lower()
    _rt.setting("spin_ns", {"active": 10_000_000, "passive": 0}[policy])
    _rt.setting("adaptive", False)
    values["wait_policy"] = policy


def _proc_bind(text):
    binds = [BINDS[t.strip().lower()] for t in text.split(",")]
    if len(binds) > 1 and min(binds) < BINDS["primary"]:
        raise ValueError("true and false stand alone")
    values["binds"] = binds
    _rt.setting("bind", binds[0])
    _rt.setting("binds", binds)
    if len(binds) > 1:
        _rt.setting("max_active", UNLIMITED)


def _setting(name, convert):
    return lambda text: _rt.setting(name, convert(text))


def _keep(name, convert):
    def keep(text):
        values[name] = convert(text)

    return keep


_READERS = {
    "OMP_NESTED": (lambda t: _rt.setting("max_active", UNLIMITED if _bool(t) else 1), "true or false"),
    "OMP_NUM_THREADS": (_num_threads, "a list of positive numbers"),
    "OMP_SCHEDULE": (_schedule, "kind or kind,chunk"),
    "OMP_DYNAMIC": (_setting("dynamic", _bool), "true or false"),
    "OMP_STACKSIZE": (_stacksize, "a size such as 512K or 8M"),
    "OMP_WAIT_POLICY": (_wait_policy, "active or passive"),
    "OMP_MAX_ACTIVE_LEVELS": (_setting("max_active", _natural), "a number"),
    "OMP_THREAD_LIMIT": (_setting("thread_limit", _positive), "a positive number"),
    "OMP_CANCELLATION": (_setting("cancellation", _bool), "true or false"),
    "OMP_PROC_BIND": (_proc_bind, "true, false or a list of primary, close, spread"),
    "OMP_MAX_TASK_PRIORITY": (_setting("max_priority", _natural), "a number"),
    "OMP_DISPLAY_AFFINITY": (_keep("display_affinity", _bool), "true or false"),
    "OMP_AFFINITY_FORMAT": (_keep("affinity_format", str), "a text"),
}


def processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def read(environ=os.environ):
    """Applies the environment. Later variables win over earlier ones of the table (levels over nested)."""
    _rt.setting("procs", processors())
    _rt.setting("nthreads", processors())
    # Regions inside regions are active, so a recursion of them must end somewhere.
    _rt.setting("thread_limit", max(1024, 16 * processors()))
    for name, (reader, expected) in _READERS.items():
        text = environ.get(name)
        if text is None:
            continue
        try:
            reader(text)
        except (ValueError, KeyError, IndexError):
            _complain(name, text, expected)
    if environ.get("OMP_PLACES") or values["binds"]:
        from . import places

        places.read(environ.get("OMP_PLACES"))
    if values["display_affinity"]:
        from . import places

        _rt.show_places(places.show)
    display = environ.get("OMP_DISPLAY_ENV", "").strip().lower()
    if display in ("true", "verbose"):
        show(display == "verbose")


def show(verbose=False):
    """OMP_DISPLAY_ENV: the control variables on standard error."""
    nthreads, dynamic, max_active, sched, chunk, bind = _rt.icv_get()
    procs, limit, cancellation, priority, spin, _ = _rt.settings()
    kinds = {v: k.upper() for k, v in SCHEDULES.items()}
    rows = {
        "_OPENMP": "201811",
        "OMP_NUM_THREADS": nthreads,
        "OMP_DYNAMIC": bool(dynamic),
        "OMP_SCHEDULE": f"{kinds[sched]},{chunk}",
        "OMP_NESTED": max_active > 1,
        "OMP_MAX_ACTIVE_LEVELS": max_active,
        "OMP_THREAD_LIMIT": limit,
        "OMP_STACKSIZE": values["stacksize"],
        "OMP_WAIT_POLICY": values["wait_policy"].upper(),
        "OMP_CANCELLATION": bool(cancellation),
        "OMP_PROC_BIND": [k for k, v in BINDS.items() if v == bind][0].upper(),
        "OMP_PLACES": os.environ.get("OMP_PLACES", ""),
        "OMP_MAX_TASK_PRIORITY": priority,
        "OMP_DISPLAY_AFFINITY": bool(values["display_affinity"]),
        "OMP_AFFINITY_FORMAT": values["affinity_format"],
    }
    if verbose:
        rows.update({"UNISONO_OMP_SPIN_NS": spin, "processors": procs})
    print("OPENMP DISPLAY ENVIRONMENT BEGIN", file=sys.stderr)
    for name, value in rows.items():
        print(f"  {name} = '{str(value).upper() if isinstance(value, bool) else value}'", file=sys.stderr)
    print("OPENMP DISPLAY ENVIRONMENT END", file=sys.stderr)
