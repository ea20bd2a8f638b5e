# SPDX-License-Identifier: BSD-3-Clause
"""Environment variables, run-time routines, trace, race hint, import and decoration."""

import json
import os
import subprocess
import sys
import time

import pytest
from unisono.omp import *

SHOW = """
from unisono.omp import *
print(omp_get_max_threads(), omp_get_dynamic(), omp_get_nested(), *omp_get_schedule(), omp_get_max_active_levels(),
      omp_get_thread_limit(), omp_get_cancellation(), omp_get_max_task_priority(), int(omp_get_proc_bind()), sep="|")
"""


def show(**env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OMP_")}
    out = subprocess.run(
        [sys.executable, "-c", SHOW], env={**clean, **env}, capture_output=True, text=True, timeout=300
    )
    assert out.returncode == 0, out.stderr
    return out.stdout.strip().split("|"), out.stderr


def test_environment_is_read():
    got, err = show(
        OMP_NUM_THREADS="3,2",
        OMP_DYNAMIC="true",
        OMP_SCHEDULE="guided,7",
        OMP_MAX_ACTIVE_LEVELS="4",
        OMP_THREAD_LIMIT="50",
        OMP_CANCELLATION="TRUE",
        OMP_MAX_TASK_PRIORITY="9",
        OMP_PROC_BIND="spread",
        OMP_WAIT_POLICY="passive",
        OMP_STACKSIZE="4M",
    )
    assert got == ["3", "True", "True", "3", "7", "4", "50", "True", "9", "4"] and not err


def test_defaults():
    got, _ = show()
    assert got[0] == str(len(os.sched_getaffinity(0))) and got[1:8] == [
        "False",
        "True",
        "2",
        "1",
        "2147483647",
        str(max(1024, 16 * len(os.sched_getaffinity(0)))),
        "False",
    ]
    assert show(OMP_NESTED="false")[0][2] == "False" and show(OMP_NESTED="false")[0][5] == "1"


def test_bad_values_are_reported_and_ignored():
    got, err = show(OMP_NUM_THREADS="many", OMP_SCHEDULE="never", OMP_DYNAMIC="perhaps")
    assert got[1] == "False" and all(n in err for n in ("OMP_NUM_THREADS", "OMP_SCHEDULE", "OMP_DYNAMIC"))


def test_display_env():
    _, err = show(OMP_DISPLAY_ENV="verbose", OMP_NUM_THREADS="5")
    assert "OPENMP DISPLAY ENVIRONMENT BEGIN" in err and "OMP_NUM_THREADS = '5'" in err and "_OPENMP" in err


@omp
def sizes(n):
    got = []
    with omp("parallel num_threads(n)"):
        got.append(omp_get_num_threads())
    return got


def test_routines():
    assert not omp_in_parallel() and omp_get_level() == 0 and omp_get_num_threads() == 1 and omp_get_thread_num() == 0
    before = omp_get_max_threads()
    omp_set_num_threads(3)
    assert omp_get_max_threads() == 3
    omp_set_num_threads(before)
    with pytest.raises(ValueError):
        omp_set_num_threads(0)
    omp_set_dynamic(True)
    assert omp_get_dynamic() and len(sizes(50)) <= omp_get_num_procs()
    omp_set_dynamic(False)
    omp_set_schedule(omp_sched_t.omp_sched_guided, 5)
    assert omp_get_schedule() == (omp_sched_guided, 5)
    begin = omp_get_wtime()
    assert omp_get_wtime() >= begin and 0 < omp_get_wtick() < 1
    assert omp_get_ancestor_thread_num(0) == 0 and omp_get_team_size(0) == 1 and omp_get_team_size(5) == -1
    assert omp_get_num_procs() >= 1 and omp_is_initial_device() and omp_get_num_devices() == 0


@omp
def control_variables():
    got = []
    omp_set_num_threads(4)
    with omp("parallel num_threads(2)"):
        if omp_get_thread_num() == 0:
            omp_set_num_threads(7)
        omp("barrier")
        got.append(omp_get_max_threads())
    return sorted(got), omp_get_max_threads()


def test_control_variables_belong_to_the_task():
    before = omp_get_max_threads()
    assert control_variables() == ([4, 7], 4)
    omp_set_num_threads(before)


@omp
def wrong():
    x = 0
    with omp("parallel num_threads(2)"):
        with omp("critical"):
            pass
        x = 5
        omp("barrier")
    return x


RACE = """import warnings
from unisono.omp import *
@omp(check=True)
def f(fixed):
    x = y = 0
    with omp("parallel num_threads(2) reduction(+:y)"):
        y += 1
        if fixed:
            with omp("critical"):
                x += 1
        else:
            x += 1
            omp("barrier")
for fixed in (True, False):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            f(fixed)
    print([str(w.message) for w in caught if "shared variable" in str(w.message)])
"""


def test_race_hint(tmp_path):
    f = tmp_path / "race.py"
    f.write_text(RACE)
    out = subprocess.run([sys.executable, str(f)], capture_output=True, text=True, timeout=300)
    first, second = out.stdout.splitlines()
    assert (
        first == "[]" and second.count("'x' is written by thread") == 1 and "line 12" in second and "'y'" not in second
    )


def test_trace(tmp_path):
    f, out = tmp_path / "traced.py", tmp_path / "trace.json"
    f.write_text(
        "from unisono.omp import *\n@omp\ndef f():\n    with omp('parallel num_threads(2)'):\n"
        "        with omp('for schedule(dynamic)'):\n            for i in range(9): pass\n"
        "        with omp('task'):\n            pass\nf()\n"
    )
    subprocess.run(
        [sys.executable, "-W", "ignore", str(f)],
        env={**os.environ, "UNISONO_OMP_TRACE": str(out)},
        timeout=300,
        check=True,
    )
    events = json.loads(out.read_text())["traceEvents"]
    names = [e["name"] for e in events]
    assert names.count("region") == 2 and names.count("task") == 2 and names.count("chunk") >= 9
    assert len({e["tid"] for e in events}) == 2 and all(e["dur"] >= 0 for e in events if e["ph"] == "X")


def test_explain(capsys):
    text = explain(sizes)
    assert "rt_parallel" in text and capsys.readouterr().out.strip() == text.strip()
    assert "no directives" in explain(show)


def test_decorating_again_comes_from_the_cache():
    raw = sizes.__wrapped__ if hasattr(sizes, "__wrapped__") else None
    assert raw is None

    def maker(k):
        @omp
        def f():
            c = k
            with omp("parallel num_threads(2) reduction(+:c)"):
                c += 1
            return c

        return f

    assert maker(1)() == 3
    assert maker(5)() == 7 and maker(1).__code__ is maker(2).__code__


def test_import_and_decoration_are_quick_enough_not_to_notice(tmp_path):
    lines = [f"    v{i} = {i} + n" for i in range(44)]
    f = tmp_path / "long.py"
    f.write_text(
        "from unisono.omp import *\n@omp\ndef f(n):\n    s = 0\n"
        "    with omp('parallel reduction(+:s)'):\n        s += 1\n" + "\n".join(lines) + "\n    return s\n"
    )
    begin = time.perf_counter()
    exec(compile(f.read_text(), str(f), "exec"), {"__name__": "long"})
    assert time.perf_counter() - begin < 100  # one that is not takes minutes


def test_a_subinterpreter_gets_a_clear_error():
    try:
        import _interpreters as interpreters
    except ImportError:
        interpreters = pytest.importorskip("_xxsubinterpreters")
    code = "try:\n    import unisono.omp\nexcept ImportError as e:\n    pass\nelse:\n    raise SystemExit('imported')\n"
    one = interpreters.create()
    path = [p for p in sys.path if os.path.isdir(os.path.join(p, "unisono"))]
    interpreters.run_string(one, f"import sys\nsys.path[:0] = {path!r}\n" + code)
    interpreters.destroy(one)


@omp
def walks(n):
    total = 0
    for a, b in ((1, 2), (3, 4)):
        total += n * a + b
    return total


@pytest.mark.skipif(getattr(sys, "_is_gil_enabled", lambda: True)(), reason="with a GIL, counts are nobody's burden")
def test_constants_of_a_decorated_function_are_not_counted():
    assert walks(2) == 14 and not hasattr(walks, "__omp_source__")
    (outer,) = [c for c in walks.__code__.co_consts if isinstance(c, tuple)]
    assert all(sys.getrefcount(c) > 1 << 30 for c in (walks.__code__, outer, *outer))
