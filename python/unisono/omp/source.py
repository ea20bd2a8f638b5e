# SPDX-License-Identifier: BSD-3-Clause
"""From a function object to its syntax tree, and from a rewritten tree back to a function object. Used by the rewriter.

The tree keeps the file's own line numbers and the new code the file's name, so tracebacks, breakpoints, coverage and
inspect.getsource() show the user's lines.
"""

import ast
import linecache
import re
import types
import warnings

from ._rt import locate
from .build import PREFIX
from .errors import OmpError, OmpSyntaxError

FUNCTION = "_omprt_function"
_MOVED = re.compile(PREFIX + r"\w+")
CLASS = "___"


def line_of(filename, number):
    return linecache.getline(filename, number)


def located(message, node, filename):
    """An OmpSyntaxError that points at the node."""
    return OmpSyntaxError(
        message,
        (
            filename,
            node.lineno,
            node.col_offset + 1,
            line_of(filename, node.lineno),
            node.end_lineno,
            (node.end_col_offset or 0) + 1,
        ),
    )


def _last_line(code):
    last = max((end or 0 for *_, end in code.co_lines()), default=code.co_firstlineno)
    return max([last, code.co_firstlineno] + [_last_line(c) for c in code.co_consts if isinstance(c, types.CodeType)])


def _indent(line):
    return len(line) - len(line.lstrip())


def tree_of(function):
    """The FunctionDef of the function, with the line and column numbers of its file."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    first = code.co_firstlineno - 1
    if not lines or first >= len(lines):
        raise OmpError(f"{function.__qualname__}: no source text, so @omp cannot rewrite it ({code.co_filename})")
    margin = _indent(lines[first])
    end = _last_line(code)
    problem = None
    while end <= len(lines):
        following = lines[end] if end < len(lines) else ""
        if end == len(lines) or (following.strip() and _indent(following) <= margin):
            head = "\n" * (first - 1) + "if 1:\n" if margin else "\n" * first  # the lines keep their numbers
            try:
                tree = ast.parse(head + "".join(lines[first:end]), code.co_filename)
            except SyntaxError as error:  # a string or bracket goes on below
                problem = error
            else:
                node = tree.body[0].body[0] if margin else tree.body[0]
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
                    return node
                break
        end += 1
    if problem:
        raise problem
    raise OmpError(
        f"{function.__qualname__}: @omp must stand right on the def (a lambda or a wrapped function has no block)"
    )


def class_of(function):
    """The name of the class whose body the function was defined in, or None."""
    parts = function.__qualname__.split(".")
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else None


def template(node, function, names):
    """The code object of the rewritten node. `names` are the run-time's names that it may use."""
    code = function.__code__
    # Line numbers count from the first decorator; the compiler must see one there (nothing ever calls it).
    first = code.co_firstlineno
    mark = ast.Name("omp", ast.Load(), lineno=first, end_lineno=first, col_offset=0, end_col_offset=0)
    node.decorator_list = [mark] if first < node.lineno else []
    node.name = FUNCTION
    inner = [node]
    owner = class_of(function)
    if owner:  # private names are mangled as in the class; __class__ is a cell
        inner = [
            ast.ClassDef(
                name=CLASS + owner.lstrip("_"), bases=[], keywords=[], body=[node], decorator_list=[], type_params=[]
            )
        ]
    # __class__ must come from the method's own cell: in a class body it does, elsewhere it is a free variable like
    # any other.
    cells = [n for n in (*code.co_freevars, *names) if not (owner and n == "__class__")]
    inner = [ast.Assign(targets=[ast.Name(n, ast.Store())], value=ast.Constant(None)) for n in cells] + inner
    factory = ast.FunctionDef(
        name="_omprt_factory",
        args=ast.arguments([], [], None, [], [], None, []),
        body=inner,
        decorator_list=[],
        returns=None,
        type_params=[],
    )
    module = ast.Module([ast.copy_location(factory, node)], [])
    locate(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # they were given when the module was compiled
        compiled = compile(module, code.co_filename, "exec", dont_inherit=True, flags=code.co_flags & 0x1FF0000)
    node.decorator_list = []
    return _renamed(_find(compiled), code)


def _find(code):
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found = const if const.co_name == FUNCTION else _find(const)
            if found:
                return found
    return None


def _renamed(found, original):
    prefix = found.co_qualname

    def fix(code, owner):
        # A block that was moved is part of the function that it stands in: a traceback shows that one's name.
        ours = code.co_name.startswith(PREFIX)
        owner = owner if ours else code.co_name
        consts = tuple(fix(c, owner) if isinstance(c, types.CodeType) else c for c in code.co_consts)
        qualified = code.co_qualname
        if qualified.startswith(prefix):
            qualified = original.co_qualname + qualified[len(prefix) :]
        return code.replace(co_consts=consts, co_name=owner, co_qualname=_MOVED.sub("<block>", qualified))

    return fix(found.replace(co_name=original.co_name), original.co_name)


def codes(code):
    """The code object and all those inside it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def build(code, function, values):
    """A function like the given one that runs the code; `values` are the cells of the run-time's names."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    closure = tuple(cells[n] if n in cells else values[n] for n in code.co_freevars)
    new = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__dict__.update(function.__dict__)
    for attribute in ("__doc__", "__module__", "__qualname__", "__annotations__", "__type_params__"):
        if hasattr(function, attribute):
            setattr(new, attribute, getattr(function, attribute))
    return new
