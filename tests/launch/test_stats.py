# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --stats: the counters of a program whose traffic is known (counted.c), as JSON and as a table."""

import json
import os
import re

from harness import PATIENCE, WithProgram

HERE = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]
LARGE = 1 << 20


class Stats(WithProgram):
    source = "counted.c"

    def stats(self, *words, status=0):
        """{name: values by rank} of one run; the program's words come last."""
        path = os.path.join(self.dir.name, "stats.json")
        if os.path.exists(path):
            os.unlink(path)
        r = self.run_mpi("--timeout", PATIENCE, f"--stats={path}", *words)
        self.assertEqual(r.returncode, status, r.err)
        with open(path, encoding="utf-8") as f:
            found = json.load(f)
        self.assertGreater(len(found["variables"]), 30)
        for variable in found["variables"]:
            self.assertEqual(len(variable["values"]), found["ranks"], variable)
        return {v["name"]: v["values"] for v in found["variables"]}

    def check_traffic(self, found, chan, n, ranks=None):
        """What every rank does in counted.c, beside a few messages of the library's own."""
        for r in range(n) if ranks is None else ranks:
            large = found[f"{chan}_direct_messages"][r] + found[f"{chan}_stream_messages"][r]
            self.assertEqual(large, 2)
            self.assertEqual(found[f"{chan}_direct_bytes"][r] + found[f"{chan}_stream_bytes"][r], 2 * LARGE)
            self.assertGreater(found[f"{chan}_direct_time"][r] + found[f"{chan}_stream_time"][r], 0)
            self.assertIn(found[f"{chan}_eager_messages"][r], range(10 + r, 10 + r + 40))
            self.assertGreaterEqual(found[f"{chan}_eager_bytes"][r], 8 * (10 + r))
            self.assertGreater(found[f"{chan}_eager_time"][r], 0)
            # The announcements of partitions, and for each large message an announcement or an answer at the least.
            self.assertGreaterEqual(found[f"{chan}_own_messages"][r], 4)
            self.assertGreater(found[f"{chan}_own_bytes"][r], 0)
            self.assertGreater(found[f"{chan}_own_time"][r], 0)

    def test_counts(self):
        for n in (2, 3):
            found = self.stats("-n", n, self.program)
            self.check_traffic(found, "shm", n)
            self.assertEqual(found["tcp_eager_messages"], [0] * n)
            self.assertEqual(found["unexpected_messages"], [0] * n)
            self.assertEqual(found["partitioned_messages"], [2] * n)
            self.assertEqual(found["partitioned_bytes"], [2 * 4000] * n)

    def test_over_tcp_and_hosts(self):
        self.check_traffic(self.stats("--set", "chan=self,tcp", "-n", 2, self.program), "tcp", 2)
        found = self.stats(*HERE, "-host", "a,b:2", "-n", 3, self.program)
        sums = [found["shm_eager_messages"][r] + found["tcp_eager_messages"][r] for r in range(3)]
        self.assertTrue(all(s >= 10 + r for r, s in enumerate(sums)), sums)

    def test_what_fails_keeps_its_counts(self):
        self.check_traffic(self.stats("-n", 2, self.program, "abort", status=3), "shm", 2, ranks=[0])
        self.check_traffic(self.stats("-n", 2, self.program, "crash", status=139), "shm", 2, ranks=[0])

    def test_table(self):
        r = self.run_mpi("--stats", "-n", 2, self.program)
        self.assertEqual((r.returncode, r.out), (0, ""))
        self.assertEqual(r.err.splitlines()[0], "Statistics of 2 ranks")
        self.assertRegex(r.err, r"(?m)^sent, by +messages +data +mean size +time s +rank min +rank max$")
        self.assertRegex(r.err, r"(?m)^shm eager +\d+ +[\d.]+ k?B +[\d.]+ k?B +\d+\.\d+ +\d+ +\d+$")
        self.assertRegex(r.err, r"(?m)^shm own +\d+ +[\d.]+ k?B +[\d.]+ k?B +\d+\.\d+ +\d+ +\d+$")
        self.assertRegex(r.err, r"(?m)^partitioned +4 +16\.0 kB +4\.0 kB +2 +2$")
        # Each large message takes one of two ways.
        large = re.findall(r"(?m)^shm (?:direct|stream) +(\d+) +([\d.]+) MB +1\.0 MB +\d+\.\d+ +\d +\d$", r.err)
        self.assertEqual(sum(int(messages) for messages, _ in large), 4, r.err)
        self.assertAlmostEqual(sum(float(data) for _, data in large), 4 * LARGE / 1e6, delta=0.11)
        self.assertNotIn("tcp", r.err)
        self.assertTrue(all(line.split() for line in r.err.splitlines()[2:3]), r.err)

    def test_beside_profile(self):
        r = self.run_mpi("--stats", "--profile", "-n", 2, self.program)
        self.assertEqual(r.returncode, 0, r.err)
        self.assertLess(r.err.index("Profile of 2 ranks"), r.err.index("Statistics of 2 ranks"))

    def test_programs_without_mpi(self):
        r = self.run_mpi("--stats", "-n", 2, "sh", "-c", "echo x")
        self.assertEqual((r.returncode, r.out), (0, "x\nx\n"))
        self.assert_one_line(r.err, "--stats", "no rank called MPI_Init")

    def test_file_that_cannot_be_written(self):
        r = self.run_mpi("--stats=/nowhere/x.json", "-n", 1, self.program)
        self.assertIn("--stats: cannot write /nowhere/x.json: No such file or directory", r.err)
        self.assertIn('"ranks": 1', r.err)
