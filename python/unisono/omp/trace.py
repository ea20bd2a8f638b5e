# SPDX-License-Identifier: BSD-3-Clause
"""UNISONO_OMP_TRACE=file.json: the timeline of regions, chunks, waits, locks and tasks, one row per thread, in the
Chrome trace format (chrome://tracing, Perfetto). Imported only when the variable is set; written when the program
ends."""

import atexit
import json
import os
import threading

from . import _rt


def start(path):
    """Records from now on; writes the file at exit."""
    _rt.trace_start()
    atexit.register(write, path)


def write(path):
    """Writes all events so far."""
    names = {t.ident: t.name for t in threading.enumerate()}
    rows, events = {}, []
    for name, begin, end, number, level, ident in sorted(_rt.trace_events(), key=lambda e: e[1]):
        row = rows.setdefault(ident, len(rows))
        events.append(
            {
                "name": name,
                "ph": "X",
                "ts": begin / 1000,
                "dur": (end - begin) / 1000,
                "pid": os.getpid(),
                "tid": row,
                "args": {"thread": number, "level": level},
            }
        )
    for ident, row in rows.items():
        events.append(
            {
                "name": "thread_name",
                "ph": "M",
                "pid": os.getpid(),
                "tid": row,
                "args": {"name": names.get(ident, "thread")},
            }
        )
    with open(path, "w") as f:
        json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, f)
