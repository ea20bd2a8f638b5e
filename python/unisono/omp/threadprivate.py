# SPDX-License-Identifier: BSD-3-Clause
"""Threadprivate variables: storage of which each thread has its own, made for a module or a function. Used by the
rewriter and by what it writes."""

import threading

from . import _rt
from .support import UNSET, copy


class ThreadprivateVariables:
    """Attributes that each thread has its own of. The thread that imported the module uses the module's globals
    themselves."""

    def __init__(self, namespace):
        d = object.__setattr__
        d(self, "names", set())
        d(self, "namespace", namespace)
        d(self, "initial", {})
        d(self, "own", threading.local())
        d(self, "home", threading.main_thread().ident)

    def add(self, names):
        for n in names:
            if n not in self.names:
                self.names.add(n)
                self.initial[n] = copy(self.namespace.get(n, UNSET))

    def _store(self):
        return self.namespace if threading.get_ident() == self.home else self.own.__dict__

    def __getattr__(self, n):
        store = self._store()
        try:
            return store[n]
        except KeyError:
            value = copy(self.initial.get(n, UNSET))
            if value is UNSET:
                raise NameError(f"threadprivate variable {n!r} is not set in this thread") from None
            store[n] = value
            return value

    def __setattr__(self, n, value):
        self._store()[n] = value

    def __delattr__(self, n):
        self._store().pop(n, None)


_THREADPRIVATE = "__omp_threadprivate__"


def threadprivate_in(namespace):
    """The threadprivate variables of a module, made when there are none yet."""
    found = namespace.get(_THREADPRIVATE)
    if found is None:
        found = namespace[_THREADPRIVATE] = ThreadprivateVariables(namespace)
    return found


def threadprivate_of(function, directives):
    """The threadprivate variables that a function may use, those that it declares itself included; None without any."""
    declared = [n for d in directives if d.words == ["threadprivate"] for n in d.argument]
    if declared:
        threadprivate_in(function.__globals__).add(declared)
    return function.__globals__.get(_THREADPRIVATE)


def copyout(holder, names):
    return {n: getattr(holder, n) for n in names}


def copyin(holder, values):
    if _rt.omp_get_thread_num():
        for n, value in values.items():
            setattr(holder, n, copy(value))
