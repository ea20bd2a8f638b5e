# SPDX-License-Identifier: BSD-3-Clause
"""rewrite(function): from a function to the one that runs its directives, once per code object. Called by @omp."""

import ast
import types

from . import _rt, nesting
from ._rt import locate
from .annotate import Annotate, Super, Threadprivate
from .build import PREFIX
from .names import Events, parameters
from .rewrite import Rewriter
from .scope import Scope
from .source import build, class_of, codes, template, tree_of
from .threadprivate import threadprivate_of

_cache = {}


def _resolver(function_):
    """Whether an expression is the omp function, as the function's own scope sees it."""
    from .api import omp

    cells = dict(zip(function_.__code__.co_freevars, function_.__closure__ or ()))
    locals_ = set(function_.__code__.co_varnames)

    def value(id_):
        if id_ in locals_:
            return None
        try:
            return (
                cells[id_].cell_contents
                if id_ in cells
                else function_.__globals__.get(id_, omp if id_ == "omp" else None)
            )
        except ValueError:
            return None

    def is_omp(node):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = value(node.value.id)
            return module is not None and getattr(module, node.attr, None) is omp
        return isinstance(node, ast.Name) and value(node.id) is omp

    return is_omp


def uses_directives(function_):
    """Whether the function, or one inside it, has a name for omp or for a threadprivate variable."""
    is_omp = _resolver(function_)
    private = getattr(threadprivate_of(function_, ()), "names", ())
    for code in codes(function_.__code__):
        for n in (*code.co_names, *code.co_freevars):
            if n in ("omp", "openmp") or n in private or is_omp(ast.Name(n, ast.Load())):
                return True
    return function_.__name__ == "<lambda>"  # it has no text of its own: tree_of() says so


def _prepare(r, tree):
    """Directives parsed, threadprivate variables and super() replaced; False when there is nothing to rewrite."""
    found = Annotate(_resolver(r.function), r.filename)
    found.function(tree)
    known = _names(r.function)
    for d in found.directives:
        nesting.check_names(d, known)
    private = threadprivate_of(r.function, found.directives)
    todo = bool(found.directives)
    if private:
        declared = {n for d in found.directives if d.words == ["threadprivate"] for n in d.argument}
        own = Events(raw=True).run(tree.body).bound() | set(parameters(tree.args))
        swap = Threadprivate(private.names - (own - declared), PREFIX + "threadprivate")
        r.threadprivate = private
        tree.body = [swap.visit(s) for s in tree.body]
        if swap.used or found.directives:
            r.value(PREFIX + "threadprivate", private)
            todo = True
    if todo and class_of(r.function) and tree.args.args + tree.args.posonlyargs:
        first = (tree.args.posonlyargs + tree.args.args)[0].arg
        tree.body = [Super(first).visit(s) for s in tree.body]
    return todo


def _names(function_):
    """All names that mean something in the function."""
    known = set(function_.__globals__)
    for code in codes(function_.__code__):
        known.update(code.co_varnames, code.co_cellvars, code.co_freevars, code.co_names)
    return known


def rewrite(function_, options):
    """The function that runs the directives; the function itself when it has none."""
    from . import atomic, depend, devices, loops, regions, tasks  # noqa: F401  their handlers register themselves

    key = (id(function_.__code__), tuple(sorted(options.items())))
    cached = _cache.get(key)
    if cached is None:
        cached = _cache[key] = (function_.__code__, *_rewrite(function_, options))
    _, code, values, text = cached
    if code is None:
        if cached[3] is None:
            _share(function_.__code__)
            _cache[key] = (*cached[:3], "")
        if options.get("compile"):
            from . import compiled

            return compiled.function(function_)
        return function_
    new = build(code, function_, values)
    new.__omp_source__ = text
    return new


def _rewrite(function_, options):
    if not options and not uses_directives(function_):
        return None, None, None
    tree = tree_of(function_)
    r = Rewriter(function_, options)
    if options.get("compile"):
        from . import compiled

        r.annotations = compiled.annotations_of(function_, tree)
    if not _prepare(r, tree):
        return None, None, None
    outer = _Outer(function_.__code__.co_freevars)
    scope = Scope.of_function(tree, outer if outer.names else None)
    r.body(tree, scope, scope.known)
    code = template(tree, function_, list(r.values))
    cells = {n: types.CellType(v) for n, v in r.values.items()}
    _share(code)
    for cell in cells.values():
        _rt.immortal(cell)
    return code, cells, _Text(tree, function_.__name__)


def _share(code):
    """Code that stays in the cache and that all threads run: it and the tuples among its constants are not counted."""
    todo = list(codes(code))
    while todo:
        shared = todo.pop()
        _rt.immortal(shared)
        parts = shared.co_consts if isinstance(shared, types.CodeType) else shared
        todo += [c for c in parts if isinstance(c, tuple)]


class _Outer:
    """The functions around the decorated one: all that is known is the names it takes from them."""

    parent, root, shared, events, locals = None, None, frozenset(), (), frozenset()

    def __init__(self, names):
        self.names = set(names)

    def where(self, id_):
        return "own" if id_ in self.names else "global"

    def declare(self, id_):
        pass


class _Text:
    """The rewritten source, made when somebody asks."""

    def __init__(self, tree, id_):
        self.tree, self.name = tree, id_

    def __str__(self):
        self.tree.name = self.name
        return ast.unparse(locate(self.tree)).replace(PREFIX, "rt_")
