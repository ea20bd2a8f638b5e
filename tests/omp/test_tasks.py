# SPDX-License-Identifier: BSD-3-Clause
"""Explicit tasks: completion, data, dependences, groups, loops, reductions, depth."""

import pytest
from unisono.omp import *


@omp
def fib(n):
    if n < 2:
        return n
    a = b = 0
    with omp("task shared(a)"):
        a = fib(n - 1)
    with omp("task shared(b)"):
        b = fib(n - 2)
    omp("taskwait")
    return a + b


@omp
def in_team(n, f, *args):
    result = None
    with omp("parallel num_threads(n)"):
        with omp("single"):
            result = f(*args)
    return result


@pytest.mark.parametrize("n", [1, 2, 4])
def test_recursive_tasks(n):
    for _ in range(5):
        assert in_team(n, fib, 13) == 233


def test_tasks_without_a_team():
    assert fib(12) == 144


@omp
def fib_as_written_for_omp4py(n, limit, depth=0):
    if n < 2:
        return 1
    a = 0
    b = 0
    with omp("task if(depth < limit)"):
        a = fib_as_written_for_omp4py(n - 1, limit, depth + 1)
    with omp("task if(depth < limit)"):
        b = fib_as_written_for_omp4py(n - 2, limit, depth + 1)
    omp("taskwait")
    return a + b


def test_if_clause_and_results_that_the_creator_reads():
    for limit in (0, 2, 20):
        assert in_team(2, fib_as_written_for_omp4py, 12, limit) == 233


@omp
def snapshots(n):
    got = []
    with omp("parallel num_threads(n)"):
        with omp("single"):
            for i in range(50):
                box = [i]
                with omp("task firstprivate(box)"):
                    got.append((i, box[0]))
                box[0] = -1
            omp("taskwait")
            assert len(got) == 50
    return sorted(got)


@pytest.mark.parametrize("n", [1, 3])
def test_firstprivate_is_taken_when_the_task_is_made(n):
    assert snapshots(n) == [(i, i) for i in range(50)]


@omp
def own_copy():
    seen = []
    with omp("parallel num_threads(2) private(x)"):
        x = 5
        with omp("task"):
            x += 1
            seen.append(x)
        omp("taskwait")
        seen.append(x)
    return sorted(seen)


def test_a_private_variable_is_firstprivate_in_a_task():
    assert own_copy() == [5, 5, 6, 6]


@omp
def barrier_completes():
    done = []
    ok = []
    with omp("parallel num_threads(3)"):
        for k in range(20):
            with omp("task"):
                done.append(k)
        omp("barrier")
        ok.append(len(done) == 60)
        omp("barrier")
        with omp("single"):
            with omp("task"):
                with omp("task"):
                    done.append("grandchild")
        ok.append(len(done) == 61)
    return ok


def test_a_barrier_completes_all_tasks():
    assert barrier_completes() == [True] * 6


@omp
def deep_chain(n):
    reached = []

    def step(k):
        if k == 0:
            reached.append(True)
            return
        with omp("task"):
            step(k - 1)

    with omp("parallel num_threads(2)"):
        with omp("single"):
            step(n)
    return reached


def test_a_chain_of_many_tasks_does_not_overflow():
    assert deep_chain(20000) == [True]


@omp
def many(n, count):
    total = 0
    with omp("parallel num_threads(n)"):
        with omp("single"):
            for i in range(count):
                with omp("task"):
                    with omp("atomic"):
                        total += i
    return total


def test_many_tasks():
    assert [many(n, 5000) for n in (1, 2, 4)] == [4999 * 2500] * 3


@omp
def flow(n):
    trace, x, y = [], 0, 0
    with omp("parallel num_threads(n)"):
        with omp("single"):
            with omp("task depend(out: x)"):
                x = 1
                trace.append("write x")
            with omp("task depend(in: x) depend(out: y)"):
                y = x + 1
                trace.append("write y")
            with omp("task depend(in: x, y)"):
                trace.append(("sum", x + y))
            with omp("task depend(inout: x)"):
                x = 10
                trace.append("again x")
            with omp("task depend(in: x)"):
                trace.append(("x", x))
    return trace


@pytest.mark.parametrize("n", [1, 2, 4])
def test_depend_orders_siblings(n):
    for _ in range(30):
        trace = flow(n)
        assert trace[:2] == ["write x", "write y"] and ("sum", 3) in trace and trace[-1] == ("x", 10)
        assert trace.index(("sum", 3)) < trace.index("again x")


@omp
def wavefront(n, size):
    grid = [[0] * size for _ in range(size)]
    with omp("parallel num_threads(n)"):
        with omp("single"):
            for i in range(size):
                for j in range(size):
                    with omp("task depend(in: grid[i - 1][j], grid[i][j - 1]) depend(out: grid[i][j])"):
                        above = grid[i - 1][j] if i else 1
                        left = grid[i][j - 1] if j else 1
                        grid[i][j] = above + left
    return grid


def test_depend_on_elements():
    expected = wavefront(1, 8)
    assert expected[7][7] == 12870 * 1 or expected[0][0] == 2
    for _ in range(5):
        assert wavefront(4, 8) == expected


@omp
def wait_for_one():
    order, a, b = [], 0, 0
    with omp("parallel num_threads(2)"):
        with omp("single"):
            with omp("task depend(out: a)"):
                order.append("a")
            omp("taskwait depend(in: a)")
            order.append("after a")
    return order


def test_taskwait_depend():
    assert wait_for_one() == ["a", "after a"]


@omp
def groups(n):
    done, ok = [], []

    def tree(depth):
        if depth:
            with omp("task"):
                tree(depth - 1)
            with omp("task"):
                tree(depth - 1)
        else:
            done.append(1)

    with omp("parallel num_threads(n)"):
        with omp("single"):
            with omp("taskgroup"):
                tree(6)
            ok.append(len(done) == 64)
    return ok


def test_taskgroup_waits_for_descendants():
    assert [groups(n) for n in (1, 2, 4)] == [[True]] * 3


@omp
def loops(n, clause_free):
    got = []
    last = None
    total = 0
    with omp("parallel num_threads(n)"):
        with omp("single"):
            with omp("taskloop grainsize(7) lastprivate(last)"):
                for i in range(5, 45):
                    got.append(i)
                    last = i
            with omp("taskloop num_tasks(3) reduction(+:total)"):
                for i in range(10):
                    total += i
            with omp("taskloop collapse(2)"):
                for i in range(3):
                    for j in range(2):
                        got.append((i, j))
    numbers = sorted(x for x in got if isinstance(x, int))
    return numbers, last, total, sorted(x for x in got if isinstance(x, tuple))


@pytest.mark.parametrize("n", [1, 3])
def test_taskloop(n):
    assert loops(n, 0) == (list(range(5, 45)), 44, 45, [(i, j) for i in range(3) for j in range(2)])


@omp
def task_reduction(n):
    total = 100
    with omp("parallel num_threads(n)"):
        with omp("single"):
            with omp("taskgroup task_reduction(+: total)"):
                for i in range(20):
                    with omp("task in_reduction(+: total)"):
                        total += i
    return total


def test_task_reduction():
    assert [task_reduction(n) for n in (1, 2, 4)] == [290] * 3


@omp
def finals():
    seen = []
    with omp("parallel num_threads(2)"):
        with omp("single"):
            with omp("task final(True)"):
                seen.append(omp_in_final())
                with omp("task mergeable untied"):
                    seen.append(omp_in_final())
                seen.append("after")
            with omp("task final(False) priority(3)"):
                omp("taskyield")
                assert not omp_in_final()
    return seen


def test_final_tasks_include_their_children():
    assert finals() == [True, True, "after"]


@omp
def region_in_task():
    sizes = []
    omp_set_max_active_levels(2)
    with omp("parallel num_threads(2)"):
        with omp("single"):
            for _ in range(3):
                with omp("task"):
                    with omp("parallel num_threads(2)"):
                        sizes.append(omp_get_num_threads())
    omp_set_max_active_levels(1)
    return sizes


def test_a_region_inside_a_task():
    assert region_in_task() == [2] * 6


@omp
def master_taskloop():
    got = []
    with omp("parallel master taskloop num_threads(2) grainsize(2)"):
        for i in range(10):
            got.append(i)
    return sorted(got)


def test_combined_taskloop():
    assert master_taskloop() == list(range(10))
