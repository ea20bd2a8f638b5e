# SPDX-License-Identifier: BSD-3-Clause
"""Rewrites a function: blocks under directives become calls of the run-time. Entry: function.py, called by @omp.

Blocks that other threads run (parallel, task) become nested functions; worksharing and synchronisation stay in place.
The work is split over regions.py, loops.py and tasks.py, whose functions register themselves in HANDLERS by the
directive's words.
"""

import ast
import copy

from ._rt import walk
from . import sections, support  # noqa: F401  sections adds to what rewritten code may call
from .build import PREFIX, assign, call, const, expr, function, if_, lambda_, name, try_finally, tuple_
from .directive import Part
from .source import located
from .names import SIMPLE, Rename, definite, deleted
from .scope import Scope

HANDLERS = {}
_ORDERING = {"critical", "atomic", "single", "master", "masked", "ordered", "task"}


def handles(*names):
    """Registers a handler (rewriter, directive, node, scope, known) -> statements for the directives."""

    def register(f):
        for n in names:
            HANDLERS[n] = f
        return f

    return register


class Rewriter:
    """The state of one function's rewriting."""

    def __init__(self, function_, options):
        self.function, self.filename = function_, function_.__code__.co_filename
        self.options = options
        self.counter = 0
        self.values = {}  # run-time names used: name -> object
        self.reductions = {}  # declared ones: name -> (combiner, initializer or None)
        self.threadprivate = {}
        self.ordered = 0  # depth of blocks that order what threads write
        self.annotations, self.renamed = {}, {}  # compiled mode: annotations; new name -> the user's name
        self.scans = 0  # depth of simd loops with inscan reductions
        self.across = []  # doacross loops around: (loop object, variables, scope)

    # Names and locations.
    def fresh(self, what):
        self.counter += 1
        return f"{PREFIX}{what}_{self.counter}"

    def rt(self, what):
        """The name under which rewritten code finds support.RUNTIME[what]."""
        return self.value(PREFIX + what, support.RUNTIME[what])

    def value(self, id_, obj):
        self.values[id_] = obj
        return id_

    def call(self, what, *args):
        return call(self.rt(what), *args)

    def put(self, where, *statements):
        """Gives made statements the place of the directive."""
        for s in statements:
            if not hasattr(s, "lineno"):
                ast.copy_location(s, where)  # what is inside takes it over when the whole is compiled
        return list(statements)

    def fail(self, message, node):
        return located(message, node, self.filename)

    # Walking.
    def block(self, statements, scope, known):
        result, known = [], set(known)
        last = (
            len(statements)
            if scope.outlined
            else max((i for i, s in enumerate(statements) if _has_directive(s)), default=-1)
        )
        for i, s in enumerate(statements):
            if i > last:  # nothing to rewrite from here on
                return result + statements[i:]
            if isinstance(s, ast.Assign) and len(s.targets) == 1 and isinstance(s.targets[0], ast.Name):
                bound, gone = {s.targets[0].id}, set()
            else:
                bound = definite([s])
                gone = deleted(s)
            result += self.statement(s, scope, known)
            result += self.noted(s, scope)
            known = (known | bound) - gone
        return result

    def noted(self, s, scope):
        """check=True: a note of the shared variables that the statement has written."""
        if not self.options.get("check") or self.ordered or not isinstance(s, (ast.Assign, ast.AugAssign)):
            return []
        targets = s.targets if isinstance(s, ast.Assign) else [s.target]
        names = {
            t.id for target in targets for t in walk(target) if isinstance(t, ast.Name) and isinstance(t.ctx, ast.Store)
        }
        return [
            e
            for n in sorted(names & scope.nonlocals)
            for e in self.put(s, expr(self.call("note", const(n), const(self.filename), const(s.lineno))))
        ]

    def statement(self, s, scope, known):
        if hasattr(s, "_omp"):
            return self.directive(s, scope, known)
        if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if _has_directive(s):
                inner = Scope.of_function(s, scope)
                self.body(s, inner, inner.known)
            return [s]
        if isinstance(s, ast.ClassDef):
            s.body = [t for b in s.body for t in self.statement(b, scope, known)]
            return [s]
        if isinstance(s, (ast.Global, ast.Nonlocal)) and scope.outlined:
            return self.put(s, ast.Pass())
        if isinstance(s, ast.AnnAssign) and scope.outlined and isinstance(s.target, ast.Name):
            return [ast.copy_location(ast.Assign([s.target], s.value) if s.value else ast.Pass(), s)]
        if not _has_directive(s) and not scope.outlined:
            return [s]
        return self.compound(s, scope, known)

    def compound(self, s, scope, known):
        hoist = None
        if isinstance(s, (ast.For, ast.AsyncFor, ast.While)) and scope.hoist is None:
            hoist = scope.hoist = []
        if isinstance(s, (ast.For, ast.AsyncFor)):
            known = known | {t.id for t in walk(s.target) if isinstance(t, ast.Name)}
        elif isinstance(s, (ast.With, ast.AsyncWith)):
            known = known | {
                t.id for i in s.items if i.optional_vars for t in walk(i.optional_vars) if isinstance(t, ast.Name)
            }
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None) and isinstance(getattr(s, field), list):
                setattr(s, field, self.block(getattr(s, field), scope, known))
        for part in getattr(s, "handlers", []) + getattr(s, "cases", []):
            part.body = self.block(part.body, scope, known)
        if hoist is not None:
            scope.hoist = None
            return hoist + [s]
        return [s]

    def directive(self, s, scope, known):
        d = s._omp
        across = d.name == "ordered" and d.standalone
        handler = HANDLERS.get("ordered doacross" if across else d.name) or HANDLERS.get(d.words[0])
        if handler is None:
            raise self.fail(f"{d.name} is not supported", s)
        self.ordered += d.words[-1] in _ORDERING
        result = self.put(d.where, *handler(self, d, s, scope, known))
        self.ordered -= d.words[-1] in _ORDERING
        return result

    def body(self, node, scope, known):
        """Rewrites a function's body in place and puts its declarations on top."""
        statements = self.block(node.body, scope, known)
        top = []
        if scope.outlined:
            if scope.globals & scope.uses_globals:
                top.append(ast.Global(sorted(scope.globals & scope.uses_globals)))
            if scope.nonlocals:
                top.append(ast.Nonlocal(sorted(scope.nonlocals)))
        elif scope.globals:
            extra = scope.globals - _declared(node.body)
            if extra:
                top.append(ast.Global(sorted(extra)))
        top += [
            ast.AnnAssign(name(n, True), const("shared"), None, 1)
            for n in sorted(scope.declared - scope.nonlocals - scope.globals)
        ]
        where = node.body[0] if node.body else node
        doc = []
        if not scope.outlined and statements and _is_docstring(statements[0]):
            doc, statements = [statements[0]], statements[1:]
        node.body = doc + self.put(where, *top, *scope.top) + (statements or [ast.copy_location(ast.Pass(), where)])

    # What handlers share.
    def outline(self, what, node, plan, scope, known, prologue=(), epilogue=()):
        """Moves a block into a function: (its name, statements that define it here). In a loop it is defined in front
        of the loop."""
        id_ = self.fresh(what)
        from .names import Events

        events = Events().run(node.body)
        locals_ = (events.bound() | plan.private | set(plan.passed)) - plan.written - plan.globals
        locals_ -= {n for n in events.globals | events.nonlocals}
        inner = Scope(node, scope, events, locals_, outlined=True)
        inner.globals = set(scope.globals) - locals_
        inner.uses_globals = set(plan.globals)
        inner.nonlocals = set(plan.written)
        inner.shared = set(plan.passed) | plan.written | plan.captured
        inner.chosen = set(node._omp.names("private", "firstprivate", "reduction"))
        inner.known = (
            set(plan.passed)
            | (known & (plan.captured | plan.written))
            | set(node._omp.names("firstprivate", "reduction"))
        )
        f = function(id_, [], list(node.body) or [ast.Pass()])
        self.put(node._omp.where, f)
        self.body(f, inner, inner.known)
        decl = 0
        while decl < len(f.body) and isinstance(f.body[decl], (ast.Global, ast.Nonlocal, ast.AnnAssign)):
            decl += 1
        f.body[decl:decl] = self.put(node._omp.where, *prologue)
        f.body += self.put(node._omp.where, *epilogue)
        if scope.hoist is None:
            return id_, [f]
        scope.hoist.append(f)
        return id_, []

    def sure(self, id_, known, scope):
        return id_ in known or (scope.where(id_) == "global" and id_ in self.function.__globals__)

    def argument(self, id_, known, scope):
        """An expression for the value of a variable that may not be bound."""
        if self.sure(id_, known, scope):
            return name(id_)
        return self.call("snap", lambda_([], name(id_)))

    def given(self, id_, known, scope):
        """What the function that gets such a value does first."""
        if self.sure(id_, known, scope):
            return []
        return [
            if_(
                ast.Compare(name(id_), [ast.Is()], [name(self.value(PREFIX + "unset", support.UNSET))]),
                [ast.Delete([ast.Name(id_, ast.Del())])],
            )
        ]

    def rename(self, names, node, scope):
        """New names for variables that a construct in place has copies of; returns old -> new."""
        mapping = {n: f"_omp_{n}_{self._next()}" for n in names}
        self.renamed.update({new: self.renamed.get(n, n) for n, new in mapping.items()})
        if mapping:
            rename = Rename(mapping)
            node.body = [rename.visit(s) for s in node.body]
            scope.refresh(node)
            scope.locals |= set(mapping.values())
            scope.chosen |= set(mapping.values())
        return mapping

    def _next(self):
        self.counter += 1
        return self.counter

    def guarded(self, enter, body, leave):
        return [expr(enter), try_finally(body or [ast.Pass()], [expr(leave)])]

    def combiner(self, operator, where, scope):
        """For a declared reduction, makes its functions once, at the top of the whole function."""
        operator = str(operator)
        if operator in support.OPERATORS:
            return
        if operator not in self.reductions:
            declared = support.declared_reductions(self.function.__globals__).get(operator)
            if not declared:
                raise self.fail(f"reduction operator {operator!r} is neither built in nor declared above", where)
            self.reductions[operator] = declared
        if PREFIX + operator in scope.root.locals:
            return
        text, initializer = self.reductions[operator]
        scope.root.locals |= {PREFIX + operator, PREFIX + "init_" + operator}
        scope.root.known |= {PREFIX + operator, PREFIX + "init_" + operator}
        scope.root.top += self.put(where, *_combiner(self, operator, text, initializer))

    def _part(self, operator):
        """How a part of a variable is reduced, and which."""
        how = const(str(operator))
        if operator not in support.OPERATORS:
            how = tuple_([name(PREFIX + operator), name(PREFIX + "init_" + operator)])
        return how, ast.Subscript(name(self.rt("index_of")), copy.deepcopy(operator.index), ast.Load())

    def identity(self, operator, of):
        if isinstance(operator, Part):
            how, index = self._part(operator)
            return self.call("section_begin", how, of, index)
        if operator in support.OPERATORS:
            return self.call("identity", const(operator), of)
        return call(PREFIX + "init_" + operator, of)

    def combine(self, operator, target, part):
        from .build import combine

        if isinstance(operator, Part):
            how, index = self._part(operator)
            return expr(self.call("section_combine", how, name(target), part, index))
        if operator in ("min", "max"):
            self.rt(operator)
        return combine(operator, target, part)


def _combiner(rewriter, operator, text, initializer):
    """Functions (omp_out, omp_in) -> result and (omp_orig) -> initial value."""
    tree = ast.parse(text).body
    result = [ast.Return(name("omp_out"))]
    if len(tree) == 1 and isinstance(tree[0], ast.Expr):
        value = tree[0].value
        if isinstance(value, ast.Call):
            tree = [assign("omp_result", value)]
            result = [
                ast.Return(
                    ast.IfExp(
                        ast.Compare(name("omp_result"), [ast.Is()], [const(None)]), name("omp_out"), name("omp_result")
                    )
                )
            ]
        else:
            tree, result = [], [ast.Return(value)]
    for node in tree:
        for sub in walk(node):
            if hasattr(sub, "lineno"):
                del sub.lineno
    for node in result:
        for sub in walk(node):
            if hasattr(sub, "lineno"):
                del sub.lineno
    start = ast.parse(initializer, mode="eval").body if initializer else rewriter.call("fresh", name("omp_orig"))
    for sub in walk(start):
        if hasattr(sub, "lineno"):
            del sub.lineno
    return [
        function(PREFIX + operator, ["omp_out", "omp_in"], tree + result),
        function(PREFIX + "init_" + operator, ["omp_orig"], [ast.Return(start)]),
    ]


def _has_directive(node):
    if type(node) in SIMPLE or isinstance(node, (ast.Return, ast.Pass)):
        return hasattr(node, "_omp")
    return any(hasattr(n, "_omp") for n in walk(node))


def _declared(statements):
    from .names import Events

    return Events().run(statements).globals


def _is_docstring(s):
    return isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) and isinstance(s.value.value, str)
