# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions out of regions, cancellation, and everything that must be a SyntaxError at decoration."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import traceback

import pytest
from unisono.omp import *


@omp
def raises(who, where):
    with omp("parallel num_threads(4)"):
        me = omp_get_thread_num()
        if me in who:
            raise KeyError(me)
        if where == "barrier":
            omp("barrier")
        elif where == "for":
            with omp("for"):
                for i in range(4):
                    pass
        elif where == "single":
            with omp("single"):
                pass
        elif where == "taskwait":
            with omp("task"):
                pass
            omp("taskwait")
            omp("barrier")


@pytest.mark.parametrize("where", ["barrier", "for", "single", "taskwait", "nothing"])
def test_one_exception_ends_the_region(where):
    for i in range(4):
        for _ in range(10):
            with pytest.raises(KeyError) as info:
                raises((i,), where)
            assert info.value.args == (i,)


def test_its_traceback_shows_the_line():
    with pytest.raises(KeyError) as info:
        raises((2,), "barrier")
    last = traceback.extract_tb(info.value.__traceback__)[-1]
    assert last.filename == __file__ and last.line == "raise KeyError(me)"


def test_several_exceptions():
    with pytest.raises(KeyError) as info:
        raises((0, 1, 2, 3), "nothing")
    others = getattr(info.value, "omp_others", None)
    numbers = {info.value.args[0]} | {e.args[0] for e in others.exceptions}
    assert numbers == {0, 1, 2, 3} and isinstance(others, ExceptionGroup)


@omp
def fails_while_handling():
    with omp("parallel num_threads(2)"):
        try:
            {}["missing"]
        except KeyError:
            omp("flush")
            both.wait()
            raise ValueError(omp_get_thread_num())


both = threading.Barrier(2)


def test_others_are_shown_behind_what_the_first_was_handling():
    with pytest.raises(ValueError) as info:
        fails_while_handling()
    assert isinstance(info.value.__context__, KeyError)
    if not hasattr(info.value, "omp_others"):
        return  # the second thread came to its raise when the team was over
    assert info.value.__context__.__context__ is info.value.omp_others
    text = "".join(traceback.format_exception(info.value))
    assert "raised by other threads of the region" in text and text.rstrip().endswith(f"ValueError: {info.value}")


def test_except_and_except_star_take_it():
    for k in range(20):
        try:
            raises((0, 1), "nothing")
        except* KeyError as group:
            assert group.exceptions[0].args[0] in (0, 1)


@omp
def in_critical():
    with omp("parallel num_threads(3)"):
        with omp("critical(broken)"):
            raise ValueError("inside")


@omp
def in_ordered():
    with omp("parallel for num_threads(3) ordered schedule(static, 1)"):
        for i in range(30):
            with omp("ordered"):
                if i == 7:
                    raise ValueError(i)


@omp
def in_task():
    with omp("parallel num_threads(3)"):
        with omp("single"):
            with omp("task"):
                raise ValueError("task")
            omp("taskwait")


@omp
def in_lock():
    lock = omp_init_lock()
    with omp("parallel num_threads(2)"):
        omp_set_lock(lock)
        raise ValueError("the lock stays set")


@omp
def in_reduction_code():
    class Bad:
        def __add__(self, other):
            raise ValueError("no sum")

    x = Bad()
    with omp("parallel num_threads(2)"):
        with omp("for reduction(+:x)"):
            for i in range(2):
                pass
        omp("barrier")


@pytest.mark.parametrize("f", [in_critical, in_ordered, in_task, in_lock, in_reduction_code])
def test_nobody_hangs(f):
    for _ in range(10):
        with pytest.raises(ValueError):
            f()
    assert sorted(team()) == [0, 1, 2]


@omp
def team():
    got = []
    with omp("parallel num_threads(3)"):
        got.append(omp_get_thread_num())
        omp("barrier")
    return got


@omp
def caught_inside():
    got = []
    with omp("parallel num_threads(3)"):
        try:
            raise ValueError
        except ValueError:
            got.append(1)
        omp("barrier")
    return got


def test_exceptions_caught_inside_are_nobodys_business():
    assert caught_inside() == [1, 1, 1]


@omp
def inner_fails():
    omp_set_max_active_levels(2)
    try:
        with omp("parallel num_threads(2)"):
            with omp("parallel num_threads(2)"):
                if omp_get_ancestor_thread_num(1) == 1 and omp_get_thread_num() == 1:
                    raise ValueError("inner")
            omp("barrier")
    finally:
        omp_set_max_active_levels(1)


def test_exceptions_out_of_nested_regions():
    for _ in range(20):
        with pytest.raises(ValueError, match="inner"):
            inner_fails()


def run(code, timeout=300, **env):
    """Runs a program; the code goes through a file, since @omp needs its source."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as f:
        f.write("import warnings\nwarnings.simplefilter('ignore')\nfrom unisono.omp import *\n" + textwrap.dedent(code))
    try:
        return subprocess.run(
            [sys.executable, f.name], env={**os.environ, **env}, capture_output=True, text=True, timeout=timeout
        )
    finally:
        os.unlink(f.name)


CANCEL = """
    @omp
    def loop(n):
        ran = []
        with omp("parallel num_threads(n)"):
            with omp("for schedule(dynamic)"):
                for i in range(1000):
                    ran.append(i)
                    for _ in range(3):
                        omp("cancel for if(i == 5)")
                    omp("cancellation point for")
            ran.append("after")
        return len(ran), ran.count("after")
    @omp
    def region(n):
        after = []
        with omp("parallel num_threads(n)"):
            omp("cancel parallel if(omp_get_thread_num() == 0)")
            omp("barrier")
            after.append(1)
        return len(after)
    @omp
    def some(n):
        ran = []
        with omp("parallel num_threads(n)"):
            with omp("sections"):
                with omp("section"):
                    ran.append(1)
                    omp("cancel sections")
                    ran.append("never")
                with omp("section"):
                    ran.append(2)
        return ran
    @omp
    def group(n):
        ran = []
        with omp("parallel num_threads(n)"):
            with omp("single"):
                with omp("taskgroup"):
                    for i in range(2000):
                        with omp("task"):
                            ran.append(i)
                            if i == 3:
                                omp("cancel taskgroup")
                ran.append("after")
        return len(ran), ran[-1]
    print(omp_get_cancellation(), [loop(n) for n in (1, 2, 4)], [region(n) for n in (1, 3)], [some(n) for n in (1, 3)],
          [group(n) for n in (2, 4)])
"""


def test_cancel():
    out = run(CANCEL, OMP_CANCELLATION="true")
    assert out.returncode == 0, out.stderr
    flag, loops, regions, sections, groups = eval(
        "(" + out.stdout.strip().replace("True [", "True, [").replace("] [", "], [") + ")"
    )
    assert flag is True and [c for _, c in loops] == [1, 2, 4] and all(n < 900 for n, _ in loops)
    assert regions == [0, 0] and all("never" not in s for s in sections) and all(last == "after" for _, last in groups)


def test_cancel_does_nothing_unless_switched_on():
    out = run(CANCEL)
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith("False [(1001, 1), (1002, 2), (1004, 4)] [1, 3]")


INTERRUPT = """
    import os, signal, threading, time
    @omp
    def spin(how):
        lock = omp_init_lock()
        omp_set_lock(lock)
        with omp("parallel num_threads(3)"):
            if omp_get_thread_num() == 1:
                print("ready", flush=True)
            if how == "code":
                while True:
                    pass
            elif how == "barrier":
                if omp_get_thread_num() != 1:
                    omp("barrier")
                while omp_get_thread_num() == 1:
                    pass
            elif omp_get_thread_num():
                with omp("critical"):
                    while True:
                        pass
    try:
        spin(HOW)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


@pytest.mark.parametrize("how", ["code", "barrier", "join"])
def test_keyboard_interrupt(how, tmp_path):
    f = tmp_path / "program.py"
    f.write_text(
        "import warnings\nwarnings.simplefilter('ignore')\nfrom unisono.omp import *\n"
        + textwrap.dedent(INTERRUPT).replace("HOW", repr(how))
    )
    p = subprocess.Popen([sys.executable, str(f)], stdout=subprocess.PIPE, text=True)
    try:
        assert p.stdout.readline() == "ready\n"
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=300)
    finally:
        p.kill()
    assert out == "interrupted\n" and p.returncode == 0


FORK = """
    import os
    @omp
    def team(n):
        got = []
        with omp("parallel num_threads(n)"):
            got.append(omp_get_thread_num())
        return sorted(got)
    assert team(3) == [0, 1, 2]
    pid = os.fork()
    if pid == 0:
        os._exit(0 if team(4) == [0, 1, 2, 3] else 9)
    _, status = os.waitpid(pid, 0)
    assert team(2) == [0, 1]
    print("child", os.waitstatus_to_exitcode(status))
"""


def test_fork():
    out = run(FORK)
    assert out.stdout == "child 0\n", out.stderr


THREADS = """
    import threading
    @omp
    def team(n):
        got = []
        with omp("parallel num_threads(n)"):
            got.append(omp_get_thread_num())
            omp("barrier")
        return sorted(got)
    wrong = []
    def work():
        for _ in range(20):
            if team(3) != [0, 1, 2]:
                wrong.append(1)
    for _ in range(5):
        ts = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in ts]
        [t.join() for t in ts]
    print(len(wrong), threading.active_count() < 20)
"""


def test_regions_from_several_threads_at_once():
    out = run(THREADS)
    assert out.stdout == "0 True\n", out.stderr
