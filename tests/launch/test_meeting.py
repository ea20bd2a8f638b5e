# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that were started independently meet through a port: singletons, jobs of several ranks, wrong ports."""

import signal
import socket
import subprocess
import unittest

from harness import LIMIT, MPIEXEC, WithProgram


class Meeting(WithProgram):
    source = "meet.c"

    def start(self, launcher, *words):
        p = subprocess.Popen(
            [*launcher, self.program, *map(str, words)],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    def ends_well(self, *processes):
        for p in processes:
            out, _ = p.communicate(timeout=LIMIT)
            self.assertEqual((out, p.returncode), ("", 0))

    def job(self, n):
        """How a job of n is started; 0: a program by itself."""
        return [MPIEXEC, "-n", str(n)] if n else []

    def far(self, port):
        """The same port as a process on another host sees it: the socket inside the host is not there for it."""
        words = port.split(":")
        words[2] = "0" * len(words[2])
        return ":".join(words)

    def meet(self, one, other, count, seen=lambda port: port):
        accept = self.start(self.job(one), "accept", count)
        port = seen(accept.stdout.readline().strip())
        connect = self.start(self.job(other), "connect", count, port)
        self.ends_well(connect, accept)

    def test_two_singletons(self):
        self.meet(0, 0, 2)

    def test_two_jobs(self):
        self.meet(2, 3, 2)

    def test_a_job_and_a_singleton(self):
        self.meet(3, 0, 2)
        self.meet(0, 1, 2)

    def test_again_and_again(self):
        """What meetings take is given back; the program counts its files and mappings."""
        self.meet(0, 0, 300)

    def test_over_tcp(self):
        """The same without shared memory: each pair of processes has a connection of its own."""
        self.env["UNISONO_CHAN"] = "tcp"
        self.meet(0, 0, 40)
        self.meet(2, 3, 2)
        self.meet(0, 2, 2)

    def test_over_the_network(self):
        """The roots meet as between hosts, the processes share memory; then all goes over tcp."""
        self.env["UNISONO_TCP_INTERFACE"] = "lo"
        self.meet(2, 3, 2, self.far)
        self.env["UNISONO_CHAN"] = "tcp"
        self.meet(0, 0, 40, self.far)
        self.meet(2, 0, 2, self.far)

    def strangers(self, port, count):
        """Connections as of those who do not know what listens there; they stay open."""
        words = [b"GET / HTTP/1.1\r\nHost: there\r\n\r\n", b"unoport2" + b"x" * 500, b"unopo", b"\0" * 10000, b""]
        number, address = port.split(":", 8)[8].split(",")[:2]
        for i in range(count):
            s = socket.create_connection((address, int(number)), timeout=LIMIT)
            self.addCleanup(s.close)
            s.sendall(words[i % len(words)])
            if i % 7 == 6:
                s.close()

    def test_strangers(self):
        """Garbage, silence and half a greeting at a port hold up nobody, and are told of once."""
        self.env["UNISONO_TCP_INTERFACE"] = "lo"
        accept = self.start(self.job(0), "accept", 2)
        port = accept.stdout.readline().strip()
        self.strangers(port, 200)
        words = port.split(":")
        words[4] = "0" * len(words[4])
        self.refused(60, self.far(":".join(words)), "the key in the port name is not the one")
        self.strangers(port, 200)
        self.ends_well(self.start(self.job(0), "connect", 2, self.far(port)))
        out, _ = accept.communicate(timeout=LIMIT)
        self.assertEqual((out.count("\n"), accept.returncode), (1, 0), out)
        self.assertIn("dropped a connection to a port from 127.0.0.1", out)

    def test_own_host_alone(self):
        self.env["UNISONO_PORT_REACH"] = "host"
        self.meet(0, 0, 2)
        accept = self.start(self.job(0), "accept", 1)
        port = accept.stdout.readline().strip()
        self.refused(60, self.far(port), "another host")
        self.ends_well(self.start(self.job(0), "connect", 1, port), accept)

    def test_many_connect_at_once(self):
        """All wait at one port, each is served by an accept of its own."""
        accept = self.start(self.job(2), "serve", 4)
        port = accept.stdout.readline().strip()
        others = [self.start(self.job(n), "visit", port) for n in (0, 2, 1, 0)]
        self.ends_well(*others, accept)

    def refused(self, seconds, port, why):
        p = self.start(self.job(0), "refused", seconds, port)
        out, _ = p.communicate(timeout=LIMIT)
        self.assertEqual(p.returncode, 0, out)
        self.assertIn(why, out)

    def test_wrong_ports(self):
        stale = self.start(self.job(0), "leftover")
        port, _ = stale.communicate(timeout=LIMIT)
        self.refused(60, port.strip(), "nobody listens at port_name")
        self.refused(60, self.far(port.strip()), "nobody listens at port_name")
        self.refused(60, "tag#0$description#host", "is not what MPI_Open_port gave")
        self.refused(60, port.strip() + "x", "is not what MPI_Open_port gave")
        accept = self.start(self.job(1), "accept", 1)
        port = accept.stdout.readline().strip()
        words = port.split(":")
        words[4] = "0" * len(words[4])
        self.refused(60, ":".join(words), "the key in the port name is not the one")
        words = port.split(":", 8)[:8]
        for wrong in ("0,1.2.3.4", "80", "80,", "80,here", "80" + ",1.2.3.4" * 40, ""):
            self.refused(60, ":".join([*words, wrong]), "is not what MPI_Open_port gave")
        self.ends_well(self.start(self.job(0), "connect", 1, port), accept)

    def test_nobody_accepts(self):
        self.env["UNISONO_TCP_INTERFACE"] = "lo"
        accept = self.start(self.job(0), "accept", 1)
        port = accept.stdout.readline().strip()
        accept.send_signal(signal.SIGSTOP)
        self.refused(0.3, port, "nobody accepted at the port in time")
        self.refused(0.3, self.far(port), "nobody accepted at the port in time")
        accept.send_signal(signal.SIGCONT)
        self.ends_well(self.start(self.job(0), "connect", 1, port), accept)

    def test_the_other_side_dies(self):
        for n in (0, 3):
            outlive = self.start(self.job(n), "outlive")
            port = outlive.stdout.readline().strip()
            die = self.start(self.job(0), "die", port)
            self.assertEqual(die.wait(LIMIT), -signal.SIGKILL)
            self.ends_well(self.start(self.job(0), "visit", port, "large"), outlive)

    def test_the_other_side_dies_over_tcp(self):
        """No connection is waited for: the other side's host says that the process is gone."""
        self.env["UNISONO_CHAN"] = "tcp"
        self.env["UNISONO_TCP_PATIENCE"] = "86400"
        self.test_the_other_side_dies()

    def test_the_other_side_leaves(self):
        self.env["UNISONO_TCP_PATIENCE"] = "86400"
        for chan in ("shm", "tcp"):
            self.env["UNISONO_CHAN"] = chan
            for n, way, status in (
                (0, "vanish", -signal.SIGKILL),
                (3, "vanish", -signal.SIGKILL),
                (0, "quit", 0),
                (3, "quit", 0),
            ):
                forsaken = self.start(self.job(n), "forsaken")
                port = forsaken.stdout.readline().strip()
                self.assertEqual(self.start(self.job(0), way, port).wait(LIMIT), status)
                self.ends_well(forsaken)

    def test_cancel(self):
        self.ends_well(self.start(self.job(0), "cancel"))
        self.ends_well(self.start(self.job(3), "cancel"))


if __name__ == "__main__":
    unittest.main()
