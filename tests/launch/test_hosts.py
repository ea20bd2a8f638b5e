# SPDX-License-Identifier: BSD-3-Clause
"""Several hosts: started tree-wise through a launch agent, with output, input, signals, ends and the wire-up relayed.

Most tests use an agent that stays on this machine; those of class Namespaces enter network namespaces that they make.
"""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
from collections import Counter

from harness import FAKE, LIMIT, MPIEXEC, PATIENCE, Case

HERE = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]
NINE = ["-host", "a,b,c,d,e,f,g,h,i", "--set", "launch_fanout=2"]


class Hosts(Case):
    def lines(self, *args, **kw):
        r = self.run_mpi(*HERE, *args, **kw)
        self.assertEqual((r.returncode, r.err), (0, ""))
        return sorted(r.out.splitlines())

    SHOW = "echo $UNISONO_RANK/$UNISONO_SIZE $UNISONO_LOCAL_RANK/$UNISONO_LOCAL_SIZE"

    def test_ranks_fill_slots(self):
        self.assertEqual(
            self.lines("-host", "a:2,b:3", "-n", 5, "sh", "-c", self.SHOW),
            ["0/5 0/2", "1/5 1/2", "2/5 0/3", "3/5 1/3", "4/5 2/3"],
        )

    def test_ranks_take_hosts_in_turn(self):
        self.assertEqual(
            self.lines("-host", "a:2,b:2", "--map-by", "node", "-n", 4, "sh", "-c", self.SHOW),
            ["0/4 0/2", "1/4 0/2", "2/4 1/2", "3/4 1/2"],
        )

    def test_more_ranks_than_slots_begin_again(self):
        self.assertEqual(
            self.lines("-host", "a,b", "-n", 4, "sh", "-c", self.SHOW), ["0/4 0/2", "1/4 0/2", "2/4 1/2", "3/4 1/2"]
        )

    def test_slots_are_the_default_number(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("a slots=2  # first\n\nb:3\nc\n")
            f.flush()
            self.assertEqual(len(self.lines("--hostfile", f.name, "echo", "x")), 6)
            self.assertEqual(len(self.lines("--hostfile", f.name, "-ppn", 1, "echo", "x")), 3)

    def test_programs_on_hosts_of_their_own(self):
        got = self.lines(
            "-host",
            "a",
            "-n",
            1,
            "sh",
            "-c",
            "echo first " + self.SHOW[5:],
            ":",
            "-host",
            "b",
            "-n",
            2,
            "sh",
            "-c",
            "echo second " + self.SHOW[5:],
        )
        self.assertEqual(got, ["first 0/3 0/1", "second 1/3 0/2", "second 2/3 1/2"])

    def test_this_host_and_others(self):
        self.assertEqual(
            self.lines("-host", "localhost:2,a:1", "-n", 3, "sh", "-c", self.SHOW), ["0/3 0/2", "1/3 1/2", "2/3 0/1"]
        )

    def test_environment_and_directory_travel(self):
        with tempfile.TemporaryDirectory() as d:
            d = os.path.realpath(d)
            got = self.lines(
                "-host",
                "a,b",
                "-x",
                "SOME=thing",
                "-env",
                "MORE",
                "of it",
                "-wdir",
                d,
                "sh",
                "-c",
                "echo $SOME $MORE $(pwd)",
            )
            self.assertEqual(got, [f"thing of it {d}"] * 2)

    def test_no_secret_on_a_command_line(self):
        p = self.start_mpi(*HERE, "-host", "a,b", "-x", "SOME=sesame", "sh", "-c", "echo up; exec sleep 600")
        self.assertEqual([p.stdout.readline() for _ in range(2)], [b"up\n"] * 2)
        lines = [self.words(m) for m in self.marked() if m != p.pid]
        lines = [line for line in lines if b"--daemon" in line]
        self.assertEqual(len(lines), 2)
        self.assertNotIn(b"sesame", b" ".join(word for line in lines for word in line))

    def test_tree(self):
        self.assertEqual(len(self.lines(*NINE, "-n", 20, "echo", "x")), 20)

    def test_input_reaches_the_rank(self):
        data = os.urandom(1000000)
        for who in (0, 8):
            r = self.run_mpi(*HERE, *NINE, "-n", 9, "--stdin", who, "cat", stdin=data)
            self.assertEqual(r.stdout, data)

    def test_output_is_complete(self):
        r = self.run_mpi(*HERE, *NINE, "-n", 9, "sh", "-c", "yes abcdefgh$UNISONO_RANK | head -n 100000")
        self.assertEqual(Counter(r.out.splitlines()), Counter({f"abcdefgh{i}": 100000 for i in range(9)}))

    def test_wire_up(self):
        got = self.lines(
            *NINE, "-n", 18, FAKE, "put", "a", "x", "get", "+1", "a", "fence", "get", "+7", "a", "exchange", "fence"
        )
        self.assertEqual(len(got), 36)

    def test_a_value_is_waited_for(self):
        got = self.lines("-host", "a,b,c", FAKE, "only", 2, "pause", 300, "put", "late", "v", "get", 2, "late", "fence")
        self.assertEqual(got, ["0 got v of 2", "1 got v of 2", "2 got v of 2"])

    def test_who_asks_a_rank_that_is_gone_is_told(self):
        got = self.lines(
            "-host", "a,b,c:2", FAKE, "only", 1, "exit", 0, "only", 2, "exit", 0, "get", 1, "k", "get", 2, "k"
        )
        self.assertEqual(got, ["0: 1 is gone", "0: 2 is gone", "3: 1 is gone", "3: 2 is gone"])

    def test_a_host_whose_last_words_come_late(self):
        """Its daemon has left, and reads no more, while what it said is on the way: nothing is lost, and a question
        that is sent to it meanwhile is answered."""
        with tempfile.TemporaryDirectory() as d:
            agent = os.path.join(d, "agent")
            with open(agent, "w") as f:
                f.write('shift\nexec 3<&0 </dev/null\n"$@" <&3 3<&- | (exec 3<&-; sleep 1; cat) &\nexec 3<&-\nwait\n')
            r = self.run_mpi(
                *["--launch-agent", f"sh {agent}", "-host", "localhost,b", FAKE],
                *["only", 1, "say", "last", "only", 1, "exit", 0, "pause", 500, "get", 1, "k"],
            )
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(sorted(r.out.splitlines()), ["0: 1 is gone", "last"])

    def test_fence_holds_all(self):
        r = self.run_mpi(
            *HERE, *NINE, "-n", 10, FAKE, "only", 7, "pause", 300, "say", "before", "fence", "say", "after", "fence"
        )
        self.assertEqual(r.out.split(), ["before"] * 10 + ["after"] * 10)

    def test_wire_up_on_one_host(self):
        r = self.run_mpi("-n", 3, FAKE, "exchange", "fence", "fence", "say", "x")
        self.assertEqual((r.returncode, r.out), (0, "x\n" * 3))


class Ends(Case):
    def ended(self, status, *parts):
        def check(*args):
            r = self.run_mpi(*HERE, *args)
            self.assertEqual(r.returncode, status, r.err)
            self.assert_one_line(r.err, *parts)
            self.assert_all_gone()

        return check

    def test_a_rank_dies(self):
        self.ended(139, "rank 5 ", "host f)", "signal 11", "the other 8 ranks were ended")(
            *NINE, "-n", 9, FAKE, "init", "only", 5, "kill", 11, "work"
        )

    def test_abort(self):
        self.ended(6, "rank 8 ", "host i)", "MPI_Abort with code 6")(
            *NINE, "-n", 9, FAKE, "init", "only", 8, "abort", 6, "", "work"
        )

    def test_no_such_program(self):
        self.ended(2, "nosuchprogram")(*NINE, "-n", 9, "nosuchprogram")

    def test_no_such_agent(self):
        r = self.run_mpi("--launch-agent", "nosuchagent", "-host", "a,b", "true")
        self.assertEqual(r.returncode, 1)
        self.assertIn("mpiexec: host a: ", r.err)
        self.assertIn("the launch agent, nosuchagent, ended with status 127", r.err)
        self.assertRegex(r.err.splitlines()[-1], "its daemon could not be started .*status 127.*; the job was ended$")

    def test_a_host_whose_own_environment_is_wrong(self):
        agent = "sh -c 'shift; UNISONO_COLL_HIERR=1 exec \"$@\"' agent"
        r = self.run_mpi("--launch-agent", agent, "-host", "a", "true")
        self.assertEqual(r.returncode, 1, r.err)
        self.assertIn("mpiexec: host a: mpiexec --daemon: environment UNISONO_COLL_HIERR: no parameter", r.err)

    def test_agent_that_says_nonsense(self):
        r = self.run_mpi(
            "--launch-agent",
            "sh -c 'head -c 100000 /dev/urandom; sleep 600' agent",
            "-host",
            "a",
            "--timeout",
            PATIENCE,
            "true",
        )
        self.assertEqual(r.returncode, 1, r.err)
        self.assert_one_line(r.err, "host a: what answers there is not mpiexec")
        self.assert_all_gone()

    def test_deadlock_over_hosts(self):
        r = self.run_mpi(
            *HERE, *NINE, "-n", 9, "--timeout", PATIENCE, FAKE, "init", "wait", "MPI_Recv", "MPI_COMM_WORLD", "+1", 3
        )
        self.assertEqual(r.returncode, 1, r.err)
        self.assertIn("cycle: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> 0\n", r.err)

    def test_no_deadlock_while_one_host_works(self):
        r = self.run_mpi(
            *HERE,
            *NINE,
            "-n",
            9,
            "--timeout",
            3,
            FAKE,
            "init",
            "only",
            4,
            "work",
            "wait",
            "MPI_Recv",
            "MPI_COMM_WORLD",
            "+1",
            3,
        )
        self.assertEqual(r.returncode, 124, r.err)

    def test_signals_reach_all(self):
        p = self.start_mpi(
            *HERE, *NINE, "-n", 9, "sh", "-c", "trap 'echo got; exit 0' USR1; echo up; while :; do sleep 0.05; done"
        )
        for _ in range(9):
            self.assertEqual(p.stdout.readline(), b"up\n")
        p.send_signal(10)
        self.assertEqual(p.stdout.read(), b"got\n" * 9)
        self.assertEqual(p.wait(LIMIT), 0)

    def family(self):
        p = self.start_mpi(*HERE, *NINE, "-n", 9, "sh", "-c", "setsid sleep 600 & sleep 600; true")
        self.await_marked(9 * 3 + 9 + 2)
        return p

    def test_terminate(self):
        p = self.family()
        p.terminate()
        self.assertEqual(p.wait(LIMIT), 143)
        self.assert_all_gone()

    def test_killed_mpiexec(self):
        p = self.family()
        p.kill()
        p.wait()
        self.assert_all_gone()

    def test_killed_daemon(self):
        p = self.family()
        daemons = [m for m in self.marked() if b"--daemon" in self.words(m)]
        self.assertEqual(len(daemons), 9)
        os.kill(daemons[3], 9)
        self.assertEqual(p.wait(LIMIT), 1)
        self.assertIn(b"the link to its daemon broke", p.stderr.read())
        self.assert_all_gone()


@unittest.skipUnless(
    os.geteuid() == 0 and shutil.which("ip"), "needs root and the ip command to make network namespaces"
)
class Namespaces(Case):
    def setUp(self):
        super().setUp()
        self.names = [f"u{self.mark[:6]}{i}" for i in range(2)]
        for name in self.names:
            subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
            self.addCleanup(subprocess.run, ["ip", "netns", "del", name], check=True, capture_output=True)

    def test_ranks_run_inside(self):
        r = self.run_mpi(
            "--launch-agent",
            "ip netns exec",
            "-host",
            ":2,".join(self.names) + ":2",
            "-n",
            4,
            "sh",
            "-c",
            "echo $(ip netns identify $$)",
        )
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(sorted(r.out.split()), sorted(self.names * 2))

    def test_wire_up_between_them(self):
        r = self.run_mpi(
            "--launch-agent",
            "ip netns exec",
            "-host",
            ",".join(self.names),
            FAKE,
            "put",
            "k",
            "v",
            "get",
            "+1",
            "k",
            "fence",
        )
        self.assertEqual(sorted(r.out.splitlines()), ["0 got v of 1", "1 got v of 0"])

    def ip(self, *args):
        subprocess.run(["ip", *args], check=True, capture_output=True)

    def join(self):
        """Joins the two namespaces by a line; returns how to take it down and up."""
        a, b = self.names
        self.ip("link", "add", "left", "netns", a, "type", "veth", "peer", "name", "right", "netns", b)
        self.ip("-n", a, "addr", "add", "10.77.0.1/24", "dev", "left")
        self.ip("-n", b, "addr", "add", "10.77.0.2/24", "dev", "right")
        self.ip("-n", a, "link", "set", "left", "up")
        self.ip("-n", b, "link", "set", "right", "up")
        return lambda state: self.ip("-n", a, "link", "set", "left", state)

    def build(self, d):
        """rank.c, or a skipped test."""
        mpicc = os.path.join(os.path.dirname(MPIEXEC), "mpicc")
        if not os.path.exists(mpicc):
            self.skipTest("no mpicc beside mpiexec: nothing is staged")
        program = os.path.join(d, "rank")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rank.c")
        subprocess.run([mpicc, source, "-o", program, "-pthread"], check=True)
        return program

    def test_real_job(self):
        self.join()
        with tempfile.TemporaryDirectory() as d:
            program = self.build(d)
            hosts = ["--launch-agent", "ip netns exec", "-host", ":2,".join(self.names) + ":2", "-n", 4]
            r = self.run_mpi(*hosts, program, "slow")
            self.assertEqual((r.returncode, r.err), (0, ""))
            r = self.run_mpi(*hosts, "--timeout", PATIENCE, program, "ring")
            self.assertEqual(r.returncode, 1, r.err)
            self.assertIn("cycle: 0 -> 3 -> 2 -> 1 -> 0\n", r.err)

    def test_a_line_that_is_down_is_no_deadlock(self):
        line = self.join()
        with tempfile.TemporaryDirectory() as d:
            p = self.start_mpi(
                "--launch-agent", "ip netns exec", "-host", ",".join(self.names), self.build(d), "exchange"
            )
            self.assertEqual(p.stdout.readline(), b"up\n")
            line("down")
            time.sleep(4)  # longer than any deadlock takes to be told
            line("up")
            self.assertEqual((p.wait(LIMIT), p.stderr.read()), (0, b""))

    def test_namespace_that_is_not_there(self):
        r = self.run_mpi("--launch-agent", "ip netns exec", "-host", "nosuchns", "true")
        self.assertEqual(r.returncode, 1)
        self.assertIn("host nosuchns: ", r.err)


if __name__ == "__main__":
    unittest.main()
