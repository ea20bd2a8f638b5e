# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --survive: ranks and whole hosts that die at random moments, in any call (killer.c), and what mpiexec says.

KILLS=1000 in the environment is the long form: so many programs with random deaths instead of a few.
"""

import os
import random
import re
import unittest

from harness import WithProgram

PROGRAMS = int(os.environ.get("KILLS", "40"))
AGENT = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]


class Survive(WithProgram):
    source = "killer.c"

    def kill_some(self, seed, *where, mode=()):
        """One program; how many ranks died in it."""
        r = self.run_mpi("--survive", "--timeout", 120, *where, self.program, seed, 8, *mode)
        told = f"seed {seed}, {where}: {r.out}{r.err}"
        deaths = len(re.findall(r"^mpiexec: rank \d+ .*killed by signal 9", r.err, re.MULTILINE))
        if mode and r.err.count("its ranks are lost") == 3:
            self.assertEqual(r.returncode, 1, told)
            return deaths
        if "no rank is left" in r.err:
            self.assertEqual(r.returncode, 137, told)
            return deaths
        self.assertEqual(r.returncode, 0, told)
        done = re.fullmatch(r"kills (\d+) left (\d+)\n", r.out)
        self.assertTrue(done, told)
        if not mode:
            self.assertGreaterEqual(deaths, int(done[1]), told)
        return deaths

    def test_random_deaths(self):
        draw = random.Random(1)
        deaths = 0
        for seed in range(1, PROGRAMS + 1):
            where = ["--set", f"chan={draw.choice(['shm', 'tcp'])}", "-n", draw.randint(2, 8)]
            deaths += self.kill_some(seed, *where)
        self.assertGreater(deaths, PROGRAMS)
        self.assert_all_gone()

    def test_hosts_die(self):
        for seed in range(1, PROGRAMS // 5 + 1):
            self.kill_some(seed, *AGENT, "-host", "a:3,b:3,c:2", "-n", 8, mode=["host"])
        self.assert_all_gone()


class Example(WithProgram):
    source = "../../examples/survive/heat.c"

    def test_the_solver_comes_to_the_same_result(self):
        whole = self.run_mpi("--timeout", 60, "-n", 4, self.program)
        self.assertEqual((whole.returncode, whole.err), (0, ""))
        self.assertRegex(whole.out, r"^heat: \d+\.\d+ after 200 steps\n$")
        for rank, step, back in ((2, 57, 50), (0, 1, 0), (3, 199, 190)):
            r = self.run_mpi("--survive", "--timeout", 60, "-n", 4, self.program, 1000, 200, rank, step)
            self.assertEqual((r.returncode, r.out), (0, whole.out), r.err)
            self.assertIn(f"heat: 3 ranks go on from step {back}\n", r.err)


class Ends(WithProgram):
    source = "rank.c"

    def test_a_dead_rank_is_one_line(self):
        r = self.run_mpi("--survive", "--timeout", 60, "-n", 3, "sh", "-c", "test $UNISONO_RANK != 1 || kill -9 $$")
        self.assertEqual((r.returncode, len(r.err.splitlines())), (0, 1), r.err)
        self.assertRegex(r.err, r"^mpiexec: rank 1 \(.*was killed by signal 9.*; the job goes on with \d ranks?\n$")

    def test_all_die(self):
        r = self.run_mpi("--survive", "--timeout", 60, "-n", 2, "sh", "-c", "kill -9 $$")
        self.assertEqual(r.returncode, 137, r.err)
        self.assertIn("no rank is left", r.err)

    def test_abort_still_ends_the_job(self):
        r = self.run_mpi("--survive", "--timeout", 60, "-n", 2, self.program, "abort")
        self.assertEqual(r.returncode, 5, r.err)

    def test_without_it_the_job_ends(self):
        r = self.run_mpi("--timeout", 60, "-n", 2, self.program, "crash")
        self.assertEqual(r.returncode, 139, r.err)
        self.assertIn("the other rank was ended", r.err)


if __name__ == "__main__":
    unittest.main()
