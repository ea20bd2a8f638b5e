# SPDX-License-Identifier: BSD-3-Clause
"""What rewritten code calls besides the C run-time: copies, identities, iteration spaces, task loops, threadprivate
storage.

RUNTIME names everything that rewritten code may use; the rewriter takes it from there.
"""

import bisect
import copy as _copy
import operator
import types

from . import _rt
from .errors import OmpError

OPERATORS = {"+", "*", "-", "&", "|", "^", "&&", "||", "min", "max"}


class _Unset:
    """The value of a variable that has none."""

    def __repr__(self):
        return "<not set>"


UNSET = _Unset()
_ATOMIC = (
    int,
    float,
    complex,
    bool,
    str,
    bytes,
    type(None),
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.ModuleType,
    range,
    tuple,
    frozenset,
    _Unset,
)


def copy(value):
    """The copy that firstprivate makes: a new container or object with the same contents; functions and modules are
    shared."""
    kind = type(value)
    if kind in _ATOMIC:
        return value
    if kind is list:
        return value[:]
    try:
        return _copy.copy(value)
    except TypeError as error:
        raise TypeError(f"a {kind.__name__} cannot be copied for firstprivate: {error}") from None


def private(value):
    """What a private variable starts as: containers are the thread's own copy, everything else is not set."""
    if type(value) in _ATOMIC:
        return UNSET
    if (
        isinstance(value, (list, dict, set, bytearray))
        or hasattr(value, "__array_interface__")
        or hasattr(value, "__copy__")
    ):
        return _copy.copy(value)
    return UNSET


def snap(read):
    """The value of a variable that may not be bound."""
    try:
        return read()
    except NameError:
        return UNSET


_NUMBERS = {"+": 0, "-": 0, "*": 1, "|": 0, "^": 0, "&": -1, "&&": True, "||": False}


def identity(op, value):
    """What a thread's partial result starts with: the operator's neutral element in the type of the variable."""
    kind = type(value)
    if kind is float and op in "+-*":
        return 1.0 if op == "*" else 0.0
    if op in ("min", "max"):
        return _copy.copy(value) if kind not in _ATOMIC else value  # combining twice changes nothing
    if op in ("&&", "||"):
        return op == "&&"
    if kind is bool:
        return _NUMBERS[op] if op in "+-*" else op == "&"
    if kind is int:
        return _NUMBERS[op]
    if hasattr(value, "__array_interface__"):
        return _array_identity(op, value)
    return _object_identity(op, value, kind)


def _array_identity(op, value):
    import numpy

    if op == "&":
        return ~numpy.zeros_like(value)
    return numpy.ones_like(value) if op == "*" else numpy.zeros_like(value)


def _object_identity(op, value, kind):
    if op == "&":
        return _copy.copy(value)  # x & x is x
    tries = (lambda: kind(1),) if op == "*" else (kind, lambda: kind(0), lambda: value - value)
    for attempt in tries:
        try:
            return attempt()
        except Exception:  # noqa: BLE001  whatever a class's constructor raises
            continue
    raise OmpError(
        f"reduction({op}): {kind.__name__} has no neutral element that {kind.__name__}() gives; "
        "use declare reduction with an initializer"
    )


def fresh(value):
    """The start of a declared reduction without an initializer."""
    try:
        return type(value)()
    except TypeError:
        raise OmpError(f"declare reduction: {type(value).__name__}() needs arguments; give an initializer") from None


def _extreme(name, pick):
    def extreme(a, b):
        if hasattr(a, "__array_interface__") and getattr(a, "ndim", 0):
            import numpy

            return getattr(numpy, name)(a, b, out=a)
        return pick(a, b)

    return extreme


def earlier(parts):
    """The partial results of the threads before this one."""
    return [p for p in parts[: _rt.omp_get_thread_num()] if p is not None]


def latest(parts, i):
    """(number, value) of the highest iteration that wrote variable i of a lastprivate(conditional:); -1 if none did."""
    return max((p[i] for p in parts if p is not None), key=operator.itemgetter(0))


class Space:
    """The iterations of loops collapsed into one: size of them, at(k) gives their variables for number k."""

    def __init__(self, makers, names):
        self.rows, self.parts, self.size = None, None, 1
        if any(m.__code__.co_argcount for m in makers):
            self._tree(makers, names)
            return
        self.parts = [m() for m in makers]
        self.parts = [p if isinstance(p, range) else list(p) for p in self.parts]
        for p in self.parts:
            self.size *= len(p)

    def _tree(self, makers, names):
        """Inner bounds depend on outer variables: the outer combinations, with the number of iterations before each."""
        rows = [()]
        for m in makers[:-1]:
            rows = [row + (v,) for row in rows for v in self._inner(m, names, row)]
        self.rows, self.last, self.starts, self.size = [], [], [], 0
        for row in rows:
            inner = self._inner(makers[-1], names, row)
            if len(inner):
                self.rows.append(row)
                self.last.append(inner)
                self.starts.append(self.size)
                self.size += len(inner)

    @staticmethod
    def _inner(maker, names, row):
        known = dict(zip(names, row))
        wanted = maker.__code__.co_varnames[: maker.__code__.co_argcount]
        it = maker(*(known[n] for n in wanted))
        return it if isinstance(it, range) else list(it)

    def at(self, k):
        if self.rows is not None:
            i = bisect.bisect_right(self.starts, k) - 1
            return (*self.rows[i], self.last[i][k - self.starts[i]])
        values = []
        for p in reversed(self.parts):
            k, i = divmod(k, len(p))
            values.append(p[i])
        return tuple(reversed(values))


def taskloop(function, iterable, args, kind, amount, nogroup, flags, priority):
    """Cuts the iterations into tasks; returns what they returned, in the order of the iterations."""
    items = iterable if isinstance(iterable, range) else list(iterable)
    total = len(items)
    tasks = _task_count(kind, amount, total)
    results = [None] * tasks

    def one(i, share):
        results[i] = function(share, *args)

    if not nogroup:
        _rt.taskgroup_enter()
    try:
        for i in range(tasks):
            share = items[total * i // tasks : total * (i + 1) // tasks]
            _rt.task(one, (i, share), flags, priority)
    finally:
        if not nogroup:
            _rt.taskgroup_exit()
    return results


def _task_count(kind, amount, total):
    if total == 0:
        return 0
    if kind is None:
        return min(total, 4 * _rt.omp_get_num_threads())
    amount = operator.index(amount)
    if amount < 1:
        raise ValueError(f"{kind}({amount}): at least 1 expected")
    return min(total, amount) if kind == "num_tasks" else max(1, total // amount)


def share_of_team(iterable, chunk):
    """What a team of a league takes of a distribute loop: one block, or every so many chunks."""
    items = iterable if isinstance(iterable, range) else list(iterable)
    me, teams, total = _rt.omp_get_team_num(), _rt.omp_get_num_teams(), len(items)
    if chunk is None:
        return items[total * me // teams : total * (me + 1) // teams]
    chunk = operator.index(chunk)
    if chunk < 1:
        raise ValueError(f"dist_schedule(static, {chunk}): a chunk size of at least 1 expected")
    starts = range(me * chunk, total, teams * chunk)
    return [v for start in starts for v in items[start : start + chunk]]


class Depobj:
    """What depobj(...) depend(...) makes: pairs (kind, storage) for the depend clauses of tasks."""

    def __init__(self, items):
        self.items = items


def depobj_items(held):
    if not isinstance(held, Depobj) or held.items is None:
        raise TypeError("depend(depobj: ...): an object expected that depobj(...) depend(...) has made")
    return held.items


def depobj_update(held, kind):
    """Another kind of dependence on the same storage; None: the object is not used any more."""
    held.items = None if kind is None else tuple((kind, key) for _, key in depobj_items(held))


class TaskReduction:
    """The partial results of a taskgroup's task_reduction: one per thread and variable."""

    def __init__(self, *entries):
        self.combine = {n: c for n, c, _, _ in entries}
        self.identity = {n: (i, orig) for n, _, i, orig in entries}
        self.held = {n: {} for n, *_ in entries}

    def take(self, n):
        make, orig = self.identity[n]
        part = self.held[n].pop(_rt.omp_get_thread_num(), UNSET)
        return make(orig) if part is UNSET else part

    def give(self, n, value):
        me = _rt.omp_get_thread_num()
        other = self.held[n].pop(me, UNSET)
        self.held[n][me] = value if other is UNSET else self.combine[n](other, value)

    def parts(self, n):
        return [self.held[n][i] for i in sorted(self.held[n])]


_REDUCTIONS = "__omp_reductions__"


def declared_reductions(namespace):
    return namespace.setdefault(_REDUCTIONS, {})


def index(value):
    """An index as part of a key: integers of any type are the same number."""
    try:
        return operator.index(value)
    except TypeError:
        return value


def note(name, filename, line):
    """check=True: the thread has written a shared variable."""
    from . import check

    check.note(name, filename, line)


RUNTIME = {
    "note": note,
    "copy": copy,
    "private": private,
    "snap": snap,
    "identity": identity,
    "fresh": fresh,
    "earlier": earlier,
    "latest": latest,
    "space": Space,
    "taskloop": taskloop,
    "share_of_team": share_of_team,
    "depobj": Depobj,
    "depobj_items": depobj_items,
    "depobj_update": depobj_update,
    "task_reduction": TaskReduction,
    "index": index,
    "storage": object,
    "id": id,
    "range": range,
    "left": _rt.ConstructLeft,
    "thread_num": _rt.omp_get_thread_num,
    "min": _extreme("minimum", min),
    "max": _extreme("maximum", max),
}
for _function in RUNTIME.values():  # all threads use them, so they are not counted
    if isinstance(_function, types.FunctionType):
        _rt.immortal(_function)
        _rt.immortal(_function.__code__)
RUNTIME.update(
    {
        n: getattr(_rt, n)
        for n in (
            "parallel",
            "league",
            "event",
            "loop",
            "loop_over",
            "loop_end",
            "barrier",
            "meet",
            "enter",
            "masked",
            "leave",
            "work_failed",
            "share_failed",
            "loop_failed",
            "single",
            "share",
            "shared",
            "gather",
            "reduce",
            "reduced",
            "ordered_enter",
            "ordered_exit",
            "task",
            "taskwait",
            "taskyield",
            "taskgroup_enter",
            "taskgroup_exit",
            "cancel",
            "cancellation_point",
            "critical",
            "critical_enter",
            "critical_exit",
            "atomic_enter",
            "atomic_exit",
            "flush",
            "localize",
            "view",
        )
    }
)
