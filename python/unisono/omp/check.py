# SPDX-License-Identifier: BSD-3-Clause
"""check=True: reports a shared variable that two threads of a team write between the same two barriers, outside
critical, atomic, single, master, ordered and reductions. A hint, not a proof: it sees what ran, and only variables
(no elements, no attributes)."""

import threading
import warnings

from . import _rt


class RaceWarning(RuntimeWarning):
    """Two threads wrote a shared variable without anything that orders them."""


_lock = threading.Lock()
_writes = {}
_said = set()


def note(name, filename, line):
    """The calling thread has written the variable in that line."""
    if _rt.omp_get_num_threads() == 1:
        return
    me, phase = _rt.omp_get_thread_num(), _rt.phase()
    with _lock:
        before = _writes.get((filename, name))
        if before is not None and before[0] == phase and before[1] != me:
            key = (filename, name, *sorted((before[2], line)))
            if key not in _said:
                _said.add(key)
                warnings.warn(
                    f"shared variable {name!r} is written by thread {before[1]} in line {before[2]} and by thread {me} "
                    f"in line {line} of {filename} with nothing to order them: "
                    "use reduction, atomic, critical or private",
                    RaceWarning,
                    stacklevel=3,
                )
        _writes[filename, name] = (phase, me, line)
