# SPDX-License-Identifier: BSD-3-Clause
"""for in all its forms: every iteration runs once, on the thread the schedule says, with the clauses' effects."""

import pytest
from unisono.omp import *

RANGES = [
    range(0),
    range(1),
    range(17),
    range(3, 40),
    range(0, 100, 7),
    range(10, -1, -1),
    range(100, 0, -9),
    range(5, 5),
    range(9, 3),
]


@omp
def static(n, *bounds):
    got = []
    with omp("parallel for num_threads(n)"):
        for i in range(*bounds):
            got.append(i)
    return got


@omp
def static_chunk(n, chunk, r):
    got = []
    with omp("parallel num_threads(n)"):
        with omp("for schedule(static, chunk)"):
            for i in r:
                got.append((i, omp_get_thread_num()))
    return got


@omp
def dynamic(n, chunk, r):
    got = []
    with omp("parallel for num_threads(n) schedule(dynamic, chunk)"):
        for i in r:
            got.append(i)
    return got


@omp
def guided(n, chunk, r):
    got = []
    with omp("parallel for num_threads(n) schedule(guided, chunk)"):
        for i in r:
            got.append(i)
    return got


@omp
def auto(n, r):
    got = []
    with omp("parallel for num_threads(n) schedule(auto)"):
        for i in r:
            got.append(i)
    return got


@omp
def at_run_time(n, r):
    got = []
    with omp("parallel for num_threads(n) schedule(runtime)"):
        for i in r:
            got.append(i)
    return got


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("r", RANGES, ids=str)
def test_every_schedule_runs_every_iteration_once(n, r):
    expected = sorted(r)
    assert sorted(static(n, r.start, r.stop, r.step)) == expected
    for chunk in (1, 3, 1000):
        assert sorted(i for i, _ in static_chunk(n, chunk, r)) == expected
        assert sorted(dynamic(n, chunk, r)) == expected
        assert sorted(guided(n, chunk, r)) == expected
    assert sorted(auto(n, r)) == expected
    for kind in omp_sched_t:
        omp_set_schedule(kind, 2)
        assert sorted(at_run_time(n, r)) == expected


def test_static_chunks_go_round():
    for i, thread in static_chunk(3, 4, range(50)):
        assert thread == i // 4 % 3


def test_static_shares_are_contiguous_and_in_order():
    got = static(1, 20)
    assert got == list(range(20))


@omp
def over(n, things):
    got = []
    with omp("parallel for num_threads(n) schedule(dynamic)"):
        for x in things:
            got.append(x)
    return got


def test_loops_over_other_iterables():
    assert sorted(over(3, ["b", "a", "c"])) == ["a", "b", "c"]
    assert sorted(over(2, {3: 1, 1: 2})) == [1, 3]
    assert sorted(over(2, enumerate("xy"))) == [(0, "x"), (1, "y")]
    assert sorted(over(2, (i * i for i in range(4)))) == [0, 1, 4, 9]
    assert sorted(over(2, [2**70, 2**71])) == [2**70, 2**71]


def test_numbers_beyond_64_bits():
    assert sorted(static(2, 2**70, 2**70 + 5)) == list(range(2**70, 2**70 + 5))


@omp
def unpack(pairs):
    total = 0
    with omp("parallel for num_threads(2) reduction(+:total)"):
        for i, (a, b) in enumerate(pairs):
            total += i * a + b
    return total


def test_targets_that_unpack():
    assert unpack([(1, 2), (3, 4), (5, 6)]) == 0 + 2 + 3 + 4 + 10 + 6


@omp
def data(n):
    last, first, total, keep = None, [1], 0, 42
    seen = []
    with omp("parallel num_threads(n)"):
        with omp("for lastprivate(last) firstprivate(first) private(keep) reduction(+:total)"):
            for i in range(20):
                keep = i
                first.append(i)
                last = keep * 10
                total += i
        seen.append((last, total, keep))
    return last, first, total, keep, set(seen)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_for_clauses(n):
    assert data(n) == (190, [1], 190, 42, {(190, 190, 42)})


@omp
def lastprivate_dynamic(n):
    x = -1
    with omp("parallel for num_threads(n) schedule(dynamic, 3) lastprivate(x)"):
        for i in range(50):
            x = i
    return x


def test_lastprivate_of_dynamic_loops():
    assert [lastprivate_dynamic(n) for n in (1, 2, 4)] == [49] * 3


@omp
def first_and_last(n):
    x = 100
    with omp("parallel for num_threads(n) firstprivate(x) lastprivate(x)"):
        for i in range(n):
            x += i
    return x


def test_firstprivate_and_lastprivate_together():
    assert first_and_last(4) == 103


@omp
def collapsed(n, a, b):
    got = []
    with omp("parallel for num_threads(n) collapse(2) schedule(dynamic, 3)"):
        for i in range(a):
            for j in range(10, 10 + b):
                got.append((i, j))
    return sorted(got)


@omp
def collapsed3(n):
    got = []
    with omp("parallel for num_threads(n) collapse(3)"):
        for i in range(3):
            for j in "ab":
                for k in range(4, 0, -2):
                    got.append((i, j, k))
    return sorted(got)


@omp
def triangle(n):
    got = []
    with omp("parallel for num_threads(n) collapse(2)"):
        for i in range(6):
            for j in range(i, 6):
                got.append((i, j))
    return sorted(got)


def test_collapse():
    for n in (1, 3):
        assert collapsed(n, 4, 5) == [(i, j) for i in range(4) for j in range(10, 15)]
        assert collapsed(n, 0, 5) == [] and collapsed(n, 5, 0) == []
        assert collapsed3(n) == sorted((i, j, k) for i in range(3) for j in "ab" for k in (4, 2))


def test_collapse_of_loops_that_are_not_a_rectangle():
    for n in (1, 3):
        assert triangle(n) == [(i, j) for i in range(6) for j in range(i, 6)]


@omp
def ordered(n, r):
    got, unordered = [], []
    with omp("parallel for num_threads(n) ordered schedule(dynamic)"):
        for i in r:
            unordered.append(i)
            with omp("ordered"):
                got.append(i)
    return got


@omp
def ordered_sometimes(n):
    got = []
    with omp("parallel for num_threads(n) ordered schedule(static, 2)"):
        for i in range(30):
            if i % 3 == 0:
                continue
            with omp("ordered"):
                got.append(i)
    return got


@omp
def emit(got, i):
    with omp("ordered"):
        got.append(i)


@omp
def ordered_orphan(n):
    got = []
    with omp("parallel for num_threads(n) ordered schedule(guided)"):
        for i in range(20):
            emit(got, i)
    return got


def test_ordered():
    for n in (1, 2, 4):
        assert ordered(n, range(40)) == list(range(40))
        assert ordered(n, range(20, 0, -3)) == list(range(20, 0, -3))
        assert ordered_sometimes(n) == [i for i in range(30) if i % 3]
        assert ordered_orphan(n) == list(range(20))


@omp
def nowait(n):
    done = 0
    with omp("parallel num_threads(n)"):
        for _ in range(40):
            with omp("for nowait schedule(dynamic)"):
                for i in range(5):
                    with omp("atomic"):
                        done += 1
    return done


def test_nowait_runs_ahead():
    assert [nowait(n) for n in (1, 2, 4)] == [200] * 3


@omp
def shared_out(got):
    mine = 0
    with omp("for reduction(+:mine)"):
        for i in range(10):
            mine += i
    last = None
    with omp("for lastprivate(last)"):
        for i in range(10):
            last = i
    got.append((mine, last))


@omp
def orphaned(n):
    got = []
    with omp("parallel num_threads(n)"):
        shared_out(got)
    return got


def test_orphaned_loops():
    assert orphaned(3) == [(45, 9)] * 3
    alone = []
    shared_out(alone)
    assert alone == [(45, 9)]


@omp
def loop_variable_above():
    i = j = 7
    with omp("parallel num_threads(3)"):
        with omp("for"):
            for i in range(9):
                for j in range(3):
                    pass
    return i


def test_a_loop_variable_is_private():
    assert loop_variable_above() == 7


@omp
def linear(n):
    x = 5
    got = []
    with omp("parallel for num_threads(n) linear(x: 2)"):
        for i in range(10):
            got.append((i, x))
    return sorted(got), x


def test_linear():
    got, x = linear(3)
    assert got == [(i, 5 + 2 * i) for i in range(10)] and x == 23


@omp
def simd(n):
    total = 0
    with omp("parallel for simd num_threads(2) reduction(+:total) schedule(simd: static, 4)"):
        for i in range(n):
            total += i
    with omp("simd reduction(+:total)"):
        for i in range(n):
            total += i
    with omp("parallel num_threads(2)"):
        with omp("loop reduction(+:total)"):
            for i in range(n):
                total += i
    return total


def test_simd_and_loop():
    assert simd(100) == 3 * 4950


@omp
def else_between(n):
    out = [0] * n
    with omp("parallel num_threads(2)"):
        k = 0
        while k < 3:
            with omp("for"):
                for i in range(n):
                    out[i] += 1
            k += 1
    return out


def test_loops_inside_loops_of_the_region():
    assert else_between(10) == [3] * 10


def test_bad_values():
    with pytest.raises(ValueError):
        dynamic(2, 0, range(4))
    with pytest.raises(ValueError):
        static(2, 0, 10, 0)
    with pytest.raises(ValueError):
        static(0, 10)
    with pytest.raises(TypeError):
        static(2, 1.5)
