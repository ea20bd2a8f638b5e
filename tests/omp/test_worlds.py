# SPDX-License-Identifier: BSD-3-Clause
"""What threads of a team see of the objects and the context around the region: arrays are themselves, and context
variables begin as the caller's."""

import array
import contextvars
import decimal
import traceback

import pytest
from unisono.omp import *

variable = contextvars.ContextVar("variable", default="unset")


@omp
def identities(n):
    numpy = pytest.importorskip("numpy")
    a = numpy.zeros(n)
    b, mine, seen = a, id(a), []
    with omp("parallel num_threads(3)"):
        a[omp_get_thread_num()] += 1
        seen.append((a is b, id(a) == mine, bool(a.flags.owndata), a.base is None))
        omp("barrier")
        with omp("single"):
            a.resize(2 * n, refcheck=False)
        seen.append(len(a) == 2 * n)
    return seen, b.shape, float(b.sum())


@omp
def identities_in_a_loop(n):
    numpy = pytest.importorskip("numpy")
    a = numpy.zeros(n)
    b, mine, seen = a, id(a), []
    with omp("parallel num_threads(3)"):
        if n < 0:
            a = None
        with omp("for"):
            for i in range(n):
                seen[len(seen) :] = [(a is b, id(a) == mine, bool(a.flags.owndata))]
    return set(seen)


@omp
def identities_in_calls(n):
    numpy = pytest.importorskip("numpy")
    a, seen = numpy.zeros(n), []

    def look(x):
        return id(x)

    with omp("parallel num_threads(3)"):
        seen.append(look(a) == id(a))
        with omp("task"):
            seen.append(look(a))
    return seen.count(True) == 3 and set(seen) == {True, id(a)}


def test_arrays_are_themselves_on_every_thread():
    seen, shape, total = identities(4)
    assert sorted(map(str, seen)) == ["(True, True, True, True)"] * 3 + ["True"] * 3 and shape == (8,) and total == 3
    assert identities_in_a_loop(9) == {(True, True, True)} and identities_in_calls(5)


@omp
def elements(n):
    numpy = pytest.importorskip("numpy")
    a, m, s = numpy.zeros(n), memoryview(bytearray(n)), 0
    with omp("parallel for num_threads(3) reduction(+:s)"):
        for i in range(n):
            a[i] = i
            m[i] = i
            s += a[i] + a.shape[0] + len(m)
    return float(a.sum()), bytes(m), int(s)


def test_elements_are_those_of_the_array():
    assert elements(5) == (10.0, bytes(range(5)), 60)


@omp
def read_often(m, other, rounds):
    s = 0
    with omp("parallel num_threads(8) reduction(+:s)"):
        for _ in range(rounds):
            with omp("for nowait"):
                for i in range(8):
                    s += m[i] + other[i]
        omp("barrier")
        with omp("single"):
            m, other = other, m  # so each loop takes views of its own
    return s


def test_views_come_and_go_on_many_threads():
    owners = [array.array("q", [1] * 8) for _ in range(2)]
    views = [memoryview(a) for a in owners]
    for _ in range(3):
        assert read_often(*views, 40000) == 640000
    for a, m in zip(owners, views):
        assert m[7] == 1
        m.release()
        a.append(1)


@omp
def contexts(n):
    seen, inner = [], []
    omp_set_max_active_levels(2)
    with omp("parallel num_threads(n)"):
        seen.append((variable.get(), str(decimal.Decimal(1) / 3)))
        with omp("single"):
            with omp("task"):
                seen.append((variable.get(), str(decimal.Decimal(1) / 3)))
        with omp("parallel num_threads(2)"):
            inner.append(variable.get())
        if omp_get_thread_num():
            variable.set("mine")
        with omp("parallel num_threads(2)"):
            inner.append(variable.get())
    return seen, inner


def test_workers_begin_in_the_callers_context():
    def run():
        with decimal.localcontext() as context:
            context.prec = 5
            variable.set("caller")
            for _ in range(3):
                seen, inner = contexts(3)
                assert seen == [("caller", "0.33333")] * 4
                assert sorted(inner) == ["caller"] * 8 + ["mine"] * 4
        assert variable.get() == "caller"

    for _ in range(2):
        contextvars.Context().run(run)


@omp
def leaves_something(n):
    before = []
    with omp("parallel num_threads(n)"):
        before.append(variable.get())
        if omp_get_thread_num():
            variable.set("left over")
    return before


def test_what_a_worker_sets_ends_with_the_region():
    for _ in range(3):
        assert contextvars.Context().run(leaves_something, 3) == ["unset"] * 3


@omp
def errors(n):
    numpy, seen = pytest.importorskip("numpy"), []
    with numpy.errstate(divide="raise"):
        with omp("parallel num_threads(n)"):
            seen.append(numpy.geterr()["divide"])
    return seen


def test_the_state_of_numpy_is_the_callers():
    numpy = pytest.importorskip("numpy")
    if int(numpy.__version__.split(".")[0]) < 2:
        pytest.skip("NumPy 1 keeps its state per thread, not in the context")
    assert errors(3) == ["raise"] * 3


@omp
def fails_in_a_task():
    with omp("parallel num_threads(2)"):
        with omp("single"):
            with omp("task"):
                for i in range(1):
                    raise KeyError("here")


def test_a_traceback_names_the_users_function_only():
    with pytest.raises(KeyError) as info:
        fails_in_a_task()
    frames = [f for f in traceback.extract_tb(info.value.__traceback__) if f.filename == __file__]
    assert {f.name for f in frames[1:]} == {"fails_in_a_task"} and frames[-1].line == 'raise KeyError("here")'
    assert "_omprt" not in "".join(traceback.format_exception(info.value))
