# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites what is carried from iteration to iteration: reduction(inscan) with scan, lastprivate(conditional:), and the
doacross loops of ordered(n). Called by loops.py.

An inscan loop is run twice over each thread's block of iterations: the part that adds first, keeping what each
iteration brought; then, the other threads' sums being known, the part that reads.
"""

import ast

from ._rt import walk
from .build import assign, attribute, call, const, expr, for_, if_, item, name, tuple_
from .leaving import barriers, loop_or_fail, loop_part
from .regions import copies, reduce_with
from .rewrite import handles

_OUTLINED = {"task", "taskloop", "parallel"}


@handles("scan")
def scan(r, d, node, scope, known):
    if r.scans:
        return [ast.Pass()]  # in a simd loop: one iteration after the other, the running value is the scan
    raise d.error("scan: only directly inside a loop with reduction(inscan, ...)")


def halves(r, d, body, mapping):
    """(the part that adds, the part that reads, whether that sees its own iteration) of an inscan loop's body."""
    at = [i for i, s in enumerate(body) if hasattr(s, "_omp") and s._omp.name == "scan"]
    if len(at) != 1:
        raise d.error(f"reduction(inscan, ...): {len(at)} scan directives in the loop's body, one expected")
    clause = body[at[0]]._omp.clauses[0]
    names = [n for _, n in d.reductions()]
    if set(clause.names) != {mapping.get(n, n) for n in names}:
        raise d.error(f"scan {clause.kind}(...): the inscan variables of the loop expected, {', '.join(names)}")
    for s in body:
        jump = _continue(s)
        if jump:
            raise r.fail("continue inside an inscan loop: an iteration must come to its scan", jump)
    first, second = body[: at[0]], body[at[0] + 1 :]
    return (first, second, True) if clause.kind == "inclusive" else (second, first, False)


def _continue(node):
    """A continue that belongs to the loop itself."""
    if isinstance(node, ast.Continue):
        return node
    if isinstance(node, (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return None
    return next((found for child in ast.iter_child_nodes(node) if (found := _continue(child))), None)


def inscan(r, d, node, scope, known, loops):
    """A worksharing loop with inscan reductions. `loops` are its loops before anything is renamed."""
    from .loops import INDEXED, NOWAIT, STATIC, last_values, nest, space, targets

    variables = d.reductions()
    mapping, result = copies(r, d, node, scope, known, ("private", "firstprivate", "lastprivate", "reduction"))
    loops = nest(r, d, node.body)
    adds, reads, inclusive = halves(r, d, loops[-1].body, mapping)
    known = known | set(mapping.values()) | set(targets(loops))
    loop, keep, parts = r.fresh("loop"), r.fresh("kept"), r.fresh("parts")
    begin = {n: r.fresh("begin") for _, n in variables}
    total = {n: r.fresh("total") for _, n in variables}
    for operator, n in variables:
        r.combiner(operator, d.where, scope)
        scope.make_global(n)
        result += [assign(begin[n], name(n)), assign(total[n], r.identity(operator, name(n)))]
    before, make, target, decode = space(r, loops, scope)
    own = [t for t in dict.fromkeys(targets(loops))]
    body = decode + [assign(mapping[n], r.identity(operator, name(begin[n]))) for operator, n in variables]
    body += r.block(adds, scope, known)
    body += [r.combine(operator, total[n], name(mapping[n])) for operator, n in variables]
    kept = tuple_(name(n) for n in own + [mapping[n] for _, n in variables])
    body.append(expr(call(attribute(keep, "append"), kept)))
    how = [const(STATIC), const(None), const(NOWAIT | INDEXED)]
    result += before + [assign(loop, make(how)), assign(keep, ast.List([], ast.Load()))]
    result.append(for_(target, name(loop), body))
    meeting = [assign(parts, r.call("gather", tuple_(name(total[n]) for _, n in variables)))]
    second = _second(r, variables, mapping, (begin, parts, keep, own), inclusive, r.block(reads, scope, known))
    after = last_values(r, d, d.names("lastprivate"), mapping, scope, loop) if d.names("lastprivate") else []
    after += _give_back(r, d, scope, (begin, parts, loop))
    ahead = barriers(after)
    first = loop_or_fail(r, loop, result, ahead + barriers(meeting))
    return [*first, *meeting, loop_part(r, loop, second, ahead), *after]


def _second(r, variables, mapping, names, inclusive, reads):
    """The pass that reads: each iteration sees the sum of those before it (and its own, if inclusive)."""
    begin, parts, keep, own = names
    running = {n: r.fresh("running") for _, n in variables}
    brought = {n: r.fresh("brought") for _, n in variables}
    result = [assign(running[n], r.call("copy", name(begin[n]))) for _, n in variables]
    part = r.fresh("part")
    earlier = r.call("earlier", name(parts))
    add = [r.combine(operator, running[n], item(name(part), i)) for i, (operator, n) in enumerate(variables)]
    result.append(for_(name(part, True), earlier, add))
    step = []
    for operator, n in variables:
        step.append(assign(running[n], r.call("copy", name(running[n]))))
        step.append(r.combine(operator, running[n], name(brought[n])))
    see = [assign(mapping[n], name(running[n])) for _, n in variables]
    target = ast.Tuple([name(n, True) for n in own + [brought[n] for _, n in variables]], ast.Store())
    result.append(for_(target, name(keep), (step + see + reads) if inclusive else (see + reads + step)))
    return result


def _give_back(r, d, scope, names):
    """The originals get the sum over all iterations, once nobody reads them any more."""
    begin, parts, loop = names
    part, variables = r.fresh("part"), d.reductions()
    add = [r.combine(operator, n, item(name(part), i)) for i, (operator, n) in enumerate(variables)]
    result = [expr(r.call("loop_end", name(loop))), expr(r.call("meet"))]
    here = ast.Compare(name(part), [ast.IsNot()], [const(None)])  # a thread that failed brings nothing
    total = for_(name(part, True), name(parts), [if_(here, add)])
    if any(scope.where(n) == "own" for _, n in variables):
        return result + [total]  # each thread has its own original (an orphaned construct)
    first = ast.Compare(r.call("thread_num"), [ast.Eq()], [const(0)])
    return result + [if_(first, [total]), expr(r.call("meet"))]


def conditional(d):
    return d.modified("lastprivate", "conditional")


def marks(r, names, mapping):
    """lastprivate(conditional:): for each variable, the name of the number of the iteration that wrote it last."""
    when = {mapping[n]: r.fresh("when") for n in names}
    return when, [assign(w, const(-1)) for w in when.values()]


def mark(statements, when, index):
    """The statements with a note of the iteration behind each that writes one of the variables."""
    result = []
    for s in statements:
        notes = [assign(w, index()) for n, w in when.items() if n in _stores(s)]
        if not any(isinstance(getattr(s, f, None), list) for f in ("body", "handlers", "cases")):
            result += [s] + notes
            continue
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            result += [s] + notes
            continue
        if not (hasattr(s, "_omp") and s._omp.words[-1] in _OUTLINED):
            for part in [s] + getattr(s, "handlers", []) + getattr(s, "cases", []):
                for field in ("body", "orelse", "finalbody"):
                    if isinstance(getattr(part, field, None), list):
                        setattr(part, field, mark(getattr(part, field), when, index))
        if isinstance(s, (ast.For, ast.AsyncFor, ast.With)) and not hasattr(s, "_omp"):
            s.body = notes + s.body  # the head has written it when the body runs
            result.append(s)
        else:
            result += notes + [s]
    return result


def _stores(s):
    """The names that a statement itself writes, not the blocks in it."""
    names, todo = set(), [s]
    while todo:
        for field, value in ast.iter_fields(todo.pop()):
            if field in ("body", "orelse", "finalbody", "handlers", "cases") and isinstance(value, list):
                todo += [h.type for h in value if isinstance(h, ast.ExceptHandler) and h.type]
                names |= {h.name for h in value if isinstance(h, ast.ExceptHandler) and h.name}
                todo += [c.pattern for c in value if isinstance(c, ast.match_case)]
                continue
            for v in value if isinstance(value, list) else [value]:
                if isinstance(v, ast.Name) and isinstance(v.ctx, ast.Store):
                    names.add(v.id)
                elif isinstance(v, ast.AST):
                    todo.append(v)
                elif field in ("name", "rest") and isinstance(v, str):
                    names.add(v)
    return names


def latest(r, d, names, mapping, when, scope):
    """The originals get the values of the iterations that wrote them last; a barrier is in it."""
    pairs = tuple_(
        tuple_([name(w), ast.IfExp(_written(w), name(mapping[n]), const(None))])
        for n, w in ((n, when[mapping[n]]) for n in names)
    )

    def give(_, all_):
        result = []
        for i, n in enumerate(names):
            scope.make_global(n)
            best = r.fresh("best")
            result += [
                assign(best, r.call("latest", name(all_), const(i))),
                if_(_written(item(name(best), 0)), [assign(n, item(name(best), 1))]),
            ]
        return result

    return reduce_with(r, pairs, any(scope.where(n) == "own" for n in names), give)


def _written(when):
    return ast.Compare(name(when) if isinstance(when, str) else when, [ast.GtE()], [const(0)])


def across(r, d, node_body):
    """The number of loops of a doacross nest; 0 when the loop is none."""
    clause = d.one("ordered")
    used = any(
        hasattr(n, "_omp") and n._omp.words[0] == "ordered" and n._omp.standalone for s in node_body for n in walk(s)
    )
    if not used:
        return 0
    if not clause or not clause.value:
        raise d.error("ordered depend inside: the loop needs ordered(n), n the number of values of a vector")
    return clause.value


def nest_across(r, loops, loop, scope):
    """Tells the loop object the bounds of the nest."""
    from .loops import bounds_of

    bounds, variables = [], [deep.target.id if isinstance(deep.target, ast.Name) else None for deep in loops]
    for deep in loops:
        limits = bounds_of(r, deep.iter, scope)
        if limits is None or not isinstance(deep.target, ast.Name):
            raise r.fail("ordered(n) with depend: each loop must be `for variable in range(...)`", deep)
        inner = {n.id for limit in limits for n in walk(limit) if isinstance(n, ast.Name)} & set(variables)
        if inner:
            raise r.fail("ordered(n) with depend: the bounds of a loop must not depend on another loop", deep)
        bounds += limits
    return expr(call(attribute(loop, "across"), *bounds)), variables


@handles("ordered doacross")
def ordered_across(r, d, node, scope, known):
    if not r.across or r.across[-1][2] is not scope:
        raise d.error("ordered depend: only inside the loop that has ordered(n)")
    loop, variables, _ = r.across[-1]
    result = []
    for c in d.all("doacross"):
        if c.value == "source":
            result.append(expr(call(attribute(loop, "source"), *(name(v) for v in variables))))
            continue
        if len(c.exprs) != len(variables):
            raise d.error(f"ordered depend(sink: ...): {len(variables)} values expected, one per loop")
        result.append(expr(call(attribute(loop, "sink"), *c.exprs)))
    return result
