# SPDX-License-Identifier: BSD-3-Clause
"""unisono.bench: the benchmarks of `unisono-bench`, from Python, on any MPI that mpi4py runs on.

Use it as a program: ``mpiexec -n 2 python -m unisono.bench lat --buffer numpy``. See docs/benchmarking.md.
"""
