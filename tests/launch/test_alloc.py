# SPDX-License-Identifier: BSD-3-Clause
"""mpiexec in the allocations of Slurm, LSF, PBS and Grid Engine: played by their variables and files, and by commands
of their names that note how they were called and stay on this machine.
"""

import os
import re
import tempfile
from collections import Counter

from harness import FAKE, Case

# What each command takes in front of the host.
COMMANDS = {
    "srun": 'while [ $# -gt 0 ] && [ "$1" != --nodelist ]; do shift; done; shift',
    "blaunch": ":",
    "qrsh": '[ "$1" = -inherit ] || exit 9; shift',
    "ssh": 'while [ "$1" = -o ]; do shift 2; done',
}
SHOW = "echo $UNISONO_RANK $UNISONO_LOCAL_RANK/$UNISONO_LOCAL_SIZE"
SLURM = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "nx[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)"}

# A heterogeneous job; the variables without a suffix are its first part's.
PARTS = SLURM | {
    "SLURM_HET_SIZE": "2",
    "SLURM_JOB_ID_HET_GROUP_0": "7",
    "SLURM_JOB_NODELIST_HET_GROUP_0": "nx[1-2]",
    "SLURM_TASKS_PER_NODE_HET_GROUP_0": "2(x2)",
    "SLURM_JOB_ID_HET_GROUP_1": "8",
    "SLURM_JOB_NODELIST_HET_GROUP_1": "nx[3-5]",
    "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1": "4(x2),6",
    "SLURM_CPUS_PER_TASK_HET_GROUP_1": "2",
}


class Allocation(Case):
    def setUp(self):
        super().setUp()
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        for name, skip in COMMANDS.items():
            self.make_command(name, f'{skip}\necho "{name} $1" >>{self.dir}/calls\nshift\nexec "$@"\n')
        foreign = ("SLURM", "LSB_", "PBS_", "JOB_ID", "PE_HOSTFILE")
        self.env = {k: v for k, v in self.env.items() if not k.startswith(foreign)}
        self.env["PATH"] = f"{self.dir}/bin:{self.env['PATH']}"

    def make_command(self, name, text):
        os.makedirs(f"{self.dir}/bin", exist_ok=True)
        path = f"{self.dir}/bin/{name}"
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def file(self, text):
        path = f"{self.dir}/hosts"
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def placed(self, env, *args):
        """How many ranks go to each host."""
        r = self.run_mpi(*args, "--dry-run", "true", env=env)
        self.assertEqual((r.returncode, r.err), (0, ""))
        return dict(Counter(line.split()[3].rstrip(",") for line in r.out.splitlines()))

    def calls(self):
        path = f"{self.dir}/calls"
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as f:
            return sorted(f.read().splitlines())

    def refused(self, env, *parts):
        r = self.run_mpi("-n", 1, "true", env=env)
        self.assertEqual(r.returncode, 2)
        self.assert_one_line(r.err, *parts, "name hosts by -host", "--set allocation=none")
        r = self.run_mpi("-host", "localhost", "-n", 1, "echo", "ran", env=env)
        self.assertEqual((r.returncode, r.out, r.err), (0, "ran\n", ""))


class Lists(Allocation):
    def slurm(self, nodes, tasks, **more):
        return self.placed({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": nodes, "SLURM_TASKS_PER_NODE": tasks, **more})

    def test_slurm(self):
        self.assertEqual(self.slurm("solo", "3"), {"solo": 3})
        self.assertEqual(
            self.slurm("nx[001-003,7],x2", "2(x3),1,4"), {"nx001": 2, "nx002": 2, "nx003": 2, "nx7": 1, "x2": 4}
        )
        self.assertEqual(
            self.slurm("r[1-2]c[09-10]-ib,y", "1(x5)"),
            {"r1c09-ib": 1, "r1c10-ib": 1, "r2c09-ib": 1, "r2c10-ib": 1, "y": 1},
        )

    def test_slurm_by_processors(self):
        env = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "nx[1-3]", "SLURM_JOB_CPUS_PER_NODE": "8(x2),3"}
        self.assertEqual(self.placed(env), {"nx1": 8, "nx2": 8, "nx3": 3})
        self.assertEqual(self.placed(env | {"SLURM_CPUS_PER_TASK": "4"}), {"nx1": 2, "nx2": 2, "nx3": 1})
        # A step on one of the hosts.
        self.assertEqual(
            self.placed(env | {"SLURM_STEP_ID": "0", "SLURM_TASKS_PER_NODE": "1"}), {"nx1": 8, "nx2": 8, "nx3": 3}
        )

    def test_parts_of_a_heterogeneous_job(self):
        found = {"nx1": 2, "nx2": 2, "nx3": 2, "nx4": 2, "nx5": 3}
        self.assertEqual(self.placed(PARTS), found)
        # salloc sets no variables of the first part alone.
        bare = {name: value for name, value in PARTS.items() if name == "SLURM_JOB_ID" or name not in SLURM}
        self.assertEqual(self.placed(bare), found)
        self.assertEqual(self.placed(PARTS | {"SLURM_HET_SIZE": "1"}), {"nx1": 2, "nx2": 2})

    def test_slurm_that_cannot_be_read(self):
        for nodes in ("nx[1-", "nx[3-1]", "nx[a]", "nx]", "nx[1],,y", ",", "nx[]", "nx[1-9999999]", "nx[1[2]]"):
            self.refused(SLURM | {"SLURM_JOB_NODELIST": nodes}, "Slurm", "SLURM_JOB_NODELIST=", "n[01-03,7],x2")
        for tasks in ("0(x2)", "2(x2", "2x2", "-1", "2,", "2(x0)"):
            self.refused(SLURM | {"SLURM_TASKS_PER_NODE": tasks}, f"SLURM_TASKS_PER_NODE={tasks} is no list")
        self.refused(SLURM | {"SLURM_TASKS_PER_NODE": "2(x3)"}, "speaks of 3 hosts", "nx[1-2] of 2")
        self.refused(SLURM | {"SLURM_TASKS_PER_NODE": "2"}, "speaks of 1 host, ", "nx[1-2] of 2")

    def test_pbs(self):
        path = self.file("nx1\nnx2\n\nnx1\nnx3\n")
        self.assertEqual(self.placed({"PBS_JOBID": "7.server", "PBS_NODEFILE": path}), {"nx1": 2, "nx2": 1, "nx3": 1})

    def test_lsf(self):
        job, path = {"LSB_JOBID": "7"}, self.file("nx1\nnx1\nnx2\n")
        self.assertEqual(self.placed(job | {"LSB_MCPU_HOSTS": "nx1 4 nx2 2 "}), {"nx1": 4, "nx2": 2})
        self.assertEqual(self.placed(job | {"LSB_HOSTS": "nx2 nx1 nx1"}), {"nx2": 1, "nx1": 2})
        self.assertEqual(
            self.placed(job | {"LSB_DJOB_HOSTFILE": path, "LSB_MCPU_HOSTS": "nx9 1"}), {"nx1": 2, "nx2": 1}
        )

    def test_grid_engine(self):
        path = self.file("nx1 2 all.q@nx1 UNDEFINED\nnx2 3 all.q@nx2 UNDEFINED\n")
        self.assertEqual(self.placed({"JOB_ID": "7", "PE_HOSTFILE": path}), {"nx1": 2, "nx2": 3})
        # A job of a single slot has a number, and is no allocation.
        self.assertEqual(self.placed({"JOB_ID": "7"}, "-n", 1), {os.uname().nodename: 1})

    def test_half_there(self):
        gone = f"{self.dir}/no-such-file"
        self.refused({"SLURM_JOB_ID": "7"}, "SLURM_JOB_ID is set, but SLURM_JOB_NODELIST is not")
        self.refused({"SLURM_JOB_NODELIST": "a"}, "SLURM_JOB_ID is not set, but SLURM_JOB_NODELIST is")
        self.refused({"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "a"}, "neither SLURM_TASKS_PER_NODE nor")
        self.refused({"PBS_JOBID": "7"}, "PBS", "PBS_NODEFILE is not")
        self.refused({"PBS_JOBID": "7", "PBS_NODEFILE": gone}, "cannot be read: No such file")
        self.refused({"PBS_JOBID": "7", "PBS_NODEFILE": self.dir}, "cannot be read: Is a directory")
        self.refused({"PBS_JOBID": "7", "PBS_NODEFILE": self.file("\n")}, "PBS_NODEFILE names no host")
        self.refused({"LSB_JOBID": "7"}, "LSF", "LSB_DJOB_HOSTFILE is not")
        self.refused({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "a 2 b"}, 'LSB_MCPU_HOSTS: "b ', "positive number of slots")
        self.refused({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "a 0"}, '"a 0"', "positive number of slots")
        self.refused({"JOB_ID": "7", "PE_HOSTFILE": self.file("a 2 q\nb 0 q\n")}, "hosts:2", '"b 0"')
        self.refused({"JOB_ID": "7", "PE_HOSTFILE": self.file("a\n")}, "hosts:1", "positive number of slots")

    def test_host_like_an_option(self):
        for args, env in (
            ([], {"PBS_JOBID": "7", "PBS_NODEFILE": self.file("-oProxyCommand=x\n")}),
            (["-host", "-oProxyCommand=x"], {}),
        ):
            r = self.run_mpi(*args, "true", env=env)
            self.assertEqual(r.returncode, 2)
            self.assert_one_line(r.err, "host -oProxyCommand=x", "does not begin with -")
        self.assertEqual(self.calls(), [])

    def test_parts_that_cannot_be_read(self):
        for size in ("", "0", "-1", "2x", "9999"):
            self.refused(PARTS | {"SLURM_HET_SIZE": size}, f"SLURM_HET_SIZE={size} is no number of parts")
        self.refused(PARTS | {"SLURM_HET_SIZE": "3"}, "part 2 of 3: SLURM_JOB_NODELIST_HET_GROUP_2 is not set")
        self.refused(PARTS | {"SLURM_JOB_NODELIST_HET_GROUP_1": "a'b,c,d"}, 'part 1 of 2: "a\'b" is no name of a host')
        many = {
            "SLURM_JOB_NODELIST_HET_GROUP_1": f"{'x' * 90}[1-5000]",
            "SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1": "4(x5000)",
        }
        self.refused(PARTS | many, "part 1 of 2: it has too many hosts")
        self.refused(PARTS | {"SLURM_TASKS_PER_NODE_HET_GROUP_1": "2(x2)"}, "speaks of 2 hosts", "nx[3-5] of 3")
        self.refused(PARTS | {"SLURM_JOB_ID_HET_GROUP_0": "7;true"}, "SLURM_JOB_ID=7;true is no number")


class Starts(Allocation):
    WHERE = {
        "srun": SLURM,
        "blaunch": {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "nx1 2 nx2 2"},
        "qrsh": {"JOB_ID": "7", "PE_HOSTFILE": "nx1 2 q\nnx2 2 q\n"},
        "ssh": {"PBS_JOBID": "7", "PBS_NODEFILE": "nx1\nnx1\nnx2\nnx2\n"},
    }

    def allocation(self, command):
        env = dict(self.WHERE[command])
        for name in ("PE_HOSTFILE", "PBS_NODEFILE"):
            if name in env:
                env[name] = self.file(env[name])
        return env

    def check_runs(self, env, *args, calls):
        r = self.run_mpi(*args, "sh", "-c", SHOW, env=env)
        self.assertEqual((r.returncode, r.err), (0, ""))
        self.assertEqual(sorted(r.out.splitlines()), ["0 0/2", "1 1/2", "2 0/2", "3 1/2"])
        self.assertEqual(self.calls(), calls)

    def test_by_the_manager(self):
        for command in self.WHERE:
            with self.subTest(command):
                self.check_runs(self.allocation(command), calls=[f"{command} nx1", f"{command} nx2"])
                os.remove(f"{self.dir}/calls")

    def test_each_host_in_its_part(self):
        self.make_command("srun", f'echo "$@" >>{self.dir}/calls\n{COMMANDS["srun"]}\nshift\nexec "$@"\n')
        r = self.run_mpi("sh", "-c", SHOW, env=PARTS)
        self.assertEqual((r.returncode, r.err, len(r.out.splitlines())), (0, "", 11))
        found = [
            re.search(r"--jobid=(\d+) --het-group=(\d+) .*--nodelist (\w+) ", line).groups() for line in self.calls()
        ]
        hosts = {1: "0", 2: "0", 3: "1", 4: "1", 5: "1"}
        self.assertEqual(sorted(found), sorted(("7", part, f"nx{host}") for host, part in hosts.items()))

    def test_without_its_command_by_ssh(self):
        os.remove(f"{self.dir}/bin/srun")
        self.env["PATH"] = f"{self.dir}/bin:/usr/bin:/bin"
        self.check_runs(SLURM, calls=["ssh nx1", "ssh nx2"])

    def test_by_the_users_agent(self):
        agent = "sh -c 'shift; exec \"$@\"' agent"
        self.check_runs(SLURM, "--launch-agent", agent, calls=[])
        self.check_runs(SLURM | {"UNISONO_LAUNCH_AGENT": agent}, calls=[])
        self.check_runs(SLURM, "--launcher", "ssh", calls=["ssh nx1", "ssh nx2"])

    def test_this_host_starts_nothing(self):
        own = os.uname().nodename.split(".")[0]
        for name in (own, own + ".cluster.example"):
            env = SLURM | {"SLURM_JOB_NODELIST": f"{name},nx2"}
            self.check_runs(env, calls=["srun nx2"])
            os.remove(f"{self.dir}/calls")
        self.check_runs(SLURM | {"SLURMD_NODENAME": "nx1"}, calls=["srun nx2"])

    def test_hosts_of_the_command_line_win(self):
        self.check_runs(SLURM, "-host", "nx2:2,nx1:2", calls=["srun nx1", "srun nx2"])
        os.remove(f"{self.dir}/calls")
        self.check_runs(SLURM, "-host", "other:2,nx1:2", calls=["ssh nx1", "ssh other"])
        r = self.run_mpi("-host", "other:2,nx1:2", "--dry-run", "true", env=SLURM | {"UNISONO_VERBOSE": "1"})
        self.assertEqual(r.err.count("\n"), 1)
        self.assertIn("the allocation of Slurm is left alone: it does not hold all hosts of the command line", r.err)

    def test_it_can_be_left_alone(self):
        self.assertEqual(self.placed(SLURM, "--set", "allocation=none", "-n", 1), {os.uname().nodename: 1})
        both = SLURM | {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "nx9 1"}
        self.assertEqual(self.placed(both | {"UNISONO_ALLOCATION": "lsf"}), {"nx9": 1})
        self.refused({"UNISONO_ALLOCATION": "pbs"}, "PBS_JOBID is not set")

    def test_one_line_says_what_was_taken(self):
        said = "job 7 of Slurm: 2 hosts with 4 slots, started by srun: nx1:2,nx2:2\n"
        for args, env in (([], {"UNISONO_VERBOSE": "1"}), (["-v"], {})):
            r = self.run_mpi(*args, "--dry-run", "true", env=SLURM | env)
            self.assertEqual((r.returncode, r.err), (0, "unisono: " + said))

    def test_a_host_that_the_manager_refuses(self):
        self.make_command("srun", 'echo "srun: error: Invalid node name specified" >&2\nexit 1\n')
        r = self.run_mpi("true", env=SLURM)
        self.assertEqual(r.returncode, 1)
        self.assertIn("host nx1: srun: error: Invalid node name specified", r.err)
        last = r.err.splitlines()[-1]
        self.assertRegex(last, r"host nx\d: its daemon could not be started \(the launch agent, .*srun ")

    def test_a_rank_dies(self):
        r = self.run_mpi(FAKE, "init", "only", 3, "kill", 11, "work", env=SLURM)
        self.assertEqual(r.returncode, 139, r.err)
        self.assert_one_line(r.err, "rank 3 ", "host nx2)", "signal 11", "the other 3 ranks were ended")
        self.assert_all_gone()
