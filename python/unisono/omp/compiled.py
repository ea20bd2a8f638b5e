# SPDX-License-Identifier: BSD-3-Clause
"""@omp(compile=True): loops (and functions without directives) that Numba compiles, run by the same run-time as the
others.

A worksharing loop becomes a kernel (start, stop, step, variables...) -> variables that it changes; the run-time hands
it chunks, so every schedule, nowait and tasks work. Kernels release the GIL. What Numba cannot compile is said once,
with its reason, and runs as Python. Numba is imported when the first kernel runs.
"""

import ast

from ._rt import locate, walk
import threading
import types
import warnings

_lock = threading.Lock()


def _numba():
    try:
        import numba
    except ImportError as error:
        warnings.warn(
            f"@omp(compile=True): Numba cannot be imported ({error}); running uncompiled", RuntimeWarning, stacklevel=4
        )
        return None
    return numba


class Kernel:
    """A function that is compiled at its first call, or stays Python when that fails."""

    def __init__(self, function, annotations, taken=()):
        """`annotations`: of parameters and variables; `taken`: parameters that are ours and whole numbers."""
        self.python, self.fast, self.ready = function, None, False
        self.annotations = {**annotations, **dict.fromkeys(taken, "int")}
        for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
            setattr(self, attribute, getattr(function, attribute))
        self.__wrapped__ = function

    def __get__(self, owner, kind=None):
        return self if owner is None else types.MethodType(self, owner)

    def _compile(self):
        """The dispatcher, made once; None without Numba."""
        with _lock:
            if not self.ready:
                numba = _numba()
                if numba is not None:
                    names = {
                        k: v.dispatcher() if isinstance(v, Kernel) else v for k, v in self.python.__globals__.items()
                    }
                    f = types.FunctionType(
                        self.python.__code__,
                        names,
                        self.python.__name__,
                        self.python.__defaults__,
                        self.python.__closure__,
                    )
                    self._make(numba, f)
                self.ready = True
        return self.fast

    def _make(self, numba, f):
        from . import hints

        names = f.__code__.co_varnames[: f.__code__.co_argcount]
        try:
            types = hints.signatures(names, self.annotations, numba)
            known = hints.locals_(names, self.annotations, numba)
            known = {n: t for n, t in known.items() if n in f.__code__.co_varnames}
            self.fast = numba.njit(types or None, nogil=True, locals=known)(f)
        except Exception as error:
            self._refused(error, 5)

    def _refused(self, error, stacklevel):
        self.fast = None
        reason = " ".join(str(error).split())[:300]
        warnings.warn(
            f"@omp(compile=True): {self.__qualname__} runs uncompiled, Numba says: {reason}",
            RuntimeWarning,
            stacklevel=stacklevel,
        )

    def dispatcher(self):
        """What other kernels call."""
        if self.ready:
            return self.fast or self.python
        numba = _numba()
        if numba is None:
            return self.python
        self._make(numba, self.python)
        self.ready = True
        return self.fast or self.python

    def __call__(self, *args, **kwargs):
        fast = self.fast if self.ready else self._compile()
        if fast is None:
            return self.python(*args, **kwargs)
        missing = self.python.__code__.co_argcount - len(args)
        if missing and not kwargs and missing <= len(self.python.__defaults__ or ()):
            args += self.python.__defaults__[-missing:]  # a signature does not know them
        try:
            return fast(*args, **kwargs)
        except Exception as error:
            unfit = isinstance(error, TypeError) and str(error).startswith("No matching definition")
            if not type(error).__module__.startswith("numba") and fast.signatures and not unfit:
                raise  # the compiled code ran and failed; without a signature Numba could not even begin
            self._refused(error, 3)
            return self.python(*args, **kwargs)


def function(f):
    """A function without directives."""
    from .source import tree_of

    return Kernel(f, annotations_of(f, tree_of(f)))


def annotations_of(f, tree):
    """Annotations of parameters (objects or text) and of variables (text)."""
    found = {n.target.id: ast.unparse(n.annotation) for n in walk(tree) if _annotates(n)}
    return {**found, **{n: a for n, a in f.__annotations__.items() if n != "return"}}


def _annotates(node):
    return isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)


def loop_kernel(r, loop, body_events, known, keeps, d):
    """(run-time name of the kernel, names it takes, names it gives back) for a loop over a range; None if it cannot
    be one.

    `keeps` are the variables that the loop changes and somebody reads later.
    """
    if not isinstance(loop.target, ast.Name) or any(hasattr(n, "_omp") for s in loop.body for n in walk(s)):
        return None
    stored = {n for n, kind, _ in body_events if n and kind != "load"}
    read = [n for n in dict.fromkeys(n for n, kind, _ in body_events if n)]
    names = sorted(
        n
        for n in read
        if n != loop.target.id and (n in known and (n not in stored or n in keeps or _before(body_events, n)))
    )
    gives = [n for n in names if n in stored]
    params = ["omp_start", "omp_stop", "omp_step", *names]
    import copy

    body = copy.deepcopy(loop.body)
    again = ast.For(
        ast.Name(loop.target.id, ast.Store()),
        ast.Call(ast.Name("range", ast.Load()), [ast.Name(p, ast.Load()) for p in params[:3]], []),
        body,
        [],
    )
    args = ast.arguments([], [ast.arg(p) for p in params], None, [], [], None, [])
    result = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in gives], ast.Load()))
    name = f"loop_of_{r.function.__name__}_line_{loop.lineno}"
    f = ast.FunctionDef(name=name, args=args, body=[again, result], decorator_list=[], returns=None, type_params=[])
    module = locate(ast.Module([ast.copy_location(f, loop)], []))
    code = next(c for c in compile(module, r.filename, "exec").co_consts if isinstance(c, types.CodeType))
    original = {new: r.renamed.get(new, new) for new in {*names, *stored, loop.target.id}}
    annotations = {new: r.annotations[old] for new, old in original.items() if old in r.annotations}
    kernel = Kernel(types.FunctionType(code, r.function.__globals__, name), annotations, params[:3])
    return r.value(r.fresh("kernel"), kernel), names, gives


def _before(events, name):
    """Whether the body reads the variable before it binds it."""
    return next(kind for n, kind, _ in events if n == name) == "load"


def emit(r, loop, name, found):
    """while there is a chunk: variables = kernel(chunk, variables)."""
    kernel, names, gives = found
    chunk = r.fresh("chunk")
    fetch = ast.NamedExpr(
        ast.Name(chunk, ast.Store()), ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "chunk", ast.Load()), [], [])
    )
    call = ast.Call(
        ast.Name(kernel, ast.Load()),
        [ast.Starred(ast.Name(chunk, ast.Load()), ast.Load()), *(ast.Name(n, ast.Load()) for n in names)],
        [],
    )
    run = (
        ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in gives], ast.Store())], call)
        if gives
        else ast.Expr(call)
    )
    return ast.While(ast.Compare(fetch, [ast.IsNot()], [ast.Constant(None)]), [run], [])
