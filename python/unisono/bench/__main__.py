# SPDX-License-Identifier: BSD-3-Clause
"""Runs the program: python -m unisono.bench."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
