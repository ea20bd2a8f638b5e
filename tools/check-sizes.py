#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sizes: functions, files, lines, parameters, nesting, headers reached. Called by tests/suites/20-house.

The walls: a function 60 lines, a C file 800 lines, a Python module 400, a line 120 columns, 6 parameters (entry points
whose parameters the standard fixes aside), nesting 3, 20 headers of ours and 5,000 lines reached from a .c file.
"""

import ast
import re
import sys

from house import Finding, functions, reach, text_of, tracked, verdict

GENERATED = {"include/mpi.h"}
CONTRACTS = "include/unisono"  # installed: read as mpi.h is
FIXED_BY_STANDARD = re.compile(r"P?MPIX?_|mpi_\w+_?$")


def c_files():
    """Our C sources and headers."""
    return [p for p in tracked(".c", ".h", ".cpp") if str(p) not in GENERATED]


def files():
    """Files that are too long."""
    for path in c_files() + tracked(".py"):
        wall, lines = (400 if path.suffix == ".py" else 800), text_of(path).count("\n")
        if lines > wall:
            yield Finding("file", path, 1, f"{lines} lines, {wall} allowed")


def lines():
    """Lines that are too wide."""
    for path in c_files() + tracked(".py", ".build", ".sh"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if len(line) > 120:
                yield Finding("line", path, number, f"{len(line)} columns, 120 allowed")


def c_functions():
    """Every C function with its file; test programs are lists of checks and may be longer and deeper."""
    for path in c_files():
        for function in functions(path) if path.parts[0] != "tests" else ():
            yield path, function


def long_functions():
    """Functions of more than 60 lines, in C and in Python."""
    for path, f in c_functions():
        if f.last - f.first + 1 > 60:
            yield Finding("function", path, f.first, f"{f.name} has {f.last - f.first + 1} lines, 60 allowed", f.name)
    for path in [p for p in tracked(".py") if p.parts[0] != "tests"]:
        for node in ast.walk(ast.parse(text_of(path))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno - node.lineno >= 60:
                size = node.end_lineno - node.lineno + 1
                yield Finding("function", path, node.lineno, f"{node.name} has {size} lines, 60 allowed", node.name)


def parameters():
    """Functions of ours with more than six parameters; internal twins of an entry point carry its parameters too."""
    for path, f in c_functions():
        dictated = FIXED_BY_STANDARD.match(f.name) or str(path).startswith("src/api/")
        if f.parameters > 6 and not dictated:
            yield Finding("parameters", path, f.first, f"{f.name} has {f.parameters} parameters, 6 allowed", f.name)


def nesting():
    """Blocks more than three deep."""
    for path, f in c_functions():
        if f.nesting > 3:
            yield Finding("nesting", path, f.first, f"{f.name} nests {f.nesting} deep, 3 allowed", f.name)


def headers():
    """Sources that reach too many headers."""
    for path in tracked(".c"):
        seen = [h for h in reach(path, set()) if not str(h).startswith(CONTRACTS)]
        total = sum(text_of(h).count("\n") for h in seen)
        if len(seen) > 20 or total > 5000:
            text = f"reaches {len(seen)} headers of ours with {total} lines; 20 and 5000 allowed"
            yield Finding("headers", path, 1, text)


RULES = {
    "file": files,
    "line": lines,
    "function": long_functions,
    "parameters": parameters,
    "nesting": nesting,
    "headers": headers,
}

if __name__ == "__main__":
    sys.exit(verdict(RULES))
