# SPDX-License-Identifier: BSD-3-Clause
"""Python's names inside regions: closures, globals, classes, methods, comprehensions, generators, odd statements."""

import asyncio
import functools
import inspect

from unisono.omp import *

total = 0
LIMIT = 3


def make_adder():
    count = 0

    @omp
    def add(n):
        nonlocal count
        with omp("parallel num_threads(n)"):
            with omp("critical"):
                count += 1
        return count

    return add


def test_closures():
    add, other = make_adder(), make_adder()
    assert add(3) == 3 and add(2) == 5 and other(1) == 1


@omp
def globals_written(n):
    global total
    total = 0
    with omp("parallel num_threads(n)"):
        with omp("critical"):
            total += LIMIT
    with omp("parallel num_threads(n) reduction(+:total)"):
        total += 100
    return total


def test_globals():
    assert globals_written(4) == 412 and total == 412


@omp
def global_reduction():
    global total
    with omp("parallel for num_threads(2) reduction(+:total)"):
        for i in range(4):
            total += i


def test_reduction_of_a_global():
    global total
    total = 10
    global_reduction()
    assert total == 16


class Base:
    def greet(self):
        return "base"


@omp
class Shape(Base):
    kind = "shape"

    def __init__(self, n):
        self.n = n
        self.__hidden = 5

    def greet(self):
        got = []
        with omp("parallel num_threads(2)"):
            got.append(super().greet())
        return got

    def hidden(self):
        with omp("parallel num_threads(self.n)"):
            with omp("critical"):
                self.__hidden += 1
        return self.__hidden

    @classmethod
    def named(cls):
        got = []
        with omp("parallel num_threads(2)"):
            got.append((cls.kind, __class__ is cls))
        return got

    @staticmethod
    def count(n):
        c = 0
        with omp("parallel num_threads(n) reduction(+:c)"):
            c += 1
        return c

    @property
    def size(self):
        c = 0
        with omp("parallel num_threads(3) reduction(+:c)"):
            c += 1
        return c

    @size.setter
    def size(self, value):
        with omp("parallel num_threads(2)"):
            with omp("single"):
                self.n = value

    @functools.cached_property
    def once(self):
        with omp("parallel num_threads(2)"):
            got = omp_get_num_threads()
            with omp("single"):
                result = got
        return result

    class Inner:
        def run(self):
            c = 0
            with omp("parallel num_threads(2) reduction(+:c)"):
                c += 1
            return c


def test_methods():
    s = Shape(4)
    assert s.greet() == ["base"] * 2 and s.hidden() == 9
    assert Shape.named() == [("shape", True)] * 2 and Shape.count(3) == 3
    assert s.size == 3 and s.once == 2 and Shape.Inner().run() == 2
    s.size = 9
    assert s.n == 9


class ByMethod:
    @omp
    def double(self, x):
        self.__y = x
        with omp("parallel num_threads(2) reduction(+:x)"):
            x += self.__y
        return x

    @staticmethod
    @omp
    def plain():
        return [1 for _ in range(2)]


def test_decorated_methods():
    assert ByMethod().double(2) == 6 and ByMethod.plain() == [1, 1]


@omp
def comprehensions(n):
    out = []
    base = 10
    with omp("parallel num_threads(n)"):
        squares = [i * i + base for i in range(4) if (last := i) >= 0]
        table = {k: v for k, v in zip("ab", squares)}
        f = lambda x: x + base + len(squares)  # noqa: E731
        out.append((squares, table, f(1), last, sum(x for x in squares)))
    return out


def test_comprehensions_lambdas_walrus():
    assert comprehensions(2) == [([10, 11, 14, 19], {"a": 10, "b": 11}, 15, 3, 54)] * 2


@omp
def nested_functions(n):
    count, seen = 0, []

    def bump(by=1, *rest, key=2, **more):
        nonlocal count
        with omp("critical"):
            count += by

    with omp("parallel num_threads(n)"):
        me = omp_get_thread_num()

        def mine():
            return me * 10

        class Box:
            value = me

            def get(self):
                return mine() + self.value

        bump()
        seen.append(Box().get())
    return count, sorted(seen)


def test_nested_functions_and_classes():
    assert nested_functions(3) == (3, [0, 11, 22])


@omp
def statements(n, out):
    shared = {"k": 0}
    with omp("parallel num_threads(n)"):
        me = omp_get_thread_num()
        try:
            import math as m
            from os import path

            a, (b, *c) = me, (1, 2, 3)
            with open("/dev/null") as f:
                f.read()
            if me % 2:
                raise ValueError(me)
            text = "even"
        except ValueError as error:
            text = f"odd {error.args[0]}"
        else:
            text += "!"
        finally:
            done = True
        del b
        match (me, c):
            case (0, [x, *rest]):
                kind = ("zero", x, rest)
            case (k, _) if k > 0:
                kind = ("more", k)
        while True:
            break
        for z in range(3):
            if z == 1:
                continue
        assert done and m.pi > 3 and path.join and z == 2 and a == me
        shared["k" + str(me)] = text
        out.append((text, kind))
    return shared


def test_all_kinds_of_statements():
    out = []
    shared = statements(2, out)
    assert sorted(out) == [("even!", ("zero", 2, [3])), ("odd 1", ("more", 1))]
    assert shared == {"k": 0, "k0": "even!", "k1": "odd 1"}


@omp
def generator(n):
    for k in range(n):
        total = 0
        with omp("parallel num_threads(2) reduction(+:total)"):
            total += k
        yield total


@omp
async def coroutine(n):
    await asyncio.sleep(0)
    total = 0
    with omp("parallel num_threads(n) reduction(+:total)"):
        total += 1
    await asyncio.sleep(0)
    return total


def test_generators_and_coroutines_around_regions():
    assert list(generator(3)) == [0, 2, 4]
    assert asyncio.run(coroutine(3)) == 3


@omp
def parameters(a, /, b, *args, c=3, d: int = 4, **kw):
    """Kept."""
    out = []
    with omp("parallel num_threads(2)"):
        out.append((a, b, args, c, d, kw))
    return out


def test_every_kind_of_parameter():
    assert parameters(1, 2, 5, 6, c=7, x=8) == [(1, 2, (5, 6), 7, 4, {"x": 8})] * 2
    assert parameters.__doc__ == "Kept." and parameters.__name__ == "parameters"
    assert str(inspect.signature(parameters)) == "(a, /, b, *args, c=3, d: int = 4, **kw)"
    assert inspect.getsource(parameters).startswith("@omp\ndef parameters")


@omp
def maybe_unbound(flag):
    if flag:
        value = 1
    got = []
    with omp("parallel num_threads(2)"):
        if flag:
            got.append(value)
    return got


@omp
def maybe_unbound_firstprivate(flag):
    if flag:
        value = 1
    got = []
    with omp("parallel num_threads(2) firstprivate(value)"):
        if flag:
            got.append(value)
    return got


def test_variables_that_may_have_no_value():
    for f in (maybe_unbound, maybe_unbound_firstprivate):
        assert f(True) == [1, 1] and f(False) == []


@omp
def annotated(n):
    x: int = 0
    y: float
    with omp("parallel num_threads(n)"):
        z: int = 1
        with omp("critical"):
            x += z
            y: float = 2.0
    return x, y


def test_annotations():
    assert annotated(3) == (3, 2.0)


@omp
def swapped_in_single(n):
    a, b, rounds = [1], [2], 0
    with omp("parallel num_threads(n)"):
        while rounds < 4:
            with omp("for"):
                for i in range(1):
                    b[0] = a[0] + 1
            omp("barrier")
            with omp("single"):
                a, b = b, a
                rounds += 1
    return a[0], rounds


def test_shared_variables_rebound_in_single():
    assert swapped_in_single(3) == (5, 4)


@omp
def deletes():
    x = 1
    with omp("parallel num_threads(2)"):
        with omp("single"):
            del x
    try:
        x
    except NameError:
        return "gone"


def test_del_of_a_shared_variable():
    assert deletes() == "gone"


def test_other_spellings():
    import unisono.omp as o
    from unisono.omp import omp as pragma

    @pragma
    def one():
        c = 0
        with pragma("parallel num_threads(2) reduction(+:c)"):
            c += 1
        return c

    @o.omp
    def two():
        c = 0
        with o.omp("parallel num_threads(2) reduction(+:c)"):
            c += 1
        return c

    @omp()
    def three():
        c = 0
        with omp("parallel num_threads(2)"), omp("critical"):
            c += 1
        return c

    assert one() == two() == three() == 2
