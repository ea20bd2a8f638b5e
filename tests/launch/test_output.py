# SPDX-License-Identifier: BSD-3-Clause
"""Output and input: lines stay whole, nothing is lost, slow and vanished readers do no harm, prompts appear."""

import os
import pty
import re
import subprocess
import tempfile
import unittest
from collections import Counter

from harness import LIMIT, Case


class Output(Case):
    def test_lines_stay_whole(self):
        # Each rank writes its lines in small unaligned pieces.
        prog = (
            "import os, sys\nr = os.environ['UNISONO_RANK']\nd = (('<' + r * 97 + '>\\n') * 3000).encode()\n"
            "for i in range(0, len(d), 61): os.write(1, d[i:i+61])\n"
        )
        r = self.run_mpi("-n", 4, "python3", "-c", prog)
        self.assertEqual(Counter(r.out.splitlines()), Counter({f"<{i * 97}>": 3000 for i in "0123"}))

    def test_large_output_is_complete(self):
        r = self.run_mpi("-n", 2, "sh", "-c", "yes abcdefgh$UNISONO_RANK | head -n 2000000")
        self.assertEqual(Counter(r.out.splitlines()), Counter({"abcdefgh0": 2000000, "abcdefgh1": 2000000}))

    def test_long_line_and_missing_newline(self):
        r = self.run_mpi("-n", 2, "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' $UNISONO_RANK; exit 0")
        self.assertEqual(
            sorted((line[0], len(line), len(set(line))) for line in r.out.split("\n")),
            [("0", 3000000, 1), ("1", 3000000, 1)],
        )
        self.assertEqual(self.run_mpi("-n", 1, "printf", "a\\nb").out, "a\nb")

    def test_binary_is_left_alone(self):
        with tempfile.NamedTemporaryFile() as f:
            data = os.urandom(300000)
            f.write(data)
            f.flush()
            self.assertEqual(self.run_mpi("-n", 1, "cat", f.name).stdout, data)

    def test_output_before_a_failure_is_kept(self):
        r = self.run_mpi("-n", 2, "sh", "-c", "seq 20000; exit 3")
        self.assertEqual(r.returncode, 3)
        self.assertIn("\n20000\n", r.out)

    def test_streams_are_apart(self):
        r = self.run_mpi("-n", 2, "sh", "-c", "echo out; echo err >&2")
        self.assertEqual((r.out, r.err), ("out\n" * 2, "err\n" * 2))

    def test_tags(self):
        r = self.run_mpi("-n", 2, "--tag-output", "sh", "-c", "echo a; echo b; echo c >&2")
        self.assertEqual(sorted(r.out.splitlines()), ["[0] a", "[0] b", "[1] a", "[1] b"])
        self.assertEqual(sorted(r.err.splitlines()), ["[0 err] c", "[1 err] c"])
        r = self.run_mpi("-n", 1, "--timestamp-output", "-l", "echo", "a")
        self.assertRegex(r.out, r"^\d\d:\d\d:\d\d\.\d\d\d \[0\] a\n$")

    def test_slow_reader(self):
        p = self.start_mpi("-n", 2, "sh", "-c", "seq 300000")
        total = 0
        while chunk := os.read(p.stdout.fileno(), 1000):
            total += chunk.count(b"\n")
        self.assertEqual((total, p.wait(LIMIT)), (600000, 0))

    def test_signal_is_served_while_nobody_reads(self):
        p = self.start_mpi("-n", 2, "yes")
        self.await_marked(4)
        p.terminate()
        self.assert_all_gone_but(p)

    def test_signal_is_served_while_nobody_reads_the_end(self):
        """The ranks have ended; what is left of their output fits no pipe."""
        p = self.start_mpi("-n", 1, "head", "-c", 500000, "/dev/zero")
        p.stdout.read(1)
        self.await_true(lambda: self.marked() == [p.pid])
        p.terminate()
        self.assertEqual(p.wait(LIMIT), 143)

    def assert_all_gone_but(self, p):
        self.await_true(lambda: set(self.marked()) <= {p.pid})

    def test_reader_goes_away(self):
        p = self.start_mpi("-n", 2, "yes")
        p.stdout.readline()
        p.stdout.close()
        self.assertEqual(p.wait(LIMIT), 128 + 13)
        self.assertIn(b"signal 13", p.stderr.read())

    def test_full_disk_is_told(self):
        with open("/dev/full", "wb") as full:
            p = self.start_mpi("-n", 1, "echo", "x", stdout=full)
            self.assertEqual(p.wait(LIMIT), 1)
            self.assertIn(b"No space left", p.stderr.read())

    def test_a_line_that_stalls_stays_whole(self):
        """The first rank, which could read standard input, pauses inside a line for longer than prompts wait."""
        r = self.run_mpi(
            "-n",
            2,
            "sh",
            "-c",
            "test $UNISONO_RANK = 1 && { sleep 0.4; echo other; exit; }; printf ab; sleep 0.8; echo cd",
        )
        self.assertEqual(sorted(r.out.splitlines()), ["abcd", "other"])

    def test_prompt_appears_and_is_answered(self):
        p = self.start_mpi(
            "-n",
            2,
            "sh",
            "-c",
            "test $UNISONO_RANK = 1 && exit 0; printf 'name? '; read n; echo hello $n",
            stdin=subprocess.PIPE,
        )
        self.assertEqual(os.read(p.stdout.fileno(), 100), b"name? ")
        p.stdin.write(b"you\n")
        p.stdin.close()
        self.assertEqual(p.stdout.read(), b"hello you\n")

    def test_background_output_ends_with_the_job(self):
        patient = {"UNISONO_END_GRACE_MS": "30000"}
        r = self.run_mpi("-n", 1, "sh", "-c", "(sleep 0.1; echo late) & exit 0", env=patient)
        self.assertEqual(r.out, "late\n")


class Input(Case):
    CAT = "while read l; do echo $UNISONO_RANK$l; done"

    def test_first_rank_reads(self):
        r = self.run_mpi("-n", 3, "sh", "-c", self.CAT, stdin=b"a\nb\n")
        self.assertEqual(r.out, "0a\n0b\n")

    def test_other_readers(self):
        self.assertEqual(self.run_mpi("-n", 3, "--stdin", 2, "sh", "-c", self.CAT, stdin=b"a\n").out, "2a\n")
        self.assertEqual(self.run_mpi("-n", 3, "--stdin", "none", "sh", "-c", self.CAT, stdin=b"a\n").out, "")
        got = self.run_mpi("-n", 3, "--stdin", "all", "sh", "-c", self.CAT, stdin=b"a\nb\n").out
        self.assertEqual(sorted(got.split()), ["0a", "0b", "1a", "1b", "2a", "2b"])

    def test_large_input(self):
        data = os.urandom(3000000)
        for who in ("0", "1"):
            self.assertEqual(self.run_mpi("-n", 2, "--stdin", who, "cat", stdin=data).stdout, data)
        r = self.run_mpi("-n", 2, "--stdin", "all", "wc", "-c", stdin=data)
        self.assertEqual(r.out.split(), ["3000000", "3000000"])

    def test_file_as_input(self):
        with tempfile.TemporaryFile() as f:
            f.write(b"x\n" * 500000)
            f.seek(0)
            self.assertEqual(
                self.run_mpi("-n", 2, "--stdin", "all", "wc", "-l", stdin=f).out.split(), ["500000", "500000"]
            )
            f.seek(0)
            self.assertEqual(self.run_mpi("-n", 1, "wc", "-l", stdin=f).out.split(), ["500000"])

    def test_input_nobody_reads(self):
        r = self.run_mpi("-n", 2, "--stdin", "all", "true", stdin=b"x" * 5000000)
        self.assertEqual(r.returncode, 0)

    def test_loop_of_a_shell_keeps_its_input(self):
        r = subprocess.run(
            ["sh", "-c", f"printf '1\\n2\\n3\\n' | while read x; do {os.environ['MPIEXEC']} -n 1 echo got $x; done"],
            capture_output=True,
            timeout=LIMIT,
            env=self.env,
        )
        self.assertEqual(r.stdout, b"got 1\ngot 2\ngot 3\n")

    def test_closed_streams(self):
        r = subprocess.run(
            ["sh", "-c", f"{os.environ['MPIEXEC']} -n 2 sh -c 'cat; echo x' <&-"],
            capture_output=True,
            timeout=LIMIT,
            env=self.env,
        )
        self.assertEqual((r.returncode, r.stdout), (0, b"x\nx\n"))

    def test_terminal(self):
        master, slave = pty.openpty()
        p = self.start_mpi(
            "-n",
            2,
            "sh",
            "-c",
            "test $UNISONO_RANK = 1 || { read l; echo got $l; }",
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
        )
        os.close(slave)
        os.write(master, b"hello\n")
        seen = b""
        try:
            while chunk := os.read(master, 1000):
                seen += chunk
        except OSError:  # the terminal is gone when mpiexec is
            pass
        os.close(master)
        self.assertTrue(re.search(rb"got hello\r\n", seen), seen)
        self.assertEqual(p.wait(LIMIT), 0)


if __name__ == "__main__":
    unittest.main()
