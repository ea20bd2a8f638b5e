# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites parallel, single, master, masked, scope, critical, atomic, ordered, barrier, flush, cancel and the
declarations."""

import ast

from ._rt import walk
from . import support
from .build import PREFIX, assign, attribute, call, const, expr, for_, if_, item, name, try_finally, tuple_
from .leaving import MASTER, WORK, barriers, otherwise, work_or_fail
from .names import Events
from .rewrite import handles
from .scope import plan
from .threadprivate import copyin, copyout
from .views import elements_only

_CANCEL = {"parallel": 1, "for": 2, "sections": 3, "taskgroup": 4}


@handles("parallel")
def parallel(r, d, node, scope, known):
    if len(d.words) > 1:
        _split(d, node)
        d = node._omp
        scope.refresh(node)

    def run(name_, args, collect):
        return r.call("parallel", name_, args, *_how(d, collect))

    return outlined(r, d, node, scope, known, run)


def outlined(r, d, node, scope, known, run):
    """The block as a function; run(its name, arguments, whether results are wanted) is the call that runs it."""
    p = plan(d, node, scope, known)
    first, private = d.names("firstprivate"), _touched(d, node)
    reductions = d.reductions()
    passed = p.passed + first + private + [n for _, n in reductions]
    prologue = [assign(n, r.call("copy", name(n))) for n in first]
    prologue += [assign(n, r.call("private", name(n))) for n in private]
    for n in passed:
        prologue += r.given(n, () if n in private else known, _ALWAYS if n in private else scope)
    prologue += [assign(n, r.call("view", name(n))) for n in sorted(elements_only(node.body, p.passed))]
    for operator, n in reductions:
        r.combiner(operator, d.where, scope)
        prologue.append(assign(n, r.identity(operator, name(n))))
    copied = d.names("copyin")
    if copied:
        prologue.append(expr(call(r.value(PREFIX + "copyin", copyin), name(_holder(r, d)), name("_omprt_copied"))))
    epilogue = [ast.Return(tuple_(name(n) for _, n in reductions))] if reductions else []
    start, end = task_modifier(r, d, scope)
    id_, made = r.outline("region", node, p, scope, known, prologue + start, end + epilogue)
    f = made[0] if made else scope.hoist[-1]
    f.args.args = [ast.arg(n) for n in passed + (["_omprt_copied"] if copied else [])]
    args = [r.argument(n, known, scope) for n in passed]
    if copied:
        args.append(call(r.value(PREFIX + "copyout", copyout), name(_holder(r, d)), const(tuple(copied))))
    call_ = run(name(id_), tuple_(args), bool(reductions))
    if not reductions:
        return made + [expr(call_)]
    part = r.fresh("part")
    return made + [for_(name(part, True), call_, _add_up(r, scope, reductions, part))]


class _Always:
    def where(self, _):
        return "own"


_ALWAYS = _Always()


def _add_up(r, scope, reductions, part):
    """target = target (operator) part[i] for each reduction variable."""
    result = []
    for i, (operator, n) in enumerate(reductions):
        scope.make_global(n)
        result.append(r.combine(operator, n, item(name(part), i)))
    return result


def _touched(d, node):
    """Private variables that the block uses before it binds them: containers, of which each thread gets its own."""
    private, first = d.names("private"), {}
    for n, kind, _ in Events().run(node.body).events if private else ():
        if n:
            first.setdefault(n, kind)
    return [n for n in private if first.get(n) == "load"]


def _holder(r, d):
    if not r.threadprivate or not set(d.names("copyin")) <= set(r.threadprivate.names):
        raise d.error("copyin: the variables must be threadprivate")
    return "_omprt_threadprivate"


def _condition(d, which):
    for c in d.all("if"):
        if c.value in (None, which):
            return c.exprs[0]
    return None


def _how(d, collect):
    threads, enabled, bind = d.expr("num_threads"), _condition(d, "parallel"), d.one("proc_bind")
    how = [threads or const(None), enabled or const(True), const(bind.value if bind else 0), const(collect)]
    defaults = [None, True, 0, False]
    while how and isinstance(how[-1], ast.Constant) and how[-1].value is defaults[len(how) - 1]:
        how.pop()
    return how


# What goes back to the variables around the inner construct, which are therefore shared by the region.
_GIVEN_BACK = {"lastprivate", "linear", "reduction", "in_reduction", "firstprivate"}


def _split(d, node):
    """parallel for -> parallel with a for inside: data clauses go to the region, what shares out the work to the
    loop."""
    both = set(d.names("firstprivate")) & set(d.names("lastprivate"))
    outer, inner = [], []
    shares = (
        "schedule",
        "collapse",
        "ordered",
        "lastprivate",
        "linear",
        "filter",
        "grainsize",
        "num_tasks",
        "priority",
        "final",
        "untied",
        "mergeable",
        "nogroup",
        "in_reduction",
    )
    for c in d.clauses:
        if c.kind == "firstprivate" and both:
            inner.append(type(c)(c.kind, [n for n in c.names if n in both]))
            outer.append(type(c)(c.kind, [n for n in c.names if n not in both]))
        elif c.kind == "if" and c.value == "taskloop":
            inner.append(c)
        elif c.kind == "reduction" and ("taskloop" in d.words or c.modifier == "inscan"):
            inner.append(c)
        else:
            (inner if c.kind in shares else outer).append(c)
    block = ast.copy_location(ast.With(node.items, node.body), node)
    block._omp = type(d)(d.words[1:], inner, None, d.where, d.filename)
    block._omp.inside = "parallel"
    if d.words[1] in ("for", "sections", "loop"):
        block._omp.clauses.append(type(d.clauses[0] if d.clauses else _any())("nowait"))
        targets = {t.id for t in _targets(node.body, d)} - set(
            d.names("lastprivate", "linear", "private", "firstprivate", "reduction")
        )
        if targets:
            outer.append(_any(list(targets)))
    node.body = [block]
    said = {n for c in outer for n in c.names}
    given = [n for c in inner if c.kind in _GIVEN_BACK for n in c.names]
    given = [n for n in dict.fromkeys(given) if n not in said]
    if given:
        outer.append(_any(given))
        outer[-1].kind = "shared"
    node._omp = type(d)(["parallel"], outer, None, d.where, d.filename)


def _any(names=()):
    from .directive import Clause

    return Clause("private", names)


def _targets(body, d):
    """The variables of the loops that the directive shares out."""
    count, result = (d.one("collapse").value if d.one("collapse") else 1), []
    while count and len(body) == 1 and isinstance(body[0], ast.For):
        result += [t for t in walk(body[0].target) if isinstance(t, ast.Name)]
        body, count = body[0].body, count - 1
    return result


def copies(r, d, node, scope, known, kinds=("private", "firstprivate")):
    """Private copies for a construct in place: renames them in the block; returns (old -> new, first statements)."""
    touched = set(_touched(d, node))
    names = list(dict.fromkeys(d.names(*kinds)))
    mapping = r.rename(names, node, scope)
    start = []
    for n in names:
        if n in d.names("firstprivate"):
            start.append(assign(mapping[n], r.call("copy", r.argument(n, known, scope))))
            start += r.given(mapping[n], {mapping[n]} if r.sure(n, known, scope) else (), _ALWAYS)
        elif n in d.names("private") and n in touched:
            start.append(assign(mapping[n], r.call("private", r.argument(n, known, scope))))
            start += r.given(mapping[n], (), _ALWAYS)
    return mapping, start


def reduce(r, d, mapping, scope):
    """Statements that put the threads' partial results together; a barrier is in them."""
    reductions = d.reductions()
    own = any(scope.where(n) == "own" for _, n in reductions)

    def add(part, all_):
        here = ast.Compare(name(part), [ast.IsNot()], [const(None)])  # a thread that failed brings nothing
        return [for_(name(part, True), name(all_), [if_(here, _add_up(r, scope, reductions, part))])]

    return d.ending + reduce_with(r, tuple_(name(mapping[n]) for _, n in reductions), own, add)


def reduce_with(r, value, own, give):
    """Every thread brings its value; give(part, all) makes the statements that use the list of all of them. A barrier
    is in it. `own`: the variables are each thread's own (an orphaned construct), so every thread runs them."""
    part, all_ = r.fresh("part"), r.fresh("parts")
    if own:
        return [assign(all_, r.call("gather", value)), *give(part, all_)]
    last = ast.Compare(name(all_), [ast.IsNot()], [const(None)])
    return [
        assign(all_, r.call("reduce", value)),
        if_(last, [try_finally(give(part, all_), [expr(r.call("reduced"))])]),
    ]


def partials(r, d, mapping, scope, known):
    start = []
    for operator, n in d.reductions():
        r.combiner(operator, d.where, scope)
        scope.make_global(n)
        start.append(assign(mapping[n], r.identity(operator, name(n))))
    more, d.ending = task_modifier(r, d, scope, mapping)
    return start + more


def task_modifier(r, d, scope, mapping=None):
    """reduction(task, ...): (first statements, last statements) around the block as each thread runs it."""
    names = d.modified("reduction", "task")
    if not names:
        return [], []
    from .tasks import open_group

    renamed = mapping or {n: n for n in names}
    start, end = open_group(r, d, [(o, renamed[n]) for o, n in d.reductions() if n in names], scope)
    return start, [expr(r.call("meet")), *end]  # behind the barrier all tasks of the team are done


@handles("single")
def single(r, d, node, scope, known):
    mapping, start = copies(r, d, node, scope, known)
    body = start + r.block(node.body, scope, known | set(mapping.values()))
    shared = [mapping.get(n, n) for n in d.names("copyprivate")]
    if shared:
        target = ast.Tuple([name(n, True) for n in shared], ast.Store())
        held = _held(r, shared)
        target.elts = [held(n, True) for n in shared]
        body.append(expr(r.call("share", tuple_(held(n) for n in shared))))
        body = [otherwise(body, expr(r.call("share_failed"))), expr(r.call("leave", const(WORK)))]
        return [if_(r.call("single"), body, [ast.Assign([target], r.call("shared"))])]
    after = [] if d.one("nowait") else [expr(r.call("meet"))]
    return [if_(r.call("single"), work_or_fail(r, body or [ast.Pass()], len(after)))] + after


def _held(r, names):
    private = set(getattr(r.threadprivate, "names", ()) or ())

    def make(n, store=False):
        if n in private:
            node = attribute("_omprt_threadprivate", n)
            node.ctx = ast.Store() if store else ast.Load()
            return node
        return name(n, store)

    return make


@handles("master", "masked")
def master(r, d, node, scope, known):
    if len(d.words) > 1:
        inner = ast.copy_location(ast.With(node.items, node.body), node)
        inner._omp = d.part(*d.words[1:])
        inner._omp.clauses = [c for c in d.clauses if c.kind != "filter"]
        node.body = [inner]
        node._omp = d.part(d.words[0])
        scope.refresh(node)
    test = r.call("masked", d.expr("filter") or const(0), const(d.words[0]))
    leave = expr(r.call("leave", const(MASTER)))
    return [if_(test, [try_finally(r.block(node.body, scope, known) or [ast.Pass()], [leave])])]


@handles("scope")
def scope_(r, d, node, scope, known):
    mapping, start = copies(r, d, node, scope, known, ("private", "firstprivate", "reduction"))
    start += partials(r, d, mapping, scope, known)
    body = start + r.block(node.body, scope, known | set(mapping.values()))
    after = [] if d.one("nowait") else [expr(r.call("meet"))]
    if d.reductions():
        after = reduce(r, d, mapping, scope)
    begin = expr(r.call("enter", const(WORK), const("scope")))
    return [begin, *work_or_fail(r, body or [ast.Pass()], barriers(after)), *after]


@handles("critical")
def critical(r, d, node, scope, known):
    lock = r.value(f"_omprt_critical_of_{d.argument}", support.RUNTIME["critical"](d.argument))
    return r.guarded(
        r.call("critical_enter", name(lock)), r.block(node.body, scope, known), r.call("critical_exit", name(lock))
    )


@handles("ordered")
def ordered(r, d, node, scope, known):
    return r.guarded(r.call("ordered_enter"), r.block(node.body, scope, known), r.call("ordered_exit"))


@handles("barrier")
def barrier(r, d, node, scope, known):
    return [expr(r.call("barrier"))]


@handles("flush")
def flush(r, d, node, scope, known):
    return [expr(r.call("flush"))]


@handles("cancel", "cancellation point")
def cancel(r, d, node, scope, known):
    run = expr(r.call("cancel" if d.words[0] == "cancel" else "cancellation_point", const(_CANCEL[d.argument])))
    return [if_(d.expr("if"), [run])] if d.expr("if") else [run]


@handles("threadprivate")
def threadprivate(r, d, node, scope, known):
    return [ast.Pass()]


@handles("declare reduction")
def declare_reduction(r, d, node, scope, known):
    id_, combiner = d.argument
    initializer = d.expr("initializer")
    r.reductions[id_] = (combiner, ast.unparse(initializer) if initializer else None)
    return [ast.Pass()]
