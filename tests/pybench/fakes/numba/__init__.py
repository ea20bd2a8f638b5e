# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for Numba: the calls of numba.cuda that unisono.bench makes."""
