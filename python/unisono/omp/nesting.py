# SPDX-License-Identifier: BSD-3-Clause
"""What may stand inside what, as far as the text shows it; the run-time (nest.c) finds what comes through a call. Used
by annotate.py, outer directives first."""

import ast

from ._rt import walk
from .names import Events

LOOPS = {"for", "loop", "simd", "taskloop", "distribute"}
WORK = {"for", "loop", "sections", "section", "single", "scope", "workshare"}
_PARTS = WORK | {"master", "masked", "critical", "ordered", "atomic", "task", "taskloop"}
_FORBIDDEN = {
    "barrier": _PARTS | {"simd"},
    "master": WORK | {"atomic", "task", "taskloop", "simd"},
    "ordered": {"critical", "ordered", "atomic", "task", "taskloop", "sections", "section", "single", "scope"},
}
_FORBIDDEN["masked"] = _FORBIDDEN["master"]
_FORBIDDEN.update({w: _FORBIDDEN["barrier"] for w in WORK - {"section", "loop"}})
_FORBIDDEN["loop"] = _FORBIDDEN["barrier"] - {"for", "loop", "simd", "distribute", "task", "taskloop"}
_IN_TEAMS = {"distribute", "parallel", "loop", "atomic"}
_CLOSED = {"parallel", "target", "teams"}  # a block with implicit tasks of its own: nothing outside it counts


def kind_of(d):
    """The word of a directive that says what its block is; simd says something only alone."""
    words = [w for w in d.words if w != "simd"]
    return words[-1] if words else "simd"


def check(d, around):
    """Refuses a directive that may not stand inside the directives around it, innermost last."""
    if d.words[0] in ("cancel", "cancellation point"):
        return _check_cancel(d, around)
    first = d.words[0]
    if first == "ordered" and not d.standalone:
        _check_ordered(d, around)
    for outer in reversed(around):
        kind = kind_of(outer)
        simd = outer.words[-1] == "simd" and "simd" in _FORBIDDEN.get(first, ())
        if simd or kind in _FORBIDDEN.get(first, ()):
            raise d.error(f"{first}: not allowed inside {outer.name}; threads would wait for each other for ever")
        if kind == "critical" and first == "critical" and outer.argument == d.argument:
            raise d.error(f"critical: already inside critical({d.argument}), which would wait for itself for ever")
        if kind == "teams" and first not in _IN_TEAMS:
            raise d.error(f"{first}: not allowed directly inside teams; {', '.join(sorted(_IN_TEAMS))} are")
        if kind in _CLOSED:
            break
    if first == "distribute" and not (around and kind_of(around[-1]) == "teams"):
        raise d.error("distribute: only directly inside teams")
    return None


def _check_cancel(d, around):
    allowed = {"taskgroup": ("task", "taskloop"), "sections": ("sections", "section")}.get(d.argument, (d.argument,))
    if around and kind_of(around[-1]) in allowed:
        return
    where = f"; here it is inside {around[-1].name}" if around else ""
    raise d.error(f"{d.words[0]} {d.argument}: only directly inside {' or '.join(allowed)}{where}")


def _check_ordered(d, around):
    for outer in reversed(around):
        if kind_of(outer) in ("for", "loop"):
            if not outer.one("ordered") and not d.one("simd"):
                raise d.error(f"ordered: the {outer.name} around it has no ordered clause")
            return
        if kind_of(outer) in _CLOSED:
            return


def check_loop(d, body, fail):
    """The variables of the loops that the directive shares out are the directive's own: nobody else assigns them."""
    count = max([c.value for c in d.all("collapse", "ordered") if c.value] or [1])
    targets, deep = [], body
    for _ in range(count):
        loops = [s for s in deep if isinstance(s, ast.For)]
        if len(loops) != 1:
            break
        targets += [t.id for t in walk(loops[0].target, ast.Name)]
        deep = loops[0].body
    for c in d.all("firstprivate", "shared", "reduction", "in_reduction"):
        for n in set(c.names) & set(targets):
            raise d.error(f"{c.kind}({n}): a loop variable may only be in private, lastprivate or linear")
    for n in targets:
        if targets.count(n) > 1:
            raise d.error(f"two of the loops have the variable {n!r}")
    for n, kind, node in Events().run(deep).events:
        if n in targets and kind != "load":
            raise fail(f"omp({d.name!r}): the loop variable {n!r} is assigned inside the loop", node)


def check_names(d, known):
    """The variables in data clauses, and of a flush, are variables of the function or its module."""
    for n in d.argument if d.words == ["flush"] else ():
        if n not in known:
            raise d.error(f"flush({n}): the function and its module have no variable {n!r}")
    for c in d.clauses:
        for n in c.names:
            if n not in known and c.kind not in ("detach", "object"):
                what = "threadprivate variable" if c.kind == "copyin" else "variable"
                raise d.error(f"{c.kind}({n}): the function and its module have no {what} {n!r}")
