# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites atomic: the update runs under the lock of what it updates."""

import ast

from ._rt import walk
from .build import assign, const, name
from .rewrite import handles


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
    for s in body:
        _check_update(d, s, kind)
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


def _check_update(d, s, kind):
    """x += value: the value is worked out before and does not use x; x = expression uses it once."""
    if kind not in ("update", "capture") or not isinstance(s, (ast.Assign, ast.AugAssign)):
        return
    target = s.target if isinstance(s, ast.AugAssign) else s.targets[0]
    text = ast.unparse(target)
    used = sum(type(n) is type(target) and ast.unparse(n) == text for n in walk(s.value))
    if isinstance(s, ast.AugAssign) and used:
        raise d.error(f"atomic: the value must not use {text} itself: only the update is atomic")
    if isinstance(s, ast.Assign) and kind == "update" and used == 0:
        raise d.error(f"atomic: {text} = ... does not use {text}; atomic write expected")
    if used > 1:
        raise d.error(f"atomic: {text} = ... may use {text} only once")
