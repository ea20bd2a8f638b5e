# SPDX-License-Identifier: BSD-3-Clause
"""What fails below the launcher: no system call that fails, no descriptor that is missing, and no moment at which it is
killed makes it hang or leave a process behind. Every run ends well, or with one clear line."""

import itertools
import os
import resource
import shutil
import struct
import subprocess
import tempfile
import unittest

from harness import LIMIT, MPIEXEC, Case, WithProgram

CALLS = (
    "socketpair socket pipe2 epoll_create1 epoll_ctl epoll_wait signalfd memfd_create ftruncate mmap dup2 dup open "
    "getrandom fork clone calloc realloc"
).split()
LIBRARY_CALLS = "socket pipe2 epoll_create1 epoll_ctl eventfd memfd_create ftruncate mmap dup open getrandom".split()
STEPS = 12  # of the calls of a kind that a run makes, as many are made to fail, evenly spread
AGENT = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]


class WithFaults(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.library = os.path.join(folder.name, "fault.so")
        cls.counter = os.path.join(folder.name, "count")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fault.c")
        flags = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, *flags, source, "-o", cls.library, "-ldl"], check=True)

    def fault(self, args, call, at, mode="once", program="mpiexec"):
        """A run in which that call fails; .calls: how many there were, .faults: how many of them failed."""
        with open(self.counter, "wb") as f:
            f.write(bytes(4096))
        names = {"PROGRAM": program, "CALL": call, "AT": str(at), "MODE": mode, "FILE": self.counter}
        env = {"FAULT_" + k: v for k, v in names.items()}
        r = self.run_mpi(*args, env=dict(env, LD_PRELOAD=self.library))
        with open(self.counter, "rb") as f:
            r.calls, r.faults = struct.unpack("ii", f.read(8))
        return r

    def each_fault(self, args, call, mode, program="mpiexec"):
        """Runs with faults spread over all calls of that kind."""
        total = self.fault(args, call, 0, program=program).calls
        for at in sorted({1 + i * (total - 1) // max(STEPS - 1, 1) for i in range(STEPS)} if total else ()):
            r = self.fault(args, call, at, mode, program)
            if r.faults:
                yield at, r
            self.assert_all_gone()

    def assert_clear(self, r, out, told):
        """The run ended well, or with one line of mpiexec's."""
        if r.returncode == 0 and r.err == "":
            self.assertEqual(r.out, out, told)
            return
        self.assertEqual(r.err.count("\n"), 1, (told, r.returncode, r.err))
        self.assertTrue(r.err.startswith("mpiexec: "), (told, r.err))
        if r.returncode == 0:  # it told of something that it can do without
            self.assertEqual(r.out, out, told)


class Calls(WithFaults):
    def test_each_call_fails(self):
        hits = 0
        for call, mode in itertools.product(CALLS, ("once", "from")):
            for at, r in self.each_fault(["-n", 2, "echo", "hi"], call, mode):
                self.assert_clear(r, "hi\nhi\n", f"{call} {at} {mode}")
                hits += 1
        self.assertGreater(hits, 4 * len(CALLS))

    def test_each_call_fails_with_other_hosts(self):
        for call in CALLS:
            for at, r in self.each_fault([*AGENT, "-host", "localhost,a,b", "-n", 3, "echo", "hi"], call, "once"):
                self.assertNotIn(r.returncode, (124, -9), (call, at))
                if r.returncode == 0:
                    self.assertEqual(r.out, "hi\n" * 3, (call, at))
                else:
                    self.assertIn("mpiexec: ", r.err, (call, at))

    def test_killed_at_each_call(self):
        for at, r in self.each_fault(["-n", 2, "sh", "-c", "setsid sleep 600 & echo hi"], "any", "kill"):
            if r.returncode == 137:  # a rank that had not become its program yet
                self.assert_one_line(r.err, "was killed by signal 9")
            elif r.returncode != -9:  # the guard was killed, not the front
                self.assertEqual(r.returncode, 1, (at, r.err))
                self.assert_one_line(r.err, "guards the ranks")

    def test_killed_at_each_call_with_other_hosts(self):
        ranks = ["-host", "localhost,a,b", "-n", 3, "sh", "-c", "setsid sleep 600 & echo hi"]
        for at, r in self.each_fault([*AGENT, *ranks], "any", "kill"):
            if r.returncode not in (-9, 0):
                self.assertIn("mpiexec: ", r.err, at)


class Library(WithFaults, WithProgram):
    source = "rank.c"

    def test_each_call_of_a_rank_fails(self):
        for call in LIBRARY_CALLS:
            for at, r in self.each_fault(["--timeout", 120, "-n", 2, self.program, "hello"], call, "once", "rank"):
                self.assertNotEqual(r.returncode, 124, (call, at, r.err))
                if r.returncode == 0:
                    self.assertEqual(sorted(r.out.splitlines()), ["rank 0 of 2", "rank 1 of 2"], (call, at))
                else:
                    self.assertIn("mpiexec: rank ", r.err, (call, at))

    def test_closed_streams(self):
        """A rank's own descriptors never take the numbers of its standard streams, with and without mpiexec."""
        for closed in itertools.product(("", "<&-"), ("", ">&-"), ("", "2>&-")):
            line = f'exec "$0" streams {" ".join(closed)}'
            for command in (["sh", "-c", line, self.program], [MPIEXEC, "-n", "2", "sh", "-c", line, self.program]):
                r = subprocess.run(command, env=self.env, timeout=LIMIT, capture_output=True)
                self.assertEqual(r.returncode, 0, (command, closed, r.stderr))


class Descriptors(Case):
    def test_few_open_files(self):
        seen = set()
        for limit in range(3, 41):
            r = self.run_mpi(
                "-n", 2, "echo", "hi", preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
            )
            if r.returncode == 127:
                self.assertIn("error while loading shared libraries", r.err)  # mpiexec has not begun
                continue
            seen.add(r.returncode)
            if r.returncode == 0:
                self.assertEqual((r.out, r.err), ("hi\nhi\n", ""), limit)
            else:
                self.assertEqual(r.returncode, 2, (limit, r.err))
                self.assert_one_line(r.err, "Too many open files", "ulimit -n")
            self.assert_all_gone()
        self.assertEqual(seen, {0, 2})

    def test_soft_limit_is_no_limit_and_the_ranks_keep_it(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        r = self.run_mpi(
            "-n",
            8,
            "sh",
            "-c",
            "ulimit -n",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (16, most)),
        )
        self.assertEqual((r.returncode, r.out, r.err), (0, "16\n" * 8, ""))

    def test_closed_streams(self):
        for closed in itertools.product(("", "<&-"), ("", ">&-"), ("", "2>&-")):
            with tempfile.TemporaryDirectory() as d:
                rank = 'cat; echo out; echo err >&2; echo done > "$0/$UNISONO_RANK"'
                line = f"exec {MPIEXEC} -n 2 sh -c '{rank}' {d} {' '.join(closed)}"
                r = subprocess.run(
                    ["sh", "-c", line], env=self.env, timeout=LIMIT, capture_output=True, stdin=subprocess.DEVNULL
                )
                self.assertEqual(r.returncode, 0, closed)
                self.assertEqual(r.stdout, b"" if closed[1] else b"out\n" * 2, closed)
                self.assertEqual(r.stderr, b"" if closed[2] else b"err\n" * 2, closed)
                self.assertEqual(sorted(os.listdir(d)), ["0", "1"], closed)
                self.assert_all_gone()

    def test_null_device_as_input_of_all(self):
        r = self.run_mpi("-n", 2, "--stdin", "all", "cat", stdin=subprocess.DEVNULL)
        self.assertEqual((r.returncode, r.out, r.err), (0, "", ""))

    def test_no_null_device(self):
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh"]
        if not shutil.which("unshare") or subprocess.run([*hide, "true"], capture_output=True).returncode != 0:
            self.skipTest("needs a mount namespace (root)")
        for closed in ("", "<&-"):
            r = subprocess.run(
                [*hide, "sh", "-c", f'exec "$0" -n 2 sh -c "cat; echo hi" {closed}', MPIEXEC],
                env=self.env,
                timeout=LIMIT,
                capture_output=True,
                input=b"",
            )
            self.assertEqual(r.stdout, b"hi\nhi\n", (closed, r.stderr))


if __name__ == "__main__":
    unittest.main()
