# SPDX-License-Identifier: BSD-3-Clause
"""Reads abi.json, the MPI 5.0 standard ABI as data, and spells C from it.

Used by gen.py (the header, the aliases, the stubs) and by gen_tests.py (the comparison with the data).
Always holds: nothing here knows a single MPI name; names, values and types come from the data alone.
"""

import json
import pathlib
import re

DATA = pathlib.Path(__file__).with_name("abi.json")


def load():
    """The whole table as a dictionary."""
    return json.loads(DATA.read_text(encoding="utf-8"))


def declarator(ctype, name):
    """`const int[]`, `counts` -> `const int counts[]`."""
    if ctype == "...":
        return "..."
    base, bracket, rest = ctype.partition("[")
    base = base.rstrip()
    gap = "" if base.endswith("*") else " "
    return f"{base}{gap}{name}{bracket}{rest}"


def pointer(ctype):
    """The type without a name, as a pointer cast wants it: `MPI_User_function*` -> `MPI_User_function *`."""
    return re.sub(r"(\w)(\*+)$", r"\1 \2", ctype)


def parameters(function):
    """The parameter list of a function, `void` when it has none."""
    return ", ".join(declarator(p["type"], p["name"]) for p in function["params"]) or "void"


def prototype(function, prefix=""):
    """`int MPI_Send(const void *buf, ...)`; prefix "P" gives the profiling name."""
    ret = function["return"]
    gap = "" if ret.endswith("*") else " "
    return f"{ret}{gap}{prefix}{function['name']}({parameters(function)})"
