#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random deaths: programs of killer.c, each known by its seed alone, so that a failure can be repeated.

    tests/launch/kills.py MPIEXEC PROGRAM FIRST LAST [CHANNELS]     those with seeds FIRST to LAST, one line each

The seed says the channel (unless CHANNELS are to be used), the number of ranks (2 to 8), how many of these are spawned
by the others, and whether ranks die or whole hosts, which are played on this one. Called by test_survive.py (a few),
suite 39-fabric (a few) and tools/judges (a thousand).
Status 1 when a program did not end as it should.
"""

import random
import re
import subprocess
import sys

AGENT = ["--launch-agent", "sh -c 'shift; exec \"$@\"' agent"]
HOSTS = "a:3,b:3,c:2"
ROUNDS = 8
LIMIT = 300  # seconds, of mpiexec: a program takes some


def words(seed, channels=None):
    """What mpiexec and the program are told, whether whole hosts die, and how many ranks are spawned."""
    draw = random.Random(seed)
    if draw.randrange(6) == 0:
        return [*AGENT, "-host", HOSTS, "-n", "8"], True, 0
    channel, ranks = draw.choice(["shm", "tcp"]), draw.randint(2, 8)
    spawned = draw.randrange(1, ranks) if draw.randrange(4) == 0 else 0
    return ["--set", f"chan={channels or channel}", "-n", str(ranks - spawned)], False, spawned


def verdict(hosts, spawned, status, out, err):
    """(deaths, what is wrong or None) of a program that has ended."""
    deaths = len(re.findall(r"^mpiexec: rank \d+ .*killed by signal 9", err, re.MULTILINE))
    if hosts:
        deaths += 3 * len(re.findall(r"its ranks are lost", err))
    if err.count("no rank is left") == (2 if spawned else 1) or (hosts and err.count("its ranks are lost") == 3):
        return deaths, None if status in (137, 1) else f"status {status} of a job of which nobody is left"
    if status != (137 if "no rank is left" in err else 0):  # of one of two jobs
        return deaths, f"status {status}"
    done = re.fullmatch(r"kills (\d+) left (\d+)\n", out)
    if not done:
        return deaths, "the last line is missing"
    return deaths, None if hosts or deaths >= int(done[1]) else f"{done[1]} are missing, {deaths} were told"


def run(mpiexec, program, seed, env=None, channels=None):
    """(deaths, what is wrong or None, all that was printed) of the program with that seed."""
    where, hosts, spawned = words(seed, channels)
    told = [mpiexec, "--survive", "--timeout", str(LIMIT), *where, program, str(seed), str(ROUNDS)]
    told += ["host"] * hosts
    if spawned:
        told = ["env", f"TEST_SPAWN={spawned}", *told]
    r = subprocess.run(told, capture_output=True, text=True, errors="replace", env=env, timeout=LIMIT + 60)
    deaths, wrong = verdict(hosts, spawned, r.returncode, r.stdout, r.stderr)
    return deaths, wrong, f"seed {seed}: {' '.join(told)}\n{r.stdout}{r.stderr}"


def main():
    """All seeds of the command line."""
    mpiexec, program, first, last, *channels = sys.argv[1:]
    failed = killed = 0
    for seed in range(int(first), int(last) + 1):
        deaths, wrong, text = run(mpiexec, program, seed, None, *channels)
        killed += deaths
        failed += wrong is not None
        print(f"seed {seed}: {deaths} deaths, {'FAILED: ' + wrong if wrong else 'well'}", flush=True)
        if wrong:
            print(text, flush=True)
    print(f"{killed} deaths in {int(last) - int(first) + 1} programs, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
