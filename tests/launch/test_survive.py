# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --survive: ranks and whole hosts that die at random moments, in any call (killer.c by kills.py; tools/judges
has the long form), at certain places of programs with windows and files (orphans.c), and what mpiexec says.
"""

import json
import os
import signal
import tempfile
import time
import unittest

import kills
from harness import LIMIT, MPIEXEC, PATIENCE, WithProgram

PROGRAMS = 50


class Survive(WithProgram):
    source = "killer.c"

    def test_random_deaths(self):
        deaths = 0
        env = dict(self.env, KILLER_DIR=self.dir.name)
        for seed in range(1, PROGRAMS + 1):
            died, wrong, told = kills.run(MPIEXEC, self.program, seed, env)
            self.assertIsNone(wrong, told)
            deaths += died
        self.assertGreater(deaths, PROGRAMS)
        self.assert_all_gone()


class Orphans(WithProgram):
    """Each case on the ways to reach windows and the file pointer, with two ranks, of which one is left, and with a
    victim that was spawned: nobody's mpiexec tells its parents, and shared memory even less.
    """

    source = "orphans.c"
    WINDOWS = "fence lock behind-lock lock-all shared-locks flushes wait test start complete rget".split()
    FILES = "write-all split pointer atomic".split()
    MAPPED, REACHED = ("chan=shm",), ("rma_path=1",)
    SENT, TCP = ("rma_path=2", "file_pointer_messages=1"), ("chan=tcp",)

    def go_on(self, case, ranks, *settings, spawned=0):
        words = [w for s in settings for w in ("--set", s)]
        env = {"TEST_SPAWN": str(spawned)} if spawned else {}
        with self.subTest(case=case, ranks=ranks, settings=settings, spawned=spawned):
            how = ("--survive", "--timeout", PATIENCE, *words, "-n", ranks - spawned)
            r = self.run_mpi(*how, self.program, case, self.dir.name, env=env)
            status = 137 if "no rank is left" in r.err and spawned else 0  # of the spawned job
            self.assertEqual((r.returncode, r.out), (status, f"{case}: {ranks - 1} go on\n"), r.err)

    def test_windows(self):
        for case in self.WINDOWS:
            for settings in (self.MAPPED, self.SENT, self.TCP):
                self.go_on(case, 3, *settings)
        for case in self.WINDOWS[:4]:
            self.go_on(case, 2, *self.MAPPED)
            self.go_on(case, 4, *self.REACHED)

    def test_windows_over_two_jobs(self):
        for case in self.WINDOWS:
            for settings in (self.MAPPED, self.REACHED, self.SENT, self.TCP):
                self.go_on(case, 3, *settings, spawned=1)
            self.go_on(case, 4, *self.MAPPED, spawned=2)

    def test_files_over_two_jobs(self):
        for case in self.FILES:
            for settings in (self.MAPPED, self.SENT, self.TCP):
                self.go_on(case, 3, *settings, spawned=1)

    def test_files(self):
        for case in self.FILES:
            for settings in (self.MAPPED, self.SENT, self.TCP):
                self.go_on(case, 3, *settings)


class Halfway(WithProgram):
    """A rank that dies in the middle of large messages which go one way only: nothing was ever sent back."""

    source = "../hosts/fabric.c"

    def test_large_messages(self):
        for channel in ("shm", "tcp"):
            for victim in ("sender", "receiver"):
                with self.subTest(channel=channel, victim=victim):
                    how = ("--survive", "--timeout", PATIENCE, "--set", f"chan=self,{channel}", "-n", 3)
                    r = self.run_mpi(*how, self.program, "dies", victim, "freed")
                    self.assertEqual((r.returncode, r.out), (0, "went on after the death\n"), r.err)
        self.assert_all_gone()


class Early(WithProgram):
    """Spawned processes that die as soon as they are there, and parents that die while they spawn."""

    source = "early.c"

    def ends(self, who, ranks, statuses, out):
        for channel in ("shm", "tcp"):
            with self.subTest(channel=channel):
                how = ("--survive", "--timeout", PATIENCE, "--set", f"chan={channel}", "-n", ranks)
                r = self.run_mpi(*how, self.program, who)
                self.assertIn(r.returncode, statuses, r.err)
                self.assertEqual(r.out, out, r.err)
        self.assert_all_gone()

    def test_children(self):
        self.ends("children", 3, (137,), "")  # of the spawned jobs

    def test_parents(self):
        self.ends("parents", 6, (0, 1), "2 go on\n")  # 1: MPI_Init of children who found the port closed


class Parts(WithProgram):
    """Members of two jobs that die after each message of an agreement that they send, or before the first: all that
    decide decide alike, also those that die afterwards; who is left goes on.
    """

    source = "parts.c"
    MEMBERS = 4
    MESSAGES = 60  # of agreements, more than a member sends in a run

    def agree(self, kind, channel, *victims):
        """How many were left, 0 when that is one group alone."""
        with tempfile.TemporaryDirectory() as folder, self.subTest(kind=kind, channel=channel, victims=victims):
            words = [f"{victim}:{count}" for victim, count in victims]
            how = ("--survive", "--timeout", PATIENCE, "--set", f"chan={channel}", "-n", 2)
            r = self.run_mpi(*how, self.program, kind, folder, *words)
            self.assertNotIn("did not end", r.err)
            self.assertIn(r.returncode, (0, 137), r.err)  # 137: nobody of the first job is left
            with open(os.path.join(folder, "notes"), encoding="utf-8") as f:
                notes = [line.split() for line in f]
            decided = {}
            for index, _member, *what in notes:
                self.assertEqual(decided.setdefault(int(index), what), what, notes)
            last = decided[max(decided)]
            self.assertEqual(last[0], "left", notes)
            ended = {member for _index, member, what, _value in notes if what == "left"}
            self.assertGreaterEqual(len(ended), self.MEMBERS - len(victims), notes)
            return int(last[1])
        raise AssertionError("not reached")

    def each_message(self, kind, channel):
        for victim in range(self.MEMBERS):
            for count in range(self.MESSAGES):
                if self.agree(kind, channel, (victim, count)) == self.MEMBERS:
                    break  # it sends no more than that
            self.assertIn(count, range(3, self.MESSAGES - 1))

    def test_one_group(self):
        self.each_message("intra", "shm")

    def test_two_groups(self):
        self.each_message("inter", "shm")

    def test_tcp(self):
        self.each_message("intra", "tcp")

    def test_several(self):
        for count in range(5):
            for next_one in (0, 1, 3):
                self.agree("intra", "shm", (0, count), (1, next_one))
                self.agree("inter", "shm", (0, count), (2, next_one))
                self.agree("inter", "shm", (2, next_one), (3, count))
        self.agree("intra", "tcp", (0, 1), (1, 1), (2, 1))


class Silent(WithProgram):
    """A host that says nothing for ten seconds: its daemon stands still, and so its ranks would never be reaped."""

    source = "orphans.c"

    def named(self, word):
        """The processes whose command, or its second word, is that."""
        return [pid for pid in self.marked() if word in self.words(pid)[:2]]

    def suspend(self, first, others):
        """All of them are stopped for longer than a host may be silent; some go on before the others do."""
        for pid in [*others, *first]:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(12)
        for pid in first:
            os.kill(pid, signal.SIGCONT)
        time.sleep(1)  # they look who is silent (if not yet, the test is weaker)
        for pid in others:
            os.kill(pid, signal.SIGCONT)

    def test_its_ranks_are_lost(self):
        hosts = (*kills.AGENT, "-host", "a:1,b:1,c:1", "-n", 3)
        p = self.start_mpi("--survive", "--timeout", PATIENCE, *hosts, self.program, "outside", self.dir.name)
        self.assertEqual(p.stdout.readline(), b"ready\n")
        daemons = self.named(b"--daemon")
        self.assertEqual(len(daemons), 3)
        self.suspend([p.pid, *self.named(b"unisono-node")], daemons)
        os.kill(daemons[0], signal.SIGSTOP)
        out, err = p.communicate(timeout=LIMIT)
        self.assertEqual((p.returncode, out), (0, b"outside: 2 go on\n"), err)
        self.assertIn(b"its ranks are lost, the job goes on", err)
        self.assert_all_gone()

    def test_the_job_ends_with_one_line(self):
        hosts = (*kills.AGENT, "-host", "a:1,b:1", "-n", 2, "--set", "host_silence=8")
        p = self.start_mpi("--timeout", PATIENCE, *hosts, self.program, "outside", self.dir.name)
        self.assertEqual(p.stdout.readline(), b"ready\n")
        os.kill(self.named(b"--daemon")[0], signal.SIGSTOP)
        _, err = p.communicate(timeout=LIMIT)
        self.assertEqual(p.returncode, 1, err)
        line = rb"mpiexec: host [ab]: its daemon has given no sign of life for 8 s \(parameter host_silence\)[^\n]*\n"
        self.assertRegex(err, rb"\A" + line + rb"\Z")
        self.assert_all_gone()


class Example(WithProgram):
    source = "../../examples/survive/heat.c"

    def test_the_solver_comes_to_the_same_result(self):
        whole = self.run_mpi("--timeout", PATIENCE, "-n", 4, self.program)
        self.assertEqual((whole.returncode, whole.err), (0, ""))
        self.assertRegex(whole.out, r"^heat: \d+\.\d+ after 200 steps\n$")
        for rank, step, back in ((2, 57, 50), (0, 1, 0), (3, 199, 190)):
            r = self.run_mpi("--survive", "--timeout", PATIENCE, "-n", 4, self.program, 1000, 200, rank, step)
            self.assertEqual((r.returncode, r.out), (0, whole.out), r.err)
            self.assertIn(f"heat: 3 ranks go on from step {back}\n", r.err)


class Ends(WithProgram):
    source = "rank.c"

    def test_a_dead_rank_is_one_line(self):
        r = self.run_mpi(
            "--survive", "--timeout", PATIENCE, "-n", 3, "sh", "-c", "test $UNISONO_RANK != 1 || kill -9 $$"
        )
        self.assertEqual((r.returncode, len(r.err.splitlines())), (0, 1), r.err)
        left = r"(the job goes on with \d ranks?|no rank is left)"  # the others may have ended first
        self.assertRegex(r.err, rf"^mpiexec: rank 1 \(.*was killed by signal 9.*; {left}\n$")

    def test_the_time_until_a_death_is_known(self):
        bench = os.path.join(os.path.dirname(MPIEXEC), "unisono-bench")
        r = self.run_mpi("--survive", "--timeout", PATIENCE, "-n", 4, bench, "death", "--format", "json")
        self.assertEqual(r.returncode, 0, r.err)
        told = json.loads(r.out)
        self.assertEqual((told["row"], told["np"], told["n"]), ("death", 4, 3))
        self.assertGreater(told["min"], 0)
        self.assertEqual(len(r.err.splitlines()), 3, r.err)
        alone = self.run_mpi("--survive", "--timeout", PATIENCE, "-n", 1, bench, "death")
        self.assertEqual((alone.returncode, alone.out), (2, ""), alone.err)

    def test_all_die(self):
        r = self.run_mpi("--survive", "--timeout", PATIENCE, "-n", 2, "sh", "-c", "kill -9 $$")
        self.assertEqual(r.returncode, 137, r.err)
        self.assertIn("no rank is left", r.err)

    def test_abort_still_ends_the_job(self):
        r = self.run_mpi("--survive", "--timeout", PATIENCE, "-n", 2, self.program, "abort")
        self.assertEqual(r.returncode, 5, r.err)

    def test_without_it_the_job_ends(self):
        r = self.run_mpi("--timeout", PATIENCE, "-n", 2, self.program, "crash")
        self.assertEqual(r.returncode, 139, r.err)
        self.assertIn("the other rank was ended", r.err)


if __name__ == "__main__":
    unittest.main()
