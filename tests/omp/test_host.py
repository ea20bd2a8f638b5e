# SPDX-License-Identifier: BSD-3-Clause
"""teams, distribute, target and its relatives, on the host, which is the only device."""

import pytest
from unisono.omp import *


@omp
def league(n):
    seen, total = [], 0
    with omp("teams num_teams(n) reduction(+:total)"):
        seen.append((omp_get_team_num(), omp_get_num_teams(), omp_get_level(), omp_get_num_threads()))
        with omp("parallel num_threads(2) reduction(+:total)"):
            total += 1 + (omp_get_team_num() == 0) * (omp_get_num_teams() - n)
    return seen, total, omp_get_num_teams(), omp_get_team_num()


def test_teams_of_a_league():
    for n in (1, 2, 5):
        assert league(n) == ([(i, n, 0, 1) for i in range(n)], 2 * n, 1, 0)
    with pytest.raises(ValueError, match="num_teams"):
        league(0)


def test_devices():
    assert omp_is_initial_device() and omp_get_num_devices() == 0
    assert omp_get_default_device() == omp_get_device_num() == omp_get_initial_device() == 0
    omp_set_default_device(0)
    with pytest.raises(ValueError):
        omp_set_default_device(1)


@omp
def moved(n):
    out, x, y = [], 5, [0] * n
    with omp("target map(to: x) map(from: out) device(0) if(n > 0)"):
        out.append((omp_is_initial_device(), omp_get_level(), omp_get_num_threads(), x))
        with omp("parallel for num_threads(2)"):
            for i in range(n):
                y[i] = i
    with omp("target data map(always, tofrom: y[0:n], x) device(0)"):
        omp("target update to(x) from(y[:n])")
        with omp("target firstprivate(x)"):
            x += 1
            out.append(x)
    omp("target enter data map(to: x)")
    omp("target exit data map(delete: x) nowait")
    omp("declare target(moved)")
    return out, x, y


def test_target_blocks_run_here_on_the_hosts_data():
    assert moved(4) == ([(True, 0, 1, 5), 6], 5, [0, 1, 2, 3])


@omp
def orphan(got):
    with omp("for"):
        for i in range(3):
            got.append(i)
    omp("barrier")


@omp
def target_in_a_region(n):
    got = []
    with omp("parallel num_threads(n)"):
        with omp("target"):
            orphan(got)
    return sorted(got)


def test_a_target_block_is_a_team_of_its_own():
    assert target_in_a_region(2) == [0, 0, 1, 1, 2, 2]


@omp
def ordered_by_dependences(n):
    got, x = [], 0
    with omp("parallel num_threads(n)"):
        with omp("single"):
            with omp("task depend(out: x)"):
                got.append("before")
            with omp("target depend(inout: x) nowait"):
                got.append("target")
            with omp("task depend(in: x)"):
                got.append("after")
    return got


def test_a_target_block_waits_for_what_it_depends_on():
    for n in (1, 2, 3):
        assert ordered_by_dependences(n) == ["before", "target", "after"]


HEADS = [
    "teams distribute num_teams(3)",
    "teams distribute simd num_teams(2)",
    "teams distribute dist_schedule(static, 2) num_teams(2)",
    "teams distribute parallel for num_teams(2) num_threads(2)",
    "teams distribute parallel for simd num_teams(2) num_threads(3) schedule(dynamic)",
    "teams loop num_teams(3)",
    "target teams num_teams(1)",
    "target teams distribute num_teams(2)",
    "target teams distribute parallel for map(tofrom: out, last, total) num_teams(2) num_threads(2)",
    "target teams distribute parallel for simd dist_schedule(static, 3) num_teams(3)",
    "target teams loop",
    "target parallel for num_threads(2)",
    "target parallel for simd num_threads(3) schedule(static, 2)",
    "target simd",
]


@pytest.mark.parametrize("head", HEADS)
def test_combined(head, process):
    clauses = "" if head.startswith("target teams num") else "reduction(+: total)"
    if "simd" not in head and "loop" not in head and clauses:
        clauses += " lastprivate(last)"
    loop = "for i in range(11):\n            out[i] += i\n            total += i\n            last = i"
    if not clauses:
        loop = 'with omp("distribute"):\n            ' + loop.replace("\n", "\n    ")
    text = (
        f"@omp\ndef run(n):\n    out, total, last = [0] * 11, 0, None\n    with omp('{head} {clauses}'):\n"
        f"        {loop}\n    return out, total\n"
    )
    if "lastprivate" in clauses:
        text = text.replace("return out, total", "assert last == 10\n    return out, total")
    assert process.run(head, text, 2) == ["value", repr((list(range(11)), 55))], text


@omp
def collapsed(n):
    got = []
    with omp("teams distribute parallel for collapse(2) num_teams(n) num_threads(2)"):
        for i in range(3):
            for j in range(i):
                got.append((i, j))
    with omp("parallel num_threads(n)"):
        with omp("loop"):
            for i in range(2):
                with omp("loop bind(thread)"):
                    for j in range(2):
                        got.append((i, j))
    return sorted(got)


def test_loops_of_teams():
    for n in (1, 2, 4):
        assert collapsed(n) == sorted([(1, 0), (2, 0), (2, 1)] + [(i, j) for i in range(2) for j in range(2)])


WRONG = {
    "with omp('teams'):\n        omp('barrier')": "teams",
    "with omp('teams'):\n        with omp('for'):\n            for i in range(3):\n                pass": "teams",
    "with omp('distribute'):\n        for i in range(3):\n            pass": "only directly inside teams",
    "with omp('teams distribute dist_schedule(dynamic)'):\n        for i in range(3):\n            pass": "static",
    "with omp('target map(tofrom: nothing)'):\n        pass": "no variable 'nothing'",
    "with omp('target data map(x y)'):\n        pass": "not the name",
    "omp('target enter')": "target enter",
    "with omp('loop bind(all)'):\n        for i in range(3):\n            pass": "bind",
}


@pytest.mark.parametrize("body", WRONG)
def test_what_is_wrong(body, process):
    kind, error, message, _ = process.run(body, f"@omp\ndef run(n):\n    {body}\n", 2)
    assert (kind, error) == ("error", "OmpSyntaxError") and WRONG[body] in message
