# SPDX-License-Identifier: BSD-3-Clause
"""The arrays of which a thread may have its own view. A view is another object: `is`, id(), flags and resize() tell it
from the array, so only where the text uses nothing but elements, lengths and shapes. Used by regions.py and
loops.py."""

import ast
import sys

from ._rt import walk

_HARMLESS = {"shape", "size", "ndim", "dtype", "itemsize", "nbytes"}


def elements_only(statements, names):
    """The names whose values the statements do not let out; none where an interpreter lock makes views useless."""
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        return set()
    names, allowed = set(names), set()
    for node in (n for s in statements for n in walk(s)):
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _HARMLESS):
            allowed.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            allowed.update(id(a) for a in node.args)
        elif isinstance(node, ast.Name) and node.id in names and id(node) not in allowed:
            names.discard(node.id)
        if hasattr(node, "_omp"):
            names -= _in_clauses(node._omp)
    return names


def _in_clauses(d):
    """What clauses copy, or know by its identity (depend)."""
    found = {n for c in d.clauses if c.kind != "shared" for n in c.names}
    return found | {n.id for c in d.clauses for e in c.exprs for n in walk(e, ast.Name)}
