# SPDX-License-Identifier: BSD-3-Clause
"""The deadlock report: told when it is one, with who waits for whom, and never when something may still happen."""

import subprocess
import unittest

from harness import FAKE, LIMIT, PATIENCE, Case

RING = ["wait", "MPI_Recv", "MPI_COMM_WORLD", "+1", 7]


class Told(Case):
    def told(self, *args, ranks=2):
        r = self.run_mpi("--timeout", PATIENCE, "-n", ranks, FAKE, *args)
        self.assertEqual(r.returncode, 1, r.err)
        self.assertIn("deadlock", r.err)
        self.assert_all_gone()
        return r.err

    def test_two_ranks_receive_from_each_other(self):
        err = self.told("init", *RING)
        self.assertRegex(err, r"rank 0 \(pid \d+, host \S+\) waits in MPI_Recv on MPI_COMM_WORLD for rank 1, tag 7")
        self.assertRegex(err, r"rank 1 \(pid \d+, host \S+\) waits in MPI_Recv on MPI_COMM_WORLD for rank 0, tag 7")
        self.assertIn("cycle: 0 -> 1 -> 0\n", err)

    def test_ring_of_five(self):
        self.assertIn("cycle: 0 -> 1 -> 2 -> 3 -> 4 -> 0\n", self.told("init", *RING, ranks=5))

    def test_ranks_that_do_the_same_share_a_line(self):
        err = self.told(
            "init", "only", 2, "wait", "MPI_Recv", "halo", 0, -1, "wait", "MPI_Barrier", "halo", -2, -2, ranks=6
        )
        self.assertIn("ranks 0-1 wait in MPI_Barrier on halo\n", err)
        self.assertIn("ranks 3-5 wait in MPI_Barrier on halo\n", err)
        self.assertIn("waits in MPI_Recv on halo for rank 0, any tag\n", err)
        self.assertNotIn("cycle", err)

    def test_partner_has_left(self):
        err = self.told("init", "only", 0, "fini", "only", 0, "exit", 0, "wait", "MPI_Recv", "MPI_COMM_WORLD", 0, 3)
        self.assertIn("for rank 0 (which has left MPI), tag 3", err)

    def test_idle_worker_threads_do_not_hide_it(self):
        self.told("init", "thread", "futex", *RING)


class NotTold(Case):
    def silent(self, *args, options=()):
        """The job is still waiting after three seconds, more than twice the time a deadlock takes to be told."""
        r = self.run_mpi("--timeout", 3, "-n", 2, *options, FAKE, *args)
        self.assertEqual(r.returncode, 124, r.err)
        self.assertNotIn("deadlock", r.err)

    def test_asked_to_wait(self):
        self.silent("init", *RING, options=["--keep-waiting"])
        self.silent("init", *RING, options=["--set", "deadlock=wait"])

    def test_one_rank_is_not_in_mpi(self):
        self.silent("init", "only", 1, "work", *RING)

    def test_one_rank_has_not_begun(self):
        self.silent("only", 1, "work", "init", *RING)

    def test_one_rank_spins(self):
        self.silent("init", "only", 1, "spin", 60, *RING)

    def test_ranks_wake_now_and_then(self):
        self.silent("init", "nap", "MPI_Recv", 100, 950)

    def test_a_thread_has_a_timer_or_reads(self):
        self.silent("init", "only", 1, "thread", "timer", *RING)
        self.silent("init", "only", 0, "thread", "read", *RING)

    def test_bytes_are_on_their_way(self):
        self.silent("init", "only", 1, "socket", *RING)

    def test_outsiders_may_come(self):
        self.silent("init", "only", 1, "wait", "MPI_Comm_accept", "MPI_COMM_SELF", -2, -2, *RING)

    def test_a_stopped_job_is_not_a_deadlock_when_it_goes_on(self):
        p = self.start_mpi("-n", 2, FAKE, "init", "nap", "MPI_Recv", 3, 700, "fini", stdout=subprocess.DEVNULL)
        self.assertEqual(p.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
