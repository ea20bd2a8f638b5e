# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --profile: counts, bytes, callers and the matrix of a program whose traffic is known (profiled.c)."""

import json
import os

from harness import PATIENCE, WithProgram

HERE = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]


class Profile(WithProgram):
    source = "profiled.c"

    def profile(self, *words, status=0):
        """The JSON of one run; the program's words come last."""
        path = os.path.join(self.dir.name, "profile.json")
        if os.path.exists(path):
            os.unlink(path)
        r = self.run_mpi("--timeout", PATIENCE, f"--profile={path}", *words)
        self.assertEqual(r.returncode, status, r.err)
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    def calls(self, found, call):
        return [c for c in found["calls"] if c["call"] == call]

    def check_traffic(self, found, n):
        """What every rank does in profiled.c."""
        for call, function, count, size in (
            ("MPI_Sendrecv", "blocking_part", 3, 300),
            ("MPI_Irecv", "nonblocking_part", 1, 100000),
            ("MPI_Startall", "persistent_part", 2, 4 * 64),
        ):
            (site,) = self.calls(found, call)
            self.assertEqual((site["count"], site["bytes"]), (count * n, size * n), call)
            self.assertEqual((site["function"], os.path.basename(site["file"])), (function, "profiled.c"))
            self.assertIn(f"{function} profiled.c:{site['line']}", site["site"])
        sends = self.calls(found, "MPI_Isend")
        self.assertEqual(len(sends), 2)  # two lines
        self.assertEqual((sum(c["count"] for c in sends), sum(c["bytes"] for c in sends)), (2 * n, 100000 * n))
        self.assertEqual(sum(c["sized"] for c in sends), n)  # nothing goes to MPI_PROC_NULL
        self.assertEqual(sum(c["sizes"][6] for c in sends), n)  # 32 Ki to 256 Ki
        self.assertEqual(len(self.calls(found, "MPI_Waitall")), 2)
        for row in range(n):
            self.assertEqual([bool(x) for x in found["messages"][row]], [to == (row + 1) % n for to in range(n)])
            self.assertEqual(found["messages"][row][(row + 1) % n], 3 + 1 + 2)
            self.assertEqual(found["bytes_sent"][row][(row + 1) % n], 300 + 100000 + 2 * 64)

    def test_counts_bytes_callers_matrix(self):
        for n in (2, 3):
            found = self.profile("-n", n, self.program)
            self.check_traffic(found, n)
            self.assertEqual((found["ranks"], len(found["rank_app_s"]), found["lost_calls"]), (n, n, 0))
            self.assertGreater(found["app_s"], found["mpi_s"])

    def test_waiting_belongs_to_what_was_started(self):
        found = self.profile("-n", 3, self.program)
        (receive,) = self.calls(found, "MPI_Irecv")
        waits = [c for c in self.calls(found, "MPI_Waitall") if c["function"] == "nonblocking_part"]
        self.assertGreater(receive["wait_s"], 0)  # how much is up to those who were late: rank 0, or others more
        started = sum(c["wait_s"] for c in self.calls(found, "MPI_Isend")) + receive["wait_s"]
        self.assertAlmostEqual(started, sum(c["time_s"] for c in waits), delta=0.2 * started)

    def test_over_tcp_and_hosts(self):
        self.check_traffic(self.profile("--set", "chan=self,tcp", "-n", 2, self.program), 2)
        self.check_traffic(self.profile(*HERE, "-host", "a,b:2", "-n", 3, self.program), 3)

    def test_threads(self):
        found = self.profile("-n", 2, self.program, "threads")
        self.assertEqual(sum(c["count"] for c in self.calls(found, "MPI_Allreduce")), 2 * 4 * 50)
        # Calls of several threads at once, and of an operation inside another call, are one time in MPI.
        found = self.profile("-n", 2, self.program, "together")
        self.assertGreater(sum(c["time_s"] for c in self.calls(found, "MPI_Recv")), found["app_s"])
        for in_mpi, all_of_it in zip(found["rank_mpi_s"], found["rank_app_s"], strict=True):
            self.assertGreater(in_mpi, 0)
            self.assertLessEqual(in_mpi, all_of_it)

    def test_many_ranks(self):
        self.check_traffic(self.profile("-n", 64, self.program), 64)

    def test_abort_and_killed_ranks_keep_what_was_recorded(self):
        self.check_traffic(self.profile("-n", 2, self.program, "abort", status=3), 2)
        self.check_traffic(self.profile("-n", 3, self.program, "kill", status=137), 3)

    def test_table(self):
        r = self.run_mpi("--profile", "-n", 2, self.program)
        self.assertEqual((r.returncode, r.out), (0, ""))
        lines = r.err.splitlines()
        self.assertTrue(lines[0].startswith("Profile of 2 ranks: "), r.err)
        self.assertRegex(r.err, r"(?m)^MPI_Irecv +nonblocking_part profiled\.c:\d+ +2 ")
        self.assertRegex(r.err, r"(?m)^0 +6 *$")
        self.assertRegex(r.err, r"(?m)^0 +100 kB *$")
        times = [float(line[74:85]) for line in lines if line.startswith("MPI_") and "profiled.c" in line]
        self.assertEqual(times, sorted(times, reverse=True))
        r = self.run_mpi("--profile", "-n", 2, self.program, "abort")
        self.assertEqual((r.returncode, "Profile of 2 ranks" in r.err), (3, True))
        self.assertIn("mpiexec: ", r.err.splitlines()[-1])  # the verdict stays the last line

    def test_shares_add_up(self):
        """Also where there is nothing but MPI_Init and MPI_Finalize."""
        for how in "end", "nothing":
            lines = self.run_mpi("--profile", "-n", 2, self.program, how).err.splitlines()
            (sites,) = (i for i, line in enumerate(lines) if line.startswith("call ") and " site " in line)
            shares = [float(line[86:92]) for line in lines[:sites] if line.startswith("MPI_")]
            self.assertAlmostEqual(sum(shares), 100, delta=0.06 * len(shares))

    def test_programs_without_mpi(self):
        r = self.run_mpi("--profile", "-n", 2, "sh", "-c", "echo x")
        self.assertEqual((r.returncode, r.out), (0, "x\nx\n"))
        self.assert_one_line(r.err, "--profile", "no rank called MPI_Init")

    def test_file_that_cannot_be_written(self):
        r = self.run_mpi("--profile=/nowhere/x.json", "-n", 1, self.program)
        self.assertIn("cannot write /nowhere/x.json: No such file or directory", r.err)
        self.assertEqual(json.loads("\n".join(r.err.splitlines()[1:]))["ranks"], 1)  # not lost
        r = self.run_mpi("--profile=/dev/full", "-n", 1, self.program)
        self.assertIn("cannot write /dev/full: No space left on device", r.err)
        self.assertIn("\nProfile of 1 rank: ", r.err)
