# SPDX-License-Identifier: BSD-3-Clause
"""gdb's `info mpi` commands (tools/gdb/unisono-gdb.py) on live ranks and on a core file, and where they cannot work."""

import os
import re
import shutil

from harness import LIMIT, MPIEXEC, PATIENCE, WithGdb, subprocess

STAGE = os.path.dirname(os.path.dirname(os.path.abspath(MPIEXEC)))
COMMANDS = os.path.join(STAGE, "share/unisono/unisono-gdb.py")
LIBRARY = os.path.join(STAGE, "lib/libmpi_abi.so.1")
RINGS = ["info mpi rings"]
INFO = [f"info mpi {what}" for what in ("ranks", "comms", "queues", "requests")]

COMMS = """\
handle             size   rank  context          name
0x101                 2      0  0x1              MPI_COMM_WORLD
0x102                 1      0  0x2              MPI_COMM_SELF
ADDRESS        2      0  0x10             halo
""".splitlines()
QUEUES = """\
MPI_COMM_WORLD: 1 posted receive, 2 unexpected messages
  posted:     source 1, tag 7, count 10, room for 40 bytes
  unexpected: source 1, tag 9, 16 bytes
  unexpected: source 1, tag 11, 1048576 bytes, still at its sender
MPI_COMM_SELF: 0 posted receives, 0 unexpected messages
halo: 1 posted receive, 0 unexpected messages
  posted:     source any, tag any, count 4, room for 32 bytes
""".splitlines()
REQUESTS = """\
2 active requests, 0 inactive
ADDRESS: receive, peer 1, tag 7, MPI_COMM_WORLD, pending
ADDRESS: receive, peer any, tag any, halo, pending
""".splitlines()


class Gdb(WithGdb):
    source = "queues.c"

    def told(self, *words, first=(), info=INFO, last=()):
        """The lines that the info commands print, with addresses of objects replaced."""
        said = self.gdb([f"source {COMMANDS}", *first, "echo \\n<<<\\n", *info, "echo >>>\\n", *last], *words)
        self.assertIn("\n<<<\n", said)
        return re.sub(r"0x[0-9a-f]{8,}", "ADDRESS", said.split("\n<<<\n")[1].split(">>>\n")[0]).splitlines()

    def start(self, *options):
        """A job whose rank 0 holds messages and receives; mpiexec and the ranks' pids."""
        job = self.start_mpi("--timeout", PATIENCE, *options, "-n", 2, self.program, stdin=subprocess.PIPE)
        self.assertEqual(sorted(job.stdout.readline() for _ in range(2)), [b"ready\n", b"sent\n"], job.poll())
        pids = {}
        for pid in self.marked():
            with open(f"/proc/{pid}/environ", "rb") as f:
                found = re.search(rb"(?:^|\0)UNISONO_RANK=(\d+)\0", f.read())
            if found and os.path.realpath(f"/proc/{pid}/exe") == os.path.realpath(self.program):
                pids[int(found[1])] = pid
        self.assertEqual(sorted(pids), [0, 1])
        return job, pids

    def check_shown(self, lines):
        self.assertEqual(lines[-14:], COMMS + QUEUES + REQUESTS, "\n".join(lines))

    def test_live_and_core(self):
        job, pids = self.start()
        core = os.path.join(self.dir.name, "core")
        live = self.told("-p", pids[0], last=[f"gcore {core}"])
        self.assertRegex(live[0], rf"^rank 0 of 2, host \S+, pid {pids[0]}, last call MPI_Send$")
        self.assertEqual(live[1], f"* rank 0: pid {pids[0]}, running")
        self.assertRegex(live[2], rf"^  rank 1: pid {pids[1]}, running(, asleep in MPI_Recv on MPI_COMM_WORLD)?$")
        self.check_shown(live)
        self.assertEqual(len(live), 3 + 14)
        dead = self.told(self.program, core)
        self.assertEqual(dead[0], live[0])
        why = "The job's memory is not in this core file: what the other ranks do is not known"
        self.assertEqual(dead[1], why + " (--set share_dump=yes keeps it there).")
        self.check_shown(dead)
        rings = self.told(self.program, core, info=RINGS)
        self.assertEqual(rings, ["The rings are not in this core file (--set share_dump=yes keeps it there)."])
        out, err = job.communicate(timeout=LIMIT)
        self.assertEqual((job.returncode, out, err), (0, b"", b""))

    def test_core_with_shared_memory(self):
        """Ranks and rings are shown from a core file as from the process, the line that was not read too."""
        job, pids = self.start("--set", "share_dump=yes")
        core = os.path.join(self.dir.name, "core")
        live = self.told("-p", pids[0], info=INFO + RINGS, last=[f"gcore {core}"])
        shown = r"^process 1: \d+ lines sent, \d+ known to be read; \d+ lines begun to be read, 1 not to the end$"
        self.assertRegex(live[-1], shown)
        dead = self.told(self.program, core, info=INFO + RINGS)
        self.assertEqual(dead, live)
        self.assertLess(os.stat(core).st_blocks * 512, 64 << 20)  # not all that is laid out
        job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0)

    def test_blocking_receive(self):
        """Lives on the stack of its caller: in the queue, but no request."""
        job, pids = self.start()
        queue = [
            "MPI_COMM_WORLD: 1 posted receive, 0 unexpected messages",
            "  posted:     source 0, tag 12, count 1, room for 1 byte",
        ]
        self.await_true(lambda: self.told("-p", pids[1], info=["info mpi queues"])[:2] == queue)
        lines = self.told("-p", pids[1], info=["info mpi requests"])
        self.assertEqual(
            lines, ["1 active request, 0 inactive", "ADDRESS: send, peer 0, tag 11, MPI_COMM_WORLD, pending"]
        )
        job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 0)

    def stopped(self, how, *first):
        """What the four commands say in a process that runs alone and is stopped at ready()."""
        return self.told(self.program, first=[*first, f"set args {how}", "break ready", "run"])

    def test_before_and_after(self):
        self.assertEqual(self.stopped("before"), ["MPI has not been initialised yet in this process."] * 4)
        self.assertEqual(self.stopped("after"), ["MPI is finalized in this process."] * 4)
        self.assertRegex(self.stopped("alone")[0], r"^rank 0 of 1, host \S+, pid \d+")

    def test_what_cannot_be_looked_at(self):
        nothing = "There is no process and no core file: attach to a rank, or load its core."
        self.assertEqual(self.told(), [nothing] * 4)
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=self.env) as cat:
            lines = self.told("-p", cat.pid)
            cat.stdin.close()
        self.assertEqual(lines, ["This is no MPI process of Unisono: libmpi_abi.so is not loaded."] * 4)
        usage = '"info mpi" is followed by ranks, comms, queues, requests or rings.'
        self.assertEqual(self.told(info=["info mpi"]), [usage])

    def test_stripped(self):
        strip = shutil.which("strip")
        if not strip:
            self.skipTest("no strip here")
        library = os.path.join(self.dir.name, "libmpi_abi.so.1")
        subprocess.run([strip, "--strip-debug", "-o", library, LIBRARY], check=True)
        lines = self.stopped("alone", f"set environment LD_PRELOAD {library}")
        self.assertEqual(
            lines, [f"{library} has no debug information: it was stripped. Install it as it was built."] * 4
        )
