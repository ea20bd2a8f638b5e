# SPDX-License-Identifier: BSD-3-Clause
"""Options that scripts for MPICH, Intel MPI and Open MPI use: each has a meaning, is named in a warning, or refused."""

import os
import re
import tempfile
import unittest

from harness import Case

# Two sockets, two NUMA nodes each, two cores each with two hardware threads.
MACHINE = ["--set", "hw_synthetic=pack:2 numa:2 core:2 pu:2"]


class Layout(Case):
    def where(self, *args, program=("true",)):
        """(host, processors) of each rank."""
        r = self.run_mpi(*MACHINE, "--dry-run", *args, *program)
        if "without hwloc" in r.err:
            self.skipTest("hwloc is not installed")
        self.assertEqual((r.returncode, r.err), (0, ""))
        lines = [re.match(r"rank \d+ on ([^,]*), (?:processors? (\S+)|not bound)", line) for line in r.out.splitlines()]
        return [(m[1], m[2]) for m in lines]

    def processors(self, *args):
        return [p for _, p in self.where(*args)]

    def test_units_and_counts(self):
        for words, wanted in (
            (["-bind-to", "core:1"], ["0-1", "2-3", "4-5", "6-7"]),
            (["-bind-to", "core:2"], ["0-3", "4-7", "8-11", "12-15"]),
            (["-bind-to", "hwthread:2"], ["0-1", "2-3", "4-5", "6-7"]),
            (["-bind-to", "socket:1", "-map-by", "socket"], ["0-7", "8-15", "0-7", "8-15"]),
            (["-bind-to", "numa:2"], ["0-7", "8-15", "0-7", "8-15"]),
            (["-bind-to", "rr"], ["0-1", "2-3", "4-5", "6-7"]),
            (["-bind-to", "core:overload-allowed"], ["0-1", "2-3", "4-5", "6-7"]),
            (["--map-by", "node:PE=2"], ["0-3", "4-7", "8-11", "12-15"]),
            (["--map-by", "slot:pe=3"], ["0-5", "6-11", "0-1,12-15", "2-7"]),
            (["--map-by", "socket:PE=2"], ["0-3", "8-11", "4-7", "12-15"]),
            (["--map-by", "core:PE=2", "--bind-to", "core"], ["0-3", "4-7", "8-11", "12-15"]),
            (["--cpus-per-proc", 2], ["0-3", "4-7", "8-11", "12-15"]),
            (["--map-by", "ppr:2:socket", "--bind-to", "core"], ["0-1", "2-3", "8-9", "10-11"]),
            (["--map-by", "ppr:1:numa"], ["0-3", "4-7", "8-11", "12-15"]),
            (["--map-by", "ppr:2:socket:PE=2"], ["0-3", "4-7", "8-11", "12-15"]),
            (["--cpu-set", "8-15", "--bind-to", "core"], ["8-9", "10-11", "12-13", "14-15"]),
            (["--cpu-set", "3,9", "--bind-to", "none"], ["3,9"] * 4),
            (["--cpu-set", "3,9,1", "--bind-to", "cpu-list:ordered"], ["3", "9", "1", "3"]),
            (["-bind-to", "user:7,2"], ["7", "2", "7", "2"]),
            (["--use-hwthread-cpus", "--bind-to", "hwthread"], ["0", "1", "2", "3"]),
            (["--use-hwthread-cpus", "--map-by", "slot:PE=3"], ["0-2", "3-5", "6-8", "9-11"]),
        ):
            self.assertEqual(self.processors("-n", 4, *words), wanted, words)

    def test_number_of_ranks(self):
        for words, wanted in (
            (["--map-by", "ppr:2:node"], 2),
            (["--map-by", "ppr:2:socket"], 4),
            (["--npersocket", 3], 6),
            (["--pernode"], 1),
            (["-n3"], 3),
            (["-np5"], 5),
            (["-ppn2"], 2),
            (["--use-hwthread-cpus"], 16),
            ([], 8),
        ):
            self.assertEqual(len(self.where(*words)), wanted, words)

    def test_hosts_and_numbers(self):
        hosts = ["-host", "a:2,b:2", "-n", 4]
        for words, wanted in (
            ([], "aabb"),
            (["--map-by", "node"], "abab"),
            (["-rr"], "abab"),
            (["--rank-by", "node"], "abab"),
            (["--map-by", "node", "--rank-by", "slot"], "aabb"),
            (["--map-by", "ppr:1:node"], "abab"),
            (["--map-by", ":OVERSUBSCRIBE"], "aabb"),
        ):
            names = "".join(h for h, _ in self.where(*hosts, *words))
            if "ppr" in str(words):
                names = "".join(sorted(names))
                wanted = "aabb"
            self.assertEqual(names, wanted, words)
        self.assertEqual([h for h, _ in self.where("-host", "localhost:2,a:2", "--nolocal")], ["a", "a"])

    def test_refused(self):
        usable = min(os.sched_getaffinity(0))
        for words, part in (
            (["--bind-to", "core:0"], "from 1 to"),
            (["--bind-to", "core:x"], '"x" is not known'),
            (["--map-by", "ppr:2"], "ppr:N:UNIT"),
            (["--map-by", "ppr:0:node"], "from 1 to"),
            (["--map-by", "slot:PE"], '"PE" is not known'),
            (["--rank-by", "core"], "node or slot"),
            (["--cpu-set", "3-1"], "list of processors"),
            (["--cpu-set", "a"], "list of processors"),
            (["--bind-to", "cpu-list"], "needs --cpu-set"),
            (["--map-by", "node:NOOVERSUBSCRIBE", "-host", "localhost", "-n", 2], "2 ranks are more than 1 slot"),
            (["--nolocal"], "no other host"),
            (["--cpu-set", "1023"], "none of the processors 1023 may be used here"),
            (["-bind-to", f"user:{usable},1023"], f"not all of the processors {usable},1023"),
            (["-bind-to", "core:4000"], "4000 units are asked for each rank"),
            (["--map-by", "slot:PE=4000"], "4000 units are asked for each rank"),
            (["-host", "a,,b"], 'a host name is missing in "a,,b"'),
            (["-n2x"], "unknown option"),
        ):
            r = self.run_mpi(*words, "true")
            self.assertEqual((r.returncode, r.out), (2, ""), words)
            self.assert_one_line(r.err, part)

    def test_ranks_are_bound_so(self):
        cpus = sorted(os.sched_getaffinity(0))
        show = ["python3", "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
        r = self.run_mpi("-n", 2, "--cpu-set", cpus[-1], *show)
        self.assertEqual((r.returncode, r.out), (0, f"[{cpus[-1]}]\n" * 2), r.err)
        agent = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent", "-host", "a"]
        r = self.run_mpi(*agent, "--cpu-set", cpus[0], "--bind-to", "none", *show)
        self.assertEqual((r.returncode, r.out), (0, f"[{cpus[0]}]\n"), r.err)

    def test_map_is_told_and_the_job_runs(self):
        for words in (["--display-map"], ["--display", "map"], ["-print-rank-map"], ["--map-by", "slot:DISPLAY"]):
            r = self.run_mpi(*words, "-n", 2, "echo", "x")
            self.assertEqual((r.returncode, r.out), (0, "x\nx\n"))
            self.assertRegex(r.err, rf"^mpiexec: rank 0 on {os.uname().nodename}, .*\nmpiexec: rank 1 on .*: echo x\n$")


class Files(Case):
    RANK = ("sh", "-c", "echo out $UNISONO_RANK; echo err $UNISONO_RANK >&2")

    def written(self, d):
        found = {}
        for folder, _, names in os.walk(d):
            for name in names:
                path = os.path.join(folder, name)
                with open(path) as f:
                    found[os.path.relpath(path, d)] = f.read()
        return found

    def run_in(self, *args):
        with tempfile.TemporaryDirectory() as d:
            r = self.run_mpi(*args, *self.RANK, cwd=d)
            self.assertEqual(r.returncode, 0, r.err)
            return r, self.written(d)

    def test_patterns(self):
        host = os.uname().nodename
        r, files = self.run_in("-n", 2, "-outfile-pattern", "logs/%h/out.%r", "-errfile-pattern", "e%p%%%l")
        self.assertEqual((r.out, r.err), ("", ""))
        wanted = {f"logs/{host}/out.{i}": f"out {i}\n" for i in range(2)}
        self.assertEqual(files, {**wanted, "e0%0": "err 0\n", "e0%1": "err 1\n"})

    def test_one_file_of_all(self):
        r, files = self.run_in("-n", 3, "-outfile-pattern", "all")
        self.assertEqual(sorted(files["all"].splitlines()), ["out 0", "out 1", "out 2"])
        self.assertEqual(sorted(r.err.splitlines()), ["err 0", "err 1", "err 2"])

    def test_folder(self):
        names = {f"o/1/rank.{i:02}/std{s}": f"{s} {i}\n" for i in range(11) for s in ("out", "err")}
        r, files = self.run_in("-n", 11, "--output-filename", "o")
        self.assertEqual(files, names)
        self.assertEqual(sorted(r.out.splitlines()), sorted(f"out {i}" for i in range(11)))
        for words in (["--output-filename", "o:nocopy"], ["--output", "dir=o,nocopy"]):
            r, files = self.run_in("-n", 11, *words)
            self.assertEqual((files, r.out, r.err), (names, "", ""))

    def test_words(self):
        r, files = self.run_in("-n", 1, "--output", "file=x/y")
        self.assertEqual((files, r.out), ({"x/y.0.out": "out 0\n", "x/y.0.err": "err 0\n"}, ""))
        r, _ = self.run_in("-n", 1, "--output", "tag,merge")
        self.assertEqual((sorted(r.out.splitlines()), r.err), (["[0 err] err 0", "[0] out 0"], ""))
        r, _ = self.run_in("-n", 1, "--merge-stderr-to-stdout")
        self.assertEqual((sorted(r.out.splitlines()), r.err), (["err 0", "out 0"], ""))
        r, _ = self.run_in("-n", 1, "-prepend-pattern", "<%r of %h> ")
        self.assertEqual(r.out, f"<0 of {os.uname().nodename}> out 0\n")

    def test_what_cannot_be_written_is_told_before_the_start(self):
        with tempfile.TemporaryDirectory() as d:
            for words, part in (
                (["-outfile-pattern", "/dev/null/x"], "/dev/null"),
                (["-outfile-pattern", d], d),
                (["-outfile-pattern", "%q"], "%q is not known"),
                (["--output", "json"], '"json" is not known'),
            ):
                r = self.run_mpi(*words, "-n", 2, "touch", os.path.join(d, "started"))
                self.assertEqual((r.returncode, r.out), (2, ""))
                self.assert_one_line(r.err, part)
            self.assertEqual(os.listdir(d), [])

    def test_full_disk(self):
        r = self.run_mpi("-outfile-pattern", "/dev/full", "-n", 2, "echo", "x")
        self.assertEqual(r.returncode, 1)
        self.assertIn("cannot write /dev/full: No space left", r.err)


class Foreign(Case):
    def test_settings_of_open_mpi(self):
        show = ["sh", "-c", "echo ${UNISONO_CHAN-any} ${UNISONO_TCP_INTERFACE-any}"]
        for words, wanted in (
            (["--mca", "btl", "self,vader,tcp"], "any any"),
            (["--mca", "btl", "tcp,self"], "tcp any"),
            (["--mca", "btl_tcp_if_include", "lo"], "any lo"),
            (["-iface", "lo"], "any lo"),
            (["--mca", "rmaps_base_oversubscribe", 1, "--mca", "plm_rsh_no_tree_spawn", 1], "any any"),
        ):
            r = self.run_mpi(*words, "-n", 1, *show)
            self.assertEqual((r.returncode, r.err, r.out), (0, "", wanted + "\n"), words)
        r = self.run_mpi("--mca", "rmaps_base_no_oversubscribe", 1, "-host", "localhost", "-n", 2, "true")
        self.assertEqual(r.returncode, 2, r.err)

    def test_initial_error_handler(self):
        show = ["sh", "-c", "echo $UNISONO_INITIAL_ERRHANDLER"]
        r = self.run_mpi("-initial-errhandler", "mpi_errors_abort", "-n", 1, *show)
        self.assertEqual((r.returncode, r.err, r.out), (0, "", "mpi_errors_abort\n"))
        r = self.run_mpi("-initial-errhandler", "mpi_errors_ignore", "-n", 1, *show)
        self.assertEqual((r.returncode, r.out), (2, ""))
        self.assert_one_line(r.err, "mpi_errors_ignore", "mpi_errors_are_fatal|mpi_errors_abort|mpi_errors_return")

    def test_what_has_no_meaning_is_named_once(self):
        words = ["--mca", "pml", "ob1", "--mca", "btl", "^openib", "--prefix", "/opt/mpi", "--enable-recovery"]
        r = self.run_mpi(*words, "-n", 2, "echo", "x")
        self.assertEqual((r.returncode, r.out), (0, "x\nx\n"))
        self.assert_one_line(r.err, "warning", "--mca pml ob1", "--mca btl ^openib", "--prefix /opt/mpi", "recovery")
        r = self.run_mpi("-q", *words, "-n", 2, "echo", "x")
        self.assertEqual((r.returncode, r.out, r.err), (0, "x\nx\n", ""))

    def test_what_is_refused_says_what_to_use(self):
        for word, part in (
            ("--rankfile", "--cpu-set"),
            ("-gdba", "--gdb"),
            ("--membind", "numactl"),
            ("--path", "PATH"),
        ):
            r = self.run_mpi(word, "x", "-n", 1, "true")
            self.assertEqual(r.returncode, 2)
            self.assert_one_line(r.err, word, part)

    def test_exit_codes(self):
        r = self.run_mpi("-print-all-exitcodes", "-n", 3, "sh", "-c", "exit 0")
        self.assertEqual((r.returncode, r.err), (0, "mpiexec: exit codes by rank: 0-2: 0\n"))
        r = self.run_mpi("-print-all-exitcodes", "-n", 1, "sh", "-c", "kill -9 $$")
        self.assertEqual(r.returncode, 137)
        self.assertTrue(r.err.startswith("mpiexec: exit codes by rank: 0: signal 9\n"), r.err)

    def test_variables_that_are_passed_on(self):
        show = ["/bin/sh", "-c", "echo ${A-no} ${B-no} ${C-no} ${UNISONO_END_GRACE_MS-no}"]
        env = {"A": "1", "B": "2"}
        for words, wanted in (
            (["-genvlist", "A"], "1 no 3 700"),
            (["-genvnone"], "no no 3 700"),
            (["-genvnone", "-genvall"], "1 2 3 700"),
        ):
            own = ["--set", "end_grace_ms=700", "-x", "C=3"]
            for line in ([*own, *words], [*words, *own]):
                r = self.run_mpi(*line, "-n", 1, *show, env=env)
                self.assertEqual((r.returncode, r.out), (0, wanted + "\n"), line)

    def test_folder_of_all_programs(self):
        r = self.run_mpi("-gwdir", "/", "-n", 1, "pwd", ":", "-wdir", "/dev", "-n", 1, "pwd")
        self.assertEqual(sorted(r.out.split()), ["/", "/dev"])


if __name__ == "__main__":
    unittest.main()
