# SPDX-License-Identifier: BSD-3-Clause
"""Where threads run: OMP_PLACES and OMP_PROC_BIND (what they parse to and what the kernel then says), the affinity
format and its display. The environment is read at import, so each program is a process of its own."""

import os
import re
import subprocess
import sys

import pytest
from unisono.omp import *
from unisono.omp import places

CPUS = sorted(os.sched_getaffinity(0))
two_cores = pytest.mark.skipif(len(CPUS) < 2, reason="one core: every thread runs there, bound or not")

PROGRAM = """
import os
from unisono.omp import *
@omp
def where(n):
    got = [None] * n
    with omp("parallel num_threads(n)CLAUSE"):
        got[omp_get_thread_num()] = sorted(os.sched_getaffinity(0)), omp_get_place_num()
    return got
print(where(N))
"""


def program(n=2, clause="", body=PROGRAM, **env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    text = body.replace("(N)", f"({n})").replace("CLAUSE", clause)
    # A file: directives are read from the source.
    file = os.path.join(env.pop("at"), "affinity_program.py")
    with open(file, "w") as f:
        f.write(text)
    command = [sys.executable, "-W", "ignore", file]
    out = subprocess.run(command, env={**clean, **env}, capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stderr
    return out.stdout, out.stderr


@pytest.mark.parametrize(
    "text, expected",
    [
        ("threads", [[0], [1], [2], [3], [4], [5]]),
        ("threads(2)", [[0], [1]]),
        (" THREADS ( 3 ) ", [[0], [1], [2]]),
        ("{0,1},{2,5}", [[0, 1], [2, 5]]),
        ("{0:3}", [[0, 1, 2]]),
        ("{0:3:2}", [[0, 2, 4]]),
        ("{0:2}:3", [[0, 1], [2, 3], [4, 5]]),
        ("{0}:3:2", [[0], [2], [4]]),
        ("{4},{0:2}:2:2", [[4], [0, 1], [2, 3]]),
        ("{0,99},{98}", [[0]]),
    ],
)
def test_places_are_parsed(text, expected):
    assert places.parse(text, list(range(6))) == expected


@pytest.mark.parametrize("text", ["chairs", "{a}", "0,1", "{0", "{0}:1:2:3", "cores(x)"])
def test_what_is_no_place_is_refused(text):
    with pytest.raises(ValueError):
        places.parse(text, list(range(6)))


@pytest.mark.parametrize("name", ["cores", "sockets", "threads", "numa_domains", "ll_caches"])
def test_named_places_cover_the_machine_once(name):
    assert sorted(c for p in places.parse(name, CPUS) for c in p) == CPUS


def test_bad_places_are_reported(tmp_path):
    out, err = program(at=str(tmp_path), OMP_PLACES="chairs")
    assert "OMP_PLACES='chairs' is ignored" in err and out.startswith("[([")


def test_unbound_by_default(tmp_path):
    assert eval(program(at=str(tmp_path))[0]) == [(CPUS, -1)] * 2


@two_cores
@pytest.mark.parametrize("bind", ["true", "close", "spread"])
def test_each_thread_on_its_place(tmp_path, bind):
    a, b = CPUS[:2]
    out, _ = program(at=str(tmp_path), OMP_PROC_BIND=bind, OMP_PLACES=f"{{{a}}},{{{b}}}")
    assert eval(out) == [([a], 0), ([b], 1)]
    out, _ = program(n=4, at=str(tmp_path), OMP_PROC_BIND=bind, OMP_PLACES=f"{{{a}}},{{{b}}}")
    assert eval(out) == [([a], 0), ([a], 0), ([b], 1), ([b], 1)]


@two_cores
def test_places_alone_bind_and_their_order_counts(tmp_path):
    a, b = CPUS[:2]
    out, _ = program(at=str(tmp_path), OMP_PLACES=f"{{{b}}},{{{a}}}")
    assert eval(out) == [([b], 0), ([a], 1)]


@two_cores
def test_primary_keeps_all_together(tmp_path):
    a, b = CPUS[:2]
    env = {"OMP_PLACES": f"{{{a}}},{{{b}}}", "at": str(tmp_path)}
    for out, _ in (program(OMP_PROC_BIND="primary", **env), program(clause=" proc_bind(master)", **env)):
        assert eval(out) == [([a], 0), ([a], 0)]


@two_cores
def test_false_binds_nobody_whatever_the_clause_says(tmp_path):
    out, _ = program(
        at=str(tmp_path), clause=" proc_bind(spread)", OMP_PROC_BIND="false", OMP_PLACES=f"{{{CPUS[0]}}},{{{CPUS[1]}}}"
    )
    assert [cpus for cpus, _ in eval(out)] == [CPUS, CPUS]


def test_display_affinity(tmp_path):
    twice = PROGRAM.replace("print(where(N))", "where(3)\nwhere(3)\nprint('|')")
    env = {"at": str(tmp_path), "body": twice, "OMP_AFFINITY_FORMAT": "%L:%{thread_num}/%N on %A of %P"}
    _, err = program(OMP_DISPLAY_AFFINITY="true", **env)
    lines = sorted(err.splitlines())
    cpus = ",".join(map(str, CPUS))
    assert [re.sub(r" of \d+$", "", line) for line in lines] == [f"1:{i}/3 on {cpus}" for i in range(3)]
    _, err = program(**{**env, "at": str(tmp_path)})
    assert err == ""


def test_display_affinity_again_when_the_team_changes(tmp_path):
    body = PROGRAM.replace("print(where(N))", "where(2)\nwhere(3)\nwhere(3)")
    _, err = program(at=str(tmp_path), body=body, OMP_DISPLAY_AFFINITY="true", OMP_AFFINITY_FORMAT="%n of %N")
    assert sorted(err.splitlines()) == ["0 of 2", "0 of 3", "1 of 2", "1 of 3", "2 of 3"]


@omp
def captured(text):
    got = [None] * 2
    with omp("parallel num_threads(2)"):
        got[omp_get_thread_num()] = omp_capture_affinity(text)
    return got


def test_capture_affinity():
    assert captured("%n of %N at %L under %a") == ["0 of 2 at 1 under 0", "1 of 2 at 1 under 0"]
    assert captured("[%5n|%.5n|%0.5n|%{num_threads}|%%]")[1] == "[1    |    1|00001|2|%]"
    assert len(set(captured("%i"))) == 2 and captured("%P") == [str(os.getpid())] * 2
    assert captured("%A") == [",".join(map(str, CPUS))] * 2


def test_display_affinity_routine_and_format(capsys):
    before = omp_get_affinity_format()
    assert "thread %n of %N" in before
    omp_set_affinity_format("thread %n here")
    try:
        assert omp_get_affinity_format() == "thread %n here" and omp_capture_affinity() == "thread 0 here"
        omp_display_affinity()
        omp_display_affinity("%{process_id}")
    finally:
        omp_set_affinity_format(before)
    assert capsys.readouterr().out == f"thread 0 here\n{os.getpid()}\n"


NESTED = """
import os
from unisono.omp import *
from unisono.omp import places, _rt
places.table[:] = [[c] for c in range(8)]
_rt.set_places(places.table)  # what the kernel refuses leaves a thread where it is; only the numbers count here
_rt.bind_self(START)
@omp
def where():
    got = {}
    with omp("parallel num_threads(OUTER)"):
        me = omp_get_thread_num()
        got[me] = omp_get_place_num(), omp_get_partition_place_nums()
        with omp("parallel num_threads(INNER)"):
            got[me, omp_get_thread_num()] = omp_get_place_num(), omp_get_partition_place_nums()
    return got
print(where())
"""


def nested(tmp_path, bind, outer, inner, start=0):
    body = NESTED.replace("OUTER", str(outer)).replace("INNER", str(inner)).replace("START", str(start))
    out, _ = program(at=str(tmp_path), body=body, OMP_PROC_BIND=bind, OMP_PLACES=f"{{{CPUS[0]}}}")
    return eval(out)


def test_spread_then_close_stays_in_each_threads_part(tmp_path):
    got = nested(tmp_path, "spread,close", 2, 2)
    assert got[0] == (0, [0, 1, 2, 3]) and got[1] == (4, [4, 5, 6, 7])
    assert [got[k][0] for k in [(0, 0), (0, 1), (1, 0), (1, 1)]] == [0, 1, 4, 5]
    assert got[1, 1][1] == [4, 5, 6, 7]


def test_spread_then_spread_cuts_the_part_again(tmp_path):
    got = nested(tmp_path, "spread,spread", 2, 2)
    assert [got[k] for k in [(0, 0), (0, 1), (1, 0), (1, 1)]] == [(0, [0, 1]), (2, [2, 3]), (4, [4, 5]), (6, [6, 7])]
    got = nested(tmp_path, "spread,spread", 3, 6)
    assert [got[k] for k in (0, 1, 2)] == [(0, [0, 1]), (2, [2, 3, 4]), (5, [5, 6, 7])]
    assert [got[2, k] for k in range(6)] == [(5, [5]), (5, [5]), (6, [6]), (6, [6]), (7, [7]), (7, [7])]


def test_close_wraps_and_keeps_the_partition(tmp_path):
    got = nested(tmp_path, "close,primary", 4, 2, start=6)
    assert [got[k][0] for k in range(4)] == [6, 7, 0, 1] and got[2][1] == list(range(8))
    assert [got[2, k][0] for k in range(2)] == [0, 0]
    got = nested(tmp_path, "primary,close", 2, 3, start=7)
    assert [got[k][0] for k in range(2)] == [7, 7] and [got[1, k][0] for k in range(3)] == [7, 0, 1]
    got = nested(tmp_path, "close", 16, 1)
    assert [got[k][0] for k in range(16)] == [k // 2 for k in range(16)]


def test_spread_leaves_the_primary_thread_where_it_is(tmp_path):
    got = nested(tmp_path, "spread", 4, 1, start=3)
    assert [got[k] for k in range(4)] == [(3, [2, 3]), (4, [4, 5]), (6, [6, 7]), (0, [0, 1])]


def test_a_list_of_policies_knows_no_true_or_false(tmp_path):
    _, err = program(at=str(tmp_path), OMP_PROC_BIND="spread,true")
    assert "OMP_PROC_BIND='spread,true' is ignored" in err


MACHINE = """<topology version="2.0"><object type="Machine" cpuset="0x0000000f,0xffffffff">
<object type="Package" cpuset="0x3"><object type="NUMANode" cpuset="0x0000000f,0xffffffff"/>
<object type="L3Cache" cpuset="0x7"><object type="L1Cache" cpuset="0x1"/><object type="Core" cpuset="0x00000005">
<object type="PU" cpuset="0x1"/><object type="PU" cpuset="0x4"/></object>
<object type="Core" cpuset="0x00000001,,0x00000002"></object></object></object></object></topology>"""


def test_places_in_the_xml_of_hwloc():
    cpus = [0, 1, 2, 64]
    found = {n: places.from_hwloc(n, cpus, MACHINE) for n in ("cores", "threads", "sockets", "ll_caches", "chairs")}
    assert found == {"cores": [[0, 2], [1, 64]], "threads": [[0], [2]], "sockets": [[0, 1]],
                     "ll_caches": [[0, 1, 2]], "chairs": None}  # fmt: skip
    assert places.from_hwloc("cores", [2], MACHINE) == [[2]] and places.from_hwloc("cores", [0], "") is None


@pytest.mark.parametrize("name", ["cores", "threads", "sockets"])
def test_hwloc_and_the_kernel_agree(name):
    xml = places.hwloc_xml()
    if not xml:
        pytest.skip("hwloc's library is not installed")
    assert sorted(places.from_hwloc(name, CPUS, xml)) == sorted(places.from_kernel(name, CPUS))
