# SPDX-License-Identifier: BSD-3-Clause
"""Programs in the spelling of OMP4Py: only the import differs. Ours, written against its documented interface; run with
UNISONO_TEST_PACKAGE=omp4py they show how that package behaves."""

import linecache
import os

import pytest

PACKAGE = os.environ.get("UNISONO_TEST_PACKAGE", "unisono.omp")
NAMES = """omp openmp OmpError OmpSyntaxError omp_destroy_lock omp_destroy_nest_lock omp_get_active_level
omp_get_ancestor_thread_num omp_get_dynamic omp_get_level omp_get_max_active_levels omp_get_max_threads omp_get_nested
omp_get_num_procs omp_get_num_threads omp_get_schedule omp_get_team_size omp_get_thread_limit omp_get_thread_num
omp_get_wtick omp_get_wtime omp_in_parallel omp_init_lock omp_init_nest_lock omp_sched_auto omp_sched_dynamic
omp_sched_guided omp_sched_static omp_sched_t omp_set_dynamic omp_set_lock omp_set_max_active_levels omp_set_nest_lock
omp_set_nested omp_set_num_threads omp_set_schedule omp_set_unnest_lock omp_test_lock omp_test_nest_lock
omp_unset_lock""".split()

PROGRAMS = {
    "typed annotations": '''
@omp
def run(n: int = 1000) -> float:
    step: float = 1.0 / n
    area: float = 0.0
    with omp("parallel for reduction(+:area) num_threads(3) schedule(static, 10)"):
        for k in range(n):
            x: float = (k + 0.5) * step
            area += 4.0 / (1.0 + x * x)
    return round(area * step, 5) == 3.14159
''',
    "options of the decorator": '''
@omp(dump=False, debug=False, cache=False, force=True, compile=False)
def run():
    seen = []
    with omp("parallel num_threads(2)"):
        with omp("critical"):
            seen.append(omp_get_thread_num())
    return sorted(seen) == [0, 1]
''',
    "a class": '''
@omp
class Counter:
    def __init__(self, start):
        self.value = start

    def up(self, times):
        with omp("parallel for num_threads(4) schedule(dynamic)"):
            for _ in range(times):
                with omp("atomic"):
                    self.value += 1
        return self

def run():
    return Counter(2).up(40).value == 42
''',
    "standing directives": '''
@omp
def run():
    omp_set_num_threads(3)
    marks = [0] * 3
    ok = True
    with omp("parallel shared(marks) reduction(and:ok)"):
        marks[omp_get_thread_num()] = 1
        omp("barrier")
        omp("flush")
        ok = sum(marks) == 3
    return ok
''',
    "tasks that call their function again": '''
@omp
def fibonacci(n):
    a = b = 0
    if n < 2:
        return n
    with omp("task if(n > 5)"):
        a = fibonacci(n - 1)
    with omp("task if(n > 5)"):
        b = fibonacci(n - 2)
    omp("taskwait")
    return a + b

@omp
def run():
    answer = 0
    with omp("parallel num_threads(4)"):
        with omp("single"):
            answer = fibonacci(14)
    return answer == 377
''',
    "sections and single": '''
@omp
def run():
    got = set()
    token = 0
    with omp("parallel num_threads(3) firstprivate(token)"):
        with omp("single copyprivate(token)"):
            token = 7
        with omp("critical(names)"):
            got.add(token)
        with omp("sections nowait"):
            with omp("section"):
                got.add("left")
            with omp("section"):
                got.add("right")
        omp("barrier")
        with omp("master"):
            got.add("master")
    return got == {7, "left", "right", "master"}
''',
    "ordered and lastprivate": '''
@omp
def run():
    order, last = [], -1
    with omp("parallel for num_threads(4) ordered schedule(dynamic, 2) lastprivate(last)"):
        for i in range(20, 0, -3):
            last = i
            with omp("ordered"):
                order.append(i)
    return order == list(range(20, 0, -3)) and last == 2
''',
    "collapse and guided": '''
@omp
def run():
    total = 0
    with omp("parallel for collapse(2) schedule(guided) reduction(max:total) num_threads(3)"):
        for i in range(5):
            for j in range(7):
                total = max(total, i * j)
    return total == 24
''',
    "locks": '''
@omp
def run():
    lock, nest, count = omp_init_lock(), omp_init_nest_lock(), 0
    with omp("parallel num_threads(4)"):
        for _ in range(50):
            omp_set_lock(lock)
            count += 1
            omp_unset_lock(lock)
        omp_set_nest_lock(nest)
        omp_set_nest_lock(nest)
        omp_set_unnest_lock(nest)
        omp_set_unnest_lock(nest)
    free = bool(omp_test_lock(lock)) and omp_test_nest_lock(nest) == 1
    omp_unset_lock(lock)
    omp_set_unnest_lock(nest)
    omp_destroy_lock(lock)
    omp_destroy_nest_lock(nest)
    return free and count == 200
''',
    "nested regions and routines": '''
@omp
def run():
    omp_set_nested(True)
    omp_set_schedule(omp_sched_dynamic, 3)
    inner = []
    with omp("parallel num_threads(2)"):
        with omp("parallel num_threads(2)"):
            with omp("critical"):
                inner.append((omp_get_level(), omp_get_active_level(), omp_get_team_size(1),
                              omp_get_ancestor_thread_num(1)))
    known = omp_get_schedule()[1] == 3 and omp_get_num_procs() > 0 and omp_get_wtime() > 0 and omp_get_wtick() > 0
    return known and sorted(inner) == [(2, 2, 2, 0)] * 2 + [(2, 2, 2, 1)] * 2 and not omp_in_parallel()
''',
    "a wrong directive": '''
def run():
    try:
        omp(wrong)
    except (OmpError, OmpSyntaxError, SyntaxError):
        return True

def wrong():
    with omp("paralel"):
        pass
''',
}  # fmt: skip


@pytest.mark.parametrize("title", PROGRAMS)
def test_program(title):
    source = f"from {PACKAGE} import *\n" + PROGRAMS[title]
    name = f"<{title}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"__name__": "program"}
    exec(compile(source, name, "exec"), space)
    procs, nested, schedule = (space[n]() for n in ("omp_get_max_threads", "omp_get_nested", "omp_get_schedule"))
    try:
        assert space["run"]() is True
    finally:
        space["omp_set_num_threads"](procs)
        space["omp_set_nested"](nested)
        space["omp_set_schedule"](*schedule)


def test_names():
    space = {}
    exec(f"from {PACKAGE} import *", space)
    assert [n for n in NAMES if n not in space] == []


def test_rewriting_a_whole_package_is_refused():
    space = {}
    exec(f"from {PACKAGE} import *", space)
    with pytest.raises(space["OmpError"]):
        space["omp"](pkg="some.package")
