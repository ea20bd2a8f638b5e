# SPDX-License-Identifier: BSD-3-Clause
"""The rows, one module a family of kernels; importing a module registers its rows (main.py imports them all)."""
