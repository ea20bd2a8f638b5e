# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites parallel, single, master, masked, scope, critical, atomic, ordered, barrier, flush, cancel and the
declarations."""

import ast

from ._rt import walk
from . import support
from .build import PREFIX, assign, attribute, call, const, expr, for_, if_, item, name, tuple_
from .names import Events
from .rewrite import handles
from .scope import plan
from .threadprivate import copyin, copyout

_CANCEL = {"parallel": 1, "for": 2, "sections": 3, "taskgroup": 4}


@handles("parallel")
def parallel(r, d, node, scope, known):
    if len(d.words) > 1:
        _split(d, node)
        d = node._omp
        scope.refresh(node)
    p = plan(d, node, scope, known)
    first, private = d.names("firstprivate"), _touched(d, node)
    reductions = d.reductions()
    passed = p.passed + first + private + [n for _, n in reductions]
    prologue = [assign(n, r.call("copy", name(n))) for n in first]
    prologue += [assign(n, r.call("private", name(n))) for n in private]
    for n in passed:
        prologue += r.given(n, () if n in private else known, _ALWAYS if n in private else scope)
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
    run = r.call("parallel", name(id_), tuple_(args), *_how(d, bool(reductions)))
    if not reductions:
        return made + [expr(run)]
    part = r.fresh("part")
    return made + [for_(name(part, True), run, _add_up(r, scope, reductions, part))]


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
    if d.words[1] in ("for", "sections", "loop"):
        block._omp.clauses.append(type(d.clauses[0] if d.clauses else _any())("nowait"))
        targets = {t.id for t in _targets(node.body, d)} - set(
            d.names("lastprivate", "linear", "private", "firstprivate", "reduction")
        )
        if targets:
            outer.append(_any(list(targets)))
    node.body = [block]
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
        return [for_(name(part, True), name(all_), _add_up(r, scope, reductions, part))]

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
        if_(last, [*give(part, all_), expr(r.call("reduced"))]),
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
    return start, [expr(r.call("barrier")), *end]  # behind the barrier all tasks of the team are done


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
        return [if_(r.call("single"), body, [ast.Assign([target], r.call("shared"))])]
    after = [] if d.one("nowait") else [expr(r.call("barrier"))]
    return [if_(r.call("single"), body or [ast.Pass()])] + after


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
    test = ast.Compare(r.call("thread_num"), [ast.Eq()], [d.expr("filter") or const(0)])
    return [if_(test, r.block(node.body, scope, known) or [ast.Pass()])]


@handles("scope")
def scope_(r, d, node, scope, known):
    mapping, start = copies(r, d, node, scope, known, ("private", "firstprivate", "reduction"))
    start += partials(r, d, mapping, scope, known)
    body = start + r.block(node.body, scope, known | set(mapping.values()))
    if d.reductions():
        return body + reduce(r, d, mapping, scope)
    return body + ([] if d.one("nowait") else [expr(r.call("barrier"))])


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


@handles("atomic")
def atomic(r, d, node, scope, known):
    body, kind = (
        node.body,
        next((c.kind for c in d.clauses if c.kind in ("read", "write", "capture", "compare")), "update"),
    )
    if kind in ("read", "write"):
        if len(body) != 1 or not isinstance(body[0], ast.Assign):
            raise d.error(f"atomic {kind}: one assignment expected")
        return body  # one load or one store is atomic in CPython, with and without the GIL
    if kind == "update" and (len(body) != 1 or not isinstance(body[0], (ast.AugAssign, ast.Assign))):
        raise d.error("atomic: one update of one variable, element or attribute expected (x += value)")
    if kind == "capture" and not 1 <= len(body) <= 2:
        raise d.error("atomic capture: an update and an assignment that captures the value expected")
    updates = [s for s in body if isinstance(s, ast.AugAssign)] or [s for s in body if isinstance(s, ast.Assign)]
    if kind == "compare":
        updates = [s for b in body for s in walk(b) if isinstance(s, ast.Assign)]
    if not updates:
        raise d.error("atomic: nothing is updated here")
    target = updates[-1].target if isinstance(updates[-1], ast.AugAssign) else updates[-1].targets[0]
    before = []
    if len(body) == 1 and isinstance(body[0], ast.AugAssign) and not isinstance(body[0].value, ast.Constant):
        value = r.fresh("value")  # only the update is atomic: what is added is worked out before
        before = [assign(value, body[0].value)]
        body[0].value = name(value)
    inside = [s for b in body for s in r.statement(b, scope, known)]
    return before + r.guarded(r.call("atomic_enter", _storage(target)), inside, r.call("atomic_exit", _storage(target)))


def _storage(target):
    """What to lock: the object whose element or attribute is updated, or the variable's name."""
    if isinstance(target, (ast.Subscript, ast.Attribute)) and isinstance(target.value, ast.Name):
        return name(target.value.id)
    return const("atomic")
