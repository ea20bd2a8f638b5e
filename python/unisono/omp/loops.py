# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites the worksharing constructs that hand out iterations: for, loop, simd and sections."""

import ast

from ._rt import walk
from . import carried
from .build import assign, attribute, call, const, expr, for_, if_, item, lambda_, name, try_finally, tuple_
from .leaving import barriers, loop_or_fail
from .names import Events, Rename
from .regions import copies, partials, reduce
from .rewrite import HANDLERS, handles
from .views import elements_only

STATIC, DYNAMIC = 1, 2
ORDERED, NOWAIT, CANCELLABLE, INDEXED, DOACROSS = 1, 2, 4, 8, 16
_FLUSHES = {
    "critical",
    "atomic",
    "flush",
    "barrier",
    "ordered",
    "task",
    "taskwait",
    "taskloop",
    "taskgroup",
    "parallel",
    "single",
}


def nest(r, d, body, deep=0):
    """The loops that belong to the directive, outermost first; the first `deep` ones if that is more."""
    count, loops = d.one("collapse").value if d.one("collapse") else 1, []
    count = max(count, deep)
    for depth in range(count):
        real = [s for s in body if not _is_note(s)]
        if len(real) != 1 or not isinstance(real[0], ast.For):
            clause = "ordered" if deep == count else "collapse"
            what = (
                "the block must be one for loop"
                if depth == 0
                else f"{clause}({count}) needs {count} loops, each alone in the other"
            )
            raise r.fail(f"omp({d.name!r}): {what}", real[0] if real else d.where)
        loop = real[0]
        if loop.orelse:
            raise r.fail(f"omp({d.name!r}): the loop cannot have an else", loop.orelse[0])
        loops.append(loop)
        body = loop.body
    return loops


def _is_note(s):
    """Annotations without a value and documentation strings say nothing at run time."""
    return (isinstance(s, ast.AnnAssign) and s.value is None) or (
        isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)
    )


def targets(loops):
    return [t.id for loop in loops for t in walk(loop.target) if isinstance(t, ast.Name)]


def space(r, loops, scope):
    """How to run through the iterations: (statements before, maker of the loop object, target, statements in front of
    the body)."""
    if len(loops) == 1:
        it = loops[0].iter
        bounds = bounds_of(r, it, scope)
        if bounds:
            return [], lambda how: r.call("loop", *bounds, *how, it.func, const(len(it.args))), loops[0].target, []
        return [], lambda how: r.call("loop_over", it, *how), loops[0].target, []
    space_, at, makers, seen = r.fresh("space"), r.fresh("at"), [], []
    for loop in loops:
        makers.append(lambda_(_used(loop.iter, seen), loop.iter))
        seen += [t.id for t in walk(loop.target) if isinstance(t, ast.Name)]
    flat = all(isinstance(loop.target, ast.Name) for loop in loops)
    ids = tuple_(const(loop.target.id if flat else None) for loop in loops)
    target = ast.Tuple([loop.target for loop in loops], ast.Store())
    start = [assign(space_, r.call("space", tuple_(makers), ids))]
    length = attribute(space_, "size")
    decode = [ast.Assign([target], ast.Call(attribute(space_, "at"), [name(at)], []))]
    return start, lambda how: r.call("loop", const(0), length, const(1), *how), name(at, True), decode


def _used(tree, names):
    return [n for n in names if any(isinstance(t, ast.Name) and t.id == n for t in walk(tree))]


def bounds_of(r, it, scope):
    """start, stop, step of a call of range, else None. That it is the builtin one is certain but for a global variable
    that the module gets later."""
    if not (isinstance(it, ast.Call) and isinstance(it.func, ast.Name) and it.func.id == "range" and not it.keywords):
        return None
    if (
        "range" in r.function.__globals__
        or scope.where("range") != "global"
        or not 1 <= len(it.args) <= 3
        or any(isinstance(a, ast.Starred) for a in it.args)
    ):
        return None
    a = it.args
    return [const(0), a[0], const(1)] if len(a) == 1 else [a[0], a[1], a[2] if len(a) == 3 else const(1)]


@handles("loop")
def loop_(r, d, node, scope, known):
    """Shared out among what bind says: the threads of the team as `for` does, the teams of a league, or nobody."""
    around = {None: "parallel", "parallel": "parallel", "target": "parallel", "teams": "teams"}
    bind = d.one("bind").value if d.one("bind") else around.get(d.inside, "thread")
    if bind == "parallel":
        return for_loop(r, d, node, scope, known)
    clauses = [c for c in d.clauses if c.kind != "bind"]
    node._omp = type(d)(["distribute" if bind == "teams" else "simd"], clauses, None, d.where, d.filename)
    scope.refresh(node)
    return HANDLERS[node._omp.name](r, node._omp, node, scope, known)


@handles("for")
def for_loop(r, d, node, scope, known):
    loops = nest(r, d, node.body)
    taken = set(d.names("private", "firstprivate", "lastprivate", "reduction", "linear"))
    own = [n for n in targets(loops) if n not in taken and scope.where(n) != "own"]
    d.clauses += _private(own)
    if d.modified("reduction", "inscan"):
        return carried.inscan(r, d, node, scope, known, loops)
    linear = d.names("linear")
    begin = {n: r.fresh("begin") for n in linear}
    start = [assign(begin[n], r.argument(n, known, scope)) for n in linear]
    mapping, more = copies(r, d, node, scope, known, ("private", "firstprivate", "lastprivate", "reduction", "linear"))
    start += more + partials(r, d, mapping, scope, known)
    loops = nest(r, d, node.body)
    start += _views(r, d, node, loops, scope, known)
    return _emit(r, d, loops, scope, known | set(mapping.values()) | set(targets(loops)), (mapping, begin, start))


def _private(names):
    from .directive import Clause

    return [Clause("private", names)] if names else []


def _emit(r, d, loops, scope, known, names):
    mapping, begin, first = names
    loop, schedule = r.fresh("loop"), d.one("schedule")
    cancels, conditional = _cancels(loops[-1].body), carried.conditional(d)
    across = carried.across(r, d, loops[-1].body)
    ordered = DOACROSS if across else bool(d.one("ordered")) and ORDERED
    barrier = not d.one("nowait") and not d.reductions() and not conditional
    flags = ordered | (0 if barrier else NOWAIT) | (CANCELLABLE if cancels else 0)
    flags |= INDEXED if begin or conditional else 0
    kind = schedule.value if schedule else STATIC
    how = [const(kind), schedule.exprs[0] if schedule and schedule.exprs else const(None), const(flags)]
    before, make, target, decode = space(r, loops, scope)
    hoist = scope.hoist is None
    if hoist:
        scope.hoist = []
    started, when, noted = [], *carried.marks(r, conditional, mapping)
    if conditional:
        loops[-1].body = carried.mark(loops[-1].body, when, lambda: attribute(loop, "index"))
    if across:
        deep = nest(r, d, [loops[0]], across)
        start, variables = carried.nest_across(r, deep, loop, scope)
        started = [start]
        r.across.append((loop, variables, scope))
    body = decode + _linear(r, d, mapping, begin, loop) + r.block(loops[-1].body, scope, known)
    if across:
        r.across.pop()
    made = scope.hoist if hoist else []
    if hoist:
        scope.hoist = None
    run = _compiled(r, d, loops, scope, known, mapping, loop) if r.options.get("compile") else None
    if run is None:
        run = ast.copy_location(for_(target, name(loop), body or [ast.Pass()]), loops[0])
    body = first + made + before + noted + [assign(loop, make(how)), *started] + guard(r, [run], loop, cancels, ordered)
    after = _ending(r, d, scope, loop, (mapping, conditional, when))
    return loop_or_fail(r, loop, body, barriers(after) + barrier) + after


def _ending(r, d, scope, loop, names):
    """What follows the iterations of a loop or sections."""
    mapping, conditional, when = names
    result, last = [], [n for n in d.names("lastprivate", "linear") if n not in conditional]
    if set(last) & set(d.names("firstprivate", "linear")):
        result.append(expr(r.call("meet")))  # everybody has read the originals before somebody writes them
    if last:
        result += last_values(r, d, last, mapping, scope, loop)
    result.append(expr(r.call("loop_end", name(loop))))
    if conditional:
        result += carried.latest(r, d, conditional, mapping, when, scope)
    if d.reductions():
        result += reduce(r, d, mapping, scope)
    return result


def _compiled(r, d, loops, scope, known, mapping, loop):
    """The loop as calls of a compiled kernel, where its shape allows it."""
    from . import compiled

    events = Events().run(loops[-1].body).events
    shared = {n for n, kind, _ in events if n and kind != "load" and scope.where(n) != "own"}
    if (
        len(loops) > 1
        or shared
        or not bounds_of(r, loops[0].iter, scope)
        or d.names("lastprivate", "linear")
        or d.one("ordered")
    ):
        return None
    function_level = {n for n in known | scope.known | scope.locals if scope.where(n) != "global"}
    captured = {n for n, kind, _ in events if n and kind == "load" and scope.where(n) == "outer"}
    partials_ = set(mapping.values()) | scope.chosen
    stored = {n for n, kind, _ in events if n and kind != "load"}
    usable = {n for n in function_level if n in known or n in scope.known or n not in stored} | captured
    found = compiled.loop_kernel(r, loops[0], events, usable, partials_, d)
    return ast.copy_location(compiled.emit(r, loops[0], loop, found), loops[0]) if found else None


def _linear(r, d, mapping, begin, loop):
    """linear: in iteration k the variable starts as begin + k * step."""
    result = []
    for c in d.all("linear"):
        for n in c.names:
            moved = ast.BinOp(c.exprs[0], ast.Mult(), attribute(loop, "index"))
            result.append(assign(mapping[n], ast.BinOp(name(begin[n]), ast.Add(), moved)))
    return result


def guard(r, run, loop, cancels, ordered):
    if not cancels and not ordered:
        return run
    left = ast.ExceptHandler(name(r.rt("left")), None, [ast.Pass()])
    run = [ast.Try(run, [left], [], [])]
    return [try_finally(run, [expr(call(attribute(loop, "forget")))])]


def _cancels(body):
    return any(
        hasattr(n, "_omp")
        and n._omp.words[0] in ("cancel", "cancellation point")
        and n._omp.argument in ("for", "sections")
        for s in body
        for n in walk(s)
    )


def last_values(r, d, names, mapping, scope, loop):
    """The thread that ran the last iteration gives its values to the originals."""
    if any(scope.where(n) == "own" for n in names):
        # Each thread has its own original (an orphaned construct): all get the values.
        part = r.fresh("part")
        value = ast.IfExp(attribute(loop, "last"), tuple_(name(mapping[n]) for n in names), const(None))
        give = [assign(n, item(name(part), i)) for i, n in enumerate(names)]
        return [
            for_(
                name(part, True),
                r.call("gather", value),
                [if_(ast.Compare(name(part), [ast.IsNot()], [const(None)]), give)],
            )
        ]
    for n in names:
        scope.make_global(n)
    return [if_(attribute(loop, "last"), [assign(n, name(mapping[n])) for n in names])]


def _views(r, d, node, loops, scope, known):
    """Shared variables that somebody may write elsewhere, but this loop only reads: the thread's own copy for its
    duration.

    The memory model allows it as long as nothing in the loop is a flush.
    """
    if any(hasattr(n, "_omp") and _FLUSHES & set(n._omp.words) for s in node.body for n in walk(s)):
        return []
    if any(
        isinstance(n, (ast.Name, ast.Attribute)) and "lock" in (getattr(n, "id", None) or n.attr)
        for s in node.body
        for n in walk(s)
    ):
        return []
    events = Events().run(loops[-1].body).events
    bound = {n for n, kind, _ in events if kind != "load"}
    late = _late(scope)
    names = [
        n
        for n in dict.fromkeys(n for n, kind, _ in events if n and kind == "load")
        if n not in bound and scope.outlined and scope.where(n) == "outer" and n in scope.known and n not in late
    ]
    if not names:
        return []
    mapping = {n: f"_omp_{n}_{r._next()}" for n in names}
    r.renamed.update({new: r.renamed.get(n, n) for n, new in mapping.items()})
    loops[-1].body = [Rename(mapping).visit(s) for s in loops[-1].body]
    seen = elements_only(loops[-1].body, mapping.values())
    scope.refresh(node)
    scope.locals |= set(mapping.values())
    return [assign(new, r.call("view" if new in seen else "localize", name(old))) for old, new in mapping.items()]


def _late(scope):
    late = set()
    while scope is not None:
        late |= set(getattr(scope, "late", ()))
        scope = scope.parent
    return late


@handles("simd")
def simd(r, d, node, scope, known):
    loops = nest(r, d, node.body)
    mapping, start = copies(r, d, node, scope, known, ("private",))
    loops = nest(r, d, node.body)
    if d.modified("reduction", "inscan"):
        carried.halves(r, d, loops[-1].body, mapping)
        r.scans += 1
    loops[-1].body = r.block(loops[-1].body, scope, known | set(mapping.values()) | set(targets(loops)))
    r.scans -= bool(d.modified("reduction", "inscan"))
    return start + [loops[0]]


def _sections(r, d, body):
    """The blocks: what stands in front of the first section is the first one, as in C."""
    blocks, loose = [], []
    for s in body:
        if hasattr(s, "_omp") and s._omp.name == "section":
            if loose:
                blocks.append(loose)
                loose = []
            blocks.append(s.body)
        elif blocks:
            raise r.fail("omp('sections'): only sections may follow a section", s)
        else:
            loose.append(s)
    return blocks + ([loose] if loose else [])


@handles("sections")
def sections(r, d, node, scope, known):
    mapping, start = copies(r, d, node, scope, known, ("private", "firstprivate", "lastprivate", "reduction"))
    start += partials(r, d, mapping, scope, known)
    known = known | set(mapping.values())
    blocks = _sections(r, d, node.body)
    cancels, conditional = _cancels(node.body), carried.conditional(d)
    loop, which = r.fresh("loop"), r.fresh("section")
    when, noted = carried.marks(r, conditional, mapping)
    blocks = [carried.mark(block, when, lambda: name(which)) for block in blocks]
    barrier = not d.one("nowait") and not d.reductions() and not conditional
    chain = []
    for i, block in reversed(list(enumerate(blocks))):
        test = ast.Compare(name(which), [ast.Eq()], [const(i)])
        chain = [if_(test, r.block(block, scope, known) or [ast.Pass()], chain)]
    flags = (0 if barrier else NOWAIT) | (CANCELLABLE if cancels else 0)
    make = r.call("loop", const(0), const(len(blocks)), const(1), const(DYNAMIC), const(1), const(flags))
    run = [for_(name(which, True), name(loop), chain or [ast.Pass()])]
    body = start + noted + [assign(loop, make)] + guard(r, run, loop, cancels, 0)
    after = _ending(r, d, scope, loop, (mapping, conditional, when))
    return loop_or_fail(r, loop, body, barriers(after) + barrier) + after


@handles("section")
def section(r, d, node, scope, known):
    raise d.error("section: only directly inside sections")
