# SPDX-License-Identifier: BSD-3-Clause
"""Random programs against their sequential execution: a generator of loops, sections, tasks and reductions
(Hypothesis)."""

import itertools
import linecache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unisono.omp import *

_numbers = itertools.count()


def build(body, decorate):
    """The function f(log, t) with this body; the sequential version has plain blocks instead of directives."""
    name = f"<random program {next(_numbers)}>"
    source = "def f(log, t):\n" + body
    if decorate:
        source = "@omp\n" + source
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space = {"omp": omp, "omp_get_thread_num": omp_get_thread_num}
    exec(compile(source, name, "exec"), space)
    return space["f"]


def indent(text, by=4):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


schedules = st.sampled_from(
    [
        "",
        "schedule(static)",
        "schedule(static, 2)",
        "schedule(dynamic)",
        "schedule(dynamic, 3)",
        "schedule(guided)",
        "schedule(auto)",
        "schedule(runtime)",
    ]
)
ranges = st.tuples(st.integers(-5, 20), st.integers(-5, 20), st.sampled_from([1, 2, 3, -1, -2]))
operators = st.sampled_from(
    [
        ("+", "{v} += {e}"),
        ("*", "{v} = ({v} * ({e} % 5 + 1)) % 1000003"),
        ("max", "{v} = max({v}, {e})"),
        ("min", "{v} = min({v}, {e})"),
        ("^", "{v} ^= {e}"),
        ("|", "{v} |= {e}"),
    ]
)


@st.composite
def loops(draw, k):
    """(parallel text, sequential text) of one worksharing loop over its own reduction variable."""
    start, stop, step = draw(ranges)
    op, update = draw(operators.filter(lambda o: o[0] != "*"))
    update = update.format(v="v", e=f"(i * {draw(st.integers(1, 9))} + {k})")
    extra = draw(
        st.sampled_from(
            [
                "",
                f"log.append(({k}, i))",
                f"tmp = i + 1\nlog.append(({k}, tmp))",
                f"if i % 2:\n    continue\nlog.append(({k}, 'even', i))",
            ]
        )
    )
    loop = f"for i in range({start}, {stop}, {step}):\n" + indent(update + "\n" + extra)
    ordered = draw(st.booleans()) and not extra
    if ordered:
        update_only = f"for i in range({start}, {stop}, {step}):\n"
        inner = f"with omp('ordered'):\n    log.append(('ordered', {k}, i))\n"
        par = f"with omp('for ordered {draw(schedules)} reduction({op}:v)'):\n" + indent(
            update_only + indent(update + "\n" + inner)
        )
        seq = update_only + indent(update + f"\nlog.append(('ordered', {k}, i))")
        return par, seq
    par = f"with omp('for {draw(schedules)} reduction({op}:v)'):\n" + indent(loop)
    return par, loop


def carried(kind, k, n, schedule):
    """(parallel text, sequential text) of a loop that carries something from iteration to iteration."""
    head = f"for i in range({n}):\n"
    if kind == "scan":
        body, see = f"    v += i * {k + 1}\n", f"    log.append(({k}, i, v))\n"
        loop = head + body + "    omp('scan inclusive(v)')\n" + see
        return "with omp('for reduction(inscan, +: v)'):\n" + indent(loop), head + body + see
    if kind == "last":
        loop = head + f"    if i % 3 == {k % 3}:\n        v = i * 7 + {k}\n"
        return f"with omp('for {schedule} lastprivate(conditional: v)'):\n" + indent(loop), loop
    body = f"    log.append(('ordered', {k}, i))\n"
    loop = head + "    omp('ordered depend(sink: i - 1)')\n" + body + "    omp('ordered depend(source)')\n"
    return f"with omp('for ordered(1) {schedule}'):\n" + indent(loop), head + body


@st.composite
def pieces(draw, k):
    kind = draw(st.sampled_from(["loop", "loop", "sections", "single", "tasks", "critical", "scan", "last", "chain"]))
    if kind == "loop":
        return draw(loops(k))
    if kind in ("scan", "last", "chain"):
        return carried(kind, k, draw(st.integers(0, 12)), draw(schedules))
    if kind == "sections":
        n = draw(st.integers(1, 4))
        par = "with omp('sections reduction(+:v)'):\n" + "".join(
            f"    with omp('section'):\n        v += {k + j}\n        log.append(('s', {k}, {j}))\n" for j in range(n)
        )
        return par, "".join(f"v += {k + j}\nlog.append(('s', {k}, {j}))\n" for j in range(n))
    if kind == "single":
        body = f"v = v + {k}\nlog.append(('single', {k}))\n"
        return "with omp('single'):\n" + indent(body), body
    if kind == "tasks":
        n = draw(st.integers(0, 12))
        body = f"log.append(('task', {k}, j, j * {k}))"
        par = (
            f"with omp('single'):\n    for j in range({n}):\n        with omp('task'):\n            {body}\n"
            f"            with omp('atomic'):\n                v += j\n    omp('taskwait')\n"
        )
        return par, f"for j in range({n}):\n    {body}\n    v += j\n"
    body = f"log.append(('c', {k}))\n"
    return "with omp('masked'):\n    with omp('critical'):\n" + indent(body, 8) + "omp('barrier')\n", body


@st.composite
def programs(draw):
    parts = [draw(pieces(k)) for k in range(draw(st.integers(1, 5)))]
    par = "v = 1\nwith omp('parallel num_threads(t)'):\n" + indent("".join(p for p, _ in parts)) + "return v\n"
    seq = "v = 1\n" + "".join(s for _, s in parts) + "return v\n"
    return indent(par), indent(seq)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs_do_what_the_sequential_ones_do(program):
    par, seq = program
    parallel, sequential = build(par, True), build(seq, False)
    expected_log = []
    expected = sequential(expected_log, 1)
    ordered = [e for e in expected_log if e[0] == "ordered"]
    for t in (1, 2, 3):
        log = []
        assert parallel(log, t) == expected
        assert sorted(map(repr, log)) == sorted(map(repr, expected_log))
        assert [e for e in log if e[0] == "ordered"] == ordered


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["in", "out", "inout", "inoutset"]), st.integers(0, 3)), max_size=25),
    st.integers(1, 4),
)
def test_random_dependences_keep_the_order_that_they_ask_for(accesses, threads):
    order = run_dependences(accesses, threads)
    place = {k: i for i, k in enumerate(order)}
    assert sorted(order) == list(range(len(accesses)))
    for b, (kind, cell) in enumerate(accesses):
        for a, (other, same) in enumerate(accesses[:b]):
            reads = kind == other == "in"
            together = kind == other == "inoutset"
            if cell == same and not reads and not together:
                assert place[a] < place[b]


@omp
def run_dependences(accesses, threads):
    cells, order = [0, 0, 0, 0], []
    with omp("parallel num_threads(threads)"):
        with omp("single"):
            for k, (kind, c) in enumerate(accesses):
                if kind == "in":
                    with omp("task depend(in: cells[c])"):
                        order.append(k)
                elif kind == "out":
                    with omp("task depend(out: cells[c])"):
                        order.append(k)
                elif kind == "inout":
                    with omp("task depend(inout: cells[c])"):
                        order.append(k)
                else:
                    with omp("task depend(inoutset: cells[c])"):
                        order.append(k)
    return order
