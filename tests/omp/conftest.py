# SPDX-License-Identifier: BSD-3-Clause
"""The warning about the GIL is no finding here. pytest.ini sets the time limit of a test: what hangs shows its
threads and ends."""

import warnings

warnings.filterwarnings("ignore", "this CPython has a GIL", RuntimeWarning)
