# SPDX-License-Identifier: BSD-3-Clause
"""How jobs end: exit status, the one line, signals, killed launchers, and that nothing is left over."""

import os
import signal
import tempfile
import unittest

from harness import FAKE, Case, LIMIT

# A rank with descendants of every kind: in its group, in a session of their own, orphaned on purpose.
FAMILY = "setsid sh -c 'sleep 600 & sleep 600' & (sleep 600 & sh -c 'sleep 600; true') & sleep 600; true"
FAMILY_SIZE = 7
WAIT = ["wait", "MPI_Recv", "MPI_COMM_WORLD", 0, 5]


class Status(Case):
    def ended(self, args, status, *parts):
        r = self.run_mpi(*args)
        self.assertEqual(r.returncode, status, r.err)
        self.assert_one_line(r.err, *parts)
        self.assert_all_gone()

    def test_success(self):
        r = self.run_mpi("-n", 4, FAKE, "init", "fini")
        self.assertEqual((r.returncode, r.err), (0, ""))

    def test_first_failure_gives_the_status(self):
        self.ended(
            ["-n", 3, "sh", "-c", "test $UNISONO_RANK = 1 && exit 7; sleep 600"],
            7,
            "rank 1 (pid ",
            "exited with status 7",
            "the other 2 ranks were ended",
        )

    def test_signal(self):
        self.ended(
            ["-n", 8, FAKE, "init", "only", 3, "kill", 11, "work"],
            128 + 11,
            "rank 3 (pid ",
            f"host {os.uname().nodename})",
            "was killed by signal 11 (Segmentation fault)",
            "the other 7 ranks were ended",
        )

    def test_signal_names_the_call(self):
        self.ended(
            ["-n", 2, FAKE, "init", "call", "MPI_Recv", "only", 1, "kill", 9, "work"],
            128 + 9,
            "rank 1",
            "signal 9 (Killed), last MPI call MPI_Recv; the other rank was ended",
        )

    def test_abort(self):
        self.ended(
            ["-n", 2, FAKE, "init", "only", 1, "abort", 5, "", "work"],
            5,
            "rank 1 ",
            "called MPI_Abort with code 5",
            "the other rank was ended",
        )
        self.ended(
            ["-n", 2, FAKE, "init", "only", 0, "abort", 9, "MPI_Send: tag -5 is negative", "work"],
            9,
            "rank 0 ",
            "ended the job: MPI_Send: tag -5 is negative",
        )

    def test_abort_code_beyond_a_byte(self):
        self.ended(["-n", 1, FAKE, "init", "abort", 256, ""], 1, "code 256")

    def test_no_finalize(self):
        forgets = [FAKE, "init", "only", 1, "fini", "only", 1, "pause", 300, "only", 1, "say", "finished"]
        r = self.run_mpi("-n", 2, *forgets)
        self.assertEqual((r.returncode, r.out), (0, "finished\n"))
        self.assert_one_line(r.err, "warning: rank 0 (pid ", "without calling MPI_Finalize", "unfinalized=error")
        r = self.run_mpi("-n", 5, FAKE, "init", "only", 3, "fini")
        self.assertEqual(r.returncode, 0)
        self.assert_one_line(r.err, "warning: 4 ranks, rank ", "without calling MPI_Finalize")
        self.ended(
            ["--set", "unfinalized=error", "-n", 2, FAKE, "init", "only", 1, "work"],
            1,
            "rank 0 ",
            "exited with status 0 without calling MPI_Finalize",
        )

    def test_failure_after_finalize_lets_the_others_end(self):
        r = self.run_mpi(
            "-n", 2, "sh", "-c", f"{FAKE} init fini; test $UNISONO_RANK = 0 && exit 4; sleep 0.3; echo finished"
        )
        self.assertEqual((r.returncode, r.out), (4, "finished\n"))

    def test_timeout_tells_where_the_ranks_are(self):
        r = self.run_mpi("--timeout", 1, "-n", 3, FAKE, "init", "call", "MPI_Send", "only", 1, *WAIT, "work")
        self.assertEqual(r.returncode, 124)
        lines = r.err.splitlines()
        self.assertEqual(lines[0], f"mpiexec: the ranks of host {os.uname().nodename}:")
        self.assertRegex(lines[1], r"^  rank 0 \(pid \d+\) does not wait in MPI; last MPI call MPI_Send$")
        self.assertRegex(lines[2], r"^  rank 1 \(pid \d+\) waits in MPI_Recv on MPI_COMM_WORLD for rank 0, tag 5$")
        self.assertEqual(lines[4], "mpiexec: the job did not end within 1 s (--timeout); 3 ranks were ended")
        self.assert_all_gone()


class Signals(Case):
    def running(self, script, ranks=2):
        p = self.start_mpi("-n", ranks, "sh", "-c", script)
        for _ in range(ranks):
            self.assertEqual(p.stdout.readline(), b"up\n")
        return p

    def test_interrupt_and_terminate(self):
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            p = self.running("echo up; exec sleep 600")
            p.send_signal(sig)
            self.assertEqual(p.wait(LIMIT), 128 + sig)
            self.assert_one_line(p.stderr.read().decode(), f"got signal {int(sig)}", "2 ranks were ended")
            self.assert_all_gone()

    def test_ranks_may_clean_up(self):
        p = self.running("trap 'echo clean; exit 0' TERM; echo up; sleep 600 & wait")
        p.terminate()
        self.assertEqual(p.stdout.read(), b"clean\nclean\n")
        self.assertEqual(p.wait(LIMIT), 143)

    def test_stubborn_ranks_are_killed(self):
        p = self.running("trap '' TERM INT; echo up; while :; do sleep 1; done")
        p.terminate()
        self.assertEqual(p.wait(LIMIT), 143)
        self.assert_all_gone()

    def test_second_interrupt_kills_at_once(self):
        self.env["UNISONO_END_GRACE_MS"] = "3600000"
        p = self.running("trap 'echo once' INT; echo up; while :; do sleep 0.05; done")
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.stdout.readline(), b"once\n")
        p.send_signal(signal.SIGINT)
        self.assertEqual(p.wait(LIMIT), 130)
        self.assert_all_gone()

    def test_user_signals_are_passed_on(self):
        p = self.running("trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo up; while :; do sleep 0.05; done")
        p.send_signal(signal.SIGUSR1)
        self.assertEqual([p.stdout.readline() for _ in range(2)], [b"one\n"] * 2)
        p.send_signal(signal.SIGUSR2)
        self.assertEqual(p.stdout.read(), b"two\n" * 2)
        self.assertEqual(p.wait(LIMIT), 0)

    def state(self, pid):
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0]

    def test_stop_and_continue(self):
        p = self.running("echo up; while :; do :; done")
        ranks = [m for m in self.marked() if self.is_shell(m)]
        self.assertEqual(len(ranks), 2)
        p.send_signal(signal.SIGTSTP)
        self.await_true(lambda: all(self.state(x) == "T" for x in [p.pid, *ranks]))
        p.send_signal(signal.SIGCONT)
        self.await_true(lambda: all(self.state(x) != "T" for x in [p.pid, *ranks]))
        p.terminate()
        self.assertEqual(p.wait(LIMIT), 143)

    def is_shell(self, pid):
        with open(f"/proc/{pid}/comm") as f:
            return f.read() in ("sh\n", "dash\n", "bash\n")


class Leftovers(Case):
    def family(self, ranks=3):
        p = self.start_mpi("-n", ranks, "sh", "-c", FAMILY)
        self.await_marked(ranks * FAMILY_SIZE + 2)
        return p

    def test_killed_mpiexec_leaves_nothing(self):
        p = self.family()
        p.kill()
        p.wait()
        self.assert_all_gone()

    def test_killed_guard_leaves_nothing(self):
        p = self.family()
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
            guard = int(f.read())
        os.kill(guard, signal.SIGKILL)
        self.assertEqual(p.wait(LIMIT), 1)
        self.assert_one_line(p.stderr.read().decode(), "guard")
        self.assert_all_gone()

    def test_killed_rank_leaves_nothing(self):
        p = self.family()
        ranks = [m for m in self.marked() if self.parent(self.parent(m)) == p.pid]
        os.kill(ranks[1], signal.SIGKILL)
        self.assertEqual(p.wait(LIMIT), 128 + 9)
        self.assert_one_line(p.stderr.read().decode(), "signal 9 (Killed)", "the other 2 ranks were ended")
        self.assert_all_gone()

    def parent(self, pid):
        try:
            with open(f"/proc/{pid}/stat") as f:
                return int(f.read().rpartition(")")[2].split()[1])
        except OSError:
            return 0

    def test_daemons_end_with_the_job(self):
        r = self.run_mpi("-n", 2, "sh", "-c", "setsid sleep 600 & exit 0")
        self.assertEqual(r.returncode, 0)
        self.assert_all_gone()

    def test_killed_group_of_a_shell(self):
        p = self.start_mpi("-n", 2, "sh", "-c", FAMILY, start_new_session=True)
        self.await_marked(2 * FAMILY_SIZE + 2)
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        self.assert_all_gone()

    def test_no_file_is_made(self):
        with tempfile.TemporaryDirectory() as d:
            before = set(os.listdir("/dev/shm"))
            p = self.start_mpi("-n", 2, "-x", f"TMPDIR={d}", "sh", "-c", "echo up; exec sleep 600", cwd=d)
            p.stdout.readline()
            p.kill()
            p.wait()
            self.assert_all_gone()
            self.assertEqual(os.listdir(d), [])
            self.assertFalse({f for f in set(os.listdir("/dev/shm")) - before if "unisono" in f})


if __name__ == "__main__":
    unittest.main()
