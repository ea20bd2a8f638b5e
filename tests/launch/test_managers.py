# SPDX-License-Identifier: BSD-3-Clause
"""Our programs under other people's launchers: PMI-1 (mpiexec.hydra of MPICH and Intel MPI) and PMIx (prterun of Open
MPI), from PyPI. A rank in a numbering of processes of its own shares no memory with the others, so it plays another
host, which is reached over tcp.
"""

import os
import re
import socket
import sys

from harness import LIMIT, TOP, WithProgram, subprocess

sys.path.insert(0, os.path.join(TOP, "bench"))
import peers  # noqa: E402

LINE = re.compile(r"rank (\d+) of (\d+) sum (\d+) near (\d+) app (\d+) ring 1 universe 1 merged (\d+)")


class Launchers(WithProgram):
    def launchers(self):
        """(name, command, environment) of each that can be had."""
        found = []
        for name in ("mpich", "impi", "openmpi"):
            home = peers.install(name)
            if not home:
                continue
            env = {"HYDRA_LAUNCHER": "fork", "PATH": f"{home}/bin:{self.env['PATH']}"}
            words = [f"{home}/bin/mpiexec.hydra"]
            if name == "openmpi":
                library = next(home.glob("**/libpmix.so.2"))
                env["UNISONO_PMIX_LIBRARY"] = str(library)
                env |= {"OPAL_PREFIX": str(home), "PMIX_PREFIX": str(home), "PRTE_PREFIX": str(home)}
                words = [f"{home}/bin/prterun", "--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE"]
            found.append((name, words, env))
        if not found:
            self.skipTest("no launcher can be had from PyPI")
        return found

    def launch(self, words, env, *args):
        r = subprocess.run(
            [*words, *map(str, args)], env=self.env | env, capture_output=True, timeout=LIMIT, stdin=subprocess.DEVNULL
        )
        r.out, r.err = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
        return r


class Managers(Launchers):
    source = "managed.c"

    def said(self, r):
        """What the ranks said, as (rank, size, sum, near, appnum, merged), in order."""
        self.assertEqual(r.returncode, 0, r.err)
        return sorted(tuple(map(int, m)) for m in LINE.findall(r.out))

    def test_one_job_that_shares_memory(self):
        for name, words, env in self.launchers():
            for n in (1, 5):
                r = self.launch(words, env, "-n", n, self.program)
                self.assertEqual(self.said(r), [(i, n, n, n, 0, 0) for i in range(n)], name)
                self.assertEqual(r.err, "", name)

    def test_several_programs_and_hosts(self):
        for name, words, env in self.launchers():
            r = self.launch(words, env, "-n", 2, self.program, ":", "-n", 2, "unshare", "-pf", self.program)
            want = [(0, 4, 4, 2, 0, 0), (1, 4, 4, 2, 0, 0), (2, 4, 4, 1, 1, 0), (3, 4, 4, 1, 1, 0)]
            self.assertEqual(self.said(r), want, name)

    def test_spawn(self):
        for name, words, env in self.launchers():
            r = self.launch(words, env, "-n", 2, self.program, "spawn")
            self.assertEqual([line[-1] for line in self.said(r)], [4, 4], name)

    def test_abort_and_death_end_the_job(self):
        for name, words, env in self.launchers():
            r = self.launch(words, env, "-n", 3, self.program, "abort")
            self.assertEqual(r.returncode, 7, (name, r.err))
            # The launcher may end before it has read what the rank said.
            told = [line for line in r.err.splitlines() if "MPI_Abort" in line]
            self.assertIn(told, ([], ["MPI_Abort called with code 7 on MPI_COMM_WORLD, rank 1"]), (name, r.err))
            self.assertNotEqual(self.launch(words, env, "-n", 3, self.program, "die").returncode, 0, name)
        self.assertEqual(self.marked(), [])


class Meeting(Launchers):
    source = "meet.c"

    def test_two_jobs_meet(self):
        for name, words, env in self.launchers():
            first = subprocess.Popen(
                [*words, "-n", "2", self.program, "accept", "2"],
                env=self.env | env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            try:
                port = first.stdout.readline().strip()
                r = self.launch(words, env, "-n", 2, self.program, "connect", 2, port)
                _, err = first.communicate(timeout=LIMIT)
            finally:
                first.kill()
                first.wait()
            self.assertEqual((r.returncode, first.returncode), (0, 0), (name, r.err, err))


class HalfThere(WithProgram):
    source = "managed.c"

    def alone(self, **env):
        r = subprocess.run([self.program], env=self.env | env, capture_output=True, timeout=LIMIT, text=True)
        return r.returncode, r.stdout, r.stderr

    def test_descriptor_of_a_parent(self):
        code, out, err = self.alone(PMI_FD="77", PMI_RANK="3", PMI_SIZE="4")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("rank 0 of 1", out)

    def speak(self, **env):
        """The program with a socket as PMI_FD whose other end is closed."""
        ours, theirs = socket.socketpair()
        ours.close()
        with theirs:
            return subprocess.run(
                [self.program],
                env=self.env | {"PMI_FD": str(theirs.fileno())} | env,
                pass_fds=[theirs.fileno()],
                capture_output=True,
                timeout=LIMIT,
                text=True,
            )

    def test_no_rank(self):
        for env in ({}, {"PMI_RANK": "0"}, {"PMI_RANK": "4", "PMI_SIZE": "4"}, {"PMI_RANK": "x", "PMI_SIZE": "4"}):
            r = self.speak(**env)
            self.assertEqual(r.returncode, 1, env)
            self.assertRegex(r.stderr, r"^MPI_Init: PMI_FD=\d+ is set, but PMI_RANK and PMI_SIZE do not tell a rank")
            self.assertEqual(r.stderr.count("\n"), 1)

    def test_launcher_that_is_gone(self):
        r = self.speak(PMI_RANK="0", PMI_SIZE="2")
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stderr, r"^MPI_Init: speak PMI-1 with the launcher over PMI_FD=\d+: ")

    def test_half_of_pmix(self):
        for there, gone in (("PMIX_NAMESPACE", "PMIX_RANK"), ("PMIX_RANK", "PMIX_NAMESPACE")):
            code, _, err = self.alone(**{there: "0"})
            self.assertEqual((code, err.count("\n")), (1, 1))
            self.assertIn(f"MPI_Init: {there} is set, by a PMIx launcher, but {gone} is not", err)
            code, out, err = self.alone(**{there: "0"}, UNISONO_MANAGER="none")
            self.assertEqual((code, err), (0, ""))

    def test_launcher_to_be_dialled(self):
        code, _, err = self.alone(PMI_PORT="localhost:9", PMI_ID="0")
        self.assertEqual((code, err.count("\n")), (1, 1))
        self.assertIn("MPI_Init: PMI_PORT=localhost:9 is set, but PMI_FD is not", err)

    def test_no_library(self):
        env = {"PMIX_NAMESPACE": "space", "PMIX_RANK": "0", "UNISONO_PMIX_LIBRARY": "libno-such.so"}
        code, _, err = self.alone(**env)
        self.assertEqual((code, err.count("\n")), (1, 1))
        self.assertIn("libno-such.so", err)
        self.assertIn("UNISONO_MANAGER=none", err)
        code, out, err = self.alone(**env, UNISONO_MANAGER="none")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("rank 0 of 1", out)
