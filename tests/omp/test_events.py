# SPDX-License-Identifier: BSD-3-Clause
"""Tasks with detach, depend objects, iterators in depend clauses."""

import threading

import pytest
from unisono.omp import *


@omp
def iterators(n):
    order, x, y = [], [0] * 6, [[0] * 3 for _ in range(2)]
    with omp("parallel num_threads(n)"):
        with omp("single"):
            for k in range(6):
                with omp("task depend(out: x[k])"):
                    order.append(k)
            with omp("task depend(iterator(i = 0:6), in: x[i])"):
                order.append("all")
            with omp("task depend(iterator(int i = 0:6:2), inout: x[i + 1])"):
                order.append("odd")
            with omp("task depend(iterator(a = 0:2, b = 0:3), out: y[a][b])"):
                order.append("made")
            omp("taskwait depend(iterator(a = 0:2), in: y[a][2])")
            order.append("waited")
    return order


def test_iterators_in_depend():
    for n in (1, 2, 3):
        order = iterators(n)
        rest = [o for o in order if not isinstance(o, int)]
        assert rest.index("all") < rest.index("odd") and rest.index("made") < rest.index("waited")
        assert all(order.index(k) < order.index("all") for k in range(6)) and len(order) == 10


@omp
def objects(n):
    order, x, many = [], 0, [None] * 2
    with omp("parallel num_threads(n)"):
        with omp("single"):
            omp("depobj(one) depend(inout: x)")
            omp("depobj(many[1]) depend(in: x)")
            with omp("task depend(depobj: one)"):
                order.append(1)
            with omp("task depend(depobj: many[1])"):
                order.append(2)
            omp("depobj(one) update(in)")
            with omp("task depend(depobj: one)"):
                order.append(2)
            omp("depobj(one) update(out)")
            with omp("task depend(depobj: one)"):
                order.append(3)
            omp("depobj(one) destroy")
            omp("taskwait")
            try:
                with omp("task depend(depobj: one)"):
                    pass
            except TypeError:
                order.append("gone")
    return order


def test_depend_objects():
    for n in (1, 2, 3):
        assert objects(n) == [1, 2, 2, 3, "gone"]


@omp
def detached(n):
    got, x, gate = [], 0, threading.Event()

    def later(event):
        gate.wait()
        got.append("fulfilled")
        omp_fulfill_event(event)

    with omp("parallel num_threads(n)"):
        with omp("single"):
            with omp("task detach(event) depend(out: x)"):
                got.append("block")
                threading.Thread(target=later, args=(event,)).start()
            with omp("task depend(in: x)"):
                got.append("after")
            with omp("task"):
                gate.set()
            omp("taskwait")
            got.append("waited")
        with omp("single"):
            with omp("task detach(early)"):
                pass
            omp_fulfill_event(early)
            with omp("taskgroup"):
                with omp("task detach(inner)"):
                    omp_fulfill_event(inner)
            got.append("group")
        with omp("single nowait"):
            with omp("task detach(last)"):
                threading.Thread(target=omp_fulfill_event, args=(last,)).start()
    return got


def test_a_detached_task_is_over_when_its_event_is():
    for n in (1, 2, 4):
        for _ in range(20):
            assert detached(n) == ["block", "fulfilled", "after", "waited", "group"]


@omp
def outside_of_regions():
    event = None
    with omp("task detach(event)"):
        threading.Thread(target=omp_fulfill_event, args=(event,)).start()
    omp("taskwait")
    with pytest.raises(RuntimeError, match="before"):
        omp_fulfill_event(event)
    with pytest.raises(TypeError, match="event"):
        omp_fulfill_event(3)
    return type(event).__name__


def test_detach_outside_of_regions():
    assert outside_of_regions() == "Event"


@omp
def given_up(kept):
    with omp("parallel num_threads(2)"):
        with omp("single"):
            with omp("task detach(event)"):
                kept.append(event)
            raise KeyError("region")


def test_a_region_that_fails_waits_for_no_event():
    for _ in range(20):
        kept = []
        with pytest.raises(KeyError):
            given_up(kept)
        for event in kept:
            omp_fulfill_event(event)  # too late, and no harm


@omp
def pairs(n):
    ran, x = [], [0] * 200
    with omp("parallel num_threads(n)"):
        with omp("single"):
            for i in range(200):
                with omp("task depend(out: x[i])"):
                    ran.append(i)
                with omp("task depend(in: x[i]) final(i % 2 == 0)"):
                    ran.append(i + 1000)
    return len(ran), len(set(ran)), all(ran.index(i) < ran.index(i + 1000) for i in range(200))


def test_dependent_tasks_run_once_when_the_queue_is_full():
    for n in (1, 2, 3):
        assert pairs(n) == (400, 400, True)


WRONG = {
    "with omp('task detach(a, b)'):\n        pass": "one variable",
    "with omp('task detach(a) mergeable'):\n        pass": "exclude",
    "with omp('task depend(iterator(i), in: x[i])'):\n        pass": "begin:end",
    "with omp('task depend(iterator(i = 0:2), in: f(i))'):\n        pass": "not a variable",
    "omp('depobj depend(in: x)')": "depobj",
    "omp('depobj(o)')": "needs one of",
    "omp('depobj(o) depend(in: x) destroy')": "exclude",
    "omp('depobj(o) update(never)')": "update",
    "omp('depobj(f()) destroy')": "variable",
}


@pytest.mark.parametrize("body", WRONG)
def test_what_is_wrong(body, process):
    kind, error, message, _ = process.run(body, f"@omp\ndef run(n):\n    x = [0]\n    {body}\n", 2)
    assert (kind, error) == ("error", "OmpSyntaxError") and WRONG[body] in message
