# SPDX-License-Identifier: BSD-3-Clause
"""Builds the distribution unisono-dask: the package unisono.dask (this folder) and its transport in C.

Compiled by Unisono's own mpicc: the one in the variable MPICC, or the first mpicc in PATH. The library is found again
where mpicc found it, so that processes which no mpiexec starts (those of LocalCluster, of Nanny) need no environment.
"""

import glob
import os
import shutil
import subprocess
import sys

from setuptools import Extension, setup

mpicc = os.environ.get("MPICC") or shutil.which("mpicc")
if not mpicc:
    sys.exit("unisono-dask: no mpicc in PATH; name Unisono's compiler: MPICC=/path/to/mpicc pip install ...")
os.environ["CC"], os.environ["LDSHARED"] = mpicc, f"{mpicc} -shared"
libraries = subprocess.run([mpicc, "-showme:libdirs"], capture_output=True, text=True, check=True).stdout.split()
setup(
    packages=["unisono.dask", "unisono.dask.bench"],
    package_dir={"unisono.dask": ".", "unisono.dask.bench": "bench"},
    ext_modules=[
        Extension(
            "unisono.dask._mpi",
            sorted(glob.glob("*.c")),
            depends=["engine.h"],
            define_macros=[("_GNU_SOURCE", "1")],
            extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"],
            runtime_library_dirs=libraries,
        )
    ],
)
