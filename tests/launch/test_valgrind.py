# SPDX-License-Identifier: BSD-3-Clause
"""Ranks under valgrind: memcheck finds nothing in the library, without suppressions, and still finds what is wrong."""

import os
import re

from harness import PATIENCE, TOP, WithProgram, subprocess

FOUND = 9
# Ranks of two jobs watch each other's ends by pidfd_open (434), which valgrind 3.19 does not know and passes over.
UNKNOWN_CALL = r"--\d+-- WARNING: unhandled amd64-linux syscall: 434\n(--\d+-- [^\n]*\n)*"


class Valgrind(WithProgram):
    source = "watched.c"

    def watch(self, how, chan):
        need = [os.path.join(TOP, "tools/need"), "valgrind:valgrind", "a test runs ranks under it"]
        if subprocess.run(need, check=False).returncode:
            self.skipTest("valgrind cannot be installed")
        program = [self.program, how, os.path.join(self.dir.name, "file")]
        words = ["valgrind", "-q", f"--error-exitcode={FOUND}", "--leak-check=full", *program]
        return self.run_mpi("--timeout", PATIENCE, "--set", f"chan=self,{chan}", "-n", 2, *words)

    def test_clean(self):
        for chan in ("shm", "tcp"):
            for how in ("hello", "traffic", "file", "spawn"):
                r = self.watch(how, chan)
                found = re.sub(UNKNOWN_CALL, "", r.err)
                self.assertEqual((r.returncode, r.out, found), (0, "", ""), (chan, how))

    def test_what_is_wrong_is_found(self):
        r = self.watch("wrong", "shm")
        self.assertEqual(r.returncode, FOUND, r.err)
        self.assertIn("uninitialised", r.err)
