# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites the dependences of tasks: the items of depend clauses, iterators in them, and depobj. Used by tasks.py and
devices.py."""

import ast

from .build import assign, call, const, expr, name, tuple_
from .rewrite import handles

DEPOBJ = -1  # a clause's kind: its items are depend objects


def depend_of(r, d, scope):
    """The pairs (kind, storage) that the directive's task depends on, as an expression; None without any."""
    items = [_item(r, c.value, e, scope) for c in d.all("depend") for e in c.exprs]
    return tuple_(items) if items else None


def _item(r, kind, e, scope):
    if kind == DEPOBJ:
        return ast.Starred(r.call("depobj_items", e), ast.Load())
    if isinstance(e, ast.ListComp):  # depend(iterator(...), kind: item)
        for g in e.generators:
            g.iter.func = name(r.rt("range"))
        pair = tuple_([const(kind), storage(r, e.elt, scope)])
        return ast.Starred(ast.ListComp(pair, e.generators), ast.Load())
    return tuple_([const(kind), storage(r, e, scope)])


@handles("depobj")
def depobj(r, d, node, scope, known):
    clause = d.one("object")
    held = name(clause.names[0]) if clause.names else clause.exprs[0]
    if d.one("destroy"):
        return [expr(r.call("depobj_update", held, const(None)))]
    if d.one("update"):
        return [expr(r.call("depobj_update", held, const(d.one("update").value)))]
    made = r.call("depobj", depend_of(r, d, scope))
    if clause.names:
        scope.make_global(clause.names[0])
        return [assign(clause.names[0], made)]
    held.ctx = ast.Store()
    return [ast.Assign([held], made)]


def storage(r, e, scope):
    """A key that is the same for the same variable, element or attribute, whoever names it."""
    if isinstance(e, ast.Name):
        if scope.where(e.id) == "global":
            return tuple_([const("global"), const(r.function.__module__), const(e.id)])
        owner = scope
        while owner.parent is not None and (owner.outlined or e.id not in owner.locals) and owner.root is not owner:
            owner = owner.parent
        token = "_omprt_here"
        if token not in owner.locals:
            owner.locals.add(token)
            owner.top += r.put(e, assign(token, r.call("storage")))
        return tuple_([name(token), const(e.id)])
    if isinstance(e, ast.Attribute):
        return tuple_([call(r.rt("id"), e.value), const(e.attr)])
    return tuple_([call(r.rt("id"), e.value), r.call("index", _slice(e.slice))])


def _slice(index):
    if isinstance(index, ast.Slice):
        return tuple_([part or const(None) for part in (index.lower, index.upper, index.step)])
    if isinstance(index, ast.Tuple):
        return tuple_([_slice(i) for i in index.elts])
    return index
