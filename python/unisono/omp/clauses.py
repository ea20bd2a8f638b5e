# SPDX-License-Identifier: BSD-3-Clause
"""Parses one clause of a directive. Called by directive.parse() with the parser standing behind the clause's name."""

import ast

from .directive import Clause, split
from .grammar import ATOMIC, EXPRESSIONS, LISTS, MAPS, OPERATORS, REDUCTIONS

_MODIFIERS = {"monotonic", "nonmonotonic", "simd"}
_SCHEDULES = ("static", "dynamic", "guided", "auto", "runtime")
_DEPENDS = {"in": 0, "out": 1, "inout": 1, "mutexinoutset": 1, "inoutset": 2, "depobj": -1}
_BINDS = {"master": 2, "primary": 2, "close": 3, "spread": 4, "true": 1, "false": 0}
_FLAGS = (ATOMIC - {"update"}) | {"nowait", "untied", "mergeable", "nogroup", "threads", "simd"}
_IGNORED = {"allocate", "affinity", "hint", "safelen", "simdlen", "aligned", "nontemporal", "order"}
_IGNORED |= {"defaultmap", "uses_allocators", "device_type", "indirect"}


def clause(p, kind):
    if kind in _FLAGS:
        return Clause(kind)
    if kind in ("ordered", "order", "update", "destroy") and _no_parens(p):
        return Clause(kind)
    text = p.parens()
    if text is None:
        raise p.fail(f"clause {kind} needs an argument in parentheses")
    if kind in _IGNORED:
        return Clause(kind, value=text)
    if kind in LISTS:
        modifier, colon, right = text.partition(":")
        if kind == "lastprivate" and colon and modifier.strip() == "conditional":
            return Clause(kind, p.variables(right, kind), modifier="conditional")
        return Clause(kind, p.variables(text, kind))
    if kind in REDUCTIONS:
        return _reduction(p, kind, text)
    if kind in MAPS:
        return _map(p, kind, text)
    return _OTHERS.get(kind, _expression)(p, kind, text)


def _no_parens(p):
    return not p.text[p.at :].lstrip().startswith("(")


def _reduction(p, kind, text):
    left, colon, right = text.partition(":")
    if not colon:
        raise p.fail(f"{kind}({text}): operator : variables expected")
    operator, modifier = left.strip(), None
    if "," in operator:
        modifier, operator = (s.strip() for s in operator.split(",", 1))
        if modifier not in ("default", "task", "inscan") or kind != "reduction":
            raise p.fail(f"{kind}({text}): unknown modifier {modifier!r}")
    if operator not in OPERATORS and not operator.isidentifier():
        raise p.fail(f"{kind}({text}): {operator!r} is not a reduction operator ({' '.join(sorted(OPERATORS))})")
    operator = {"and": "&&", "or": "||"}.get(operator, operator)
    names, exprs, sections = [], [], []
    for item in split(right):
        of, bracket, _ = item.partition("[")
        names += p.variables(of, kind)
        sections.append(len(exprs) if bracket else None)
        if bracket:
            tree = p.expression(item, kind)
            if not isinstance(tree, ast.Subscript) or not isinstance(tree.value, ast.Name):
                raise p.fail(f"{kind}({text}): {item.strip()!r} is neither a variable nor a part of one")
            exprs.append(tree.slice)
    result = Clause(kind, names, exprs, value=operator, modifier=modifier)
    result.sections = sections
    return result


def _map(p, kind, text):
    """[modifiers and type:] variables or parts of them; which, is all that matters here."""
    names = []
    for item in split(split(text, ":")[-1]):
        names += p.variables(item.partition("[")[0], kind)
    return Clause(kind, names)


def _num_teams(p, kind, text):
    parts = split(text, ":")  # lower and upper bound, or just the number
    return Clause(kind, exprs=[p.expression(part, kind) for part in parts])


def _dist_schedule(p, kind, text):
    parts = split(text)
    if parts[0].strip() != "static" or len(parts) > 2:
        raise p.fail(f"dist_schedule({text}): static, or static and a chunk size expected")
    return Clause(kind, exprs=[p.expression(part, kind) for part in parts[1:]])


def _bind(p, kind, text):
    if text.strip() not in ("teams", "parallel", "thread"):
        raise p.fail(f"bind({text}): teams, parallel or thread expected")
    return Clause(kind, value=text.strip())


def _expression(p, kind, text):
    if kind not in EXPRESSIONS:
        raise p.fail(f"clause {kind} is not supported")
    value = None
    if kind == "device" and text.strip().startswith(("ancestor", "device_num")):
        text = text.partition(":")[2]
    if kind == "if" and ":" in text:
        left, _, right = text.partition(":")
        if left.replace(" ", "").isidentifier():
            value, text = left.strip(), right
    if kind in ("grainsize", "num_tasks") and text.strip().startswith("strict"):
        value, text = "strict", text.partition(":")[2]
    if not text.strip():
        raise p.fail(f"clause {kind} needs an expression")
    return Clause(kind, exprs=[p.expression(text, kind)], value=value)


def _default(p, kind, text):
    if text.strip() not in ("shared", "none", "private", "firstprivate"):
        raise p.fail(f"default({text}): shared, none, private or firstprivate expected")
    return Clause(kind, value=text.strip())


def _schedule(p, kind, text):
    parts = split(text)
    head = parts[0]
    if ":" in head:
        modifiers, _, head = head.partition(":")
        parts = [head] + parts[1:]
        if modifiers.strip() not in _MODIFIERS:
            raise p.fail(f"schedule({text}): unknown modifier {modifiers.strip()!r}")
    elif head.strip() in _MODIFIERS and len(parts) > 1 and ":" in parts[1]:  # schedule(monotonic, simd: dynamic, 4)
        parts = [parts[1].partition(":")[2]] + parts[2:]
        head = parts[0]
    name = head.strip()
    if name not in _SCHEDULES:
        raise p.fail(f"schedule({text}): {', '.join(_SCHEDULES)} expected")
    if len(parts) > 2 or (len(parts) == 2 and name in ("auto", "runtime")):
        raise p.fail(f"schedule({text}): no chunk size here")
    chunk = p.expression(parts[1], kind) if len(parts) == 2 else None
    if isinstance(chunk, ast.Constant) and (not isinstance(chunk.value, int) or chunk.value < 1):
        raise p.fail(f"schedule({text}): the chunk size must be at least 1")
    return Clause(kind, exprs=[chunk] if chunk else [], value=_SCHEDULES.index(name) + 1)


def _count(p, kind, text):
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise p.fail(f"{kind}({text}): a positive whole number expected")
    return Clause(kind, value=value)


def _linear(p, kind, text):
    names, colon, step = text.partition(":")
    if "(" in names:  # linear(val(x): 2)
        names = names[names.index("(") + 1 :].rstrip(" )")
    tree = p.expression(step, kind) if colon else ast.copy_location(ast.Constant(1), p.where)
    return Clause(kind, p.variables(names, kind), [tree])


def _proc_bind(p, kind, text):
    if text.strip() not in _BINDS:
        raise p.fail(f"proc_bind({text}): master, primary, close or spread expected")
    return Clause(kind, value=_BINDS[text.strip()])


def _depend(p, kind, text):
    if p.words == ["ordered"]:
        return _across(p, kind, text)
    generators, text = _iterators(p, text)
    word, colon, right = text.partition(":")
    if not colon or word.strip() not in _DEPENDS:
        raise p.fail(f"depend({text}): {', '.join(_DEPENDS)} expected before a colon")
    exprs = [p.expression(item, kind) for item in split(right)]
    for tree, item in zip(exprs, split(right)):
        if not isinstance(tree, (ast.Name, ast.Subscript, ast.Attribute)):
            raise p.fail(f"depend({text}): {item.strip()!r} is not a variable, an element or an attribute")
    if generators:
        exprs = [ast.copy_location(ast.ListComp(tree, generators()), p.where) for tree in exprs]
    return Clause(kind, exprs=exprs, value=_DEPENDS[word.strip()])


def _iterators(p, text):
    """(what makes the generators of `iterator(i = begin:end:step, ...),` or None, the text behind it)."""
    first, *rest = split(text)
    head, bracket, inside = first.strip().partition("(")
    if head.strip() != "iterator" or not bracket or not inside.endswith(")") or not rest:
        return None, text
    ranges = []
    for one in split(inside[:-1]):
        left, equals, right = one.partition("=")
        bounds = split(right, ":")
        variable = (left.split() or [""])[-1]  # a type may stand in front of it
        if not equals or not variable.isidentifier() or len(bounds) not in (2, 3):
            raise p.fail(f"iterator({one.strip()}): variable = begin:end or begin:end:step expected")
        ranges.append((variable, bounds))

    def make():
        calls = [
            (v, ast.Call(ast.Name("range", ast.Load()), [p.expression(b, "iterator") for b in bounds], []))
            for v, bounds in ranges
        ]
        return [ast.comprehension(ast.Name(v, ast.Store()), call, [], 0) for v, call in calls]

    return make, ",".join(rest)


def _object(p, kind, text):
    """update(kind) of depobj, and destroy(object)."""
    if kind == "destroy":
        return Clause(kind)
    if p.words != ["depobj"] or text.strip() not in _DEPENDS or text.strip() == "depobj":
        raise p.fail(f"update({text}): {', '.join(k for k in _DEPENDS if k != 'depobj')} expected, on depobj")
    return Clause(kind, value=_DEPENDS[text.strip()])


def _detach(p, kind, text):
    names = p.variables(text, kind)
    if len(names) != 1:
        raise p.fail(f"detach({text}): one variable expected")
    return Clause(kind, names)


def _across(p, kind, text):
    """The source or the sink vector of an ordered directive that stands alone."""
    word, colon, right = (part.strip() for part in text.partition(":"))
    if word == "source" and right in ("", "omp_cur_iteration"):
        return Clause("doacross", value="source")
    if word != "sink" or not right:
        raise p.fail(f"{kind}({text}): source, or sink: and one expression per loop expected")
    return Clause("doacross", exprs=[p.expression(part, kind) for part in split(right)], value="sink")


def _initializer(p, kind, text):
    left, equals, right = text.partition("=")
    if equals and left.strip() == "omp_priv":
        text = right
    return Clause(kind, exprs=[p.expression(text, kind)])


_OTHERS = {
    "bind": _bind,
    "update": _object,
    "destroy": _object,
    "detach": _detach,
    "num_teams": _num_teams,
    "dist_schedule": _dist_schedule,
    "default": _default,
    "schedule": _schedule,
    "collapse": _count,
    "ordered": _count,
    "linear": _linear,
    "proc_bind": _proc_bind,
    "depend": _depend,
    "doacross": _across,
    "initializer": _initializer,
}
