# SPDX-License-Identifier: BSD-3-Clause
"""A rank that cannot run is not one that waits: stopped, traced, starved, while another waits for its answer. Nobody
may call that a deadlock; a real one is told all the same."""

import os
import re
import subprocess
import unittest

from harness import LIMIT, PATIENCE, WithProgram, signal

HELD_S = 3.0  # more than twice the time that a deadlock takes to be told
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def state(pid):
    """The state of a process's first thread as the kernel names it: R, S, T, t, ...; empty when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


class Held(WithProgram):
    source = "reply.c"

    def begin(self, chan, mode="reply", ranks=2):
        """Starts the job; self.pid are the ranks' process ids. All but rank 0 sleep in MPI_Recv."""
        self.job = self.start_mpi(
            "--timeout", PATIENCE, "--set", f"chan={chan}", "-n", ranks, self.program, mode, stdin=subprocess.PIPE
        )
        said = [self.job.stdout.readline().decode() for _ in range(ranks)]
        self.pid = dict(tuple(map(int, re.match(r"rank (\d+) is (\d+)", s).groups())) for s in said)
        for rank, pid in self.pid.items():
            if rank:
                self.await_true(lambda pid=pid: self.sleeps_in_wait(pid))

    def sleeps_in_wait(self, pid):
        """In the futex or the poll that a rank sleeps in: twice, since one may also pass there."""
        calls = []
        for _ in range(2):
            with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
                calls.append(f.read().split()[0])
        return state(pid) == "S" and calls[0] == calls[1] != "running"

    def go(self):
        self.job.stdin.write(b"go\n")
        self.job.stdin.flush()

    def hold(self):
        """The job goes on all the while; no report ends it."""
        with self.assertRaises(subprocess.TimeoutExpired, msg="the job ended while a rank was held"):
            self.job.wait(HELD_S)

    def end(self):
        _, err = self.job.communicate(timeout=LIMIT)
        self.assertEqual(self.job.returncode, 0, err)
        self.assertNotIn(b"deadlock", err)

    def each_channel(self, test):
        for chan in ("shm", "tcp"):
            with self.subTest(chan=chan):
                self.begin(chan)
                test()
                self.end()


class NotTold(Held):
    def test_a_stopped_rank(self):
        def stop():
            os.kill(self.pid[1], signal.SIGSTOP)
            self.await_true(lambda: state(self.pid[1]) == "T")
            self.go()
            self.hold()
            os.kill(self.pid[1], signal.SIGCONT)

        self.each_channel(stop)

    def test_a_job_stopped_with_mpiexec(self):
        def stop():
            self.job.send_signal(signal.SIGTSTP)
            for pid in (*self.pid.values(), self.job.pid):
                self.await_true(lambda pid=pid: state(pid) == "T")
            self.go()
            self.hold()
            self.job.send_signal(signal.SIGCONT)

        self.each_channel(stop)

    def test_a_traced_rank(self):
        if subprocess.run([os.path.join(TOP, "tools/need"), "gdb:gdb", "a test traces a rank"], check=False).returncode:
            self.skipTest("gdb cannot be installed")

        def trace():
            gdb = subprocess.Popen(
                ["gdb", "-q", "-nx", "-p", str(self.pid[1])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            self.addCleanup(gdb.kill)
            gdb.stdin.write(b"echo attached\\n\n")
            gdb.stdin.flush()
            said = b""
            for line in gdb.stdout:
                said += line
                if b"attached\n" in line or b"not permitted" in line:
                    break
            if b"not permitted" in said:
                self.skipTest("tracing is forbidden here: " + said.decode(errors="replace").splitlines()[-1])
            self.assertEqual(state(self.pid[1]), "t", said)
            self.go()
            self.hold()
            gdb.communicate(b"detach\nquit\n", timeout=LIMIT)

        self.each_channel(trace)

    def test_a_starved_rank(self):
        """Beside two busy processes on its only processor, with next to no share of it, for five seconds."""
        cpu = min(os.sched_getaffinity(0))

        def starve():
            for task in os.listdir(f"/proc/{self.pid[1]}/task"):
                os.sched_setaffinity(int(task), {cpu})
                os.sched_setscheduler(int(task), os.SCHED_IDLE, os.sched_param(0))
            busy = [
                subprocess.Popen(
                    ["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"], stdin=subprocess.DEVNULL
                )
                for _ in range(2)
            ]
            try:
                self.go()
                try:
                    self.job.wait(5)  # it may get its turn, and end well
                except subprocess.TimeoutExpired:
                    pass
            finally:
                for b in busy:
                    b.kill()
                    b.wait()

        self.each_channel(starve)


class Told(Held):
    def told(self):
        _, err = self.job.communicate(timeout=LIMIT)
        self.assertEqual(self.job.returncode, 1, err)
        self.assertIn(b"deadlock: every rank waits", err)
        self.assertIn(b"waits in MPI_Recv on MPI_COMM_WORLD for rank 1, tag 7", err)

    def test_a_real_one(self):
        for chan in ("shm", "tcp"):
            with self.subTest(chan=chan):
                self.begin(chan, "deadlock", 3)
                self.go()
                self.told()

    def test_a_real_one_once_its_ranks_go_on(self):
        for chan in ("shm", "tcp"):
            with self.subTest(chan=chan):
                self.begin(chan, "deadlock")
                os.kill(self.pid[1], signal.SIGSTOP)
                self.go()
                self.hold()
                os.kill(self.pid[1], signal.SIGCONT)
                self.told()


if __name__ == "__main__":
    unittest.main()
