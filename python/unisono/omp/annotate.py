# SPDX-License-Identifier: BSD-3-Clause
"""Finds the directives in a function, parses them onto its tree (node._omp), and refuses what cannot be done. Used by
the rewriter."""

import ast

from . import directive, nesting
from ._rt import walk
from .source import located
from .names import FUNCTIONS, SCOPES, SIMPLE, inside

_GIVES_AWAY = (ast.Yield, ast.YieldFrom, ast.Await)


class Annotate(ast.NodeTransformer):
    """After it, every With or Expr node that is a directive carries _omp; a with of several items is nested ones."""

    def __init__(self, is_omp, filename):
        self.is_omp, self.filename, self.directives = is_omp, filename, []
        self.around = []  # directives that the statement stands in, innermost last

    def function(self, tree):
        """Looks at the body of a function; most of its statements have no call of omp and are left alone."""
        self.lines = {n.lineno for n in walk(tree, ast.Call) if self.is_omp(n.func)}
        if self.lines:
            tree.body = [s for b in tree.body for s in self._each(self.visit(b))]

    def fail(self, message, node):
        return located(message, node, self.filename)

    def visit(self, node):
        if isinstance(node, ast.stmt):
            first = node.decorator_list[0] if getattr(node, "decorator_list", None) else node
            if self.lines.isdisjoint(range(first.lineno, node.end_lineno + 1)):
                return node
        return super().visit(node)

    def _text(self, call):
        if (
            len(call.args) != 1
            or call.keywords
            or not (isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str))
        ):
            raise self.fail("omp(...) takes one directive, written out as a string (no variable, no f-string)", call)
        d = directive.parse(call.args[0].value, call, self.filename)
        self.directives.append(d)
        return d

    def _is_directive(self, node):
        return isinstance(node, ast.Call) and self.is_omp(node.func)

    def visit_With(self, node):
        index = next((i for i, item in enumerate(node.items) if self._is_directive(item.context_expr)), None)
        if index is None:
            return self.generic_visit(node)
        if index:
            inner = ast.copy_location(ast.With(node.items[index:], node.body), node)
            node.items, node.body = node.items[:index], [inner]
            return self.generic_visit(node)
        if len(node.items) > 1:
            node.body = [ast.copy_location(ast.With(node.items[1:], node.body), node)]
            node.items = node.items[:1]
        item = node.items[0]
        d = self._text(item.context_expr)
        if item.optional_vars is not None:
            raise self.fail("a directive has no value: no 'as' here", item.optional_vars)
        if d.standalone:
            if not all(isinstance(s, ast.Pass) for s in node.body):
                raise self.fail(f"{d.name} stands alone: its block may only be pass", node.body[0])
            nesting.check(d, self.around)
            standing = ast.copy_location(ast.Expr(item.context_expr), node)
            standing._omp = d
            return standing
        nesting.check(d, self.around)
        d.inside = nesting.kind_of(self.around[-1]) if self.around and len(d.words) == 1 else None
        self.around.append(d)
        node.body = [s for b in node.body for s in self._each(self.visit(b))]
        self.around.pop()
        node._omp = d
        Block(d, self.filename).check(node.body)
        if nesting.LOOPS & set(d.words):
            nesting.check_loop(d, node.body, self.fail)
        return node

    def visit_FunctionDef(self, node):
        around, self.around = self.around, []  # it may be called anywhere
        self.generic_visit(node)
        self.around = around
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    @staticmethod
    def _each(result):
        return result if isinstance(result, list) else [result]

    def visit_AsyncWith(self, node):
        for item in node.items:
            if self._is_directive(item.context_expr):
                raise self.fail("a directive's block is a plain with, not async with", node)
        return self.generic_visit(node)

    def visit_Expr(self, node):
        if not self._is_directive(node.value):
            return self.generic_visit(node)
        d = self._text(node.value)
        if not d.standalone:
            raise self.fail(f"{d.name} needs a block: with omp({node.value.args[0].value!r}):", node)
        nesting.check(d, self.around)
        node._omp = d
        return node

    def visit_Call(self, node):
        if self._is_directive(node) and len(node.args) == 1 and isinstance(node.args[0], (ast.Constant, ast.JoinedStr)):
            raise self.fail("a directive is a statement of its own or stands in a with", node)
        return self.generic_visit(node)

    def visit_ClassDef(self, node):
        for s in node.body:
            if isinstance(s, ast.With) and any(self._is_directive(i.context_expr) for i in s.items):
                raise self.fail("a directive must be inside a function, not in the body of a class", s)
        return self.generic_visit(node)


class Block(ast.NodeVisitor):
    """Refuses ways out of a block, and ways to give control away inside it."""

    def __init__(self, d, filename):
        self.name, self.filename, self.loops = d.name, filename, 0
        self.words = d.words

    def check(self, body):
        share = self.words[-1] if self.words[-1] != "simd" else self.words[-2] if len(self.words) > 1 else "simd"
        if share in ("for", "taskloop", "loop", "simd"):
            for s in body:
                self._loop_nest(s)
            return
        for s in body:
            self.visit(s)

    def _loop_nest(self, node):
        """The loop that the directive shares out: continue belongs to it, break would leave the construct."""
        if not isinstance(node, ast.For):
            return self.visit(node)
        self.visit(node.iter)
        self.shared = True
        for s in node.body:
            self.visit(s)
        self.shared = False

    shared = False

    def visit(self, node):
        if type(node) not in SIMPLE:
            return super().visit(node)
        if not hasattr(node, "_plain"):
            node._plain = not any(isinstance(n, _GIVES_AWAY) or getattr(n, "is_async", 0) for n in walk(node))
        if not node._plain:
            super().visit(node)

    def fail(self, what, node):
        raise located(f"{what} inside omp({self.name!r}): the block must be left at its end", node, self.filename)

    def visit_Return(self, node):
        self.fail("return", node)

    def visit_Yield(self, node):
        self.fail("yield", node)

    visit_YieldFrom = visit_Yield

    def visit_Await(self, node):
        self.fail("await", node)

    def visit_AsyncFor(self, node):
        self.fail("async for", node)

    def visit_AsyncWith(self, node):
        self.fail("async with", node)

    def visit_Break(self, node):
        if not self.loops:
            self.fail("break", node)

    def visit_Continue(self, node):
        if not self.loops and not self.shared:
            self.fail("continue", node)

    def visit_ImportFrom(self, node):
        if any(a.name == "*" for a in node.names):
            self.fail("import *", node)

    def _loop(self, node):
        self.visit(node.iter if isinstance(node, ast.For) else node.test)
        self.loops += 1
        for s in node.body:
            self.visit(s)
        self.loops -= 1
        for s in node.orelse:
            self.visit(s)

    visit_For = visit_While = _loop

    def _comprehension(self, node):
        if any(g.is_async for g in node.generators):
            self.fail("an async comprehension", node)
        self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_FunctionDef(self, node):
        pass

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_With(self, node):
        if not hasattr(node, "_omp"):  # inner blocks have been looked at
            self.generic_visit(node)


class Super(ast.NodeTransformer):
    """super() looks at the running function's first argument, which in a block that was moved is another one: say
    it."""

    def __init__(self, first):
        self.first = first

    def visit_Call(self, node):
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords:
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self.first, ast.Load())]
            for a in node.args:
                ast.copy_location(a, node)
        return node

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef


class Threadprivate(ast.NodeTransformer):
    """Threadprivate variables become attributes of an object that gives each thread its own."""

    def __init__(self, names, holder):
        self.names, self.holder, self.used = names, holder, False

    def _hidden(self, names, visit):
        """Visits where these names mean variables of an inner scope."""
        outside, self.names = self.names, self.names - names
        visit()
        self.names = outside

    def function(self, node):
        """A function inside; its own variables and parameters may have the same names."""
        args, inner = node.args, inside(node)
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]

        def visit():
            if isinstance(node, ast.Lambda):
                node.body = self.visit(node.body)
            else:
                node.body = [self.visit(s) for s in node.body]

        self._hidden(inner.bound(), visit)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = function

    def visit_comprehension_of(self, node):
        targets = {t.id for g in node.generators for t in walk(g.target, ast.Name)}
        node.generators[0].iter = self.visit(node.generators[0].iter)
        first, node.generators[0].iter = node.generators[0].iter, ast.Constant(None)
        self._hidden(targets, lambda: self.generic_visit(node))
        node.generators[0].iter = first
        return node

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_of

    def visit_Name(self, node):
        if node.id not in self.names:
            return node
        self.used = True
        return ast.copy_location(
            ast.Attribute(ast.copy_location(ast.Name(self.holder, ast.Load()), node), node.id, node.ctx), node
        )

    def visit_Global(self, node):
        node.names = [n for n in node.names if n not in self.names]
        return node if node.names else ast.copy_location(ast.Pass(), node)

    visit_Nonlocal = visit_Global


__all__ = ["Annotate", "Super", "Threadprivate", "FUNCTIONS", "SCOPES"]
