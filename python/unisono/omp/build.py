# SPDX-License-Identifier: BSD-3-Clause
"""Small makers of syntax-tree nodes, and the table of run-time functions that rewritten code may call."""

import ast

PREFIX = "_omprt_"


def name(id_, store=False):
    return ast.Name(id_, ast.Store() if store else ast.Load())


def const(value):
    return ast.Constant(value)


def tuple_(items):
    return ast.Tuple(list(items), ast.Load())


def call(function, *args):
    return ast.Call(name(function) if isinstance(function, str) else function, list(args), [])


def attribute(of, attr):
    return ast.Attribute(name(of), attr, ast.Load())


def assign(target, value):
    return ast.Assign([name(target, True) if isinstance(target, str) else target], value)


def expr(value):
    return ast.Expr(value)


def if_(test, body, orelse=()):
    return ast.If(test, body, list(orelse))


def for_(target, iterable, body):
    return ast.For(target, iterable, body, [])


def try_finally(body, final):
    return ast.Try(body, [], [], final)


def function(id_, params, body):
    args = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
    return ast.FunctionDef(name=id_, args=args, body=body, decorator_list=[], returns=None, type_params=[])


def lambda_(params, body):
    return ast.Lambda(ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, []), body)


def item(of, index):
    return ast.Subscript(of, const(index), ast.Load())


_BINARY = {"+": ast.Add, "-": ast.Add, "*": ast.Mult, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor}
_LOGICAL = {"&&": ast.And, "||": ast.Or}


def combine(operator, target, part):
    """The statement target = target (operator) part. Partial differences are added up, as OpenMP says."""
    if operator in _BINARY:
        return ast.AugAssign(name(target, True), _BINARY[operator](), part)
    if operator in _LOGICAL:
        return assign(target, ast.BoolOp(_LOGICAL[operator](), [name(target), part]))
    return assign(target, call(PREFIX + operator, name(target), part))
