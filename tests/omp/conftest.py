# SPDX-License-Identifier: BSD-3-Clause
"""The warning about the GIL is no finding here. pytest.ini sets the time limit of a test: what hangs shows its
threads and ends."""

import warnings

import pytest
from watchdog import Process

warnings.filterwarnings("ignore", "this CPython has a GIL", RuntimeWarning)


@pytest.fixture(scope="module")
def process():
    """Runs programs in a process that is given up when one hangs."""
    p = Process()
    yield p
    p.close()
