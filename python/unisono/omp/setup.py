# SPDX-License-Identifier: BSD-3-Clause
"""Builds the distribution unisono-omp: the package unisono.omp (this folder) and its C run-time."""

import glob

from setuptools import Extension, setup

setup(
    packages=["unisono.omp"],
    package_dir={"unisono.omp": "."},
    package_data={"unisono.omp": ["py.typed", "*.pyi"]},
    ext_modules=[
        Extension(
            "unisono.omp._rt",
            sorted(glob.glob("_runtime/*.c")),
            depends=["_runtime/rt.h"],
            define_macros=[("_GNU_SOURCE", "1")],
            extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra", "-fvisibility=hidden"],
        )
    ],
)
