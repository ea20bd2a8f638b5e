# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP for Python. `from unisono.omp import *`, decorate a function with @omp, write directives as omp("...").

See docs/omp-guide.md for an introduction and docs/omp-reference.md for every directive, clause, routine and variable.
"""

import atexit
import os
import sys
import threading

from . import _rt, env, routines
from .api import explain, omp, openmp
from .errors import OmpError, OmpSyntaxError

__version__ = "0.1.0"
_count = 0


def _spawn():
    """Starts a worker thread for the C run-time."""
    global _count
    _count += 1
    before = threading.stack_size(env.values["stacksize"]) if env.values["stacksize"] else None
    try:
        threading.Thread(target=_rt.worker, name=f"omp-{_count}", daemon=True).start()
    finally:
        if before is not None:
            threading.stack_size(before)


def _view(array):
    """A thread's own array over the same memory."""
    try:
        view = sys.modules["numpy"].asarray(memoryview(array))
        return view if view.dtype == array.dtype and view.shape == array.shape else array
    except (ValueError, TypeError, BufferError):
        return array


def _gil_warning():
    import warnings

    warnings.warn(
        "this CPython has a GIL: the threads of a parallel region take turns and nothing runs faster; "
        "a free-threaded CPython (3.13t or later; tools/free-threaded-python builds one) runs them at once",
        RuntimeWarning,
        stacklevel=3,
    )


_has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
_rt.hooks(_spawn, None if _has_gil else _view, _gil_warning if _has_gil else None)
env.read()
atexit.register(_rt.shutdown)
if os.environ.get("UNISONO_OMP_TRACE"):
    from . import trace

    trace.start(os.environ["UNISONO_OMP_TRACE"])

for _module in (_rt, routines):
    globals().update({n: getattr(_module, n) for n in dir(_module) if n.startswith("omp_")})
__all__ = ["omp", "openmp", "explain", "OmpError", "OmpSyntaxError"] + [n for n in dir() if n.startswith("omp_")]
