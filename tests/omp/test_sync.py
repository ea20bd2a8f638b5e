# SPDX-License-Identifier: BSD-3-Clause
"""critical, atomic, locks, barriers, flush, threadprivate, copyin."""

import pytest
from unisono.omp import *

counter = 0
table = [1, 2]
omp("threadprivate(counter, table)")


@omp
def criticals(n, rounds):
    a = b = 0
    with omp("parallel num_threads(n)"):
        for _ in range(rounds):
            with omp("critical"):
                a += 1
            with omp("critical(other)"):
                b += 1
    return a, b


def test_critical():
    assert criticals(4, 500) == (2000, 2000)


@omp
def atomics(n, rounds):
    x, box, caught = 0, [0], []
    holder = type("Holder", (), {"value": 0})()
    with omp("parallel num_threads(n)"):
        for i in range(rounds):
            with omp("atomic"):
                x += 1
            with omp("atomic update"):
                box[0] += 2
            with omp("atomic"):
                holder.value = holder.value + 1
            with omp("atomic capture"):
                mine = x
                x += 1
            caught.append(mine)
            with omp("atomic read"):
                seen = x
            assert seen > mine
    with omp("atomic write"):
        box[0] = box[0] + 0
    return x, box[0], holder.value, len(set(caught))


def test_atomic():
    assert atomics(4, 300) == (2400, 2400, 1200, 1200)


@omp
def atomic_compare(n):
    top = 0
    with omp("parallel for num_threads(n)"):
        for i in range(200):
            with omp("atomic compare"):
                if top < i:
                    top = i
    return top


def test_atomic_compare():
    assert atomic_compare(4) == 199


@omp
def locks(n):
    lock, nest, count = omp_init_lock(), omp_init_nest_lock(), 0
    depth = []
    with omp("parallel num_threads(n)"):
        for _ in range(200):
            omp_set_lock(lock)
            count += 1
            omp_unset_lock(lock)
        while not omp_test_lock(lock):
            pass
        count += 1
        omp_unset_lock(lock)
        omp_set_nest_lock(nest)
        depth.append(omp_test_nest_lock(nest))
        omp_unset_nest_lock(nest)
        omp_unset_nest_lock(nest)
    omp_destroy_lock(lock)
    omp_destroy_nest_lock(nest)
    return count, depth


def test_locks():
    assert locks(4) == (804, [2] * 4)


def test_lock_mistakes_are_errors():
    lock = omp_init_lock()
    with pytest.raises(RuntimeError):
        omp_unset_lock(lock)
    with pytest.raises(TypeError):
        omp_set_nest_lock(lock)
    omp_set_lock(lock)
    assert not omp_test_lock(lock)
    with pytest.raises(RuntimeError, match="itself"):
        omp_set_lock(lock)
    with pytest.raises(RuntimeError):
        omp_destroy_lock(lock)
    omp_unset_lock(lock)
    omp_destroy_lock(lock)
    with pytest.raises(RuntimeError, match="destroyed"):
        omp_set_lock(lock)
    with pytest.raises(TypeError):
        omp_set_lock(3)


@omp
def nested_critical():
    with omp("critical(a)"):
        with omp("critical(b)"):
            takes_a()


@omp
def takes_a():
    with omp("critical(a)"):
        pass


def test_a_critical_inside_itself_is_an_error_and_no_hang():
    with pytest.raises(RuntimeError, match="critical"):
        nested_critical()
    criticals(2, 5)


@omp
def barriers(n, rounds):
    phase, wrong = [0] * n, 0
    with omp("parallel num_threads(n) reduction(+:wrong)"):
        me = omp_get_thread_num()
        for k in range(rounds):
            phase[me] = k
            omp("barrier")
            wrong += any(p != k for p in phase)
            omp("flush(phase)")
            with omp("barrier"):
                pass
    return wrong


def test_barriers():
    assert barriers(4, 300) == 0


@omp
def threadprivates(n):
    global counter
    counter = 5
    got, again = [], []
    with omp("parallel num_threads(n) copyin(counter)"):
        counter += omp_get_thread_num()
        table.append(omp_get_thread_num())
    with omp("parallel num_threads(n)"):
        with omp("critical"):
            got.append(counter)
            again.append(len(table))
    return sorted(got), again


def test_threadprivate_and_copyin():
    got, again = threadprivates(4)
    assert got == [5, 6, 7, 8] and again == [3] * 4
    assert counter == 5 and table == [1, 2, 0]


@omp
def copyprivate_of_threadprivate():
    global counter
    got = []
    with omp("parallel num_threads(3)"):
        with omp("single copyprivate(counter)"):
            counter = 77
        got.append(counter)
    return got


def test_copyprivate_of_threadprivate():
    assert copyprivate_of_threadprivate() == [77] * 3
