# SPDX-License-Identifier: BSD-3-Clause
"""Every test runs under a time limit: what hangs prints where its threads are and ends the run."""
import faulthandler
import warnings

import pytest

warnings.filterwarnings("ignore", "this CPython has a GIL", RuntimeWarning)
LIMIT = 60


@pytest.fixture(autouse=True)
def time_limit():
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
