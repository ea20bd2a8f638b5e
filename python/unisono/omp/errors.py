# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of unisono.omp. Every other module of the package may import this one."""


class OmpError(RuntimeError):
    """A directive or routine was used where it has no meaning."""


class OmpSyntaxError(SyntaxError):
    """A directive, or the code under it, is not what OpenMP (or Python) allows; carries file, line and column."""
