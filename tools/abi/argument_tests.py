#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes, from abi.json, a C program that passes NULL for every pointer argument of every function that is written, and
wrong handles for every handle. Called by tests/suites/12-arguments.

    argument_tests.py SOURCE...      the sources of the library tell which functions are written

The program runs on tests/abi/arguments.h, which has the objects that the expressions below name. All other arguments of
a call are right, so that the error can only mean the wrong one.
"""

import re
import sys

import gen
import table

# What makes a call a different one, or ends the process.
LEFT_OUT = re.compile(
    r"MPI_(Init|Init_thread|Finalize|Abort|Pcontrol)$"  # once per process, or not at all
    r"|_(toint|fromint)$"  # handles as numbers: every value is answered
    r"|^MPI_(Aint_add|Aint_diff)$"
    r"|^MPI_T_finalize$"  # takes the objects of the other cases away
)

# (function, parameter), both matched whole: why NULL is right there. The call must succeed then.
LEGAL_NULL = {
    (
        r"(?!MPI_(Status_|Get_(count|elements)|Test_cancelled|Topo_test)).*",
        r"status|array_of_statuses",
    ): "MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are NULL",
    (r".*_keyval|MPI_Keyval_create", r".*copy_(attr_)?fn|.*delete_(attr_)?fn"): "MPI_NULL_COPY_FN and its kin are NULL",
    (r".*", r"extra_state"): "the user's own value",
    (r".*(_set_attr|_put)", r"attribute_val"): "the user's own value",
    (r"MPI_Get_address", r"location"): "MPI_BOTTOM is NULL",
    (r"MPI_Free_mem", r"base"): "does nothing, as free()",
    (r"MPI_Grequest_start", r".*_fn"): "a function that is not needed",
    (r"MPI_Info_create_env", r"argv"): "no arguments, as in MPI_Init",
    (r"MPI_Dist_graph_neighbors", r".*weights"): "the caller wants none",
    (r"MPI_Type_get_contents", r"array_of_addresses|array_of_large_counts"): "the type of the test has none",
    (r"MPI_Register_datarep", r"(read|write)_conversion_fn"): "MPI_CONVERSION_FN_NULL is NULL",
    (r"MPI_Info_get_string", r"value"): "with a buflen of 0 only the length is told",
    (r"MPI_Session_get_nth_pset", r"pset_name"): "with a pset_len of 0 only the length is told",
    (r"MPI_T_(.*_get_info|enum_get_item)", r"(?!info_used).*"): "what the caller does not want to know",
    (r"MPI_T_.*_handle_alloc", r"obj_handle"): "no variable or event is bound to an object",
    (
        r"MPI_T_event_.*",
        r"user_data|event_cb_function|free_cb_function|dropped_cb_function",
    ): "nothing to call, or to give",
}

# The same where the call may fail all the same: no command of this name can be started (tests/dpm has those that can).
MAYBE_NULL = {
    (r"MPI_Comm_spawn(_multiple)?", r"argv|array_of_argv"): "MPI_ARGV_NULL and MPI_ARGVS_NULL are NULL",
    (r"MPI_Comm_spawn(_multiple)?", r"array_of_errcodes"): "MPI_ERRCODES_IGNORE is NULL",
}

# (function, parameter): the expression of a right argument; the first that matches counts. `""` stands for any.
GIVEN = [
    (r"MPI_T_enum_get_item", r"indx", "0"),
    (r"MPI_T_.*", r"(cvar|pvar|event|source|cat|element)_index", "0"),
    (r"MPI_T_pvar_get_index", r"var_class", "MPI_T_PVAR_CLASS_COUNTER"),
    (r"MPI_T_pvar_get_index", r"name", '"wait_sleeps"'),
    (r"MPI_T_cvar_get_index", r"name", '"verbose"'),
    (r"MPI_T_event_get_index", r"name", '"unexpected_queued"'),
    (r"MPI_T_category_get_index", r"name", '"library"'),
    (r"MPI_T_event_handle_free", r"event_registration", "fresh_registration()"),
    (r".*", r"cb_safety", "MPI_T_CB_REQUIRE_MPI_RESTRICTED"),
    (r"MPI_(Recv|I?[mM]?probe|Improbe|Mprobe|Probe)", r"source", "MPI_PROC_NULL"),
    (r"MPI_(Group_.*|Dist_graph_create)", r"n", "1"),
    (r"MPI_Type_create_darray", r"size", "1"),
    (r"MPI_(Info_get_string|Session_get_nth_pset)", r"buflen|pset_len", "zero"),
    (r"(MPI_I?neighbor|MPI_Neighbor)_.*v(_init)?", r"displs|sdispls|rdispls", "steps"),
    (r"MPI_(Ine|Ne)ighbor_.*|MPI_Cart_(?!create|map).*|MPI_Cartdim_get", r"comm", "cart"),
    (r"MPI_Graph_(?!create|map).*|MPI_Graphdims_get", r"comm", "graph"),
    (r"MPI_Dist_graph_neighbors.*", r"comm", "dist"),
    (r"MPI_(Comm_(set_info|dup_with_info|idup_with_info)|Info_.*|Abi_set_fortran_info)", r"info", "info"),
    (r".*", r"info", "MPI_INFO_NULL"),
    (r"MPI_(Comm|Session)_call_errhandler", r"errorcode", "0"),
    (r"MPI_File_open", r"amode", "MPI_MODE_RDWR | MPI_MODE_CREATE"),
    (r"MPI_File_(open|delete)", r"filename", '"file"'),
    (r"MPI_File_call_errhandler", r"errorcode", "0"),
    (r"MPI_File_seek.*", r"whence", "MPI_SEEK_SET"),
    (r"MPI_File_set_view", r"datarep", '"native"'),
    (r"MPI_Register_datarep", r"datarep", 'fresh_name("rep")'),
    (r"MPI_(Pready.*)", r"request", "psend"),
    (r"MPI_Parrived", r"request", "precv"),
    (r"MPI_Grequest_complete", r"request", "general"),
    (r"MPI_(Comm_(get|set|delete)_attr)|MPI_Attr_.*", r"(comm_)?keyval", "comm_key"),
    (r"MPI_Type_(get|set|delete)_attr", r"type_keyval", "type_key"),
    (r"MPI_Win_(get|set|delete)_attr", r"win_keyval", "win_key"),
    (r"MPI_Win_(attach|detach)", r"win", "dynamic"),
    (r"MPI_Win_lock", r"lock_type", "MPI_LOCK_SHARED"),
    (r"MPI_Win_.*", r"assert", "0"),
    (r".*", r"target_rank|target_disp", "0"),
    (r".*", r"tag|sendtag|recvtag|root|dest|source|rank|rank_source|key|color|partition|n|direction|.*leader", "0"),
    (r"MPI_(Type_create_subarray|Type_create_darray).*", r"order", "MPI_ORDER_C"),
    (r"MPI_Type_create_darray.*", r"array_of_distribs", "distribs"),
    (r"MPI_Type_create_subarray.*", r"array_of_starts", "zero"),
    (r"MPI_Type_match_size", r"typeclass", "MPI_TYPECLASS_REAL"),
    (r"MPI_Type_match_size", r"size", "4"),
    (r"MPI_Comm_split_type", r"split_type", "MPI_COMM_TYPE_SHARED"),
    (r"MPI_Type_get_contents.*", r"max_.*", "8"),
    (r"MPI_Type_get_contents.*", r"datatype", "type"),
    (r".*", r"(out|in)size|buflen|valuelen|size", "64"),
    (r"MPI_Comm_spawn", r"command", '"./no-such-program"'),
    (r"MPI_Comm_spawn_multiple", r"array_of_argv", "argvs"),
    (r".*", r"required", "MPI_THREAD_SINGLE"),
    (r".*", r"datarep", '"external32"'),
    (r".*", r"pset_name|stringtag", '"mpi://SELF"'),
    (r".*", r"edges|index|sources|destinations|targets|ranks1?|coords|displs|sdispls|rdispls", "zero"),
]

# The second half of a split collective needs the first.
for split in ("read_at_all", "write_at_all", "read_all", "write_all", "read_ordered", "write_ordered"):
    place = "1, " if "_at_" in split else ""
    GIVEN.insert(0, (f"MPI_File_{split}_end", "fh", f"BEGUN(MPI_File_{split}_begin(file, {place}more, 1, MPI_INT))"))

HANDLES = {
    "MPI_Comm": ("COMM", "comm"),
    "MPI_Group": ("GROUP", "group"),
    "MPI_Info": ("INFO", "info"),
    "MPI_Session": ("SESSION", "session"),
    "MPI_Errhandler": ("ERRHANDLER", "MPI_ERRORS_RETURN"),
    "MPI_Op": ("OP", "MPI_SUM"),
    "MPI_Datatype": ("DATATYPE", "MPI_INT"),
    "MPI_Request": ("REQUEST", "request"),
    "MPI_Message": ("MESSAGE", "MPI_MESSAGE_NO_PROC"),
    "MPI_Win": ("WIN", "win"),
    "MPI_File": ("FILE", "file"),
    "MPI_T_enum": ("T_ENUM", "tool_enum"),
    "MPI_T_cvar_handle": ("T_CVAR", "tool_control"),
    "MPI_T_pvar_handle": ("T_PVAR", "tool_counter"),
    "MPI_T_pvar_session": ("T_SESSION", "tool_session"),
    "MPI_T_event_registration": ("T_REGISTRATION", "tool_registration"),
    "MPI_T_event_instance": ("T_INSTANCE", "tool_instance"),
}

# Where MPI_IN_PLACE is wrong for every buffer.
NO_PLACE = re.compile(
    r"MPI_(I?([bsr]?send|m?recv)|(p?[bsr]?send|p?recv)_init|I?sendrecv(_replace)?|(Unp|P)ack(_external)?|Reduce_local)",
    re.I,
)

# What the standard allows before MPI_Init and after MPI_Finalize: it must not ask for MPI_Init.
ANYTIME = re.compile(
    r"MPI_(Initialized|Finalized|Get_version|Get_library_version|Abi_.*|Info_.*|Get_address|Pcontrol"
    r"|(Comm|Win|File|Session)_create_errhandler|Errhandler_free|Error_.*|(Add|Remove)_error_.*"
    r"|Status_(get|set)_(?!elements).*|Test_cancelled|Session_.*"
    r"|T_.*|Dims_create|Group_(?!from).*)"  # arithmetic, and what the empty group is good for: not refused
)

CLASS = {"DATATYPE": "MPI_ERR_TYPE", "MESSAGE": "MPI_ERR_REQUEST"}  # others: MPI_ERR_ and the kind
CLASS |= dict.fromkeys(("T_ENUM", "T_CVAR", "T_PVAR", "T_REGISTRATION", "T_INSTANCE"), "MPI_T_ERR_INVALID_HANDLE")
CLASS["T_SESSION"] = "MPI_T_ERR_INVALID_SESSION"

MAIN = """\
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "before")) return run_outside(calls, (int)(sizeof calls / sizeof *calls), false);
    if (!strcmp(what, "after")) return run_outside(calls, (int)(sizeof calls / sizeof *calls), true);
    return run_all(tests, (int)(sizeof tests / sizeof *tests));
}"""


def matches(table_key, function, parameter):
    """Whether a (function, parameter) pair of patterns means this argument; `_c` forms are like the plain ones."""
    patterns = table_key[:2]
    plain = function.removesuffix("_c")
    return re.fullmatch(patterns[0], plain) and re.fullmatch(patterns[1], parameter)


def base_of(ctype):
    """`const MPI_Datatype[]` -> `MPI_Datatype`."""
    return re.sub(r"^const | ?\*+|\[.*", "", ctype)


def is_pointer(ctype):
    """Also arrays, which are pointers, and functions."""
    return "*" in ctype or "[" in ctype


def takes_handle(param):
    """Whether the argument gives a handle to the call, by value or by its address."""
    if base_of(param["type"]) not in HANDLES:
        return False
    inward = param.get("direction") in ("in", "inout") or param["type"].startswith("const")
    return not is_pointer(param["type"]) or inward


def default(param):
    """A right argument by its type alone."""
    ctype, base = param["type"], base_of(param["type"])
    if base in HANDLES and not is_pointer(ctype):
        return HANDLES[base][1]
    if base.endswith("_function") or base.endswith("_function_c") or base.endswith("_fn"):
        return f"({base} *)nothing"
    if not is_pointer(ctype):
        return "1"
    if base == "MPI_Datatype" and "const" in ctype:
        return "types"
    if takes_handle(param):
        return f"(void *)box({HANDLES[base][1]})"
    if base == "MPI_Status":
        return "statuses"
    if base == "char":
        return "words" if "[" in ctype and "const" not in ctype else "text" if "const" in ctype else "out"
    if base == "void":
        return "buf" if param.get("direction") == "in" else "more"
    if "[3]" in ctype:
        return "ranges"
    inward = param.get("direction") in ("in", "inout") or "const" in ctype
    return (
        {"int": "one", "MPI_Count": "ones", "MPI_Aint": "aints"}.get(base, "(void *)out") if inward else "(void *)out"
    )


def right(function, param):
    """A right argument."""
    for entry in GIVEN:
        if matches(entry, function["name"], param["name"]):
            if is_pointer(param["type"]) != (entry[2] in ("zero", "distribs", "steps", "argvs") or '"' in entry[2]):
                continue
            if entry[2] == "steps" and base_of(param["type"]) == "MPI_Aint":
                return "wide_steps"
            wide = {"MPI_Aint": "aints", "MPI_Count": "(MPI_Count *)aints"}
            return wide.get(base_of(param["type"]), entry[2]) if entry[2] == "zero" else entry[2]
    return default(param)


def call(function, index, expression):
    """The call with one argument replaced."""
    given = [right(function, p) for p in function["params"]]
    given[index] = expression
    return f"{function['name']}({', '.join(given)})"


def wanted(function, param):
    """The outcome of NULL: an error class, or LEGAL."""
    if any(matches(key, function["name"], param["name"]) for key in LEGAL_NULL):
        return "LEGAL"
    if any(matches(key, function["name"], param["name"]) for key in MAYBE_NULL):
        return "ANY_RESULT"
    if function["name"].startswith("MPI_T_"):
        return "MPI_T_ERR_INVALID"
    buffer = param.get("kind") == "BUFFER" or param["name"] == "buffer"
    if re.match("MPI_Info_", function["name"]) and param["name"] in ("key", "value") and "const" in param["type"]:
        return f"MPI_ERR_INFO_{param['name'].upper()}"
    return "MPI_ERR_BUFFER" if buffer else "MPI_ERR_ARG"


def cases(functions):
    """(function, parameter, kind of handle or None, class, the call) of each case."""
    for function in functions:
        if function["return"] != "int" or LEFT_OUT.search(function["name"].removesuffix("_c")):
            continue
        for index, param in enumerate(function["params"]):
            ctype = param["type"]
            name = {"indx": "index"}.get(param["name"], param["name"])  # the table avoids a name of libc
            if is_pointer(ctype):
                yield function["name"], name, None, wanted(function, param), call(function, index, "NULL")
            if NO_PLACE.fullmatch(function["name"].removesuffix("_c")) and param.get("kind") == "BUFFER":
                yield function["name"], name, None, "MPI_ERR_BUFFER", call(function, index, "MPI_IN_PLACE")
            if takes_handle(param):
                kind = HANDLES[base_of(ctype)][0]
                bad = "(void *)box(bad)" if is_pointer(ctype) else "bad"
                yield function["name"], name, kind, CLASS.get(kind, f"MPI_ERR_{kind}"), call(function, index, bad)


def main():
    """The program on standard output."""
    have = gen.defined(sys.argv[1:])
    written = [f for f in table.load()["functions"] if f["name"] in have]
    found = list(cases(written))
    print('// Generated by tools/abi/argument_tests.py.\n#include "arguments.h"')
    for number, (*_, expression) in enumerate(found):
        print(f"static int run_{number}(void *bad)\n{{\n    (void)bad;\n    return {expression};\n}}\n")
    print("static const struct test tests[] = {")
    for number, (function, name, kind, error, _) in enumerate(found):
        print(f'    {{"{function}", "{name}", {chr(34) + kind + chr(34) if kind else "NULL"}, {error}, run_{number}}},')
    print("};\n")
    calls = [f for f in written if f["return"] == "int" and not LEFT_OUT.search(f["name"].removesuffix("_c"))]
    for function in calls:
        given = ", ".join(right(function, p) for p in function["params"])
        print(f"static int right_{function['name']}(void)\n{{\n    return {function['name']}({given});\n}}\n")
    print("static const struct call calls[] = {")
    for name in (f["name"] for f in calls):
        print(f'    {{"{name}", {str(bool(ANYTIME.fullmatch(name))).lower()}, right_{name}}},')
    print("};\n")
    print(MAIN)


if __name__ == "__main__":
    main()
