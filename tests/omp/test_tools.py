# SPDX-License-Identifier: BSD-3-Clause
"""What people look with: pdb, tracers (coverage tools are made of these), tracebacks and inspect show the user's own
lines of a decorated function, not the rewritten ones."""

import inspect
import json
import os
import subprocess
import sys
import threading
import traceback

import pytest
from unisono.omp import *

PROGRAM = """from unisono.omp import *

@omp
def total(n):
    s = 0
    with omp("parallel num_threads(2) reduction(+:s)"):
        me = omp_get_thread_num()
        if me == 0:
            inside = n * 7
            s += inside
    after = s + 1
    return after

print("answer", total(6))
"""


def debug(tmp_path, *commands):
    """The program under pdb with these commands; everything it printed."""
    file = tmp_path / "debugged.py"
    file.write_text(PROGRAM)
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "HOME": str(tmp_path)}
    out = subprocess.run(
        [sys.executable, "-m", "pdb", str(file)],
        input="\n".join([*commands, "quit", ""]),
        capture_output=True,
        text=True,
        timeout=300,
        env=env,
        cwd=tmp_path,
    )
    return out.stdout + out.stderr


def test_pdb_stops_at_a_line_inside_the_region(tmp_path):
    out = debug(tmp_path, "break 10", "continue", "p 'inside is', inside", "p 'n is', n", "continue")
    assert "debugged.py:10" in out and "debugged.py(10)" in out and "-> s += inside" in out
    assert "('inside is', 42)" in out and "('n is', 6)" in out and "answer 43" in out


def test_pdb_steps_from_line_to_line(tmp_path):
    out = debug(tmp_path, "break 7", "continue", "next", "next", "next", "list 9,10", "continue")
    lines = ["-> me = omp_get_thread_num()", "-> if me == 0:", "-> inside = n * 7", "-> s += inside"]
    at = [out.find(line) for line in lines]
    assert -1 not in at and at == sorted(at)
    assert "answer 43" in out


def test_pdb_stops_before_and_after_the_region(tmp_path):
    out = debug(tmp_path, "break 5", "break 11", "continue", "continue", "p 's is', s", "continue")
    assert "-> s = 0" in out and "-> after = s + 1" in out and "('s is', 42)" in out and "answer 43" in out


@omp
def counted(n):
    done = 0
    with omp("parallel num_threads(2) reduction(+:done)"):
        with omp("for schedule(static, 1)"):
            for i in range(n):
                done += 1
        if done < 0:
            done = -1
    return done


BODY = inspect.getsourcelines(counted)[1]


def lines_of(name):
    """Line offsets of the function's statements, the ones that must be seen and the one that must not."""
    return {"first": BODY + 2, "body": BODY + 6, "test": BODY + 7, "never": BODY + 8, "last": BODY + 9}[name]


def check_seen(by_thread):
    """by_thread: thread identifier -> lines seen in this file."""
    seen = set().union(*by_thread.values())
    assert {lines_of(n) for n in ("first", "body", "test", "last")} <= seen
    assert lines_of("never") not in seen
    assert len([t for t, lines in by_thread.items() if lines_of("body") in lines]) == 2
    assert all(BODY <= line <= BODY + 9 for line in seen)


def test_settrace_sees_the_lines_in_a_new_thread():
    by_thread = {}
    lock = threading.Lock()

    def trace(frame, event, arg):
        if frame.f_code.co_filename != __file__:
            return None
        if event == "line" and BODY <= frame.f_lineno <= BODY + 9:
            with lock:
                by_thread.setdefault(threading.get_ident(), set()).add(frame.f_lineno)
        return trace

    # A tracer applies to threads that start under it and workers are kept, so only the new thread is sure to have it.
    answers = []
    threading.settrace(trace)
    try:
        fresh = threading.Thread(target=lambda: answers.append(counted(6)))
        fresh.start()
        fresh.join()
    finally:
        threading.settrace(None)
    assert answers == [6]
    seen = set().union(*by_thread.values())
    assert {lines_of(n) for n in ("first", "body", "test", "last")} <= seen and lines_of("never") not in seen


def test_a_tracer_of_the_whole_program_sees_both_threads(tmp_path):
    file = tmp_path / "traced.py"
    file.write_text(PROGRAM)
    runner = (
        "import sys, threading, runpy\nseen = set()\n"
        "def trace(frame, event, arg):\n"
        "    if not frame.f_code.co_filename.endswith('traced.py'): return None\n"
        "    if event == 'line': seen.add((threading.current_thread().name[:3], frame.f_lineno))\n"
        "    return trace\n"
        "threading.settrace(trace); sys.settrace(trace)\n"
        f"runpy.run_path({str(file)!r})\n"
        "sys.settrace(None)\nprint(sorted(seen))\n"
    )
    out = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", runner], capture_output=True, text=True, timeout=300, check=True
    )
    assert out.stdout.startswith("answer 43")
    seen = eval(out.stdout.splitlines()[-1])
    assert {("Mai", line) for line in (5, 7, 8, 9, 10, 11, 12)} <= set(seen)
    assert {("omp", 7), ("omp", 8)} <= set(seen) and ("omp", 9) not in seen


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with CPython 3.12")
def test_monitoring_sees_the_lines():
    tool, by_thread = sys.monitoring.COVERAGE_ID, {}
    lock = threading.Lock()

    def line(code, number):
        if code.co_filename == __file__ and BODY <= number <= BODY + 9:
            with lock:
                by_thread.setdefault(threading.get_ident(), set()).add(number)

    sys.monitoring.use_tool_id(tool, "tests of unisono.omp")
    try:
        sys.monitoring.register_callback(tool, sys.monitoring.events.LINE, line)
        sys.monitoring.set_events(tool, sys.monitoring.events.LINE)
        assert counted(6) == 6
    finally:
        sys.monitoring.set_events(tool, 0)
        sys.monitoring.register_callback(tool, sys.monitoring.events.LINE, None)
        sys.monitoring.free_tool_id(tool)
    check_seen(by_thread)


@omp
def divides(by):
    with omp("parallel num_threads(2)"):
        with omp("single"):
            1 / by


def test_a_traceback_shows_the_users_line():
    with pytest.raises(ZeroDivisionError) as info:
        divides(0)
    frames = [f for f in traceback.extract_tb(info.value.__traceback__) if f.filename == __file__]
    assert frames[-1].line == "1 / by" and frames[-1].lineno == inspect.getsourcelines(divides)[1] + 4
    assert "1 / by" in "".join(traceback.format_exception(info.value))


@omp
def breaks_after():
    with omp("parallel num_threads(2)"):
        pass
    raise KeyError("after")


def test_lines_around_the_region_keep_their_numbers():
    first = inspect.getsourcelines(breaks_after)[1]
    with pytest.raises(KeyError) as info:
        breaks_after()
    assert traceback.extract_tb(info.value.__traceback__)[-1].lineno == first + 4
    with pytest.raises(ZeroDivisionError) as info:
        divides(0)
    outer = [f for f in traceback.extract_tb(info.value.__traceback__) if f.name == "divides"]
    assert outer[0].line == 'with omp("parallel num_threads(2)"):'


def test_inspect_sees_the_function_as_written():
    source = inspect.getsource(counted)
    assert source.startswith("@omp\ndef counted(n):") and 'omp("for schedule(static, 1)")' in source
    assert "_omprt_" not in source and inspect.getsourcefile(counted) == __file__
    assert str(inspect.signature(counted)) == "(n)" and counted.__name__ == "counted"
    assert counted.__module__ == __name__ and counted.__code__.co_firstlineno == inspect.getsourcelines(counted)[1]


SCRIPT = """from unisono.omp import *
@omp
def work(n):
    total = 0
    with omp("parallel num_threads(2)"):
        with omp("for reduction(+:total) schedule(static, 1)"):
            for i in range(n):
                if i < 0:
                    total -= 1
                total += helper(i)
        with omp("single"):
            with omp("task"):
                helper(0)
    if total < 0:
        total = 0
    return total

def helper(i):
    return i + 1

print("answer", work(6))
"""


def test_coverage_counts_the_users_lines(tmp_path):
    pytest.importorskip("coverage")
    (tmp_path / "covered.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-m", "coverage"]
    run = subprocess.run(
        [*command, "run", "--concurrency=thread", "covered.py"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert run.returncode == 0 and "answer 21" in run.stdout, run.stdout + run.stderr
    out = subprocess.run([*command, "json", "-o", "-"], cwd=tmp_path, env=env, capture_output=True, text=True)
    lines = json.loads(out.stdout[out.stdout.index("{") : out.stdout.rindex("}") + 1])["files"]["covered.py"]
    assert lines["missing_lines"] == [9, 15]
    assert {7, 8, 10, 13, 16, 19} <= set(lines["executed_lines"])


def test_cprofile_names_the_users_functions(tmp_path):
    (tmp_path / "profiled.py").write_text(SCRIPT)
    # One thread: cProfile of the free-threaded 3.13 lets all threads write its tables without a lock.
    env = {**os.environ, "PYTHONWARNINGS": "ignore", "OMP_THREAD_LIMIT": "1"}
    out = subprocess.run(
        [sys.executable, "-m", "cProfile", "profiled.py"], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert out.returncode == 0 and "answer 21" in out.stdout, out.stderr
    assert "profiled.py:2(work)" in out.stdout and "profiled.py:18(helper)" in out.stdout


def test_every_thread_reports_to_a_profiler(tmp_path):
    """Threads of the team report to threading.setprofile(), as threads of the program's own do."""
    (tmp_path / "profiled.py").write_text(SCRIPT)
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    runner = (
        "import threading, runpy, sys\nseen = set()\n"
        "def profile(frame, event, arg):\n"
        "    if event == 'call' and frame.f_code.co_filename.endswith('profiled.py'):\n"
        "        seen.add((threading.current_thread().name[:3], frame.f_code.co_name))\n"
        "threading.setprofile(profile); sys.setprofile(profile)\n"
        "runpy.run_path('profiled.py')\nsys.setprofile(None)\nprint(sorted(seen))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", runner], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    seen = eval(out.stdout.splitlines()[-1])
    assert ("Mai", "work") in seen and ("omp", "helper") in seen and ("Mai", "helper") in seen
