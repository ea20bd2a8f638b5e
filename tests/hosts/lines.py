#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts, played by network namespaces that one or more lines (veth pairs) join, perhaps of limited rates.

As a program: messages and collectives (storm.c) while lines go down and come up.

    tests/hosts/lines.py [--lines 2] [--events 6] [--messages 4000] [--together] [--rate MBIT,...] [--ranks 2]

Prints one line with what was done and the longest time that no message came; status 1 when something was wrong. Needs
root and `ip` (with --rate, `tc`). Used by suite 36-networks, by `tools/judges links` and by bench/links.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
STAGE = TOP / "build/stage"


class Unavailable(Exception):
    """Network namespaces cannot be made here; the text says why."""


def run(*words, **options):
    """A command that has to succeed; its output."""
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, **options).stdout


class Hosts:
    """Namespaces by letter; lines between two of them. Removed at the end of a `with`."""

    def __init__(self, letters="ab"):
        self.names = {x: f"uno-{os.getpid()}-{x}" for x in letters}
        self.lines = []

    def __enter__(self):
        try:
            for name in self.names.values():
                run("ip", "netns", "add", name)
                run("ip", "-n", name, "link", "set", "lo", "up")
        except (subprocess.CalledProcessError, FileNotFoundError) as e:
            self.__exit__()
            raise Unavailable(f"cannot make network namespaces here: {getattr(e, 'stderr', None) or e}".strip()) from e
        return self

    def __exit__(self, *_):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def join(self, a, b, subnet, mbit=None):
        """A line, whose ends have the addresses .1 and .2 of a /24 subnet as "10.81.0"; returns its number."""
        device = f"uno{len(self.lines)}"
        run(
            "ip",
            "link",
            "add",
            device,
            "netns",
            self.names[a],
            "type",
            "veth",
            "peer",
            "name",
            device,
            "netns",
            self.names[b],
        )
        for k, x in enumerate((a, b)):
            run("ip", "-n", self.names[x], "addr", "add", f"{subnet}.{k + 1}/24", "dev", device)
            run("ip", "-n", self.names[x], "link", "set", device, "up")
            if mbit:
                burst = max(mbit * 1000 // 8, 40000)  # bytes of a millisecond
                limit = ("rate", f"{mbit}mbit", "burst", burst, "limit", 4 * burst + 400000)
                run("tc", "-n", self.names[x], "qdisc", "add", "dev", device, "root", "tbf", *limit)
        # Until the kernel calls both ends running, some time after they were set up, it drops what is sent.
        while not all("state UP" in run("ip", "-n", self.names[x], "link", "show", device) for x in (a, b)):
            continue
        self.lines.append((a, b, device))
        return len(self.lines) - 1

    def set_line(self, number, up, end=0):
        """Takes one end of a line down or up."""
        *ends, device = self.lines[number]
        run("ip", "-n", self.names[ends[end]], "link", "set", device, "up" if up else "down")

    def words(self, hosts, *args):
        """The command of a job on these hosts, as "a:2,b"."""
        for letter, name in self.names.items():
            hosts = ",".join(name + w[1:] if w[0] == letter else w for w in hosts.split(","))
        return [str(STAGE / "bin/mpiexec"), "--launch-agent", "ip netns exec", "--host", hosts, *map(str, args)]


def build(folder, name):
    """A program of this folder; its path."""
    source = pathlib.Path(__file__).resolve().parent / f"{name}.c"
    run(STAGE / "bin/mpicc", "-D_GNU_SOURCE", "-O2", "-o", pathlib.Path(folder) / name, source)
    return pathlib.Path(folder) / name


class Progress:
    """Reads what a job prints; a line tells that messages flow."""

    def __init__(self, job):
        self.lines, self.ended, self.changed = [], False, threading.Condition()
        self.thread = threading.Thread(target=self.read, args=(job,))
        self.thread.start()

    def read(self, job):
        for line in job.stdout:
            with self.changed:
                self.lines.append(line.strip())
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def received(self):
        """Messages so far."""
        with self.changed:
            return int(self.lines[-1]) if self.lines and self.lines[-1].isdigit() else 0

    def more(self):
        """Waits for two more lines: all between them has happened since. False: the job has ended."""
        with self.changed:
            wanted = len(self.lines) + 2
            self.changed.wait_for(lambda: self.ended or len(self.lines) >= wanted)
            return not self.ended


def set_of(options):
    """Parameters: a way that falls silent is to be noticed by that, not by the kernel's patience."""
    words = [f"verbose={1 + options.verbose}", "tcp_patience=86400"]
    return [x for w in words for x in ("--set", w)]


def storm(hosts, options, program, folder):
    """Runs storm.c while lines go down and up; (status, last line, what was said on stderr, events)."""
    enough = pathlib.Path(folder) / "enough"
    enough.unlink(missing_ok=True)
    ranks = options.ranks // 2
    words = hosts.words(f"a:{ranks},b:{ranks}", "-n", options.ranks, *set_of(options), program)
    words += [str(options.messages), str(options.most), str(enough)]
    with open(pathlib.Path(folder) / "err", "w+") as err:
        job = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=err, text=True)
        progress, done, count = Progress(job), 0, len(hosts.lines)
        flowing = progress.more()
        while flowing and (done < options.events or progress.received() < options.messages):
            which = [done % count] if not options.together else random.sample(range(count), random.randint(1, count))
            if options.together and done % 4 == 3:
                which = list(range(count))
            ends = {k: random.randint(0, 1) for k in which}
            for k in which:
                hosts.set_line(k, False, ends[k])
            time.sleep(random.random() * options.down)  # how long they are down: the thing tested
            if len(which) < count:
                flowing = progress.more()
            for k in which:
                hosts.set_line(k, True, ends[k])
            flowing = flowing and progress.more()
            done += 1
            if options.pause:
                time.sleep((0.5 + random.random() / 2) * options.pause)
        enough.touch()
        progress.thread.join()
        status = job.wait()
        err.seek(0)
        return status, progress.lines[-1] if progress.lines else "", err.read(), done


def parse(words):
    """The options of a storm."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--lines", type=int, default=2)
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--events", type=int, default=6, help="how often lines go down at least")
    p.add_argument("--down", type=float, default=0.3, help="seconds that they are down at most")
    p.add_argument(
        "--pause", type=float, default=0, help="seconds between two events at most, besides waiting for traffic"
    )
    p.add_argument("--messages", type=int, default=4000, help="each rank receives, at least")
    p.add_argument("--most", type=int, default=1 << 19, help="bytes of a message at most")
    p.add_argument("--together", action="store_true", help="several lines at a time, too, and all")
    p.add_argument("--rate", help="Mbit/s of the lines, separated by commas")
    p.add_argument("--verbose", action="store_true", help="shows what the ranks say of their connections")
    p.add_argument("--seed", type=int, default=15)
    return p.parse_args(words)


def main(words=None):
    """Runs one storm."""
    options = parse(words)
    random.seed(options.seed)
    rates = [int(r) for r in options.rate.split(",")] if options.rate else []
    with tempfile.TemporaryDirectory() as folder, Hosts() as hosts:
        for k in range(options.lines):
            hosts.join("a", "b", f"10.83.{k}", rates[k % len(rates)] if rates else None)
        status, last, err, done = storm(hosts, options, build(folder, "storm"), folder)
    way = "several at a time" if options.together else "one by one"
    print(f"{options.lines} lines, {done} times down {way}, {options.messages} messages: {last}")
    if options.verbose:
        print(err, file=sys.stderr)
    if status or not last.startswith("all arrived"):
        print(f"status {status}\n{err[-3000:]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
