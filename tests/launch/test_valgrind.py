# SPDX-License-Identifier: BSD-3-Clause
"""Ranks under valgrind: memcheck finds nothing in the library, without suppressions, and still finds what is wrong."""

import os

from harness import WithProgram, subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOUND = 9


class Valgrind(WithProgram):
    source = "watched.c"

    def watch(self, how, chan):
        need = [os.path.join(TOP, "tools/need"), "valgrind:valgrind", "a test runs ranks under it"]
        if subprocess.run(need, check=False).returncode:
            self.skipTest("valgrind cannot be installed")
        words = ["valgrind", "-q", f"--error-exitcode={FOUND}", "--leak-check=full", self.program, how]
        return self.run_mpi("--timeout", 300, "--set", f"chan=self,{chan}", "-n", 2, *words)

    def test_clean(self):
        for chan in ("shm", "tcp"):
            for how in ("hello", "traffic"):
                r = self.watch(how, chan)
                self.assertEqual((r.returncode, r.out, r.err), (0, "", ""), (chan, how))

    def test_what_is_wrong_is_found(self):
        r = self.watch("wrong", "shm")
        self.assertEqual(r.returncode, FOUND, r.err)
        self.assertIn("uninitialised", r.err)
