# SPDX-License-Identifier: BSD-3-Clause
"""Host entries: names and addresses of this machine are this machine, two names of one machine are one host, slots are
counted, and what is wrong with a list of hosts is told before anything starts."""

import os
import shutil
import socket
import subprocess
import tempfile
import unittest

from harness import LIMIT, MPIEXEC, Case

FORBIDDEN = ["--launch-agent", "/no/such/ssh"]  # resolves names as ssh does, and fails if it is ever called
ME = os.uname().nodename


def own_addresses():
    """Of all interfaces that are up, by the command ip."""
    if not shutil.which("ip"):
        return []
    text = subprocess.run(["ip", "-o", "addr", "show", "up"], capture_output=True, text=True, check=True).stdout
    found = []
    for words in map(str.split, text.splitlines()):
        address = words[3].split("/")[0]
        found.append(f"{address}%{words[1]}" if address.startswith("fe80:") else address)
    return found


class Names(Case):
    def hosts(self, *args, hostfile=None, wrap=()):
        """The host of each rank."""
        with tempfile.NamedTemporaryFile("w") as f:
            f.write(hostfile or "")
            f.flush()
            extra = ["--hostfile", f.name] if hostfile else []
            r = subprocess.run(
                [*wrap, MPIEXEC, "--dry-run", *extra, *map(str, args), "true"],
                env=self.env,
                timeout=LIMIT,
                capture_output=True,
                text=True,
            )
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        return [line.split(" on ")[1].split(",")[0] for line in r.stdout.splitlines()]

    def test_names_of_this_machine_start_no_agent(self):
        names = ["localhost", ME, ME.split(".")[0], ME.upper(), "127.0.0.1", "127.3.2.1", "::1", "0.0.0.0"]
        for name in [*names, *own_addresses()]:
            where = f"[{name}]:2" if ":" in name else f"{name}:2"
            r = self.run_mpi(*FORBIDDEN, "-host", where, "sh", "-c", "echo $UNISONO_LOCAL_RANK")
            self.assertEqual((r.returncode, r.err, sorted(r.out.split())), (0, "", ["0", "1"]), name)

    def test_they_are_one_host_with_all_slots(self):
        names = ["localhost", ME, "127.0.0.1:2", "[::1]", *(f"[{a}]" for a in own_addresses())]
        self.assertEqual(self.hosts("-host", ",".join(names)), ["localhost"] * (len(names) + 1))
        r = self.run_mpi(*FORBIDDEN, "-host", f"{ME},localhost:3", "sh", "-c", "echo $UNISONO_LOCAL_SIZE")
        self.assertEqual((r.returncode, r.err, r.out.split()), (0, "", ["4"] * 4))

    def test_host_files_too(self):
        self.assertEqual(self.hosts(hostfile=f"localhost slots=2\n{ME}\n127.0.0.1:3\n"), ["localhost"] * 6)

    def test_programs_on_two_names_of_one_host(self):
        say = ["sh", "-c", "echo $UNISONO_RANK $UNISONO_LOCAL_SIZE"]
        r = self.run_mpi(*FORBIDDEN, "-host", "localhost", "-n", 1, *say, ":", "-host", "127.0.0.1", "-n", 2, *say)
        self.assertEqual((r.returncode, sorted(r.out.splitlines())), (0, ["0 3", "1 3", "2 3"]))

    def test_the_same_name_twice(self):
        self.assertEqual(self.hosts("-host", "a,b,a:2,a"), ["a"] * 4 + ["b"])
        self.assertEqual(self.hosts(hostfile="a slots=2\nb\na slots=1\n"), ["a"] * 3 + ["b"])

    def test_addresses_of_other_machines(self):
        self.assertEqual(
            self.hosts("-host", "203.0.113.7,203.0.113.8,::ffff:203.0.113.7"), ["203.0.113.7"] * 2 + ["203.0.113.8"]
        )

    def test_names_of_other_agents_are_their_own(self):
        with tempfile.TemporaryDirectory() as d:
            hide = self.with_hosts(d, "203.0.113.7 elsewhere elsewhere.example\n")
            other = ["--launch-agent", "podman exec"]
            self.assertEqual(
                self.hosts(*other, "-host", "elsewhere,elsewhere.example", wrap=hide),
                ["elsewhere", "elsewhere.example"],
            )

    def with_hosts(self, d, lines):
        """A command line that runs the rest with these host names known."""
        path = os.path.join(d, "hosts")
        with open(path, "w") as f:
            f.write(lines)
        words = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', path]
        if not shutil.which("unshare") or subprocess.run([*words, "true"], capture_output=True).returncode != 0:
            self.skipTest("needs a mount namespace (root)")
        return words

    def test_resolved_names(self):
        address = next((a for a in own_addresses() if not a.startswith(("127.", "::1", "fe80:"))), "127.0.1.1")
        with tempfile.TemporaryDirectory() as d:
            hide = self.with_hosts(
                d,
                f"127.0.0.1 localhost\n{address} whole.name.example short\n"
                "203.0.113.7 elsewhere elsewhere.example\n2001:db8::7 elsewhere\n",
            )
            self.assertEqual(
                self.hosts("-host", "short,elsewhere,whole.name.example:2,elsewhere.example", wrap=hide),
                ["short"] * 3 + ["elsewhere"] * 2,
            )

    def test_a_name_that_nobody_knows(self):
        name = "no-such-host.invalid"
        with self.assertRaises(OSError):
            socket.getaddrinfo(name, None)
        agent = ["--launch-agent", "/no/such/ssh"]
        r = self.run_mpi(*agent, "-host", name, "true")
        self.assertEqual(r.returncode, 1)
        self.assertIn(f"mpiexec: host {name}: its daemon could not be started", r.err)
        self.assertIn("the name is not known here: ", r.err)
        self.assert_all_gone()


class Slots(Case):
    def refused(self, *args, parts):
        r = self.run_mpi(*args)
        self.assertEqual((r.returncode, r.out), (2, ""), r.err)
        self.assert_one_line(r.err, *parts)

    def test_no_more_ranks_than_slots(self):
        self.refused(
            "--nooversubscribe",
            "-host",
            "localhost:2",
            "-n",
            3,
            "true",
            parts=["3 ranks", "2 slots", "--oversubscribe"],
        )
        self.refused("--nooversubscribe", "-n", 4096, "true", parts=["4096 ranks", "slot"])
        self.refused("--nooversubscribe", "-host", "localhost", "-ppn", 2, "-n", 3, "true", parts=["2 slots"])
        for options in (
            ["-host", "localhost:3"],
            ["-host", "localhost,127.0.0.1:2"],
            ["-host", "localhost", "-ppn", 3],
        ):
            r = self.run_mpi("--nooversubscribe", *options, "-n", 3, "echo", "x")
            self.assertEqual((r.returncode, r.out, r.err), (0, "x\n" * 3, ""))

    def test_the_last_word_counts(self):
        r = self.run_mpi("--nooversubscribe", "--oversubscribe", "-host", "localhost", "-n", 3, "echo", "x")
        self.assertEqual((r.returncode, r.out), (0, "x\n" * 3))

    def test_a_greatest_number_of_slots(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("localhost slots=1 max_slots=2\n")
            f.flush()
            r = self.run_mpi("--hostfile", f.name, "-n", 2, "echo", "x")
            self.assertEqual((r.returncode, r.out), (0, "x\n" * 2))
            self.refused("--hostfile", f.name, "-n", 3, "true", parts=["3 ranks", "max_slots"])

    def test_a_greatest_number_sends_ranks_elsewhere(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("a slots=1 max-slots=2\nb slots=1\n")
            f.flush()
            r = self.run_mpi("--dry-run", "--hostfile", f.name, "-n", 6, "true")
            hosts = [line.split(" on ")[1].split(",")[0] for line in r.out.splitlines()]
            self.assertEqual((hosts.count("a"), hosts.count("b")), (2, 4))


if __name__ == "__main__":
    unittest.main()
