# SPDX-License-Identifier: BSD-3-Clause
"""What the launcher tells of one-sided communication (windows.c): who holds a lock and who waits for it, which post,
complete or fence is missing, and in a profile the calls and bytes."""

import json
import os
import unittest

from harness import PATIENCE, WithProgram

HOSTS = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]


class Windows(WithProgram):
    source = "windows.c"

    def told(self, how, *options, ranks=2):
        r = self.run_mpi("--timeout", PATIENCE, *options, "-n", ranks, self.program, how)
        self.assertEqual(r.returncode, 1, r.err)
        self.assertIn("deadlock", r.err)
        self.assert_all_gone()
        return r.err

    def check_kept(self, err, keeper, kind):
        self.assertRegex(
            err, rf"rank 0 .* waits in MPI_Win_lock on window halo for the lock of rank 0, which rank {keeper} holds\n"
        )
        self.assertRegex(
            err,
            rf"rank {keeper} .* waits in MPI_Recv on MPI_COMM_WORLD for rank 0, tag 5; it holds the lock of rank 0 on "
            rf"window halo \({kind}\)\n",
        )
        self.assertIn(f"cycle: 0 -> {keeper} -> 0\n", err)

    def test_lock_that_is_never_released(self):
        self.check_kept(self.told("exclusive"), 1, "exclusive")
        self.check_kept(self.told("exclusive", ranks=4), 3, "exclusive")
        self.check_kept(self.told("shared", ranks=3), 2, "shared")

    def test_lock_by_messages(self):
        self.check_kept(self.told("exclusive", "--set", "rma_path=2"), 1, "exclusive")
        self.check_kept(self.told("exclusive", *HOSTS, "--host", "a,b:2", ranks=3), 2, "exclusive")

    def test_all_locks(self):
        err = self.told("all", ranks=3)
        self.assertRegex(err, r"rank 2 .* in MPI_Win_lock on window halo for the lock of rank 0, which rank 1 holds\n")
        self.assertRegex(err, r"rank 1 .*; it holds the shared locks of all ranks on window halo\n")

    def test_missing_post(self):
        for options in ([], ["--set", "rma_path=2"]):
            err = self.told("post", *options)
            self.assertRegex(err, r"rank 0 .* waits in MPI_Win_start on window halo for rank 1\n")
            self.assertIn("cycle: 0 -> 1 -> 0\n", err)

    def test_missing_complete(self):
        err = self.told("complete")
        self.assertRegex(err, r"rank 1 .* waits in MPI_Win_wait on window halo for rank 0\n")
        self.assertIn("cycle: 0 -> 1 -> 0\n", err)

    def test_missing_fence(self):
        err = self.told("fence", ranks=4)
        self.assertIn("ranks 1-3 wait in MPI_Win_fence on window halo\n", err)
        self.assertRegex(err, r"rank 0 .* waits in MPI_Recv")

    def test_profile_counts_calls_and_bytes(self):
        path = os.path.join(self.dir.name, "profile.json")
        r = self.run_mpi("--timeout", PATIENCE, f"--profile={path}", "-n", 2, self.program, "end")
        self.assertEqual(r.returncode, 0, r.err)
        with open(path, encoding="utf-8") as f:
            found = {}
            for site in json.load(f)["calls"]:
                count, size = found.get(site["call"], (0, 0))
                found[site["call"]] = (count + site["count"], size + site["bytes"])
        for call, count, size in (
            ("MPI_Put", 4, 3 * 40),
            ("MPI_Get", 1, 200),
            ("MPI_Rput", 1, 80),
            ("MPI_Accumulate", 1, 20),
            ("MPI_Get_accumulate", 1, 28),
            ("MPI_Fetch_and_op", 1, 4),
            ("MPI_Compare_and_swap", 1, 4),
            ("MPI_Win_flush", 1, 0),
            ("MPI_Win_lock_all", 1, 0),
        ):
            self.assertEqual(found[call], (2 * count, 2 * size), call)


if __name__ == "__main__":
    unittest.main()
