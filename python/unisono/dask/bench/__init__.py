# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks of dask.distributed's communication: ``python -m unisono.dask.bench``, schemes side by side."""
