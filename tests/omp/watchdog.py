# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs in a process of their own that can be given up: what hangs fails with its name. Used by
test_constructs.py; run as a program it is that process.

Standard input: a line of JSON per program, {"text": ..., "n": threads}. Standard output: a line per program,
["value", repr of what run(n) returned] or ["error", class, message, line].
"""

import json
import os
import selectors
import subprocess
import sys
import tempfile
import textwrap

PATIENCE = 120  # seconds; a program takes milliseconds, and this is only what a hang costs


def indented(text, by):
    return textwrap.indent(text, " " * by)


class Process:
    """One process; it is started when it is needed, and again after a hang."""

    def __init__(self):
        self.child = None

    def run(self, name, text, n):
        if self.child is None or self.child.poll() is not None:
            env = {**os.environ, "OMP_CANCELLATION": "true", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
            self.child = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
            )
        self.child.stdin.write(json.dumps({"text": text, "n": n}) + "\n")
        self.child.stdin.flush()
        with selectors.DefaultSelector() as ready:
            ready.register(self.child.stdout, selectors.EVENT_READ)
            if not ready.select(PATIENCE):
                self.close()
                raise AssertionError(f"{name}: hangs with {n} threads\n{text}")
        line = self.child.stdout.readline()
        if not line:
            raise AssertionError(f"{name}: the process ended ({self.child.wait()}) with {n} threads\n{text}")
        return json.loads(line)

    def close(self):
        if self.child is not None:
            self.child.kill()
            self.child.wait()
            self.child = None


def _execute(text, n, number, folder):
    path = os.path.join(folder, f"program{number}.py")
    with open(path, "w") as f:
        f.write("from unisono.omp import *\n" + text)
    try:
        space = {"__name__": f"program{number}"}
        exec(compile(open(path).read(), path, "exec"), space)
        return ["value", repr(space["run"](n))]
    except BaseException as error:
        return ["error", type(error).__name__, str(error), getattr(error, "lineno", None)]


def _serve():
    import warnings

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for number, line in enumerate(sys.stdin):
            order = json.loads(line)
            print(json.dumps(_execute(order["text"], order["n"], number, folder)), flush=True)


if __name__ == "__main__":
    _serve()
