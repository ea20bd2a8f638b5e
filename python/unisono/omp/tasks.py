# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites task, taskloop, taskgroup, taskwait and taskyield."""

import ast

from ._rt import walk
from .build import assign, call, const, expr, for_, function, if_, item, name, tuple_
from .depend import depend_of
from .loops import nest, space, targets
from .regions import _ALWAYS, _touched
from .rewrite import handles
from .scope import plan

UNDEFERRED, FINAL, UNTIED, MERGEABLE, DETACHED = 1, 2, 4, 8, 32


def _flags(d, which):
    """The flags of the task as an expression."""
    from .regions import _condition

    fixed = (UNTIED if d.one("untied") else 0) | (MERGEABLE if d.one("mergeable") else 0)
    value = const(fixed)
    for bit, test, when in ((UNDEFERRED, _condition(d, which), False), (FINAL, d.expr("final"), True)):
        if test is not None:
            choice = ast.IfExp(test, const(bit if when else 0), const(0 if when else bit))
            value = (
                choice
                if isinstance(value, ast.Constant) and value.value == 0
                else ast.BinOp(value, ast.BitOr(), choice)
            )
    return value


def _data(r, d, node, scope, known):
    """(plan, names given as arguments, their values, first statements) for a block that becomes a task."""
    p = plan(d, node, scope, known, task=True)
    for n in d.names("detach"):
        p.captured.discard(n)
        p.passed += [n] * (n not in p.passed)
    first, private = d.names("firstprivate"), _touched(d, node)
    passed = list(dict.fromkeys(p.passed + first + private))
    values = []
    for n in passed:
        value = r.argument(n, known, scope)
        values.append(r.call("copy", value) if n in first else value)  # copied when the task is made
    prologue = [assign(n, r.call("private", name(n))) for n in private]
    for n in passed:
        prologue += r.given(n, () if n in private else known, _ALWAYS if n in private else scope)
    return p, passed, values, prologue


@handles("task")
def task(r, d, node, scope, known):
    p, passed, values, prologue = _data(r, d, node, scope, known)
    enter, leave = _in_reduction(r, d, scope)
    id_, made = r.outline("task", node, p, scope, known, prologue + enter, leave)
    f = made[0] if made else scope.hoist[-1]
    f.args.args = [ast.arg(n) for n in passed]
    flags, before = _flags(d, "task"), []
    for event in d.names("detach"):
        before = [assign(event, r.call("event"))]
        scope.make_global(event)
        f.args.args.insert(0, ast.arg("_omprt_event"))
        values.insert(0, name(event))
        flags = ast.BinOp(flags, ast.BitOr(), const(DETACHED))
    args = [name(id_), tuple_(values), flags]
    depend = depend_of(r, d, scope)
    if d.one("priority") or depend:
        args.append(d.expr("priority") or const(0))
    if depend:
        args.append(depend)
    return made + before + [expr(r.call("task", *args))]


def _in_reduction(r, d, scope):
    """The task takes its thread's partial result when it starts and gives it back, combined, at its end."""
    enter, leave = [], []
    for operator, n in d.reductions("in_reduction"):
        group = _group_of(scope, n)
        if not group:
            raise d.error(
                f"in_reduction({operator}: {n}): no taskgroup with task_reduction({operator}: {n}) around it here"
            )
        enter.append(assign(n, call(ast.Attribute(name(group), "take", ast.Load()), const(n))))
        leave.append(expr(call(ast.Attribute(name(group), "give", ast.Load()), const(n), name(n))))
    return enter, leave


def _group_of(scope, n):
    while scope is not None:
        group = getattr(scope, "groups", {}).get(n)
        if group:
            return group
        scope = scope.parent
    return None


@handles("taskgroup")
def taskgroup(r, d, node, scope, known):
    reductions = d.reductions("task_reduction")
    start, end = open_group(r, d, reductions, scope) if reductions else ([], [])
    body = r.guarded(r.call("taskgroup_enter"), r.block(node.body, scope, known), r.call("taskgroup_exit"))
    if any(hasattr(n, "_omp") and n._omp.argument == "taskgroup" for s in node.body for n in walk(s)):
        body = [body[0], ast.Try(body[1:], [ast.ExceptHandler(name(r.rt("left")), None, [ast.Pass()])], [], [])]
    return start + body + end


def open_group(r, d, reductions, scope):
    """(statements that make the partial results, statements that put them together) for tasks with in_reduction."""
    group = r.fresh("group")
    scope.locals.add(group)
    scope.groups = dict(getattr(scope, "groups", {}), **{n: group for _, n in reductions})
    return _task_reduction(r, d, reductions, group, scope)


def _task_reduction(r, d, reductions, group, scope):
    makers, end = [], []
    for operator, n in reductions:
        r.combiner(operator, d.where, scope)
        combine, identity, orig = r.fresh("combine"), r.fresh("identity"), name(n)
        made = [
            function(combine, ["a", "b"], [r.combine(operator, "a", name("b")), ast.Return(name("a"))]),
            function(identity, ["x"], [ast.Return(r.identity(operator, name("x")))]),
        ]
        end += made
        makers.append(tuple_([const(n), name(combine), name(identity), orig]))
    start = end + [assign(group, r.call("task_reduction", *makers))]
    result = []
    for operator, n in reductions:
        part = r.fresh("part")
        scope.make_global(n)
        parts = call(ast.Attribute(name(group), "parts", ast.Load()), const(n))
        result.append(for_(name(part, True), parts, [r.combine(operator, n, name(part))]))
    return start, result


@handles("taskwait")
def taskwait(r, d, node, scope, known):
    depend = depend_of(r, d, scope)
    return [expr(r.call("taskwait", *([depend] if depend else [])))]


@handles("taskyield")
def taskyield(r, d, node, scope, known):
    return [expr(r.call("taskyield"))]


@handles("taskloop")
def taskloop(r, d, node, scope, known):
    loops = nest(r, d, node.body)
    last, reductions = d.names("lastprivate"), d.reductions()
    taken = set(d.names("private", "firstprivate", "lastprivate", "reduction", "in_reduction"))
    own = [n for n in targets(loops) if n not in taken]
    if own:
        from .directive import Clause

        d.clauses.append(Clause("private", own))
    p, passed, values, prologue = _data(r, d, node, scope, known)
    passed += [n for _, n in reductions]
    values += [r.argument(n, known, scope) for _, n in reductions]
    for operator, n in reductions:
        r.combiner(operator, d.where, scope)
        prologue.append(assign(n, r.identity(operator, name(n))))
    enter, leave = _in_reduction(r, d, scope)
    grouped, ending = _joined(r, d, node, reductions, scope)
    before, iterable = _space(r, d, node, loops, scope)
    result = last + [n for _, n in reductions]
    epilogue = [ast.Return(tuple_(name(n) for n in result))] if result else []
    id_, made = r.outline("taskloop", node, p, scope, known, prologue + enter, leave + epilogue)
    f = made[0] if made else scope.hoist[-1]
    f.args.args = [ast.arg(n) for n in ["_omprt_share"] + passed]
    grain = d.one("grainsize") or d.one("num_tasks")
    how = [
        const(grain.kind if grain else None),
        grain.exprs[0] if grain else const(None),
        const(bool(d.one("nogroup"))),
        _flags(d, "taskloop"),
        d.expr("priority") or const(0),
    ]
    run = r.call("taskloop", name(id_), iterable, tuple_(values), *how)
    if not result:
        return before + made + [expr(run)]
    return before + grouped + made + _results(r, run, last, reductions, scope) + ending


def _joined(r, d, node, reductions, scope):
    """reduction on taskloop is a taskgroup's task_reduction, too, when tasks inside take part in it."""
    if not any("in_reduction" in [c.kind for c in n._omp.clauses] for n in walk(node) if hasattr(n, "_omp")):
        return [], []
    if d.one("nogroup"):
        raise d.error("reduction on taskloop needs the group that nogroup removes")
    return open_group(r, d, reductions, scope) if reductions else ([], [])


def _results(r, run, last, reductions, scope):
    part, parts = r.fresh("part"), r.fresh("parts")
    body = []
    for i, (operator, n) in enumerate(reductions):
        scope.make_global(n)
        body.append(r.combine(operator, n, item(name(part), len(last) + i)))
    give = []
    for i, n in enumerate(last):
        scope.make_global(n)
        give.append(assign(n, item(item(name(parts), -1), i)))
    done = [assign(parts, run)]
    if body:
        done.append(for_(name(part, True), name(parts), body))
    return done + ([if_(name(parts), give)] if give else [])


def _space(r, d, node, loops, scope):
    """What the tasks share out, and the loop inside one task: over its share of it."""
    share = name("_omprt_share")
    if len(loops) == 1:
        iterable = loops[0].iter
        loops[0].iter = share
        return [], iterable
    start, _, target, decode = space(r, loops, scope)
    space_ = start[0].targets[0].id
    body = decode + loops[-1].body
    node.body = r.put(d.where, for_(target, share, body))
    return start, r.call("range", ast.Attribute(name(space_), "size", ast.Load()))
