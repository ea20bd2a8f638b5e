# SPDX-License-Identifier: BSD-3-Clause
"""Scopes of the code being rewritten, and the data-sharing rules. Used by the rewriter.

The rules, for a variable of a function (globals, builtins and attributes are what they are in Python, that is, shared):
named in a clause - what the clause says; bound above the region, or read below it before it is bound again - shared;
bound only inside - private. The variable of a loop that is used only inside such loops is private, too.
"""

import ast

from ._rt import walk
from .names import Events, parameters


class Scope:
    """A function of the rewritten code: one that the user wrote, or one made from a block (outlined)."""

    def __init__(self, node, parent, events, locals_, outlined=False):
        self.node, self.parent, self.outlined = node, parent, outlined
        self.events, self.locals = events.events, set(locals_)
        self.globals = set(events.globals)
        self.uses_globals = set()  # outlined: globals that the body binds
        self.nonlocals = set(events.nonlocals)
        self.shared = set()  # outlined: what the team shares, however it is reached
        self.chosen = set()  # outlined: private because a clause says so
        self.known = set()  # bound for certain when the body starts
        self.top, self.declared, self.hoist = [], set(), None
        self.late = self._late()

    @classmethod
    def of_function(cls, node, parent):
        events = Events()
        for name in parameters(node.args):
            events.add(name, "store", node)
        events.run(node.body)
        raw = Events(raw=True).run(node.body)
        scope = cls(node, parent, events, raw.bound() | set(parameters(node.args)))
        scope.known = set(parameters(node.args))
        return scope

    @property
    def root(self):
        return self.parent.root if isinstance(self.parent, Scope) else self

    def where(self, name):
        """'own' variable, of an 'outer' function, or 'global'."""
        if name in self.locals:
            return "own"
        if name in self.globals:
            return "global"
        return "outer" if self.parent and self.parent.where(name) != "global" else "global"

    def _late(self):
        """Names that change at times the text does not show: nested functions and tasks write them."""
        late, depth = {n for n, kind, _ in self.events if kind == "nested"}, 0
        for name, kind, node in self.events:
            if kind in ("begin", "end") and node._omp.words[-1] in ("task", "taskloop"):
                depth += 1 if kind == "begin" else -1
            elif depth and kind in ("store", "for", "except", "clause"):
                late.add(name)
        return late

    def _find(self, node, kind):
        return next(i for i, e in enumerate(self.events) if e[2] is node and e[1] == kind)

    def outside(self, node):
        """(names that occur above the block, names read below it before they are bound again)."""
        before = {n for n, _, _ in self.events[: self._find(node, "begin")] if n}
        first = {}
        for name, kind, _ in self.events[self._find(node, "end") + 1 :]:
            if name:
                first.setdefault(name, kind)
        return before, {n for n, kind in first.items() if kind == "load"}

    def refresh(self, node):
        """The block was renamed: its events are collected again."""
        self.events[self._find(node, "begin") + 1 : self._find(node, "end")] = Events().run(node.body).events

    def declare(self, name):
        """Makes sure that the function binds the name, so that a block moved out of it can say nonlocal."""
        if name in self.locals:
            self.declared.add(name)
        elif self.parent:
            self.parent.declare(name)  # a name of the functions around the decorated one is bound there

    def make_global(self, name):
        if self.where(name) == "global":
            self.globals.add(name)
            self.uses_globals.add(name)


class Plan:
    """What becomes of each variable of a block that is moved into a function of its own."""

    def __init__(self):
        self.passed = []  # read only, given to the function as arguments
        self.written = set()  # shared and bound inside: nonlocal
        self.captured = set()  # shared, reached through the closure
        self.private = set()  # plain locals of the new function
        self.globals = set()


def loop_only(events):
    """Names that the block binds only as loop variables (or exception names) and reads only inside those loops."""
    inside = {}
    for name, kind, node in events:
        if kind in ("for", "except"):
            inside.setdefault(name, []).append(node)
    result = set(inside)
    for name, kind, node in events:
        if name not in result or kind in ("for", "except"):
            continue
        if kind != "load" or not any(_contains(loop, node) for loop in inside[name]):
            result.discard(name)
    return result


def _contains(outer, node):
    body = outer.body if isinstance(outer, (ast.For, ast.AsyncFor, ast.ExceptHandler)) else []
    return any(node is child for s in body for child in walk(s))


def plan(d, node, scope, known, task=False):
    """The Plan for the block under directive d in the scope; `known` names are bound for certain where it stands."""
    p, inner = Plan(), Events().run(node.body)
    before, after = scope.outside(node)
    said = set(d.names("private", "firstprivate", "reduction", "lastprivate", "linear", "in_reduction"))
    shared = set(d.names("shared"))
    default = d.one("default").value if d.one("default") else None
    bound = {n for n, kind, _ in inner.events if kind in ("store", "for", "except", "nested", "clause")}
    loops = loop_only(inner.events) - shared - after
    missing = []
    p.private |= said
    for name in dict.fromkeys(n for n, *_ in inner.events if n):
        where = scope.where(name)
        if name in said:
            continue
        if where == "global":
            if name in bound and name in scope.globals:
                p.globals.add(name)
            continue
        if name in loops and name not in shared:
            p.private.add(name)
            continue
        if where == "own" and name in bound and name not in before | after | shared | scope.nonlocals:
            p.private.add(name)
            continue
        if default == "none" and name not in shared and not _definition(name, scope):
            missing.append(name)
        elif default in ("private", "firstprivate") and name not in shared:
            p.private.add(name)
            d.clauses.append(_clause(default, name))
            continue
        _share(p, name, where, scope, bound, known, (name in shared, task, after))
    if missing:
        raise d.error(
            f"default(none): say what {', '.join(missing)} should be (shared, private, firstprivate, reduction)"
        )
    return p


def _share(p, name, where, scope, bound, known, how):
    explicit, task, after = how
    if task and where == "own" and name not in scope.shared and not explicit:
        # A task's own snapshot; unless it writes what its creator reads afterwards, which can only mean the creator's
        # variable.
        if name not in bound or name not in after or name in scope.chosen:
            p.passed.append(name)
            return
    if name in bound:
        p.written.add(name)
        scope.declare(name)
    elif where == "own" and name in known and name not in scope.late:
        p.passed.append(name)
    else:
        p.captured.add(name)


def _definition(name, scope):
    """Whether the name only ever means a function, class or module of the enclosing function."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    while scope:
        stores = [node for n, kind, node in scope.events if n == name and kind == "store"]
        if stores:
            return all(
                isinstance(node, kinds) and (not hasattr(node, "args") or name not in parameters(node.args))
                for node in stores
            )
        scope = scope.parent
    return False


def _clause(kind, name):
    from .directive import Clause

    return Clause(kind, [name])
