# SPDX-License-Identifier: BSD-3-Clause
"""The command line: every mistake is one line and status 2; programs, environment and directories arrive as asked."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from harness import Case


class Mistakes(Case):
    def refused(self, *args, parts=()):
        r = self.run_mpi(*args)
        self.assertEqual(r.returncode, 2, r.err)
        self.assertEqual(r.out, "")
        self.assert_one_line(r.err, *parts)

    def test_unknown_option_names_the_nearest(self):
        self.refused("--hostfil", "x", "true", parts=["--hostfil", "did you mean --hostfile?"])
        self.refused("-tag-ouput", "true", parts=["did you mean --tag-output?"])

    def test_unknown_option_with_nothing_near(self):
        self.refused("--xyzzyplugh", "true", parts=["--xyzzyplugh", "--help"])

    def test_options_of_others_are_told_apart(self):
        self.refused("--membind", "1", "true", parts=["--membind is not an option of this mpiexec", "numactl"])

    def test_ranks(self):
        for n in ("0", "-3", "two", "", "99999999999999999999"):
            self.refused("-n", n, "true", parts=["-n"])
        self.refused("-n", parts=["-n", "missing"])

    def test_no_program(self):
        self.refused(parts=["no program"])
        self.refused("-n", "2", parts=["no program"])
        self.refused("-n", "1", "true", ":", parts=["no program"])
        self.refused("-n", "1", "true", ":", "-n", "1", parts=["no program"])

    def test_program_that_cannot_run(self):
        with tempfile.TemporaryDirectory() as d:
            plain = os.path.join(d, "plain")
            open(plain, "w").close()
            self.refused("-n", "2", plain, parts=["not executable"])
            self.refused("-n", "2", d, parts=["directory"])
            self.refused("-n", "2", os.path.join(d, "none"), parts=["No such file"])
            self.refused("-n", "2", "no-such-program-anywhere", parts=["PATH"])
            self.refused("-n", "1", "true", ":", "-n", "1", os.path.join(d, "none"), parts=["No such file"])

    def test_program_that_the_kernel_refuses(self):
        with tempfile.TemporaryDirectory() as d:
            bad = os.path.join(d, "bad")
            with open(bad, "w") as f:
                f.write("#!/no/such/interpreter\n")
            os.chmod(bad, 0o755)
            self.refused("-n", "3", bad, parts=["cannot execute it", "No such file"])

    def test_parameters(self):
        self.refused(
            "--set", "bind_too=core", "true", parts=["--set: no parameter is called bind_too; did you mean bind_to?"]
        )
        self.refused("--set", "bind_to=cor", "true", parts=["bind_to", "core"])
        self.refused("--set", "nothing", "true", parts=["NAME=VALUE"])

    def test_other_values(self):
        self.refused("--bind-to", "cor", "true", parts=["--bind-to", "core"])
        self.refused("--map-by", "none", "true", parts=["--map-by"])
        self.refused("--stdin", "5", "-n", "2", "true", parts=["--stdin 5", "0 to 1"])
        self.refused("-wdir", "/no/such/dir", "true", parts=["/no/such/dir"])
        self.refused("-x", "LAUNCH_TEST_UNSET", "true", parts=["LAUNCH_TEST_UNSET"])
        self.refused("--hostfile", "/no/such/file", "true", parts=["/no/such/file"])
        self.refused("-host", "a:0", "true", parts=["a:0"])
        self.refused("--timeout", "0", "true", parts=["--timeout"])
        self.refused("--tag-output=yes", "true", parts=["takes no value"])

    def test_bad_hostfile_names_the_line(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("# hosts\nlocalhost slots=2\nlocalhost slot=2\n")
            f.flush()
            self.refused("--hostfile", f.name, "true", parts=[f"{f.name}:3"])

    def test_no_slots_in_a_hostfile(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("localhost\nother slots=0\n")
            f.flush()
            self.refused("--hostfile", f.name, "true", parts=[f"{f.name}:2", '"slots=0"', "leave the line out"])


class Programs(Case):
    def ranks(self, *args, **kw):
        r = self.run_mpi(*args, **kw)
        self.assertEqual((r.returncode, r.err), (0, ""))
        return sorted(r.out.splitlines())

    def test_many_programs_are_one_job(self):
        say = "echo $UNISONO_RANK $UNISONO_SIZE $0"
        got = self.ranks("-n", 1, "sh", "-c", say, "a", ":", "-n", 2, "sh", "-c", say, "b")
        self.assertEqual(got, ["0 3 a", "1 3 b", "2 3 b"])

    def test_names_that_people_know(self):
        for opt in ("-n", "-np", "-c", "--np", "--n"):
            self.assertEqual(self.ranks(opt, 2, "echo", "x"), ["x", "x"])
        self.assertEqual(self.ranks("--allow-run-as-root", "--oversubscribe", "-n", 1, "echo", "x"), ["x"])
        self.assertEqual(self.ranks("--np=3", "echo", "x"), ["x"] * 3)

    def test_program_arguments_are_left_alone(self):
        self.assertEqual(self.ranks("-n", 1, "echo", "-n", "2", "--help"), ["2 --help"])
        self.assertEqual(self.ranks("-n", 1, "--", "echo", "x"), ["x"])

    def test_environment(self):
        self.assertEqual(
            self.ranks(
                "-n",
                1,
                "-x",
                "A=1",
                "-genv",
                "B",
                "2",
                "-env",
                "C",
                "3",
                "--genv=D=4",
                "sh",
                "-c",
                "echo $A$B$C$D$LAUNCH_TEST_E",
                env={"LAUNCH_TEST_E": "5"},
            ),
            ["12345"],
        )
        self.assertEqual(
            self.ranks(
                "-n", 1, "-env", "C", "3", "sh", "-c", "echo 0${C-none}", ":", "-n", 1, "sh", "-c", "echo 1${C-none}"
            ),
            ["03", "1none"],
        )
        self.assertEqual(
            self.ranks("-genvnone", "-x", "PATH", "-n", 1, "sh", "-c", "echo ${LAUNCH_TEST_MARK-none}"), ["none"]
        )

    FOREIGN = (
        "$PMI_RANK/$PMI_SIZE $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $MPI_LOCALRANKID/$MPI_LOCALNRANKS "
        "$OMPI_COMM_WORLD_LOCAL_RANK/$OMPI_COMM_WORLD_LOCAL_SIZE $OMPI_UNIVERSE_SIZE $OMPI_COMM_WORLD_NODE_RANK"
    )

    def test_variables_of_other_launchers(self):
        self.assertEqual(
            self.ranks("-usize", 5, "-n", 2, "sh", "-c", "echo " + self.FOREIGN),
            ["0/2 0/2 0/2 0/2 5 0", "1/2 1/2 1/2 1/2 5 1"],
        )
        self.assertEqual(
            self.ranks("--set", "rank_variables=own", "-n", 1, "sh", "-c", "echo ${PMI_RANK-none} $UNISONO_RANK"),
            ["none 0"],
        )

    def test_ranks_of_another_launcher_inside(self):
        """What started mpiexec is not what started its ranks; nor is an outer job of ours."""
        outer = {
            "PMI_FD": "9",
            "PMI_RANK": "7",
            "PMIX_RANK": "7",
            "PMIX_SERVER_URI41": "x",
            "OMPI_COMM_WORLD_RANK": "7",
        }
        say = "echo ${PMI_FD-none} ${PMIX_RANK-none} ${PMIX_SERVER_URI41-none} $PMI_RANK $OMPI_COMM_WORLD_RANK"
        self.assertEqual(self.ranks("-n", 1, "sh", "-c", say, env=outer), ["none none none 0 0"])
        mpiexec = os.path.abspath(os.environ["MPIEXEC"])
        got = self.ranks("-n", 2, mpiexec, "-n", 1, "sh", "-c", "echo $PMI_RANK/$PMI_SIZE")
        self.assertEqual(got, ["0/1", "0/1"])
        own = ["--set", "rank_variables=own"]
        got = self.ranks("-n", 2, mpiexec, *own, "-n", 1, "sh", "-c", "echo ${PMI_RANK-none}")
        self.assertEqual(got, ["none", "none"])

    def test_parameter_reaches_ranks(self):
        self.assertEqual(
            self.ranks("--set", "end-grace-ms=700", "-n", 1, "sh", "-c", "echo $UNISONO_END_GRACE_MS"), ["700"]
        )

    def test_working_directory(self):
        with tempfile.TemporaryDirectory() as d:
            d = os.path.realpath(d)
            with open(os.path.join(d, "prog"), "w") as f:
                f.write("pwd -P\n")  # no interpreter line: the shell runs it
            os.chmod(os.path.join(d, "prog"), 0o755)
            self.assertEqual(self.ranks("-n", 2, "-wdir", d, "./prog"), [d, d])
            self.assertEqual(self.ranks("-n", 1, "prog", cwd=d), [d])

    def test_configuration_file(self):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("# two programs\n-n 1 echo 'a  b'\n\n-n 2 -env X \"y z\" sh -c 'echo $X'\n")
            f.flush()
            self.assertEqual(self.ranks("-configfile", f.name), ["a  b", "y z", "y z"])

    def test_default_number_of_ranks(self):
        self.assertEqual(
            len(self.ranks("echo", "x")),
            len(
                {
                    open(f"/sys/devices/system/cpu/cpu{c}/topology/thread_siblings_list").read()
                    for c in os.sched_getaffinity(0)
                }
            ),
        )

    def test_dry_run_starts_nothing(self):
        with tempfile.TemporaryDirectory() as d:
            r = self.run_mpi("--dry-run", "-n", 2, "touch", os.path.join(d, "x"))
            self.assertEqual(r.returncode, 0)
            self.assertEqual(r.out.count("\n"), 2)
            self.assertEqual(os.listdir(d), [])

    def test_help_and_version(self):
        r = self.run_mpi("--help")
        self.assertEqual((r.returncode, r.err), (0, ""))
        for word in ("--bind-to", "--keep-waiting", "Where it runs", "-n, -np, -c N"):
            self.assertIn(word, r.out)
        self.assertLess(max(map(len, r.out.splitlines())), 121)
        self.assertIn("MPI 5.0", self.run_mpi("-V").out)

    def test_manual_page_names_what_help_names(self):
        top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(top, "docs/man/mpiexec.1")) as f:
            manual = f.read().replace("\\-", "-")
        options = re.findall(r"^  (-\S+?)[,= \[]", self.run_mpi("--help").out + " ", re.MULTILINE)
        self.assertGreater(len(options), 40)
        for option in options:
            if option != "mpiexec":
                name = option.lstrip("-")
                self.assertTrue(re.search(rf"-{re.escape(name)}\b", manual), option)

    def test_many_ranks(self):
        got = self.ranks("-n", 128, "sh", "-c", "echo $UNISONO_RANK")
        self.assertEqual(sorted(map(int, got)), list(range(128)))

    def test_job_inside_a_job(self):
        mpiexec = os.path.abspath(os.environ["MPIEXEC"])
        got = self.ranks("-n", 2, mpiexec, "-n", 2, "sh", "-c", "echo $UNISONO_RANK/$UNISONO_SIZE")
        self.assertEqual(got, ["0/2", "0/2", "1/2", "1/2"])


class Binding(Case):
    SHOW = "import os; print(sorted(os.sched_getaffinity(0)))"

    def test_bound_to_cores(self):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) < 2:
            self.skipTest("needs two processors")
        r = self.run_mpi("-n", 2, "--bind-to", "core", "--report-bindings", "python3", "-c", self.SHOW)
        self.assertEqual(len(set(r.out.splitlines())), 2, r.out)
        self.assertEqual(r.err.count("is bound to"), 2, r.err)

    def test_units_of_an_imagined_machine(self):
        """Two sockets, two NUMA nodes each, two cores each with two hardware threads (needs hwloc)."""
        for words, wanted in (
            (["--bind-to", "socket", "--map-by", "socket"], ["0-7", "8-15", "0-7", "8-15"]),
            (["--bind-to", "numa", "--map-by", "numa"], ["0-3", "4-7", "8-11", "12-15"]),
            (["--bind-to", "core", "--map-by", "socket"], ["0-1", "8-9", "2-3", "10-11"]),
            (["--bind-to", "hwthread"], ["0", "1", "2", "3"]),
            ([], ["0-3", "4-7", "8-11", "12-15"]),
        ):
            machine = "hw_synthetic=pack:2 numa:2 core:2 pu:2"
            r = self.run_mpi("--set", machine, "-n", 4, "--dry-run", *words, "true")
            if "without hwloc" in r.err:
                self.skipTest("hwloc is not installed")
            got = [line.split("processor", 1)[1].lstrip("s").split()[0] for line in r.out.splitlines()]
            self.assertEqual(got, wanted, words)

    def test_not_bound(self):
        everything = str(sorted(os.sched_getaffinity(0)))
        for args in (["--bind-to", "none", "-n", 2], ["-n", 1], ["-n", len(os.sched_getaffinity(0)) + 1]):
            r = self.run_mpi(*args, "python3", "-c", self.SHOW)
            self.assertEqual(set(r.out.splitlines()), {everything}, args)

    def test_second_job_is_left_to_the_kernel(self):
        first = self.start_mpi("-n", 2, "sh", "-c", "echo up; read never || true; exec sleep 600")
        first.stdout.readline()
        r = self.run_mpi("-n", 2, "python3", "-c", self.SHOW)
        self.assertEqual(set(r.out.splitlines()), {str(sorted(os.sched_getaffinity(0)))})

    def test_a_stranger_cannot_hold_the_name(self):
        """Another user's process has taken the name that this user's jobs agree by: ranks are bound all the same."""
        if os.getuid() != 0 or len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs to become another user, and two processors")
        hold = (
            "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); "
            "s.bind('\\0unisono-bound-0-0'); s.listen(); print('held', flush=True); sys.stdin.read()"
        )
        words = [sys.executable, "-c", hold]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stranger:
            if stranger.stdout.readline() != "held\n":
                self.skipTest("another job of root's is running, and holds the name")
            r = self.run_mpi("-n", 2, "python3", "-c", self.SHOW)
            stranger.stdin.close()
        self.assertEqual(len(set(r.out.splitlines())), 2, r.out)


if __name__ == "__main__":
    unittest.main()
