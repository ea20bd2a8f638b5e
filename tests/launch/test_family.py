# SPDX-License-Identifier: BSD-3-Clause
"""Programs that spawn (family.c), started by mpiexec and by themselves: what is left, what fails, who outlives whom."""

import re
import subprocess
import unittest

from harness import LIMIT, MPIEXEC, PATIENCE, WithProgram


class Family(WithProgram):
    source = "family.c"
    launcher = (MPIEXEC, "--timeout", str(PATIENCE), "-n", "1")

    def family(self, *words, env=None):
        done = subprocess.run(
            [*self.launcher, self.program, *map(str, words)],
            env=dict(self.env, **(env or {})),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        self.assert_all_gone()
        return done

    def test_spawning_in_turn_leaves_nothing(self):
        r = self.family("turns", 40, 2)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        state = [[int(n) for n in re.findall(r"\d+", line)] for line in r.stdout.splitlines()]
        self.assertEqual(len(state), 40)
        for at, what in enumerate(("descriptors", "mappings")):
            count = [one[at] for one in state]
            # One that ended a moment ago may be on its way out, and what is made once may come late (the descriptor
            # of the door, with the first sleep): what stays would show as one more per round.
            self.assertLess(min(count[-10:]), max(count[:10]) + 10, what)

    def test_error_of_a_program_that_is_not_there(self):
        r = self.family("fail", "/no/such/program")
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertIn("MPI_ERR_SPAWN", r.stdout)
        self.assertIn("cannot run /no/such/program", r.stdout)

    def test_a_spawned_process_that_dies(self):
        """Its parent's receive fails, and its parent goes on."""
        r = self.family("crash")
        self.assertIn("rank 0 of spawned job 1", r.stderr)
        self.assertIn("signal 9", r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)
        self.assertEqual([line.split()[0] for line in r.stdout.splitlines()], ["done", "done"])

    def test_a_spawned_process_outlives_its_parent(self):
        r = self.family("outlive")
        self.assertEqual((r.returncode, r.stderr, r.stdout), (0, "", "child works\n"))


class Alone(Family):
    """The same without mpiexec: the program starts one."""

    launcher = ()

    def test_the_mpiexec_that_is_missing(self):
        r = self.family("fail", env={"UNISONO_MPIEXEC": "/no/such/mpiexec"})
        self.assertIn("MPI_ERR_SPAWN", r.stdout)
        self.assertIn("/no/such/mpiexec", r.stdout)

    def test_under_another_launcher(self):
        r = self.family("fail", env={"PMI_FD": "3"})
        self.assertIn("MPI_ERR_SPAWN", r.stdout)
        self.assertIn("started by another launcher (PMI_FD is set)", r.stdout)


if __name__ == "__main__":
    unittest.main()
