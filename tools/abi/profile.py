#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Generates the wrappers of `mpiexec --profile` from abi.json: one function per MPI call that communicates or waits.

    profile.py wrappers    C: MPI_X times PMPI_X and records it (launch/profiler/record.h)
    profile.py names       C: the table of the calls' names, for the reader of a profile

The names of its parameters say what a call moves: `sendcount` of `sendtype`, else `count` of `datatype`; a
message goes to `dest`; a `request` that is given out is an operation that was started.
Called by launch/meson.build.
"""

import re
import sys

import table

OBJECT = re.compile(r"\bMPI_(Comm|Request|Win|File|Message)\b")
# What only asks or sets, or must stay as it is.
LOCAL = re.compile(
    r"_(f2c|c2f|toint|fromint|attr|errhandler|name|info|group|compare|rank|size|test_inter|remote_size|"
    r"get|map|coords|shift|neighbors|neighbors_count|get_\w+|set_\w+|to_gpu|query|start)$|"
    r"^MPI_(Attr_|Cartdim|Graphdims|Topo_test|Pack|Unpack|Grequest|Cancel|Pready|Parrived|Request_get)|"
    r"^MPI_(Comm_(get|set)_|Win_(get|set)_|File_(get|set)_|Comm_call|Win_call|File_call)"
)
KEPT = {"MPI_Win_start", "MPI_Get", "MPI_Rget"}
OPENS = {"MPI_Init", "MPI_Init_thread", "MPI_Session_init"}
CLOSES = {"MPI_Finalize", "MPI_Session_finalize", "MPI_Abort"}
WAITS = re.compile(r"^MPI_(Wait|Test)(all|any|some)?$")


def chosen(abi):
    """The functions that are wrapped, in the order of the table: it numbers them."""
    found = []
    for function in abi["functions"]:
        name = function["name"]
        plain = name.removesuffix("_c")
        if name.startswith("MPI_T_") or function["return"] != "int":
            continue
        talks = any(OBJECT.search(p["type"]) for p in function["params"])
        if plain in OPENS | CLOSES or (talks and (plain in KEPT or not LOCAL.search(plain))):
            found.append(function)
    return found


def size_of(name, params):
    """The expression of the bytes that a call moves."""
    plain = name.removesuffix("_c")
    wide = "_c" if name.endswith("_c") else ""
    if "Alltoallw" in plain or "alltoallw" in plain or (re.search(r"eighbor_\w+v(_init)?$", plain)):
        return "PROF_NONE"
    if "catter" in plain and "recvtype" in params:
        return "prof_size(recvcount, recvtype)"
    if "sendcounts" in params and "sendtype" in params:
        own = f"prof_sum{wide}(sendcounts, sendtype, comm)"
        return f"sendbuf == MPI_IN_PLACE ? prof_sum{wide}(recvcounts, recvtype, comm) : {own}"
    if "sendcount" in params and "sendtype" in params:
        other = "prof_size(recvcount, recvtype)" if "recvcount" in params else "PROF_NONE"
        own = "prof_size(sendcount, sendtype)"
        return f"sendbuf == MPI_IN_PLACE ? {other} : {own}" if "comm" in params and "dest" not in params else own
    if "target_count" in params:  # what an origin gives may be nothing (MPI_NO_OP)
        return "prof_size(target_count, target_datatype)"
    if "target_disp" in params:
        return "prof_size(1, datatype)"
    if "recvcounts" in params and "datatype" in params:
        return f"prof_sum{wide}(recvcounts, datatype, comm)"
    if "recvcount" in params and "datatype" in params:
        return "prof_size(recvcount, datatype)"
    if "count" in params and "datatype" in params:
        return (
            "prof_size((MPI_Count)count * partitions, datatype)"
            if "partitions" in params
            else "prof_size(count, datatype)"
        )
    return "PROF_NONE"


def receives(name):
    """Whether the call only takes a message in; its request parameter `dest` (the table's name) is a source."""
    return re.search(r"recv", name, re.IGNORECASE) and not re.search("send", name, re.IGNORECASE)


def ending(name, params):
    """The statements that record a call, after it has returned."""
    plain = name.removesuffix("_c")
    if WAITS.match(plain):
        n = params.get("count") and "count" or params.get("incount") and "incount" or "1"
        array = "array_of_requests" if "array_of_requests" in params else "request"
        return [f"prof_waited(&prof_c, prof_n, prof_kept, {array});"], [
            "MPI_Request prof_kept[PROF_WAITS];",
            f"int prof_n = prof_keep(prof_kept, {n}, {array});",
        ]
    if plain in ("MPI_Start", "MPI_Startall"):
        array = "array_of_requests" if "array_of_requests" in params else "request"
        return [f"prof_started(&prof_c, {'count' if 'count' in params else '1'}, {array});"], []
    before = []
    if plain in ("MPI_Comm_free", "MPI_Comm_disconnect"):
        before = ["prof_forget_comm(*comm);"]
    if plain == "MPI_Request_free":
        before = ["prof_forget_request(*request);"]
    partner = next((p for p in ("dest", "source", "target_rank") if p in params), None)
    real = f" && {partner} != MPI_PROC_NULL" if partner else ""
    lines = [f"if (prof_err == MPI_SUCCESS{real}) {{"]
    if size_of(name, params) != "PROF_NONE":
        lines.append(f"    prof_c.bytes = {size_of(name, params)};")
    if "dest" in params and not receives(name):
        lines += ["    prof_c.peer = dest;", "    prof_c.comm = comm;"]
    lines += ["}"] if len(lines) > 1 else []
    lines = lines if len(lines) > 1 else []
    starts = params.get("request", "").replace(" ", "") == "MPI_Request*" and not before
    persistent = 1 if plain.endswith("_init") else 0
    request = "prof_err == MPI_SUCCESS ? request : NULL" if starts else "NULL"
    return [*lines, f"prof_end(&prof_c, {request}, {persistent});"], before


def wrapper(number, function):
    """One function."""
    name = function["name"]
    params = {p["name"]: p["type"] for p in function["params"]}
    after, before = ending(name, params)
    if name in OPENS:
        before.append("prof_prepare();")
    call = f"P{name}({', '.join(params)})"
    first = [f"struct prof_call prof_c = prof_begin({number}, __builtin_return_address(0));"]
    if name.removesuffix("_c") in CLOSES:
        first.append("prof_close(&prof_c);")
    opened = ["prof_open();"] if name in OPENS else []
    body = [*before, *first, f"int prof_err = {call};", *opened, *after, "return prof_err;"]
    return "\n".join([table.prototype(function), "{", *("    " + line for line in body), "}"])


def main():
    """Prints what is asked for."""
    functions = chosen(table.load())
    if sys.argv[1] == "names":
        print('#include "prof.h"\nconst char *const uno_prof_call[] = {')
        print("".join(f'    "{f["name"]}",\n' for f in functions) + "};")
        print(f"const int uno_prof_calls = {len(functions)};")
        return
    print('/* Generated by tools/abi/profile.py. */\n#include "record.h"\n#include <stddef.h>')
    print("#pragma GCC visibility push(default)")
    for number, function in enumerate(functions):
        print("\n" + wrapper(number, function))


if __name__ == "__main__":
    main()
