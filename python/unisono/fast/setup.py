# SPDX-License-Identifier: BSD-3-Clause
"""Builds the distribution unisono-fast: the package unisono.fast (this folder) and its C module.

Compiled by the MPI's own compiler, as mpi4py is: the one in the variable MPICC, or the first mpicc in PATH.
"""

import glob
import os
import shutil
import sys

from setuptools import Extension, setup

mpicc = os.environ.get("MPICC") or shutil.which("mpicc")
if not mpicc:
    sys.exit("unisono-fast: no mpicc in PATH; name the MPI's compiler: MPICC=/path/to/mpicc pip install ...")
os.environ["CC"], os.environ["LDSHARED"] = mpicc, f"{mpicc} -shared"
setup(
    packages=["unisono.fast"],
    package_dir={"unisono.fast": "."},
    ext_modules=[
        Extension(
            "unisono.fast._fast",
            sorted(glob.glob("*.c")),
            depends=["fast.h"],
            define_macros=[("_GNU_SOURCE", "1")],
            extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"],
        )
    ],
)
