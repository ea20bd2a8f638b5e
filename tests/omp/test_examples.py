# SPDX-License-Identifier: BSD-3-Clause
"""The example programs give the sequential answers (small sizes; run.py checks them)."""

import os
import subprocess
import sys

import pytest

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "omp")
NAMES = ["pi", "quad", "jacobi", "md", "lud", "fft", "wordcount", "graph", "qsort", "fib", "maze"]


@pytest.mark.parametrize("threads", ["2", "4"])
@pytest.mark.parametrize("name", NAMES)
def test_program(name, threads):
    if name == "graph":
        pytest.importorskip("networkx")
    out = subprocess.run(
        [sys.executable, "-W", "ignore", os.path.join(FOLDER, "run.py"), "--small", "--threads", threads, name],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert out.returncode == 0 and "right" in out.stdout, out.stdout + out.stderr
