# SPDX-License-Identifier: BSD-3-Clause
"""The launcher with real MPI programs (rank.c): what it tells of crashes, aborts and deadlocks; waiting is no crime."""

import os
import resource
import signal
import unittest

import kills
from harness import LIMIT, PATIENCE, WithProgram


class Mpi(WithProgram):
    source = "rank.c"

    def mode(self, name, ranks=2, options=()):
        r = self.run_mpi("--timeout", PATIENCE, *options, "-n", ranks, self.program, name)
        self.assert_all_gone()
        return r

    def test_hello(self):
        for n in (1, 2, 3, 8, 64):
            r = self.mode("hello", n)
            self.assertEqual((r.returncode, r.err), (0, ""))
            self.assertEqual(sorted(r.out.splitlines()), sorted(f"rank {i} of {n}" for i in range(n)))

    def test_universe(self):
        hosts = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent", "-host", "a:3,b"]
        cores = int(self.mode("universe", 1, ["-usize", "SYSTEM"]).out.split()[1])
        cases = (([], max(2, cores)), (["-usize", 7], 7), (hosts, 4), (["-host", "localhost"], 2))
        for words, wanted in cases:
            r = self.mode("universe", 2, words)
            self.assertEqual(r.out.count(f"universe {wanted}\n"), 2, words)
        agent = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent", "-host", "a,b", "-usize", 9]
        self.assertEqual(self.mode("universe", 2, agent).out.count("universe 9\n"), 2)

    def test_two_programs(self):
        r = self.run_mpi("-n", 2, self.program, "hello", ":", "-n", 1, self.program, "hello")
        self.assertEqual(sorted(r.out.splitlines()), [f"rank {i} of 3" for i in range(3)])

    def test_a_job_that_no_channel_connects(self):
        hosts = (*kills.AGENT, "-host", "a,b")
        for whom, chan, where in (("ranks", "self", ()), ("hosts", "shm", hosts)):
            r = self.mode("hello", options=(*where, "--set", f"chan={chan}"))
            self.assertEqual(r.returncode, 1, r.err)
            self.assertIn(f"no channel reaches the other {whom} (parameter chan = '{chan}')\n", r.err)

    def test_started_by_a_script(self):
        r = self.run_mpi("-n", 3, "sh", "-c", f"{self.program} hello; exit $?")
        self.assertEqual((r.returncode, r.out.count("of 3")), (0, 3))

    def test_started_by_a_parent_that_closes_descriptors(self):
        wrapper = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:], close_fds=True).returncode)"
        r = self.run_mpi("-n", 3, "python3", "-c", wrapper, self.program, "hello")
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(sorted(r.out.splitlines()), [f"rank {i} of 3" for i in range(3)])

    def test_program_that_a_rank_starts_is_not_that_rank(self):
        """With the rank's own environment, as Python's subprocess would give it."""
        r = self.mode("child")
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(sorted(r.out.splitlines()), ["rank 0 of 1"] * 2 + ["rank 0 of 2", "rank 1 of 2"])

    def test_one_program_a_rank(self):
        r = self.run_mpi("-n", 2, "sh", "-c", f"{self.program} hello && {self.program} hello")
        self.assertNotEqual(r.returncode, 0)
        self.assertIn("has run an MPI program already", r.err)

    def test_deadlock(self):
        for n in (2, 5):
            r = self.mode("ring", n)
            self.assertEqual(r.returncode, 1)
            self.assertEqual(r.err.count("waits in MPI_Recv on MPI_COMM_WORLD for rank"), n, r.err)
            self.assertIn("tag 7\n", r.err)
            self.assertIn("cycle: 0 -> ", r.err)

    def test_deadlock_of_threads(self):
        r = self.mode("thread-ring")
        self.assertEqual(r.returncode, 1)
        self.assertIn("deadlock", r.err)

    def test_no_deadlock(self):
        for name in ("slow", "threads"):
            r = self.mode(name)
            self.assertEqual((r.returncode, r.err), (0, ""), name)

    def test_deadlock_is_left_alone_when_asked(self):
        r = self.run_mpi("--timeout", 3, "--keep-waiting", "-n", 2, self.program, "ring")
        self.assertEqual(r.returncode, 124)
        self.assertNotIn("deadlock", r.err)

    def test_crash(self):
        r = self.mode("crash", 8)
        self.assertEqual(r.returncode, 128 + 11)
        self.assert_one_line(
            r.err, "rank 7 (pid ", "signal 11 (Segmentation fault), last MPI call MPI_", "other 7 ranks were ended"
        )

    def test_killed_while_it_waits(self):
        p = self.start_mpi("--keep-waiting", "-n", 2, self.program, "killed")
        victim = int(p.stdout.readline())
        self.await_true(lambda: open(f"/proc/{victim}/stat").read().rpartition(")")[2].split()[0] == "S")
        os.kill(victim, signal.SIGKILL)
        self.assertEqual(p.wait(LIMIT), 128 + 9)
        self.assert_one_line(
            p.stderr.read().decode(), f"pid {victim}", "signal 9 (Killed)", "MPI_Recv", "the other rank was ended"
        )
        self.assert_all_gone()

    def test_abort(self):
        r = self.mode("abort")
        self.assertEqual(r.returncode, 5)
        self.assert_one_line(r.err, "rank 1 ", "MPI_Abort", "code 5", "the other rank was ended")

    def test_fatal_error(self):
        r = self.mode("wrong")
        self.assertNotEqual(r.returncode, 0)
        self.assert_one_line(r.err, "rank 1 ", "MPI_Send: tag -5", "the other rank was ended")

    def test_no_finalize(self):
        r = self.mode("forget")
        self.assertEqual(r.returncode, 0)
        self.assert_one_line(r.err, "warning: 2 ranks, ", "without calling MPI_Finalize")
        r = self.mode("forget", options=["--set", "unfinalized=error"])
        self.assertEqual(r.returncode, 1)
        self.assert_one_line(r.err, "exited with status 0 without calling MPI_Finalize")

    def test_waiting_costs_next_to_nothing(self):
        """Two ranks, mpiexec and its node wait three seconds; one that spins uses all of them."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        r = self.mode("slow")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(r.returncode, 0, r.err)
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


if __name__ == "__main__":
    unittest.main()
