# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that ranks spawn, as the launcher sees them: what starts where, answers to the rank that asked, output, ends."""

import os
import signal
import tempfile
import unittest

from harness import FAKE, LIMIT, PATIENCE, Case

ERR_INFO_VALUE, ERR_SPAWN = 33, 53
DEAF = ["init", "work"]


def spawn(*commands, port="", folder="/", separator="|"):
    """The words of a request; a command is (count, info, program, argument ...), info a dictionary."""
    words = ["spawn", "dir", folder, "port", port]
    for count, info, program, *args in commands:
        words += ["command", program, "count", str(count)]
        for arg in args:
            words += ["arg", arg]
        for key, value in info.items():
            words += ["info", key, value]
    return "".join(separator + str(w) for w in words)


class Base(Case):
    def ask(self, request, *options, before=(), after=("fini",), ranks=1, **kw):
        """One rank asks, then does `after`."""
        words = ["--timeout", PATIENCE, *options, "-n", ranks, FAKE, "init", *before]
        words += ["only", 0, "request", request, *after]
        r = self.run_mpi(*words, **kw)
        self.assert_all_gone()
        return r

    def answer(self, r):
        """(class, text) of the first answer."""
        line = next(line for line in r.out.splitlines() if line.startswith("class "))
        head, _, text = line.partition(": ")
        self.assertEqual(head.split()[2:], ["error", "0"], line)
        return int(head.split()[1]), text


class Spawn(Base):
    def test_ranks_of_their_own_job(self):
        r = self.ask(spawn((3, {}, "sh", "-c", "echo $UNISONO_RANK of $UNISONO_SIZE; pwd")))
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(self.answer(r), (0, "3 "))
        self.assertEqual(sorted(r.out.splitlines())[:6], ["/"] * 3 + ["0 of 3", "1 of 3", "2 of 3"])

    def test_several_commands(self):
        tell = 'echo "$1 $UNISONO_RANK of $UNISONO_SIZE"'
        r = self.ask(spawn((2, {}, "sh", "-c", tell, "x", "a"), (0, {}, "false"), (1, {}, "sh", "-c", tell, "x", "b")))
        self.assertEqual(self.answer(r), (0, "2 0 1 "))
        self.assertEqual(sorted(r.out.splitlines())[:3], ["a 0 of 3", "a 1 of 3", "b 2 of 3"])

    def test_arguments_of_any_size(self):
        """More than one piece of a request, and what a shell would change."""
        odd = ["", " ", "*", "$HOME", "a\nb", "'\"\\"]
        long = "x" * 100000
        program = "import sys; print(repr(sys.argv[1:7]), len(sys.argv[7]))"
        request = spawn((1, {}, "python3", "-c", program, *odd, long))
        r = self.ask(request)
        self.assertEqual(self.answer(r), (0, "1 "))
        self.assertIn(f"{odd!r} 100000\n", r.out)

    def test_what_cannot_start_is_told_to_the_rank_alone(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        plain = os.path.join(folder.name, "plain")
        with open(plain, "w"):
            pass
        wrong = [
            ((1, {}, "no-such-program"), "no such program in PATH"),
            ((1, {}, "/no/such/program"), "No such file"),
            ((1, {}, plain), "not executable"),
            ((1, {}, folder.name), "directory"),
            ((1, {}, ""), ""),
            ((1, {"wdir": "/no/such/folder"}, "true"), "working directory"),
            ((1, {"host": ""}, "true"), "host name is missing"),
            ((1, {"host": "a:0"}, "true"), "positive number of slots"),
            ((1, {"hostfile": "/no/such/file"}, "true"), "host file"),
            ((1, {"map_by": "moon"}, "true"), "moon"),
            ((0, {}, "true"), "no process to start"),
        ]
        for command, why in wrong:
            for other in ([], [(2, {}, "sleep", "1000")]):
                if command[0] == 0 and other:
                    continue
                r = self.ask(spawn(*other, command), after=["say", "alive", "fini"])
                self.assertEqual((r.returncode, r.err), (0, ""), command)
                mpi_class, text = self.answer(r)
                malformed = command[1].keys() & {"host", "hostfile", "map_by"}
                self.assertEqual(mpi_class, ERR_INFO_VALUE if malformed else ERR_SPAWN, command)
                self.assertIn(why, text)
                self.assertIn("alive\n", r.out)

    def test_a_host_that_cannot_be_reached(self):
        r = self.ask(
            spawn((1, {"host": "elsewhere"}, "true")), "--launch-agent", "false", after=["say", "alive", "fini"]
        )
        mpi_class, text = self.answer(r)
        self.assertEqual((r.returncode, mpi_class), (0, ERR_SPAWN), r.err)
        self.assertIn("its daemon could not be started", text)
        self.assertNotIn("the job was ended", text)
        self.assertIn("alive\n", r.out)

    def test_info(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        name = os.path.join(folder.name, "tool-of-this-test")
        with open(name, "w") as f:
            f.write("#!/bin/sh\necho $A,$B; pwd; echo $UNISONO_PARENT\n")
        os.chmod(name, 0o755)
        info = {
            "path": f"/nowhere:{folder.name}",
            "env": "A=1 2\nB==",
            "wdir": folder.name,
            "unknown": "x",
            "file": "y",
        }
        r = self.ask(spawn((1, info, "tool-of-this-test"), port="the port"))
        self.assertEqual(self.answer(r), (0, "1 "))
        self.assertIn(f"1 2,=\n{folder.name}\nthe port\n", r.out)

    def test_soft(self):
        for text, most, wanted in (
            ("1:10", 4, 4),
            ("1:10:3", 6, 4),
            ("2,3", 9, 3),
            ("10:1:-4", 7, 6),
            ("8:20,1", 4, 1),
            ("5", 5, 5),
        ):
            r = self.ask(spawn((most, {"soft": text}, "echo", "there")))
            self.assertEqual(self.answer(r), (0, f"{wanted} "), text)
            self.assertEqual(r.out.count("there\n"), wanted)
        for text in ("", "a", "1:", "1:2:3:4", "1:9:0", "9:12", "7:5", "1;2"):
            r = self.ask(spawn((4, {"soft": text}, "echo", "there")))
            self.assertEqual(self.answer(r)[0], ERR_INFO_VALUE, text)
        r = self.ask(spawn((4, {"env": "A"}, "echo")))
        self.assertEqual(self.answer(r)[0], ERR_INFO_VALUE)

    def test_soft_gives_what_fits(self):
        host = ["--launch-agent", "false", "-host", "localhost:3", "--nooversubscribe"]
        r = self.ask(spawn((4, {"soft": "0:4"}, "echo", "there")), *host)
        self.assertEqual(self.answer(r), (0, "2 "))
        r = self.ask(spawn((4, {}, "echo", "there")), *host)
        self.assertEqual(self.answer(r)[0], ERR_SPAWN)

    def test_labels_and_files(self):
        r = self.ask(spawn((2, {}, "sh", "-c", "echo out; echo err >&2")), "--tag-output")
        lines = r.out.splitlines()
        self.assertEqual(sorted(line for line in lines if "out" in line), ["[1:0] out", "[1:1] out"])
        self.assertEqual(sorted(r.err.splitlines()), ["[1:0 err] err", "[1:1 err] err"])
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pattern = os.path.join(folder.name, "out.%g.%r")
        self.ask(spawn((1, {}, "echo", "mine")), "--outfile-pattern", pattern)
        with open(os.path.join(folder.name, "out.1.0")) as f:
            self.assertEqual(f.read(), "mine\n")
        both = os.path.join(folder.name, "both")
        self.ask(spawn((1, {}, "echo", "mine")), "--outfile-pattern", both)
        with open(both) as f:
            self.assertEqual(sorted(f.read().splitlines()), ["class 0 error 0: 1 ", "mine"])
        self.ask(spawn((1, {}, "echo", "mine")), "--output-filename", os.path.join(folder.name, "tree"))
        with open(os.path.join(folder.name, "tree/2/rank.0/stdout")) as f:
            self.assertEqual(f.read(), "mine\n")

    def test_no_standard_input(self):
        r = self.ask(
            spawn((1, {}, "sh", "-c", "if read line; then echo got; else echo end; fi")), stdin=b"for rank 0\n"
        )
        self.assertIn("end\n", r.out)

    def test_spawned_job_outlives_its_parent(self):
        """A job that ends well ends nothing else; mpiexec stays for the last."""
        script = "while kill -0 $1; do sleep 0.01; done 2>/dev/null; echo last"
        parent = f'exec {FAKE} init request "$(printf %s "$1" | sed s/PID/$$/)" fini'
        r = self.run_mpi("-n", 1, "sh", "-c", parent, "sh", spawn((2, {}, "sh", "-c", script, "sh", "PID")))
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(r.out.count("last\n"), 2)
        self.assert_all_gone()

    def test_failure_of_a_spawned_job(self):
        """It ends that job and what that has spawned; its parents live, and mpiexec's status tells of it."""
        r = self.ask(spawn((3, {}, FAKE, "init", "only", 1, "exit", 7, "work")), after=["say", "alive", "fini"])
        self.assertEqual(r.returncode, 7)
        self.assertIn("alive\n", r.out)
        self.assert_one_line(r.err, "rank 1 of spawned job 1", "status 7", "the other 2 ranks were ended")
        inner = spawn((2, {}, FAKE, *DEAF), separator=";")
        r = self.ask(spawn((2, {}, FAKE, "init", "only", 0, "request", inner, "only", 0, "abort", 5, "why", "work")))
        self.assertEqual(r.returncode, 5)
        self.assert_one_line(r.err, "rank 0 of spawned job 1", "why")

    def test_failure_of_the_first_job_ends_all(self):
        r = self.ask(spawn((3, {}, FAKE, *DEAF)), after=["exit", 3])
        self.assertEqual(r.returncode, 3)
        self.assert_one_line(r.err, "rank 0", "status 3")

    def test_spawned_jobs_spawn(self):
        request = spawn((1, {}, "sh", "-c", "echo deep"), separator=";")
        for separator in ":,":
            words = [FAKE, "init", "request", request, "fini"]
            request = spawn((1, {}, *words), separator=separator)
        r = self.ask(request)
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(r.out.count("class 0"), 3)
        self.assertIn("deep\n", r.out)

    def test_all_jobs_end_with_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            p = self.start_mpi("-n", 1, FAKE, "init", "request", spawn((2, {}, FAKE, *DEAF)), "work")
            self.await_true(lambda p=p: b"class 0" in p.stdout.readline())
            p.send_signal(number)
            _, err = p.communicate(timeout=LIMIT)
            self.assertEqual(p.returncode, 128 + number)
            self.assert_one_line(err.decode(), f"signal {number}", "3 ranks were ended")
            self.assert_all_gone()

    def test_timeout(self):
        r = self.run_mpi("--timeout", 2, "-n", 1, FAKE, "init", "request", spawn((2, {}, FAKE, *DEAF)), "work")
        self.assertEqual(r.returncode, 124)
        self.assertIn("3 ranks were ended", r.err)
        self.assert_all_gone()

    def test_mpiexec_is_killed(self):
        p = self.start_mpi("-n", 1, FAKE, "init", "request", spawn((2, {}, FAKE, *DEAF)), "work")
        self.await_true(lambda: b"class 0" in p.stdout.readline())
        p.kill()
        p.wait()
        self.assert_all_gone()

    def test_deadlock_in_a_spawned_job(self):
        wait = ["wait", "MPI_Recv", "MPI_COMM_WORLD", "+1", 5]
        r = self.ask(spawn((2, {}, FAKE, "init", *wait)), after=["say", "alive", "pause", 3000, "fini"])
        self.assertEqual(r.returncode, 1)
        self.assertIn("deadlock", r.err)
        self.assertIn("cycle: 0 -> 1 -> 0", r.err)
        self.assertIn("of spawned job 1", r.err)

    def test_exit_codes(self):
        r = self.ask(spawn((2, {}, "sh", "-c", "exit 0")), "--print-all-exitcodes")
        self.assertIn("exit codes of spawned job 1 by rank: 0-1: 0", r.err)

    def test_many_in_turn_leave_nothing(self):
        """Descriptors and children of mpiexec are as many after 50 spawned jobs as before the first."""

        def held(p):
            with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
                return len(os.listdir(f"/proc/{p.pid}/fd")), len(f.read().split())

        counts = []
        for rounds in (0, 50):
            words = ["request", spawn((2, {}, "true"))] * rounds
            p = self.start_mpi("-n", 1, FAKE, "init", *words, "say", "asked", "work")
            answers = [p.stdout.readline() for _ in range(rounds + 1)]
            self.assertEqual(answers, [b"class 0 error 0: 2 \n"] * rounds + [b"asked\n"])
            if rounds:  # the last ones end, and are buried, after the answer
                self.await_true(lambda: held(p) == counts[0])
            counts.append(held(p))
            p.terminate()
            p.communicate(timeout=LIMIT)
            self.assert_all_gone()
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(counts[0][1], 1)


class Hosts(Base):
    """The same where ranks are on other hosts: an agent that starts them here stands for those."""

    agent = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]

    def test_on_the_hosts_of_the_job(self):
        tell = "echo $UNISONO_RANK $UNISONO_LOCAL_SIZE"
        r = self.ask(spawn((3, {}, "sh", "-c", tell)), *self.agent, "-host", "a:2,b:2")
        self.assertEqual(self.answer(r), (0, "3 "))
        self.assertEqual(sorted(r.out.splitlines())[:3], ["0 1", "1 2", "2 2"])

    def test_on_hosts_of_its_own(self):
        tell = "echo $UNISONO_RANK $UNISONO_LOCAL_SIZE"
        request = spawn((2, {"host": "c"}, "sh", "-c", tell), (1, {}, "sh", "-c", tell))
        r = self.ask(request, *self.agent, "-host", "a,b")
        self.assertEqual(self.answer(r), (0, "2 1 "))
        self.assertEqual(sorted(r.out.splitlines())[:3], ["0 2", "1 2", "2 1"])

    def test_asked_from_another_host(self):
        r = self.run_mpi(*self.agent, "-host", "a,b", "-n", 2, FAKE, "init", "only", 1, "request",
                         spawn((2, {}, "echo", "there")), "fini")  # fmt: skip
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(self.answer(r), (0, "2 "))
        self.assertEqual(r.out.count("there\n"), 2)

    def test_a_host_that_cannot_be_reached(self):
        r = self.ask(spawn((1, {"host": "c"}, "true")), "--launch-agent", "false", after=["say", "alive", "fini"])
        self.assertEqual(r.returncode, 0)
        self.assertEqual(self.answer(r)[0], ERR_SPAWN)
        self.assertIn("alive\n", r.out)


if __name__ == "__main__":
    unittest.main()
