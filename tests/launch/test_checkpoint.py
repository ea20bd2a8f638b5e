# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec --checkpoint-to and --restart: a job that is saved in the midst of its traffic, killed and made anew finishes
with right results."""

import os
import signal
import subprocess
import tempfile
import unittest

from harness import LIMIT, TOP
from saving import Saved

FETCH_S = 240


class WithCriu(Saved):
    criu = why = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tool = ["timeout", "-k", "5", str(FETCH_S), os.path.join(TOP, "tools/debian-criu")]
        r = subprocess.run(tool, capture_output=True, text=True, check=False)
        cls.criu = r.stdout.strip() if r.returncode == 0 else None
        cls.why = r.stderr.strip().replace("\n", "; ") or f"tools/debian-criu ended with {r.returncode}"
        if cls.criu:
            cls.why = cls.refusal()

    @classmethod
    def refusal(cls):
        """Why criu by itself cannot save a process and make it anew in a name space of its own; None: it can."""
        with tempfile.TemporaryDirectory() as folder:
            p = subprocess.Popen(
                ["sleep", "1000"],
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            dump = [cls.criu, "dump", "-t", str(p.pid), "-D", folder, "--manage-cgroups=ignore"]
            anew = ["unshare", "--mount", "--pid", "--mount-proc", "--fork", cls.criu, "restore", "-d", "-D", folder]
            try:
                for words in (dump, [*anew, "--manage-cgroups=ignore"]):
                    r = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
                    if r.returncode:
                        return f"{' '.join(words[:8])} fails here: {r.stderr.strip()[-300:]}"
            except (subprocess.TimeoutExpired, OSError) as e:
                return str(e)
            finally:
                p.kill()
                p.wait()
        return None

    def setUp(self):
        super().setUp()
        if self.why:
            self.skipTest(self.why)
        self.env["UNISONO_LAUNCH_CRIU"] = self.criu

    def start(self, *words, size=2, program=()):
        job = self.begin("--checkpoint-to", self.dir, *words, "-n", size, self.program, self.stop, *program)
        job.out.wait(rb"round 0")
        return job

    def restart(self, *words):
        job = self.begin("--restart", self.dir, *words)
        at = job.err.wait(rb"going on from|Address already in use")
        if b"already in use" in job.err.have[at]:
            self.skipTest("another program has taken a port of the saved job meanwhile")
        return job


class Traffic(WithCriu):
    """Stopped in the midst of all kinds of traffic, several times."""

    def go_round(self, size, *words):
        job = self.start(*words, size=size)
        for _ in range(3):
            at = len(job.out.have)
            self.save(job)
            job.out.wait(rb"round", at)
        self.kill(job)
        again = self.restart()
        again.out.wait(rb"round")
        self.save(again)
        self.kill(again)
        last = self.restart()
        last.out.wait(rb"round")
        out = self.end(last)
        self.assertEqual(last.returncode, 0, last.err.text())
        self.assert_right(out, size)
        self.assert_all_gone()

    def test_shared_memory(self):
        self.go_round(3)

    def test_tcp(self):
        self.go_round(2, "--set", "chan=tcp")

    def test_goes_on(self):
        """A job that is saved, and not killed, ends as if nothing had been; the last two checkpoints stay."""
        job = self.start("--every", 1)
        for n in range(3):
            job.err.wait(rb"checkpoint .*/%d: " % (n + 1))
        out = self.end(job)
        self.assertEqual(job.returncode, 0, job.err.text())
        self.assert_right(out, 2)
        have = sorted(map(int, os.listdir(self.dir)))
        self.assertEqual(len(have), 2, have)
        self.assertEqual(have[1], have[0] + 1)


class Anew(WithCriu):
    """What an mpiexec that goes on from a checkpoint does as the first one did."""

    def saved(self, *words, size=2, program=()):
        job = self.start(*words, size=size, program=program)
        self.save(job)
        job.out.wait(rb"round", len(job.out.have))
        self.kill(job)
        return job

    def test_status(self):
        self.saved(program=("", "fail"))
        job = self.restart()
        self.end(job)
        self.assertEqual(job.returncode, 7, job.err.text())

    def test_deadlock(self):
        self.saved(program=("", "wait"))
        job = self.restart()
        self.end(job)
        self.assertEqual(job.returncode, 1, job.err.text())
        self.assertIn("MPI_Recv", job.err.text())

    def test_signal(self):
        self.saved()
        job = self.restart()
        job.out.wait(rb"round")
        job.send_signal(signal.SIGINT)
        job.wait(LIMIT)
        self.assertEqual(job.returncode, 128 + signal.SIGINT)
        self.assert_all_gone()

    def test_killed(self):
        """Nothing outlives an mpiexec that went on from a checkpoint."""
        self.saved()
        job = self.restart()
        job.out.wait(rb"round")
        job.kill()
        job.wait(LIMIT)
        self.assert_all_gone()

    def test_half_a_line(self):
        self.saved("--tag-output", program=("", "print"))
        job = self.restart()
        self.assertIn("[1] half a line\n", self.end(job))

    def test_file(self):
        """A file that the job writes is cut to what it was, and holds each line once."""
        path = os.path.join(self.folder, "log")
        self.saved(program=(path,))
        job = self.restart()
        job.out.wait(rb"round")
        self.end(job)
        self.assertEqual(job.returncode, 0, job.err.text())
        self.assertIn(f"{path} is cut from", job.err.text())
        with open(path, encoding="ascii") as f:
            rounds = [int(line.split()[1]) for line in f]
        self.assertEqual(rounds, list(range(0, rounds[-1] + 1, 40)))

    def test_output_files(self):
        pattern = os.path.join(self.folder, "out.%r")
        job = self.begin("--checkpoint-to", self.dir, "--outfile-pattern", pattern, "-n", 2, self.program, self.stop)
        path = os.path.join(self.folder, "out.0")
        self.await_true(lambda: os.path.exists(path) and os.path.getsize(path) > 0)
        self.save(job)
        self.kill(job)
        again = self.restart()
        self.end(again)
        with open(path, encoding="ascii") as f:
            out = f.read()
        self.assertTrue(out.startswith("round 0\n"), out)
        self.assert_right(out, 2)

    def test_missing_file(self):
        path = os.path.join(self.folder, "log")
        self.saved(program=(path,))
        os.unlink(path)
        r = self.run_mpi("--restart", self.dir)
        self.assertEqual(r.returncode, 2)
        self.assert_one_line(r.err, "--restart", "log", "No such file")

    def test_damaged(self):
        """A newest checkpoint that is not whole is told, and the one before it serves."""
        job = self.start()
        self.save(job)
        newest = self.save(job)
        self.kill(job)
        with open(os.path.join(newest, "job"), "r+b") as f:
            f.truncate(os.path.getsize(os.path.join(newest, "job")) - 3)
        again = self.restart()
        out = self.end(again)
        self.assertIn("damaged", again.err.text())
        self.assertEqual(again.returncode, 0, again.err.text())
        self.assert_right(out, 2)


if __name__ == "__main__":
    unittest.main()
