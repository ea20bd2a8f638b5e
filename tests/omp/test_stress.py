# SPDX-License-Identifier: BSD-3-Clause
"""A thousand repetitions of what races when the run-time is wrong; threads outnumber the processors in most of them."""

import gc
import os
import subprocess
import sys

import pytest
from unisono.omp import *

TIMES = 1000
COLLECTIONS = int(os.environ.get("UNISONO_COLLECTIONS", 30))  # some 30 ms each, more on a busy machine; 1000 by hand


@omp
def region(n):
    total = 0
    with omp("parallel num_threads(n) reduction(+:total)"):
        total += 1
    return total


def test_regions():
    for k in range(TIMES):
        n = 1 + k % 4
        assert region(n) == n


@omp
def everything(n):
    a, b, ran = 0, 0, []
    with omp("parallel num_threads(n)"):
        with omp("for schedule(dynamic) nowait"):
            for i in range(7):
                with omp("atomic"):
                    a += 1
        with omp("for schedule(guided) reduction(+:b)"):
            for i in range(7):
                b += i
        with omp("single nowait"):
            ran.append("single")
        with omp("sections nowait"):
            with omp("section"):
                ran.append("one")
            with omp("section"):
                ran.append("two")
    return a, b, sorted(ran)


def test_mixed_constructs():
    for k in range(TIMES):
        assert everything(2 + k % 3) == (7, 21, ["one", "single", "two"])


@omp
def barriers(n):
    here, wrong = [0] * n, 0
    with omp("parallel num_threads(n) reduction(+:wrong)"):
        me = omp_get_thread_num()
        for k in range(TIMES):
            here[me] = k
            omp("barrier")
            wrong += here[(me + 1) % n] != k
            omp("barrier")
    return wrong


def test_barriers():
    assert [barriers(n) for n in (2, 4)] == [0, 0]


@omp
def tree(depth):
    if depth == 0:
        return 1
    with omp("task"):
        left = tree(depth - 1)
    with omp("task"):
        right = tree(depth - 1)
    omp("taskwait")
    return left + right


@omp
def tasks(n):
    result = None
    with omp("parallel num_threads(n)"):
        with omp("single nowait"):
            result = tree(4)
    return result


def test_tasks():
    for k in range(TIMES):
        assert tasks(1 + k % 4) == 16


@omp
def failing(n, k):
    with omp("parallel num_threads(n)"):
        if omp_get_thread_num() == k % n:
            raise ValueError(k)
        omp("barrier")
        with omp("for ordered schedule(dynamic)"):
            for i in range(3):
                with omp("ordered"):
                    pass


def test_exceptions():
    for k in range(TIMES):
        try:
            failing(2 + k % 3, k)
        except ValueError as error:
            assert error.args == (k,)
        else:
            raise AssertionError("no exception")


@omp
def locked(n, lock):
    count = 0
    with omp("parallel num_threads(n)"):
        for _ in range(TIMES):
            omp_set_lock(lock)
            count += 1
            omp_unset_lock(lock)
    return count


def test_locks():
    assert locked(4, omp_init_lock()) == 4 * TIMES


@omp
def collecting(n):
    with omp("parallel num_threads(n)"):
        for _ in range(COLLECTIONS):
            junk = [[] for _ in range(5)]
            junk.append(junk)
            if omp_get_thread_num() == 0:
                gc.collect()
            omp("barrier")
    return True


def test_the_collector_stops_threads_that_wait():
    gc.freeze()  # what pytest, NumPy and Numba have made is not looked at
    try:
        assert collecting(4)
    finally:
        gc.unfreeze()


@omp
def ordered(n):
    got = []
    with omp("parallel for num_threads(n) ordered schedule(dynamic)"):
        for i in range(TIMES):
            with omp("ordered"):
                got.append(i)
    return got == list(range(TIMES))


@omp
def carried(n):
    """A doacross chain, a running sum, the last write, tasks that wait for each other, a team inside the team."""
    f, s, last, out, got = [0] * 12, 0, None, [0] * 8, []
    with omp("parallel num_threads(n)"):
        with omp("for ordered(1) schedule(dynamic) nowait"):
            for i in range(1, 12):
                omp("ordered depend(sink: i - 1)")
                f[i] = f[i - 1] + i
                omp("ordered depend(source)")
        with omp("for reduction(inscan, +: s)"):
            for i in range(8):
                s += i
                omp("scan inclusive(s)")
                out[i] = s
        with omp("for schedule(dynamic) lastprivate(conditional: last)"):
            for i in range(8):
                if i % 3 == 0:
                    last = i
        with omp("single"):
            for i in range(4):
                with omp("task depend(inout: got)"):
                    got.append(i)
        with omp("parallel num_threads(2)"):
            pass
    return f[11], s, out[7], last, got


def test_what_loops_carry():
    for k in range(TIMES):
        assert carried(1 + k % 4) == (66, 28, 28, 6, [0, 1, 2, 3])


def test_ordered():
    assert ordered(2) and ordered(4)


@pytest.fixture
def busy():
    """Programs that want every processor, twice."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    yield
    for p in programs:
        p.kill()
        p.wait()


def test_waits_end_beside_busy_programs(busy):
    """There the run-time lets threads sleep that it would let spin (crowd.c)."""
    assert barriers(2) == 0
    for k in range(TIMES):
        assert region(2) == 2 and everything(2) == (7, 21, ["one", "single", "two"])
