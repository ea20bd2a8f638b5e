# SPDX-License-Identifier: BSD-3-Clause
"""Judge dask (tools/judges): all of dask.distributed's own tests over mpi://, file by file, and what fails alone again
over both mpi:// and tcp://.

JOBS files run at once, each in a network of its own where the system allows that (the tests use fixed ports). Per way
and file there are a log and a result beside it, so that a run which was cut off goes on where it was: a result is used
again when it is of the same commit, or when nothing failed and it is not older than AGE. Names of files and of ways
are those of dask_tests, whose plugin gives the tests longer time-outs than their own.
"""

import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import dask_tests

JOBS = 2  # files at once, set by tools/judges --jobs
LIMIT = 7200  # seconds for a file
ALONE = 900  # seconds for one test
AGE = 3 * 24 * 3600  # seconds for which a result without failures counts at other commits
TURNS = 2  # how often a failure is repeated alone
# A network of its own, which looks like that of a machine with one interface.
NETWORK = """ip link set lo up && ip link add ext type veth peer name far && ip addr add 10.78.0.1/24 dev ext &&
    ip link set ext up && ip link set far up && ip route add default via 10.78.0.2 &&
    ip addr add fd78::1/64 dev ext nodad && ip route add default via fd78::2 && exec "$@" """
APART = ("unshare", "--net", "sh", "-c", NETWORK, "sh")


def may_be_apart():
    """Whether a process can be given a network of its own here."""
    try:
        return subprocess.run([*APART, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


class Court:
    """Where the tests run: the folder of their source, an interpreter, the package, the environment, the logs."""

    def __init__(self, folder, python, site, env, logs, commit):
        self.folder, self.python, self.site, self.logs, self.commit = folder, python, site, logs, commit
        self.env = {**env, "PATH": f"{pathlib.Path(python).parent}:{env['PATH']}"}  # some tests run the command dask
        self.apart = may_be_apart()
        self.jobs = JOBS if self.apart else 1
        logs.mkdir(parents=True, exist_ok=True)

    def pytest(self, way, log, limit, *words):
        """(status, output) of a run of pytest; status 124 when it did not end in time. Leaves no process behind."""
        command = dask_tests.pytest_words(self.python, *words)
        env = {**self.env, **dask_tests.environment(way, self.site)}
        with open(log, "w+", encoding="utf-8", errors="replace") as file:
            running = subprocess.Popen(
                [*(APART if self.apart else ()), *map(str, command)],
                cwd=self.folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = running.wait(limit)
            except subprocess.TimeoutExpired:
                status = 124
            try:
                os.killpg(running.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            running.wait()
            file.seek(0)
            return status, file.read()

    def kept(self, path):
        """The result in a file that still counts, or None."""
        if not path.exists():
            return None
        known = json.loads(path.read_text())
        fresh = not known["failed"] and time.time() - path.stat().st_mtime < AGE
        return known if fresh or known["commit"] == self.commit else None

    def file(self, way, name):
        """The result of a file of tests: {passed, skipped, failed: [test], commit}."""
        log = self.logs / f"{way}-{name.replace('/', '.').removesuffix('.py')}.log"
        path = log.with_suffix(".json")
        if known := self.kept(path):
            return known
        words = ("--rootdir=.", name) if way == "direct" else (name,)
        result = {**verdict(name, *self.pytest(way, log, LIMIT, *words)), "commit": self.commit}
        path.write_text(json.dumps(result, indent=1))
        said = f"{result['passed']} passed, {len(result['failed'])} failed, {result['skipped']} skipped"
        print(f"  {way} {name}: {said}", flush=True)
        return result

    def alone(self, way, test):
        """How often a test fails of TURNS times that it runs alone."""
        log = self.logs / f"alone-{way}-{re.sub(r'[^A-Za-z0-9_.]', '-', test)[-150:]}.log"
        path = log.with_suffix(".json")
        if not (known := self.kept(path)):
            failed = sum(self.pytest(way, log, ALONE, test)[0] != 0 for _ in range(TURNS))
            known = {"failed": failed, "commit": self.commit}
            path.write_text(json.dumps(known))
        return known["failed"]

    def again(self, way, test):
        """What a failure is worth: "load" when it passes alone, "tcp" when tcp:// fails too, "mpi" else."""
        if not (ours := self.alone(way, test)):
            return way, test, "load"
        theirs = self.alone("tcp", test)
        print(f"  {way} {test}: alone, {ours} of {TURNS} times; tcp {theirs} of {TURNS}", flush=True)
        return way, test, "tcp" if theirs >= ours else "mpi"


def verdict(name, status, text):
    """What the output of pytest says."""
    closing = text.strip().splitlines()[-1] if text.strip() else ""
    failed = set(re.findall(r"^(?:FAILED|ERROR) (\S+::\S.*?)(?: - .*)?$", text, re.MULTILINE))
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (passed|skipped)", closing)}
    if not re.search(r"\d (?:passed|failed|skipped|error)|no tests ran", closing):  # it died, or its time was over
        said = collections.Counter(re.findall(r"^\S+::.*? (PASSED|SKIPPED|FAILED)\b", text, re.MULTILINE))
        counts = {"passed": said["PASSED"], "skipped": said["SKIPPED"]}
        begun = re.findall(r"^(\S+::\S+)", text, re.MULTILINE)
        failed |= set(re.findall(r"^(\S+::.*?) FAILED\b", text, re.MULTILINE)) | {begun[-1] if begun else name}
        print(f"  {name} ended with status {status} after {sum(said.values())} tests", flush=True)
    return {"passed": counts.get("passed", 0), "skipped": counts.get("skipped", 0), "failed": sorted(failed)}


def hear(court):
    """(passed, [failure], skipped): what fails over tcp:// too counts as skipped, what passes alone as passed."""
    work = [("direct", str(dask_tests.AS_TCP / "direct.py"))]
    work += [(way, name) for name, way in itertools.product(dask_tests.files(court.folder), ("name", "scheme"))]
    passed = skipped = 0
    bad = []
    with concurrent.futures.ThreadPoolExecutor(court.jobs) as pool:
        results = pool.map(lambda one: (one[0], court.file(*one)), work)
        for way, result in results:
            passed, skipped = passed + result["passed"], skipped + result["skipped"]
            bad += [(way, test) for test in result["failed"]]
        worth = list(pool.map(lambda one: court.again(*one), bad))
    passed += sum(what == "load" for *_, what in worth)
    skipped += sum(what == "tcp" for *_, what in worth)
    for way, test, what in worth:
        print(f"  {what:5}{way} {test}", flush=True)
    return passed, [f"{way} {test.removeprefix('distributed/')}" for way, test, what in worth if what == "mpi"], skipped
