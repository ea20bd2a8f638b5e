# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of the launcher share: how mpiexec is run, and how processes that should be gone are found.

MPIEXEC and FAKE name the programs under test; tests/suites/35-launch sets them. Every test has a time-out. A process
belongs to a test if its environment holds the mark that the test gave it, so other users of the machine are never
counted.
"""

import os
import signal
import subprocess
import tempfile
import time
import unittest
import uuid

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MPIEXEC = os.environ.get("MPIEXEC", "build/stage/bin/mpiexec")
MPICC = os.path.join(os.path.dirname(MPIEXEC), "mpicc")
FAKE = os.environ.get("FAKE", "build/launch-tests/fake")
PATIENCE = 300  # seconds, told to mpiexec: after these it says where each rank waits
LIMIT = PATIENCE + 60
TEST_LIMIT = 900


def too_long(_number, _frame):
    raise AssertionError(f"the test was not over after {TEST_LIMIT} s")


def hear_signals():
    """What runs in the background is started with SIGINT and others ignored, and a program under test would inherit it:
    a handler here becomes the default there."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


class Case(unittest.TestCase):
    """A test with its own mark in the environment of all that it starts."""

    def setUp(self):
        hear_signals()
        signal.signal(signal.SIGALRM, too_long)
        signal.alarm(TEST_LIMIT)
        self.addCleanup(signal.alarm, 0)
        self.mark = uuid.uuid4().hex
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("UNISONO_")}
        self.env["LAUNCH_TEST_MARK"] = self.mark

    def run_mpi(self, *args, stdin=b"", env=None, under=(), **kw):
        """Runs mpiexec to its end, started by the words `under`; the result has text in .out and .err."""
        full = dict(self.env, **(env or {}))
        source = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        words = [*under, MPIEXEC, *map(str, args)]
        r = subprocess.run(words, capture_output=True, timeout=LIMIT, env=full, **source, **kw)
        r.out, r.err = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
        return r

    def start_mpi(self, *args, **kw):
        """Starts mpiexec; it is killed should the test end first."""
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        p = subprocess.Popen([MPIEXEC, *map(str, args)], env=self.env, **kw)

        def stop():
            p.kill()
            p.wait()
            for f in (p.stdin, p.stdout, p.stderr):
                if f is not None:
                    f.close()

        self.addCleanup(stop)
        return p

    def marked(self):
        """Processes that carry this test's mark, but for zombies."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if self.mark.encode() in f.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    @staticmethod
    def words(pid):
        """The words of a process's command; none when it has ended."""
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return f.read().split(b"\0")
        except OSError:
            return []

    def await_true(self, what):
        """Waits for a condition; fails when it does not come true in a generous time."""
        end = time.monotonic() + LIMIT
        while not what():
            self.assertLess(time.monotonic(), end, "condition did not come true")
            time.sleep(0.01)

    def await_marked(self, count):
        self.await_true(lambda: len(self.marked()) >= count)

    def assert_all_gone(self):
        """Nothing that the test started is left. One second is promised; a busy machine is given more."""
        self.await_true(lambda: not self.marked())

    def assert_one_line(self, text, *parts):
        """`text` is a single line of mpiexec's with all parts in it."""
        self.assertEqual(text.count("\n"), 1, text)
        self.assertTrue(text.startswith("mpiexec: "), text)
        for part in parts:
            self.assertIn(part, text)


@unittest.skipUnless(os.path.exists(MPICC), "no mpicc beside mpiexec: nothing is staged")
class WithProgram(Case):
    """Tests with the MPI program `source` beside this file, compiled once to cls.program."""

    source = ""

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.dir.name, os.path.basename(cls.source).removesuffix(".c"))
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), cls.source)
        subprocess.run(
            [MPICC, "-O1", "-g", "-Wall", "-Wextra", "-Werror", source, "-o", cls.program, "-pthread"], check=True
        )

    @classmethod
    def tearDownClass(cls):
        cls.dir.cleanup()


class WithGdb(WithProgram):
    """Those that look into ranks with gdb, where that can be had."""

    def setUp(self):
        super().setUp()
        need = [os.path.join(TOP, "tools/need"), "gdb:gdb", "a test looks into ranks with it"]
        if subprocess.run(need, check=False).returncode:
            self.skipTest("gdb cannot be installed")
        if "has python" not in self.gdb(["python print('has python')"]):
            self.skipTest("this gdb knows no Python")

    def check_traced(self, said):
        """Skips the test where gdb was not let."""
        if "ptrace: Operation not permitted" in said or "Could not trace the inferior" in said:
            self.skipTest("processes may not be traced here")

    def gdb(self, commands, *words):
        """What gdb says to the commands, errors too."""
        env = dict(self.env, DEBUGINFOD_URLS="")
        options = [w for c in commands for w in ("-ex", c)]
        line = ["gdb", "-nx", "-batch", *options, *map(str, words)]
        r = subprocess.run(
            line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT, env=env
        )
        said = r.stdout.decode(errors="replace")
        self.check_traced(said)
        return said


__all__ = ["Case", "FAKE", "MPIEXEC", "TOP", "PATIENCE", "WithGdb", "WithProgram", "signal", "subprocess"]
