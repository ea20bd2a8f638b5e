# SPDX-License-Identifier: BSD-3-Clause
"""How waits pass their time: the library counts it (verbose=2), and asks one policy (base/patience.h)."""

import os
import re
import unittest

from harness import PATIENCE, WithProgram


class Waits(WithProgram):
    source = "waits.c"

    def counts(self, *options, ranks=2, threads=False, under=()):
        """[(spun, yielded, slept)] of each rank, and what was told."""
        words = [*options, "--set", "verbose=2", "-n", ranks, self.program, "threads" if threads else "one"]
        r = self.run_mpi("--timeout", PATIENCE, *words, under=under)
        self.assertEqual(r.returncode, 0, r.err)
        found = re.findall(r"waits spun (\d+) times, yielded (\d+) times, slept (\d+) times", r.err)
        self.assertEqual(len(found), ranks, r.err)
        return [tuple(map(int, f)) for f in found], r.err

    def check_never_spins(self, *options, **kw):
        counts, _ = self.counts("--set", "wait_spin_us=0", *options, **kw)
        for spun, _, slept in counts:
            self.assertEqual(spun, 0)
            self.assertGreater(slept, 0)

    def test_zero_never_spins(self):
        self.check_never_spins("--set", "chan=shm")
        self.check_never_spins("--set", "chan=tcp")
        self.check_never_spins("--set", "shm_cma=no")

    def test_zero_never_spins_with_threads(self):
        self.check_never_spins(threads=True)
        self.check_never_spins("--set", "progress_thread=yes", threads=True)

    def test_crowded_ranks_do_not_spin(self):
        """Two ranks that share one of mpiexec's processors, whatever the machine has."""
        one = str(min(os.sched_getaffinity(0)))
        for options in ([], ["--set", "chan=tcp"]):
            counts, err = self.counts(*options, under=["taskset", "-c", one])
            self.assertIn("2 of 2 ranks share 1 of 1 processors, so none spins", err)
            for spun, yielded, slept in counts:
                self.assertEqual(spun, 0)
                self.assertGreater(yielded + slept, 0)

    def test_a_rank_bound_anew_knows_its_processors(self):
        """A wrapper that puts all ranks on one processor: what mpiexec saw is no longer so."""
        one = min(os.sched_getaffinity(0))
        r = self.run_mpi("--bind-to", "none", "--set", "verbose=2", "-n", 2, "taskset", "-c", one, self.program, "one")
        self.assertEqual(r.returncode, 0, r.err)
        self.assertEqual(
            len(re.findall(r"waits: 2 of 2 ranks share 1 of \d+ processors, so none spins", r.err)), 2, r.err
        )

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one processor: every two ranks are crowded")
    def test_ranks_with_room_spin(self):
        counts, err = self.counts()
        self.assertNotIn("so none spins", err)
        for spun, _, _ in counts:
            self.assertGreater(spun, 0)


if __name__ == "__main__":
    unittest.main()
