# SPDX-License-Identifier: BSD-3-Clause
"""What loops carry from iteration to iteration: scan (inscan reductions), lastprivate(conditional:), doacross loops;
and reductions that tasks take part in."""

import copy
import itertools
import linecache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unisono.omp import *

THREADS = [1, 2, 3, 4, 9]


@omp
def running(a, start, t):
    """Sums up to and with each element, sums before each element, and the total."""
    s, upto, before = copy.copy(start), [None] * len(a), [None] * len(a)
    with omp("parallel for num_threads(t) reduction(inscan, +: s)"):
        for i in range(len(a)):
            s += a[i]
            omp("scan inclusive(s)")
            upto[i] = s
    total, s = s, copy.copy(start)
    with omp("parallel for simd num_threads(t) reduction(inscan, +: s)"):
        for i in range(len(a)):
            before[i] = s
            omp("scan exclusive(s)")
            s += a[i]
    return upto, before, total, s


@given(st.lists(st.integers(-9, 9), max_size=30), st.integers(-5, 5), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_scan_is_the_running_sum(a, start, t):
    sums = list(itertools.accumulate(a, initial=start))
    assert running(a, start, t) == (sums[1:], sums[:-1], sums[-1], sums[-1])


@pytest.mark.parametrize("t", THREADS)
def test_scan_of_objects_that_are_changed_in_place(t):
    parts = [[1], [2, 3], [], [4]]
    upto, before, total, _ = running(parts, [0], t)
    assert upto == [[0, 1], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]] and total == [0, 1, 2, 3, 4]
    assert before == [[0], [0, 1], [0, 1, 2, 3], [0, 1, 2, 3]]


@omp
def several(pairs, t):
    """Two operators, two loops made one, over something that is no range, in a region that is there already."""
    low, count, seen, grid = 100, 0, [], []
    with omp("parallel num_threads(t)"):
        with omp("for reduction(inscan, min: low) reduction(inscan, +: count) lastprivate(word)"):
            for word, value in pairs:
                low = min(low, value)
                count += 1
                omp("scan inclusive(low, count)")
                with omp("critical"):
                    seen.append((count, word, low))
        with omp("for collapse(2) reduction(inscan, +: count)"):
            for i in range(3):
                for j in range(4):
                    with omp("critical"):
                        grid.append((i, j, count))
                    omp("scan exclusive(count)")
                    count += 1
    return sorted(seen), word, low, count, sorted(grid)


@pytest.mark.parametrize("t", THREADS)
def test_scan_with_two_operators_and_two_loops(t):
    seen, word, low, count, grid = several(iter([("a", 5), ("b", 7), ("c", 2), ("d", 9), ("e", 1)]), t)
    assert seen == [(1, "a", 5), (2, "b", 5), (3, "c", 2), (4, "d", 2), (5, "e", 1)]
    assert (word, low, count) == ("e", 1, 17)
    assert [n for _, _, n in grid] == list(range(5, 17))


@omp
def alone(a):
    s, out = 0, []
    with omp("simd reduction(inscan, +: s)"):
        for v in a:
            s += v
            omp("scan inclusive(s)")
            out.append(s)
    return out


def test_scan_in_a_simd_loop():
    assert alone([1, 2, 3]) == [1, 3, 6]


@omp
def last_written(n, t, every):
    global z
    x, y = "none", 0
    with omp("parallel for num_threads(t) schedule(runtime) lastprivate(conditional: x, y) reduction(+: z)"):
        for i in range(n):
            if i % every == 2:
                x = i
            for y in range(i if i < 5 else 0):
                pass
            z += 1
    return x, y, z


z = 0


@pytest.mark.parametrize("kind", [omp_sched_static, omp_sched_dynamic, omp_sched_guided])
@pytest.mark.parametrize("t", THREADS)
def test_lastprivate_conditional(t, kind):
    global z
    omp_set_schedule(kind, 2)
    z = 0
    assert last_written(50, t, 7) == (44, 3, 50) and z == 50
    assert last_written(2, t, 7)[:2] == ("none", 0)


@omp
def in_sections(t):
    x = y = w = 0
    with omp("parallel sections num_threads(t) lastprivate(conditional: x, y, w)"):
        with omp("section"):
            x = y = 1
        with omp("section"):
            if t > 0:
                x = 2
        with omp("section"):
            pass
    return x, y, w


@pytest.mark.parametrize("t", THREADS)
def test_lastprivate_conditional_in_sections(t):
    assert in_sections(t) == (2, 1, 0)


@omp
def orphan(n):
    x = None
    with omp("for schedule(dynamic) lastprivate(conditional: x)"):
        for i in range(n):
            try:
                if i % 2:
                    raise ValueError(i)
            except ValueError as error:
                x = error.args[0]
            match i:
                case 6:
                    x = "six"
            while (k := i) < 0:
                pass
    return x


@omp
def orphaned(n, t):
    got = [None] * t
    with omp("parallel num_threads(t)"):
        got[omp_get_thread_num()] = orphan(n)
    return got


@pytest.mark.parametrize("t", THREADS)
def test_lastprivate_conditional_of_an_orphaned_loop(t):
    assert orphaned(8, t) == [7] * t and orphaned(7, t) == ["six"] * t and orphaned(1, t) == [None] * t


@omp
def wavefront(n, t):
    """Each element is the sum of its upper and left neighbours."""
    g = [[1] * n for _ in range(n)]
    with omp("parallel for num_threads(t) ordered(2) schedule(dynamic)"):
        for i in range(1, n):
            for j in range(1, n):
                omp("ordered depend(sink: i - 1, j) depend(sink: i, j - 1)")
                g[i][j] = (g[i - 1][j] + g[i][j - 1]) % 1000003
                omp("ordered depend(source)")
    return g


@pytest.mark.parametrize("t", [2, 3, 4])
def test_doacross_wavefront(t):
    assert wavefront(25, t) == wavefront(25, 1)


@omp
def backwards(n, t):
    """A chain of every other element, counting down, in the spelling of OpenMP 5.2; collapsed with a loop of one."""
    f = [0] * (n + 2)
    with omp("parallel num_threads(t)"):
        for _ in range(10):  # more constructs than the run-time has slots
            with omp("for collapse(2) ordered(2) schedule(static, 1) nowait"):
                for i in range(n - 1, -1, -2):
                    for k in range(5, 6):
                        omp("ordered doacross(sink: i + 2, k)")
                        f[i] = f[i + 2] + i
                        omp("ordered doacross(source: omp_cur_iteration)")
            omp("barrier")
    return f


@pytest.mark.parametrize("t", [2, 3, 4])
def test_doacross_backwards(t):
    assert backwards(41, t) == backwards(41, 1) and backwards(41, 1)[0] == sum(range(0, 41, 2))


@omp
def fails_across(t):
    with omp("parallel for num_threads(t) ordered(1) schedule(static, 1)"):
        for i in range(20):
            omp("ordered depend(sink: i - 1)")
            if i == 7:
                raise KeyError(i)
            omp("ordered depend(source)")


@pytest.mark.parametrize("t", [1, 2, 4])
def test_an_exception_ends_a_doacross_loop(t):
    with pytest.raises(KeyError):
        fails_across(t)


@omp
def task_sums(n, t):
    """Tasks take part in the reductions of a taskgroup, of a taskloop, of a region and of a loop."""
    s = u = v = w = 0
    with omp("parallel num_threads(t)"):
        with omp("single"):
            with omp("taskgroup task_reduction(+: s)"):
                with omp("taskloop in_reduction(+: s) grainsize(2)"):
                    for i in range(n):
                        s += i
            with omp("taskloop reduction(+: u) num_tasks(3)"):
                for i in range(n):
                    u += 1
                    with omp("task in_reduction(+: u)"):
                        u += 100
    with omp("parallel num_threads(t) reduction(task, +: v)"):
        v += 1
        for _ in range(n):
            with omp("task in_reduction(+: v)"):
                v += 10
    with omp("parallel num_threads(t)"):
        with omp("for reduction(task, +: w) schedule(dynamic)"):
            for i in range(n):
                w += 1
                with omp("task in_reduction(+: w)"):
                    w += 10
    return s, u, v, w


@pytest.mark.parametrize("t", THREADS)
def test_tasks_in_reductions(t):
    assert task_sums(20, t) == (190, 2020, 201 * t, 220)


@omp
def words(text, t):
    out = []
    with omp("parallel num_threads(t)"):
        with omp("single"):
            with omp("taskloop reduction(+: out) grainsize(1)"):
                for word in text:
                    out += [word]
    return out


@pytest.mark.parametrize("t", THREADS)
def test_taskloop_reductions_keep_the_order_of_the_loop(t):
    assert words("a b c d e f g".split(), t) == "a b c d e f g".split()


REFUSED = {
    "with omp('for reduction(inscan, +: s)'):\n    for i in range(3):\n        s += i": "0 scan directives",
    "with omp('for reduction(inscan, +: s) schedule(auto)'):\n    for i in [1]:\n        pass": "neither schedule",
    "with omp('for reduction(inscan, +: s)'):\n    for i in range(3):\n        if i: continue\n"
    "        omp('scan inclusive(s)')": "continue inside",
    "with omp('for reduction(inscan, +: s)'):\n    for i in [1]:\n        omp('scan inclusive(i)')": "inscan variables",
    "with omp('for reduction(inscan, +: s) reduction(+: t)'):\n    for i in range(3):\n        pass": "all reductions",
    "with omp('sections reduction(inscan, +: s)'):\n    pass": "belongs to for",
    "omp('scan inclusive(s)')": "only directly inside",
    "omp('scan')": "needs inclusive",
    "with omp('for ordered'):\n    for i in range(3):\n        omp('ordered depend(source)')": "ordered(n)",
    "with omp('for ordered(2)'):\n    for i in range(3):\n        omp('ordered depend(source)')": "needs 2 loops",
    "with omp('for ordered(1)'):\n    for i in range(3):\n        omp('ordered depend(sink: i, 1)')": "1 values",
    "with omp('for ordered(1)'):\n    for i in 'abc':\n        omp('ordered depend(source)')": "in range",
    "with omp('for ordered(2)'):\n    for i in range(3):\n        for j in range(i):\n"
    "            omp('ordered depend(source)')": "must not depend on another",
    "omp('ordered depend(source)')": "only inside the loop",
    "omp('ordered depend(in: s)')": "source, or sink",
    "with omp('taskloop lastprivate(conditional: s)'):\n    for i in range(3):\n        pass": "worksharing",
    "with omp('task in_reduction(+: s)'):\n    pass": "no taskgroup",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body):
    source = "@omp\ndef f(s, t):\n" + "".join("    " + line + "\n" for line in body.splitlines())
    name = f"<refused {hash(body)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    with pytest.raises(OmpSyntaxError) as info:
        exec(compile(source, name, "exec"), {"omp": omp})
    assert REFUSED[body] in str(info.value)
