# SPDX-License-Identifier: BSD-3-Clause
"""omp() itself: decorator, directive and explain(). The rewriter is imported when the first function is decorated."""

from __future__ import annotations

import functools
import sys

from .errors import OmpError
from .wrapped import replaced, rewrapped

TYPE_CHECKING = False  # as typing has it, without the time that its import takes
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_MODULE_LEVEL = ("threadprivate", "declare reduction")


def omp(arg: Any = None, /, **options: Any) -> Any:
    """`@omp` on a function or class runs the directives inside it; `omp("...")` in such a function is a directive.

    Options of the decorator: compile (loops are compiled by Numba where it can), check (reports races on shared
    variables); others that OMP4Py knows are accepted and ignored.
    """
    if isinstance(arg, str):
        return _loose(arg, sys._getframe(1))
    if arg is None:
        if "pkg" in options:
            raise OmpError("omp(pkg=...): no package is rewritten as a whole; decorate functions or classes with @omp")
        return functools.partial(_decorate, options=options)
    return _decorate(arg, options)


openmp = omp


def _decorate(obj, options):
    options = {k: v for k, v in options.items() if k in ("compile", "check")}
    again = replaced(obj, functools.partial(_function, options=options))
    if again is NotImplemented:
        raise TypeError(f"omp: a directive, a function or a class expected, not {type(obj).__name__}")
    return again


def _function(function, options):
    from .function import rewrite, uses_directives
    from .errors import OmpSyntaxError

    if hasattr(function, "__omp_source__"):
        return function  # it, or what it wraps, was decorated before
    if hasattr(function, "__wrapped__") and not uses_directives(function):
        return rewrapped(function, functools.partial(_function, options=options))
    try:
        return rewrite(function, options)
    except OmpSyntaxError as error:
        raise error.with_traceback(None) from None


def _loose(text, frame):
    """A directive that is executed: at module level a declaration, elsewhere a function that nobody decorated."""
    code = frame.f_code
    if code.co_name == "<module>" and text.strip().startswith(_MODULE_LEVEL):
        import ast

        from . import directive, support, threadprivate

        where = ast.Constant(text, lineno=frame.f_lineno, col_offset=0, end_lineno=frame.f_lineno, end_col_offset=0)
        d = directive.parse(text, where, code.co_filename)
        if d.name == "threadprivate":
            threadprivate.threadprivate_in(frame.f_globals).add(d.argument)
        else:
            start = d.expr("initializer")
            support.declared_reductions(frame.f_globals)[d.argument[0]] = (
                d.argument[1],
                ast.unparse(start) if start else None,
            )
        return None
    place = (
        "at module level" if code.co_name == "<module>" else f"in {code.co_qualname}, which is not decorated with @omp"
    )
    raise OmpError(
        f"omp({text!r}) {place} ({code.co_filename}:{frame.f_lineno}): "
        "directives work inside functions and classes decorated with @omp"
    )


def explain(function: Callable[..., Any]) -> str:
    """Prints the rewritten source of a decorated function and returns it."""
    function = getattr(function, "__func__", function)
    text = getattr(function, "__omp_source__", None)
    text = str(text) if text is not None else "# no directives: the function runs as it is written\n"
    print(text)
    return text
