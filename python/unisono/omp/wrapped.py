# SPDX-License-Identifier: BSD-3-Clause
"""Gets at the functions inside classes, descriptors and wrappers, and puts rewritten ones in their place. Called by
api.py with the function that rewrites one."""

import functools
import types

from .errors import OmpError

_CACHED = type(functools.lru_cache(lambda: None))
_KINDS = (
    types.FunctionType,
    staticmethod,
    classmethod,
    property,
    functools.cached_property,
    functools.partialmethod,
    functools.singledispatchmethod,
    _CACHED,
)


def replaced(obj, rewrite):
    """The object with its functions rewritten; NotImplemented when it holds none that can be reached."""
    if isinstance(obj, type):
        return _class(obj, rewrite)
    if isinstance(obj, (staticmethod, classmethod)):
        return type(obj)(replaced(obj.__func__, rewrite))
    if isinstance(obj, property):
        parts = [p and replaced(p, rewrite) for p in (obj.fget, obj.fset, obj.fdel)]
        return property(*parts, doc=obj.__doc__)
    if isinstance(obj, types.MethodType):
        return types.MethodType(replaced(obj.__func__, rewrite), obj.__self__)
    if isinstance(obj, _CACHED):
        return functools.lru_cache(**obj.cache_parameters())(replaced(obj.__wrapped__, rewrite))
    if isinstance(obj, types.FunctionType):
        return rewrite(obj)
    return _of_functools(obj, rewrite)


def _of_functools(obj, rewrite):
    if isinstance(obj, functools.cached_property):
        again = functools.cached_property(replaced(obj.func, rewrite))
        again.attrname = obj.attrname
        return again
    if isinstance(obj, functools.partialmethod):
        return functools.partialmethod(replaced(obj.func, rewrite), *obj.args, **obj.keywords)
    if isinstance(obj, functools.singledispatchmethod):
        again = functools.singledispatchmethod(replaced(obj.func, rewrite))
        for kind, function in obj.dispatcher.registry.items():
            if kind is not object:
                again.register(kind, replaced(function, rewrite))
        return again
    return NotImplemented


def _class(cls, rewrite):
    """All functions of the class's body, nested classes included; those that were made without a text (by dataclass,
    NamedTuple) and lambdas have no directives."""
    for name, value in list(vars(cls).items()):
        if isinstance(value, type):
            if value.__qualname__.startswith(cls.__qualname__ + "."):
                _class(value, rewrite)
        elif isinstance(value, _KINDS):
            function = _innermost(value)
            if function is None or function.__name__ == "<lambda>":
                continue
            if function.__qualname__.rpartition(".")[0] == cls.__qualname__:
                again = replaced(value, rewrite)
                if again is not value:
                    setattr(cls, name, again)
    return cls


def _innermost(value):
    while not isinstance(value, types.FunctionType):
        inner = [getattr(value, a, None) for a in ("__func__", "fget", "func", "__wrapped__")]
        value = next((v for v in inner if v is not None), None)
        if value is None:
            return None
    return value


def rewrapped(wrapper, rewrite):
    """A wrapper made with functools.wraps: the function that it calls is rewritten and put where it looks for it."""
    inner = wrapper.__wrapped__
    again = replaced(inner, rewrite)
    if again is inner or again is NotImplemented:
        return wrapper
    found = [c for c in wrapper.__closure__ or () if _contents(c) is inner]
    for cell in found:
        cell.cell_contents = again
    if not found:
        raise OmpError(
            f"{wrapper.__qualname__}: @omp does not see where the wrapper around it keeps the function; "
            "put @omp right on the def"
        )
    wrapper.__wrapped__ = again
    return wrapper


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None
