# SPDX-License-Identifier: BSD-3-Clause
"""Reductions over a part of a list or an array, reduction(+: a[2:8]): each thread has a copy of the container, whose
part starts with neutral elements; only the part goes back. Used by what the rewriter writes."""

import copy
import operator

from .support import RUNTIME, identity

_APPLY = {
    "+": operator.add,
    "-": operator.add,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "&&": lambda a, b: a and b,
    "||": lambda a, b: a or b,
    "min": RUNTIME["min"],
    "max": RUNTIME["max"],
}


class _Index:
    """_Index()[...] is what stands in the brackets."""

    def __getitem__(self, index):
        return index


def _several(container, index):
    """Whether the elements are taken one by one; arrays combine theirs at once."""
    return isinstance(index, slice) and not hasattr(container, "__array_interface__")


def begin(how, container, index):
    """A thread's own container; how is an operator, or the (combiner, initializer) of a declared one."""
    start = how[1] if isinstance(how, tuple) else lambda value: identity(how, value)
    part = copy.copy(container)
    part[index] = [start(v) for v in part[index]] if _several(part, index) else start(part[index])
    return part


def combine(how, container, part, index):
    """Puts a thread's part of the container into the original."""
    apply = how[0] if isinstance(how, tuple) else _APPLY[how]
    if _several(container, index):
        container[index] = [apply(a, b) for a, b in zip(container[index], part[index])]
    else:
        container[index] = apply(container[index], part[index])


RUNTIME.update({"section_begin": begin, "section_combine": combine, "index_of": _Index()})
