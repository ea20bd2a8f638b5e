# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --gdb: ranks that start under one gdb, from a script and on a terminal, and how such a job ends."""

import os
import pty
import re
import select
import stat
import time

from harness import LIMIT, MPIEXEC, WithGdb

PROMPT = "(gdb) "
CTRL_C = "\x03"


class Debugged(WithGdb):
    source = "debugged.c"

    def setUp(self):
        super().setUp()
        self.env["DEBUGINFOD_URLS"] = ""
        self.env["HOME"] = self.dir.name  # no .gdbinit

    def scripted(self, commands, *words):
        """mpiexec with gdb's commands as its standard input; .out also has what gdb says."""
        r = self.run_mpi(*words, stdin="".join(c + "\n" for c in commands).encode())
        self.check_traced(r.out + r.err)
        return r

    def check_sums(self, text, ranks):
        said = sorted(re.findall(r"rank (\d+) has (\d+)", text))
        self.assertEqual(said, [(str(r), str(ranks * (ranks + 1) // 2)) for r in range(ranks)], text)


class Scripted(Debugged):
    def test_all_ranks(self):
        """One "continue" carries all to the end, whichever ends first."""
        script = ["info inferiors", "break part_of", "continue", "backtrace", "delete", "continue", "echo over\\n"]
        r = self.scripted(script, "--gdb", "-n", 3, self.program)
        self.assertEqual(r.returncode, 0, r.out + r.err)
        self.check_sums(r.out, 3)
        self.assertIn("rank 0, inferior 1, pid ", r.out)
        self.assertRegex(r.out, r"\* 1 +process \d+ (.|\n)*  2 +process \d+ (.|\n)*  3 +process \d+ ")
        self.assertRegex(r.out, r"#0  part_of \(rank=[012]\)(.|\n)*#1 .* in main ")
        self.assertEqual(len(re.findall(r"\[Inferior \d \(process \d+\) exited normally\]", r.out)), 3, r.out)
        self.assertNotIn("Switching to inferior", r.out)
        self.assertIn("over", r.out)

    def test_one_rank(self):
        for words in (["--gdb", 1, "-n", 2], ["-n", 2, "--gdb=1"]):
            script = ["break part_of", "continue", "print rank + 10", "delete", "continue"]
            r = self.scripted(script, *words, self.program)
            self.assertEqual(r.returncode, 0, r.out + r.err)
            self.check_sums(r.out, 2)
            self.assertIn("rank 1, inferior 1, pid ", r.out)
            self.assertIn("$1 = 11\n", r.out)

    def test_the_others_may_end_after_gdb(self):
        words = ["--gdb", 1, "-n", 2, "sh", "-c", "test $UNISONO_RANK = 1 || sleep 3; echo end of $UNISONO_RANK"]
        r = self.scripted(["continue"], *words)
        self.assertEqual(r.returncode, 0, r.out + r.err)
        self.assertIn("end of 1\n", r.out)
        self.assertIn("end of 0\n", r.out)

    def test_a_list_of_ranks(self):
        script = ["mpi rank 2", "print argc", "mpi rank 1", "mpi rank x", "mpi", "delete", "continue"]
        r = self.scripted(script, "--gdb", "0,2", "-n", 3, self.program)
        self.assertEqual(r.returncode, 0, r.out + r.err)
        self.check_sums(r.out, 3)
        self.assertIn("rank 2, inferior 2, pid ", r.out)
        self.assertIn("Rank 1 does not run under this gdb; these do: 0, 2", r.err)
        self.assertIn("mpi rank N: the number of a rank is expected.", r.err)

    def test_without_main(self):
        """A script stands before the first instruction of what interprets it."""
        script = os.path.join(self.dir.name, "script")
        with open(script, "w", encoding="utf-8") as f:
            f.write(f"exec {self.program}\n")
        os.chmod(script, stat.S_IRWXU)
        r = self.scripted(["continue", "continue"], "--gdb", "-n", 1, script)
        self.assertEqual(r.returncode, 0, r.out + r.err)
        self.check_sums(r.out, 1)

    def test_a_rank_that_fails_leaves_the_others(self):
        script = ["handle SIGABRT nostop noprint pass", "continue", "mpi rank 0", "print argc + 40"]
        r = self.scripted(script, "--gdb", "-n", 2, self.program, "fail", 1)
        self.assertEqual(r.returncode, 128 + 6, r.out + r.err)
        self.assertIn("rank 0, inferior 1, pid ", r.out.split("terminated with signal SIGABRT")[1])
        lines = [line for line in r.err.splitlines() if line.startswith("mpiexec: ")]
        self.assertEqual(len(lines), 2, r.err)
        self.assertRegex(
            lines[0], r"rank 1 .* was killed by signal 6 .*; the other ranks are left to gdb until it is quit$"
        )
        self.assertRegex(lines[1], r"rank 1 .* was killed by signal 6 .*; the other rank was ended$")
        self.assert_all_gone()

    def test_quit_ends_the_job(self):
        for ranks, line in ((1, "gdb was quit; 1 rank was ended"), (2, "gdb was quit; 2 ranks were ended")):
            r = self.scripted([], "--gdb", "-n", ranks, self.program)
            self.assertEqual((r.returncode, r.out.count("has")), (1, 0), r.out + r.err)
            self.assertIn(f"mpiexec: {line}\n", r.err)
            self.assert_all_gone()

    def test_what_cannot_be(self):
        for words, parts in (
            (["--gdb", 2, "-n", 2], ["--gdb 2", "ranks 0 to 1"]),
            (["--gdb=one", "-n", 2], ["--gdb one", "a list of ranks such as 0,2-3"]),
            (["--gdb", "--stdin", "all", "-n", 2], ["--stdin", "gdb reads standard input"]),
            (["--gdb", "--set", "launch_gdb=no-such-gdb -x", "-n", 2], ["no-such-gdb", "--set launch_gdb=COMMAND"]),
            (
                ["--gdb", "--launch-agent", "false", "-host", "elsewhere", "-n", 2],
                ["no rank", "on the host of mpiexec"],
            ),
            (["--gdb", 1, "--launch-agent", "false", "-host", "localhost,elsewhere", "-n", 2], ["rank 1", "elsewhere"]),
        ):
            r = self.run_mpi(*words, self.program)
            self.assertEqual((r.returncode, r.out), (2, ""), r.err)
            self.assert_one_line(r.err, *parts)


class Terminal(Debugged):
    """A user at a terminal."""

    def start(self, *words):
        pid, self.tty = pty.fork()
        if pid == 0:
            os.execve(MPIEXEC, [MPIEXEC, *map(str, words)], {**self.env, "TERM": "dumb"})
        self.addCleanup(os.close, self.tty)
        return pid

    def until(self, what):
        """What appears on the terminal up to `what`."""
        said, end = "", time.monotonic() + LIMIT
        while what not in said:
            self.assertLess(time.monotonic(), end, said)
            if select.select([self.tty], [], [], 1)[0]:
                try:
                    said += os.read(self.tty, 65536).decode(errors="replace")
                except OSError:  # everybody has closed it
                    self.check_traced(said)
                    self.fail(f"{what!r} did not come: {said}")
        self.check_traced(said)
        return said

    def type(self, text):
        os.write(self.tty, text.encode())

    def test_interrupt_and_quit(self):
        """Ctrl-C stops the ranks and returns to gdb; the job is there until gdb is quit."""
        pid = self.start("--gdb", "-n", 2, self.program, "wait")
        self.until(PROMPT)
        self.type("continue\n")
        said = self.until("rank 0 has 3")
        if "rank 1 has 3" not in said:
            self.until("rank 1 has 3")
        self.type(CTRL_C)
        said = self.until(PROMPT)
        self.assertIn("SIGINT", said)
        self.type("info mpi ranks\n")
        self.assertRegex(self.until(PROMPT), r"rank [01] of 2, host ")
        self.type("quit\n")
        self.until("Quit anyway?")
        self.type("y\n")
        self.until("mpiexec: gdb was quit; 2 ranks were ended")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 1)
        self.assert_all_gone()

    def test_a_signal_ends_gdb_too(self):
        pid = self.start("--gdb", "-n", 2, self.program)
        self.until(PROMPT)
        os.kill(pid, 15)
        self.until("mpiexec: got signal 15 (Terminated); 2 ranks were ended")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 143)
        self.assert_all_gone()
