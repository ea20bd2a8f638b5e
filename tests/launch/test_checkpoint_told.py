# SPDX-License-Identifier: BSD-3-Clause
"""What --checkpoint-to and --restart cannot do is told in one line, and a job that runs goes on: with a criu that does
nothing."""

import os
import signal
import stat
import unittest

from harness import LIMIT
from saving import Saved

FAKE_CRIU = """#!/bin/sh
[ "$1" = check ] && { [ "$MODE" = unfit ] && { echo "Error (criu/x.c:1): kernel is too plain"; exit 1; }; exit 0; }
while [ "$1" != -D ]; do shift; done
cd "$2"
[ "$MODE" = hanging ] && exec sleep 10000
[ "$MODE" = failing ] && { echo "(00.1) Error (criu/y.c:2): a device is open" >dump.log; exit 1; }
echo image >pages.img
exit 0
"""


class Told(Saved):
    """Mistakes, and what goes wrong, with a criu that does nothing."""

    def setUp(self):
        super().setUp()
        self.fake = os.path.join(self.folder, "criu")
        with open(self.fake, "w", encoding="ascii") as f:
            f.write(FAKE_CRIU)
        os.chmod(self.fake, 0o755)
        self.env["UNISONO_LAUNCH_CRIU"] = self.fake

    def refused(self, *words, parts=(), env=None):
        r = self.run_mpi(*words, env=env)
        self.assertEqual(r.returncode, 2, r.err)
        self.assert_one_line(r.err, *parts)
        self.assertEqual(r.out, "")

    def test_no_criu(self):
        none = {"UNISONO_LAUNCH_CRIU": os.path.join(self.folder, "none")}
        self.refused("--checkpoint-to", self.dir, "true", parts=("install criu",), env=none)
        self.refused("--restart", self.dir, parts=("install criu",), env=none)

    def test_unfit_criu(self):
        self.refused("--checkpoint-to", self.dir, "true", parts=("kernel is too plain",), env={"MODE": "unfit"})

    def test_folder(self):
        file = os.path.join(self.folder, "file")
        with open(file, "w", encoding="ascii"):
            pass
        self.refused("--checkpoint-to", file, "true", parts=(file, "not a folder"))
        self.refused("--checkpoint-to", f"{self.folder}/a/b", "true", parts=("cannot make the folder", "No such file"))
        self.refused("--checkpoint-to", "/proc", "true", parts=("/proc", "cannot write"))
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o777)
        self.refused("--checkpoint-to", self.dir, "true", parts=(self.dir, "everybody may write there"))
        os.chmod(self.dir, 0o700)
        self.refused("--every", 1, "true", parts=("--checkpoint-to DIR is missing",))
        self.refused("--every", 0, "--checkpoint-to", self.dir, "true", parts=("--every",))

    def test_misfits(self):
        for words, said in (
            (["--survive"], "--survive"),
            (["--gdb"], "--gdb"),
            (["-host", "localhost,one.invalid", "--launch-agent", "false"], "several hosts"),
        ):
            self.refused("--checkpoint-to", self.dir, *words, "-n", 2, "true", parts=(said,))

    def test_restart_folder(self):
        os.mkdir(self.dir)
        self.refused("--restart", f"{self.dir}/none", parts=("No such file",))
        self.refused("--restart", self.dir, parts=("there is no checkpoint",))
        os.mkdir(f"{self.dir}/4")
        self.refused("--restart", self.dir, parts=("4", "no file `job`"))
        with open(f"{self.dir}/4/job", "wb") as f:
            f.write(b"what is this\n" * 10)
        self.refused("--restart", self.dir, parts=("it is no checkpoint",))
        with open(f"{self.dir}/4/job", "wb") as f:
            f.write(b"unisono checkpoint 9.9.9\n" + bytes(300))
        self.refused("--restart", self.dir, parts=("version 9.9.9",))
        self.refused("--restart", self.dir, "true", parts=("takes no program",))
        self.refused("--restart", self.dir, "-n", 2, parts=("-n", "as it was"))

    def test_failing_dump(self):
        """The job goes on, and the log stays."""
        self.env["MODE"] = "failing"
        job = self.begin("--checkpoint-to", self.dir, "-n", 2, self.program, self.stop)
        job.out.wait(rb"round 0")
        self.assertIn("a device is open", self.save(job, make=False))
        self.assertEqual(os.listdir(self.dir), ["failed.log"])
        job.out.wait(rb"round", len(job.out.have))
        out = self.end(job)
        self.assertEqual(job.returncode, 0, job.err.text())
        self.assert_right(out, 2)

    def test_end_while_dumping(self):
        """Who asks twice for the end does not wait for criu."""
        self.env["MODE"] = "hanging"
        job = self.begin("--checkpoint-to", self.dir, "-n", 2, self.program, self.stop)
        job.out.wait(rb"round 0")
        job.send_signal(signal.SIGUSR2)
        self.await_true(lambda: os.path.exists(f"{self.dir}/1.part/job"))
        self.await_true(lambda: any(self.is_sleep(pid) for pid in self.marked()))
        job.send_signal(signal.SIGINT)
        job.send_signal(signal.SIGTERM)
        job.wait(LIMIT)
        self.assertEqual(job.returncode, 128 + signal.SIGINT, job.err.text())
        self.assert_all_gone()

    @staticmethod
    def is_sleep(pid):
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as f:
                return f.read() == "sleep\n"
        except OSError:
            return False

    def test_number_and_part(self):
        """Numbers go on after the highest; what was half written is removed; whole ones of other jobs stay."""
        os.makedirs(f"{self.dir}/7.part")
        os.makedirs(f"{self.dir}/8.part")
        with open(f"{self.dir}/8.part/diary", "w", encoding="ascii"):
            pass
        os.makedirs(f"{self.dir}/5")
        job = self.begin("--checkpoint-to", self.dir, "-n", 2, self.program, self.stop)
        job.out.wait(rb"round 0")
        self.assertEqual(self.save(job), f"{self.dir}/6")
        self.assertEqual(sorted(os.listdir(self.dir)), ["5", "6", "8.part"])
        self.assertEqual(stat.S_IMODE(os.stat(f"{self.dir}/6").st_mode), 0o700)
        self.refused("--checkpoint-to", self.dir, "true", parts=("--checkpoint-to", "another job"))
        other = os.path.join(self.folder, "other")
        self.refused("--restart", self.dir, "--checkpoint-to", other, parts=("--restart", "another job runs", "end it"))
        self.end(job)
        self.assertEqual(job.returncode, 0)

    def test_damaged_image(self):
        """A file of a checkpoint that is not what was stored is named."""
        job = self.begin("--checkpoint-to", self.dir, "-n", 2, self.program, self.stop)
        job.out.wait(rb"round 0")
        folder = self.save(job)
        self.end(job)
        path = os.path.join(folder, "pages.img")
        with open(path, "wb") as f:
            f.write(b"imagE\n")
        self.refused("--restart", self.dir, parts=(folder, "its file `pages.img` is damaged"))
        os.unlink(path)
        self.refused("--restart", folder, parts=("its file `pages.img` cannot be read (No such file",))
        with open(os.path.join(folder, "sums"), "r+b") as f:
            f.truncate(0)
        self.refused("--restart", self.dir, parts=("its file `sums` is damaged",))

    def test_signal_passes(self):
        """Without --checkpoint-to, SIGUSR2 is the ranks' as ever."""
        job = self.begin("-n", 1, "sh", "-c", "trap 'echo got' USR2; echo up; while :; do sleep 0.1; done")
        job.out.wait(rb"up")
        job.send_signal(signal.SIGUSR2)
        job.out.wait(rb"got")


if __name__ == "__main__":
    unittest.main()
