# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of checkpoints share: jobs of saved.c, and what they and mpiexec say, as it comes."""

import os
import re
import shutil
import signal
import tempfile
import threading

from harness import LIMIT, WithProgram

MADE = re.compile(rb"mpiexec: checkpoint (\S+): ")


def sum_of(rounds, size):
    """What `rounds` rounds of saved.c give."""
    total = 2166136261
    for i in range(rounds):
        total = ((total ^ (size * (size - 1) // 2 + size * i)) * 16777619) & 0xFFFFFFFF
    return total


class Lines:
    """The lines that a process writes to one of its pipes, as they come."""

    def __init__(self, pipe):
        self.have, self.more, self.over = [], threading.Condition(), False
        self.thread = threading.Thread(target=self.read, args=(pipe,), daemon=True)
        self.thread.start()

    def read(self, pipe):
        for line in pipe:
            with self.more:
                self.have.append(line)
                self.more.notify_all()
        with self.more:
            self.over = True
            self.more.notify_all()

    def find(self, pattern, start=0):
        for i in range(start, len(self.have)):
            if re.search(pattern, self.have[i]):
                return i
        return None

    def wait(self, pattern, start=0):
        """The index of the first line from `start` on in which the pattern is found."""
        with self.more:
            good = self.more.wait_for(lambda: self.over or self.find(pattern, start) is not None, LIMIT)
            at = self.find(pattern, start)
        if not good or at is None:
            raise AssertionError(f"no line with {pattern} among {self.text()}")
        return at

    def text(self):
        return b"".join(self.have).decode(errors="replace")


class Saved(WithProgram):
    source = "saved.c"

    def setUp(self):
        super().setUp()
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.dir = os.path.join(self.folder, "saved")
        self.stop = os.path.join(self.folder, "stop")

    def begin(self, *words):
        """Starts mpiexec with all that it says in .out and .err."""
        job = self.start_mpi(*words)
        job.out, job.err = Lines(job.stdout), Lines(job.stderr)
        return job

    def save(self, job, make=True):
        """Asks for a checkpoint; its folder, or, with make=False, the line that says that there is none."""
        start = len(job.err.have)
        job.send_signal(signal.SIGUSR2)
        at = job.err.wait(MADE if make else rb"mpiexec: no checkpoint", start)
        return MADE.search(job.err.have[at]).group(1).decode() if make else job.err.have[at].decode()

    def end(self, job):
        """Lets the program end; its output."""
        with open(self.stop, "w", encoding="ascii"):
            pass
        job.wait(LIMIT)
        job.out.thread.join(LIMIT)
        job.err.thread.join(LIMIT)
        return job.out.text()

    def kill(self, job):
        """Kills the whole job, mpiexec first."""
        job.kill()
        for pid in self.marked():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.wait(LIMIT)
        self.assert_all_gone()

    def assert_right(self, out, size):
        found = re.search(r"sum (\d+) after (\d+)", out)
        self.assertIsNotNone(found, out)
        self.assertEqual(int(found.group(1)), sum_of(int(found.group(2)), size), out)
