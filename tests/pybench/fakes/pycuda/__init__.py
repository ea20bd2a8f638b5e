# SPDX-License-Identifier: BSD-3-Clause
"""A stand-in for PyCUDA: the calls that unisono.bench makes."""
