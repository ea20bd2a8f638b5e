# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes bind and which read a name, in evaluation order. Used by the rewriter to decide what is shared and what
is private.

Events of a function body are (name, kind, node) with kind 'load', 'store' (also del, import, def, ...), 'for' (target
of a loop), 'except' (name of a handler), 'clause' (a clause says so) or 'nested' (bound by a nested function through
nonlocal). The events of a directive stand between a 'begin' and an 'end' without a name, so that "before" and "after"
a region can be told apart.
"""

import ast

from ._rt import events, walk

SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Lambda,
    ast.ClassDef,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


SIMPLE = {ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr}  # statements without blocks, the frequent ones


class _How(dict):
    """Class of a node -> its fields in the order of evaluation, or the method of Events that looks at it."""

    def __missing__(self, kind):
        skip = ("ctx", "op", "ops", "kind", "type_comment")  # no names in them
        how = getattr(Events, "visit_" + kind.__name__, None) or tuple(f for f in kind._fields if f not in skip)
        self[kind] = how
        return how


_HOW = _How(
    {
        ast.Assign: ("value", "targets"),
        ast.AnnAssign: ("value", "target"),
        ast.NamedExpr: ("value", "target"),
        ast.Constant: (),
    }
)


class Events:
    """Collects the events of statements that belong to one function."""

    def __init__(self, raw=False):
        self.events, self.globals, self.nonlocals = [], set(), set()
        self.raw = raw  # as Python sees it, without the directives

    def add(self, name, kind, node):
        self.events.append((name, kind, node))

    def run(self, nodes):
        for node in nodes:
            self.visit(node)
        return self

    def visit(self, node):
        events(self, self.events, _HOW, node)

    def bound(self):
        return {n for n, kind, _ in self.events if kind in ("store", "for", "except")} - self.globals - self.nonlocals

    # Statements and expressions whose order differs from the order of their fields.
    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            self.add(node.target.id, "load", node.target)
        self.visit(node.value)
        self.visit(node.target)

    def visit_For(self, node):
        self.visit(node.iter)
        for target in walk(node.target):
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                self.add(target.id, "for", node)
            elif isinstance(target, (ast.Subscript, ast.Attribute)):
                self.visit(target)
        self.run(node.body)
        self.run(node.orelse)

    visit_AsyncFor = visit_For

    def visit_Global(self, node):
        self.globals.update(node.names)

    def visit_Nonlocal(self, node):
        self.nonlocals.update(node.names)

    def visit_Import(self, node):
        for alias in node.names:
            self.add((alias.asname or alias.name).split(".")[0], "store", node)

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node):
        if node.type:
            self.visit(node.type)
        if node.name:
            self.add(node.name, "except", node)
        self.run(node.body)

    def visit_MatchAs(self, node):
        if node.pattern:
            self.visit(node.pattern)
        if node.name:
            self.add(node.name, "store", node)

    def visit_MatchStar(self, node):
        if node.name:
            self.add(node.name, "store", node)

    def visit_MatchMapping(self, node):
        self.run(node.keys)
        self.run(node.patterns)
        if node.rest:
            self.add(node.rest, "store", node)

    # Nested scopes: what they take from here.
    def visit_FunctionDef(self, node):
        self.run(node.decorator_list)
        self._arguments(node.args, node)
        self.add(node.name, "store", node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self._arguments(node.args, node)

    def _arguments(self, args, node):
        self.run(args.defaults)
        self.run([d for d in args.kw_defaults if d is not None])
        self._nested(inside(node), node)

    def _nested(self, inner, node):
        own = inner.bound()
        for name in dict.fromkeys(n for n, *_ in inner.events if n):
            if name in inner.nonlocals:
                self.add(name, "nested", node)
            if name not in own and name not in inner.globals:
                self.add(name, "load", node)

    def visit_ClassDef(self, node):
        self.run(node.decorator_list)
        self.run(node.bases)
        self.run([k.value for k in node.keywords])
        inner = Events().run(node.body)
        own = inner.bound()
        for name in dict.fromkeys(n for n, *_ in inner.events if n):
            if name in inner.nonlocals:
                self.add(name, "nested", node)
            if name not in inner.globals and (
                name not in own or any(n == name and k == "load" for n, k, _ in inner.events)
            ):
                self.add(name, "load", node)
        self.add(node.name, "store", node)

    def _comprehension(self, node):
        self.visit(node.generators[0].iter)
        inner = Events()
        targets = set()
        for i, g in enumerate(node.generators):
            if i:
                inner.visit(g.iter)
            targets |= {t.id for t in walk(g.target) if isinstance(t, ast.Name)}
            inner.run(g.ifs)
        inner.run([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])
        for name, kind, where in inner.events:
            if name not in targets:
                self.add(name, kind, where)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # Directives: the clauses are uses, and a private copy is no use of the original.
    def _directive(self, node, body):
        d = node._omp
        self.add(None, "begin", node)
        for c in d.clauses:
            self.run(c.exprs)
            if c.kind in ("detach", "object"):
                self._made(c, node)
            elif c.kind not in ("private", "shared", "copyprivate"):
                for n in c.names:
                    self.add(n, "load", node)
        at = len(self.events)
        self.run(body)
        private = set(d.names("private", "firstprivate", "lastprivate", "reduction", "linear", "in_reduction"))
        self.events[at:] = [e for e in self.events[at:] if e[0] not in private]
        for n in d.names("lastprivate", "reduction", "linear", "copyprivate", "in_reduction"):
            self.add(n, "clause", node)
        self.add(None, "end", node)

    def _made(self, clause, node):
        """Names that a directive binds as an assignment does."""
        for n in clause.names:
            self.add(n, "store", node)

    def visit_With(self, node):
        if hasattr(node, "_omp") and not self.raw:
            self._directive(node, node.body)
        else:
            for c in node._omp.all("detach") if hasattr(node, "_omp") else ():
                self._made(c, node)
            self.run(node.items)
            self.run(node.body)

    def visit_Expr(self, node):
        if hasattr(node, "_omp") and not self.raw:
            self._directive(node, [])
        else:
            for c in node._omp.all("object") if hasattr(node, "_omp") else ():
                self._made(c, node)
            self.visit(node.value)


def parameters(args):
    every = args.posonlyargs + args.args + args.kwonlyargs + [a for a in (args.vararg, args.kwarg) if a]
    return [a.arg for a in every]


def inside(node):
    """The events of a function's own body, its parameters first."""
    inner = Events()
    for name in parameters(node.args):
        inner.add(name, "store", node)
    return inner.run(node.body if isinstance(node.body, list) else [node.body])


def definite(statements):
    """Names that are bound for certain when the statements have run without an exception."""
    names = set()
    for s in statements:
        if isinstance(
            s,
            (
                ast.Assign,
                ast.AnnAssign,
                ast.AugAssign,
                ast.Import,
                ast.ImportFrom,
                ast.FunctionDef,
                ast.ClassDef,
                ast.AsyncFunctionDef,
                ast.Expr,
            ),
        ):
            events = Events().run([s])
            names |= {n for n, kind, _ in events.events if kind == "store"}
            if isinstance(s, ast.AnnAssign) and s.value is None:
                names -= {getattr(s.target, "id", None)}
        elif isinstance(s, ast.If):
            names |= definite(s.body) & definite(s.orelse)
        elif isinstance(s, ast.With):
            if not hasattr(s, "_omp"):
                names |= {
                    t.id for i in s.items if i.optional_vars for t in walk(i.optional_vars) if isinstance(t, ast.Name)
                }
                names |= definite(s.body)
        elif isinstance(s, ast.Delete):
            names -= {t.id for t in walk(s) if isinstance(t, ast.Name)}
        if not isinstance(s, ast.Delete):
            names -= deleted(s)
    return names


def deleted(s):
    """Names that a del statement in the statement unbinds."""
    if type(s) in SIMPLE:
        return set()
    return {t.id for t in walk(s, ast.Name) if isinstance(t.ctx, ast.Del)}


class Rename(ast.NodeTransformer):
    """Gives names new names in a block, directives and nested scopes included, where they mean the block's own
    variable."""

    def __init__(self, mapping):
        self.mapping = mapping

    def to(self, name):
        return self.mapping.get(name, name)

    def without(self, names):
        return Rename({k: v for k, v in self.mapping.items() if k not in names})

    def visit_Name(self, node):
        node.id = self.to(node.id)
        return node

    def _named(self, node):
        self.generic_visit(node)
        if node.name:
            node.name = self.to(node.name)
        return node

    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _named

    def visit_MatchMapping(self, node):
        self.generic_visit(node)
        if node.rest:
            node.rest = self.to(node.rest)
        return node

    def visit_Import(self, node):
        for alias in node.names:
            bound = alias.asname or alias.name.split(".")[0]
            if bound in self.mapping and (alias.asname or "." not in alias.name):
                alias.asname = self.to(bound)
        return node

    visit_ImportFrom = visit_Import

    def visit_Nonlocal(self, node):
        node.names = [self.to(n) for n in node.names]
        return node

    def _function(self, node):
        inner = inside(node)
        args = node.args
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]
        deeper = self.without(inner.bound() | inner.globals)
        if isinstance(node, ast.Lambda):
            node.body = deeper.visit(node.body)
            return node
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.body = [deeper.visit(s) for s in node.body]
        node.name = self.to(node.name)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def visit_ClassDef(self, node):
        inner = Events().run(node.body)
        node.bases = [self.visit(b) for b in node.bases]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        for k in node.keywords:
            k.value = self.visit(k.value)
        deeper = self.without(inner.bound() | inner.globals)
        node.body = [deeper.visit(s) for s in node.body]
        node.name = self.to(node.name)
        return node

    def _comprehension(self, node):
        node.generators[0].iter = self.visit(node.generators[0].iter)
        targets = {t.id for g in node.generators for t in walk(g.target) if isinstance(t, ast.Name)}
        deeper = self.without(targets)
        for i, g in enumerate(node.generators):
            if i:
                g.iter = deeper.visit(g.iter)
            g.ifs = [deeper.visit(c) for c in g.ifs]
        for field in ("elt", "key", "value"):
            if hasattr(node, field):
                setattr(node, field, deeper.visit(getattr(node, field)))
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _directive(self, node):
        for c in node._omp.clauses:
            c.names = [self.to(n) for n in c.names]
            c.exprs = [self.visit(e) for e in c.exprs]

    def visit_With(self, node):
        if hasattr(node, "_omp"):
            self._directive(node)
            node.body = [self.visit(s) for s in node.body]
            return node
        return self.generic_visit(node)

    def visit_Expr(self, node):
        if hasattr(node, "_omp"):
            self._directive(node)
            return node
        return self.generic_visit(node)
