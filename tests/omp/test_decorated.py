# SPDX-License-Identifier: BSD-3-Clause
"""What can be decorated: classes of every make, methods under wrappers and descriptors; a name `range` of the user's
own; default(none)."""

import abc
import enum
import functools
import typing
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from unisono.omp import *


def wrapper(f):
    @functools.wraps(f)
    def inner(*args, **more):
        return ("wrapped", f(*args, **more))

    return inner


@omp
@dataclass
class Data:
    n: int = 4
    xs: list = field(default_factory=lambda: [1])

    def total(self):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(self.n):
                s += i
        return s


@omp
@dataclass(slots=True, frozen=True, order=True)
class Frozen:
    n: int

    total = Data.__dict__["total"]

    def twice(self):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(self.n):
                s += 2 * i
        return s


@dataclass
@omp
class Inside:
    n: int = 4

    def total(self):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(self.n):
                s += i
        return s


@omp
class Named(typing.NamedTuple):
    n: int

    def total(self):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(self.n):
                s += i
        return s


@omp
class Color(enum.Enum):
    RED = 3

    def total(self):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(self.value):
                s += i
        return s


@omp
class Shape(typing.Protocol):
    def area(self): ...


@omp
class Abstract(abc.ABC):
    @abc.abstractmethod
    def part(self): ...

    def total(self, n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += self.part()
        return s


class Concrete(Abstract):
    def part(self):
        return 2


def test_classes_of_every_make():
    assert Data(5).total() == 10 and Data(5) == Data(5) and repr(Data(1)) == "Data(n=1, xs=[1])"
    assert Frozen(5).twice() == 20 and Frozen(5).total() == 10 and Frozen(1) < Frozen(2)
    assert Inside(5).total() == 10 and Named(5).total() == 10 and Named(5) == (5,)
    assert Color.RED.total() == 3 and Concrete().total(4) == 8
    with pytest.raises(TypeError):
        Abstract()


@omp
class Methods:
    key = lambda self, x: x + 1  # noqa: E731
    get = property(lambda self: 7)
    double = staticmethod(lambda x: x * 2)
    table = {"a": lambda x: x}
    added = functools.partialmethod(lambda self, a, b: a + b, 3)

    @functools.lru_cache(maxsize=3, typed=True)
    def cached(self, n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += self.key(i)
        return s

    @staticmethod
    @functools.cache
    def static(n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += i
        return s

    @classmethod
    @wrapper
    def of_class(cls, n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += i
        return s, cls.__name__

    @wrapper
    @wrapper
    def twice(self, n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += i
        return s

    @property
    @wrapper
    def value(self):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(3):
                s += i
        return s

    @functools.cached_property
    def once(self):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(9):
                s += i
        return s

    @contextmanager
    def context(self, n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += i
        yield s

    @functools.singledispatchmethod
    def of_kind(self, x):
        return "other"

    @of_kind.register
    def _(self, x: int):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(x):
                s += i
        return s

    def base(self, n, m):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += m
        return s

    five = functools.partialmethod(base, 5)


def test_methods_under_wrappers_and_descriptors():
    m = Methods()
    assert m.cached(4) == m.cached(4) == 10 and Methods.cached.cache_info().hits == 1
    assert Methods.cached.cache_parameters() == {"maxsize": 3, "typed": True}
    assert m.static(5) == 10 and Methods.of_class(4) == ("wrapped", (6, "Methods"))
    assert m.twice(4) == ("wrapped", ("wrapped", 6)) and m.value == ("wrapped", 3) and m.once == 36
    assert m.get == 7 and m.double(3) == 6 and m.added(4) == 7 and m.five(2) == 10
    assert m.of_kind(4) == 6 and m.of_kind("x") == "other"
    with m.context(4) as inside:
        assert inside == 6


def test_functions_under_wrappers():
    @omp
    @wrapper
    def first(n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += i
        return s

    @omp
    @functools.lru_cache
    def second(n):
        s = 0
        with omp("parallel for reduction(+:s) num_threads(2)"):
            for i in range(n):
                s += i
        return s

    assert first(4) == ("wrapped", 6) and second(4) == second(4) == 6 and second.cache_info().hits == 1


class Hides:
    def __init__(self, f):
        self.f = f

    def made(self):
        def inner(*args):
            return self.f(*args)

        inner.__wrapped__ = self.f
        return inner


def test_a_wrapper_that_hides_its_function_is_an_error_that_says_what_to_do():
    def f():
        with omp("parallel"):
            pass

    with pytest.raises(OmpError, match="put @omp right on the def"):
        omp(Hides(f).made())


@omp
def parameter(range):
    out = []
    with omp("parallel for num_threads(2)"):
        for i in range(3):
            out.append(i)
    return sorted(out)


@omp
def local_name():
    range = lambda n: [10, 20]  # noqa: E731
    out = []
    with omp("parallel num_threads(2)"):
        with omp("for schedule(dynamic)"):
            for i in range(3):
                out.append(i)
    return sorted(out)


def enclosing(range):
    @omp
    def inner():
        out = []
        with omp("parallel for num_threads(2) collapse(2)"):
            for i in range(3):
                for j in range(1):
                    out.append((i, j))
        return out

    return inner


@omp
def module_level(n):
    out = []
    with omp("parallel for num_threads(2)"):
        for i in range(1, n):
            out.append(i)
    return sorted(out)


def test_a_range_of_the_users_own(monkeypatch):
    assert parameter(lambda n: [n, n + 1]) == [3, 4] and parameter(range) == [0, 1, 2]
    assert local_name() == [10, 20] and enclosing(lambda n: [n])() == [(3, 1)]
    assert module_level(4) == [1, 2, 3]
    monkeypatch.setitem(globals(), "range", lambda *args: [7, *args])
    assert module_level(4) == [1, 4, 7]


NONE = {
    "lastprivate(x)": "x = i",
    "firstprivate(x) lastprivate(x)": "x = i",
    "lastprivate(conditional: x)": "x = i",
    "linear(x)": "x = i",
    "reduction(+:x)": "x += i - 3",
    "reduction(inscan, +:x)": "x += i - 3\n            omp('scan inclusive(x)')\n            x",
}


@pytest.mark.parametrize("clause", NONE)
def test_default_none_knows_what_a_clause_says(clause, process):
    text = (
        f"@omp\ndef run(n):\n    x = 0\n    with omp('parallel for default(none) {clause} num_threads(n)'):\n"
        f"        for i in range(8):\n            {NONE[clause]}\n    return x\n"
    )
    expected = 4 if "reduction" in clause else 7
    for n in (1, 2, 3):
        assert process.run(clause, text, n) == ["value", repr(expected)]


def test_default_none_with_other_constructs(process):
    text = """
@omp
def run(n):
    x = y = 0
    with omp("parallel sections default(none) lastprivate(x) num_threads(n)"):
        with omp("section"):
            x = 1
        with omp("section"):
            x = 2
    with omp("parallel num_threads(n)"):
        with omp("single"):
            with omp("taskloop default(none) lastprivate(y)"):
                for i in range(9):
                    y = i
    return x, y
"""
    for n in (1, 2, 3):
        assert process.run("default(none)", text, n) == ["value", "(2, 8)"]
