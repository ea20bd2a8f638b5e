# SPDX-License-Identifier: BSD-3-Clause
"""Reductions over parts of containers, names that hide threadprivate variables, and regions inside regions as they are
without any setting."""

import pytest
from unisono.omp import *

hidden = 3
omp("threadprivate(hidden)")
omp("declare reduction(join : list : omp_out + omp_in) initializer(omp_priv = [])")


@omp
def parts(lo, hi):
    a, c = [1] * 6, [0, 5]
    with omp("parallel for reduction(+: a[lo:hi], c[0]) num_threads(3)"):
        for i in range(12):
            a[2] += 1
            c[0] += 2
    with omp("parallel num_threads(3)"):
        with omp("for reduction(max: a[:2])"):
            for i in range(12):
                a[i % 2] = max(a[i % 2], i)
        with omp("single"):
            with omp("taskloop reduction(+: c[1])"):
                for i in range(10):
                    c[1] += i
    return a, c


def test_parts_of_lists():
    assert parts(1, 4) == ([10, 11, 13, 1, 1, 1], [24, 50])
    assert parts(2, 3) == ([10, 11, 13, 1, 1, 1], [24, 50])


@omp
def orphaned(a):
    with omp("for reduction(+: a[1:])"):
        for i in range(9):
            a[1 + i % 2] += i
    return a


@omp
def in_each_thread():
    got = []
    with omp("parallel num_threads(3)"):
        mine = orphaned([7, 0, 0])
        with omp("critical"):
            got.append(mine)
    return got


def test_parts_in_an_orphaned_loop():
    assert in_each_thread() == [[7, 20, 16]] * 3


@omp
def arrays():
    numpy = pytest.importorskip("numpy")
    b, low = numpy.ones((3, 4)), numpy.full(4, 9)
    same = b
    with omp("parallel for reduction(+: b[1:, :2]) reduction(min: low[1:3]) num_threads(3)"):
        for i in range(12):
            b[2, 1] += 1
            b[0, 0] = 100
            low[i % 4] = min(low[i % 4], i)
    return b.tolist(), low.tolist(), same is b


def test_parts_of_arrays():
    b, low, same = arrays()
    assert b == [[1.0] * 4, [1.0] * 4, [1.0, 13.0, 1.0, 1.0]] and low == [9, 1, 2, 9] and same


@omp
def declared():
    rows = [[0], [1], [2]]
    with omp("parallel for reduction(join: rows[1:]) schedule(static) num_threads(2)"):
        for i in range(4):
            rows[2] = rows[2] + [10 * i]
    return rows


def test_parts_with_a_declared_reduction():
    assert declared() == [[0], [1], [2, 0, 10, 20, 30]]


@pytest.mark.parametrize("items", ["a[", "a[0](1)", "f(a)[0]", "[0]", "a.b[0]"])
def test_what_is_no_part(items, process):
    text = f"@omp\ndef run(n):\n    a = [0]\n    with omp('parallel reduction(+: {items})'):\n        pass\n"
    assert process.run(items, text, 2)[1] == "OmpSyntaxError"


@omp
def parameter(hidden):
    with omp("parallel num_threads(2)"):
        pass
    listed = [hidden for hidden in range(3)]
    call = lambda hidden: hidden + 1  # noqa: E731

    def twice(hidden):
        return hidden * 2

    return hidden, listed, call(4), twice(5), {hidden: 1 for hidden in "ab"}


@omp
def local_name():
    hidden = 8
    with omp("parallel num_threads(2) firstprivate(hidden)"):
        hidden += omp_get_thread_num()
    return hidden


@omp
def reads():
    got = []
    with omp("parallel num_threads(2) copyin(hidden)"):
        got.append(hidden)
    return got


def test_parameters_and_locals_hide_threadprivate_variables():
    assert parameter(9) == (9, [0, 1, 2], 5, 10, {"a": 1, "b": 1})
    assert local_name() == 8 and hidden == 3 and reads() == [3, 3]


NESTED = """
@omp
def run(n):
    seen = []
    with omp("parallel num_threads(n)"):
        with omp("parallel num_threads(3)"):
            with omp("critical"):
                seen.append((omp_get_num_threads(), omp_get_level(), omp_get_active_level()))
    return seen == [(3, 2, 1 + (n > 1))] * (3 * n), omp_get_max_active_levels() > 1, omp_get_nested()
"""


def test_regions_inside_regions_are_active(process):
    for n in (1, 2, 4):
        assert process.run("nested", NESTED, n) == ["value", "(True, True, True)"]


RECURSION = """
@omp
def tree(depth):
    counts = []
    if depth == 0:
        return 1
    with omp("parallel num_threads(2)"):
        mine = tree(depth - 1)
        with omp("critical"):
            counts.append(mine)
    return sum(counts) * 2 // len(counts)

def run(n):
    return tree(11), omp_get_thread_limit() >= 1024
"""


def test_a_recursion_of_regions_ends_at_the_thread_limit(process):
    assert process.run("recursion", RECURSION, 2) == ["value", "(2048, True)"]
