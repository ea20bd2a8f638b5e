# SPDX-License-Identifier: BSD-3-Clause
"""Names published by one job and looked up by another: mpiexec, programs by themselves, publishers that die."""

import os
import signal
import subprocess
import tempfile
import unittest

from harness import LIMIT, MPIEXEC, WithProgram


class Services(WithProgram):
    source = "service.c"

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.names = os.path.join(folder.name, "unisono-names")
        self.env["XDG_RUNTIME_DIR"] = folder.name

    def start(self, launcher, *words):
        """A process that has published, or has said why it cannot, and waits for the end of its input."""
        p = subprocess.Popen(
            [*launcher, self.program, *words],
            env=self.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.stdin.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p, p.stdout.readline().strip()

    def run_program(self, launcher, *words):
        done = subprocess.run(
            [*launcher, self.program, *words], env=self.env, capture_output=True, text=True, timeout=LIMIT, check=True
        )
        return done.stdout.strip()

    def both(self):
        """Under mpiexec, and by itself."""
        return [[MPIEXEC, "-n", "1"], []]

    def test_jobs_find_each_other(self):
        for publisher in self.both():
            p, said = self.start(publisher, "publish", "ocean model", "port 7")
            self.assertEqual(said, "done")
            for other in self.both():
                self.assertEqual(self.run_program(other, "lookup", "ocean model"), "done port 7")
                self.assertEqual(self.run_program(other, "forget", "ocean model", "p"), "MPI_ERR_SERVICE")
            self.assertEqual(len(os.listdir(self.names)), 1)
            rest, _ = p.communicate("")
            self.assertEqual((rest.strip(), p.returncode), ("done", 0))
            self.assertEqual(os.listdir(self.names), [])
            self.assertEqual(self.run_program([], "lookup", "ocean model"), "MPI_ERR_NAME")

    def test_what_is_not_unpublished_ends_with_the_process(self):
        for publisher in self.both():
            self.assertEqual(self.run_program(publisher, "forget", "left", "behind"), "done")
            self.assertEqual(os.listdir(self.names), [])

    def test_a_publisher_that_is_killed_is_not_found(self):
        for publisher in self.both():
            p, said = self.start(publisher, "publish", "ghost", "port")
            self.assertEqual(said, "done")
            p.send_signal(signal.SIGKILL)
            p.wait()
            self.assertEqual(len(os.listdir(self.names)), 1)
            self.assertEqual(self.run_program([], "lookup", "ghost"), "MPI_ERR_NAME")
            self.assertEqual(self.run_program([], "forget", "ghost", "again"), "done")
            self.assertEqual(os.listdir(self.names), [])

    def test_the_rank_that_published_has_ended_while_its_job_runs(self):
        script = f"{self.program} forget early port && exec sleep 1000"
        p, said = self.start([MPIEXEC, "-n", "1", "sh", "-c", script, "sh"])
        self.assertEqual(said, "done")
        self.assertEqual(self.run_program([], "lookup", "early"), "done port")
        p.send_signal(signal.SIGTERM)
        p.wait()
        self.assertEqual(os.listdir(self.names), [])

    def test_folder_of_somebody_else(self):
        """Names that others could read or plant are not used."""
        os.mkdir(self.names, 0o755)
        os.chmod(self.names, 0o755)
        p, said = self.start(self.both()[0], "publish", "open", "port")
        self.assertEqual(said, "done")
        self.assertEqual(self.run_program([], "lookup", "open"), "MPI_ERR_NAME")
        self.assertEqual(os.listdir(self.names), [])
        p.communicate("")

    def test_folder_that_hosts_share(self):
        """Jobs that have no other folder in common, as on different hosts."""
        shared = self.names + "-shared"
        self.env["UNISONO_NAME_FOLDER"] = shared
        for publisher in self.both():
            p, said = self.start(publisher, "publish", "ocean model", "port 7")
            self.assertEqual(said, "done")
            self.env["XDG_RUNTIME_DIR"] = "/nowhere"
            for other in self.both():
                self.assertEqual(self.run_program(other, "lookup", "ocean model"), "done port 7")
                self.assertEqual(self.run_program(other, "forget", "ocean model", "p"), "MPI_ERR_SERVICE")
            p.communicate("")
            self.assertEqual(os.listdir(shared), [])
        os.chmod(shared, 0o750)
        for launcher in self.both():
            self.assertEqual(self.run_program(launcher, "forget", "ocean model", "p"), "another error")
            self.assertEqual(self.run_program(launcher, "lookup", "ocean model"), "MPI_ERR_NAME")

    def test_servers_of_others(self):
        """Whoever asks for a server of names by an option of another launcher is told what to use."""
        for option in ("-nameserver", "--ompi-server"):
            r = self.run_mpi(option, "somewhere", "true")
            self.assertEqual(r.returncode, 2)
            self.assertIn("name_folder", r.err)


if __name__ == "__main__":
    unittest.main()
