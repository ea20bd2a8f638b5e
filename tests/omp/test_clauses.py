# SPDX-License-Identifier: BSD-3-Clause
"""Programs of one construct each, made from tables: constructs with their clauses against the sequential answer. A
program that hangs fails with its name."""

import contextlib
import itertools

import pytest
from watchdog import indented

# Constructs with their clauses: the answer is what the same text gives without directives.
SCHEDULES = [
    "",
    "schedule(static)",
    "schedule(static, 1)",
    "schedule(static, 5)",
    "schedule(dynamic)",
    "schedule(dynamic, 3)",
    "schedule(guided)",
    "schedule(guided, 2)",
    "schedule(auto)",
    "schedule(runtime)",
    "schedule(monotonic: dynamic, 2)",
]
SPACES = {
    "range": ("for i in range(n0):", ["i"]),
    "range from to": ("for i in range(3, n0, 2):", ["i"]),
    "backwards": ("for i in range(n0, -2, -3):", ["i"]),
    "list": ("for i in [x * 2 for x in range(n0)]:", ["i"]),
    "generator": ("for i in (x * 2 for x in range(n0)):", ["i"]),
    "pairs": ("for i, c in enumerate('abcdefg'):", ["i"]),
    "empty": ("for i in range(0):", ["i"]),
}
REDUCTIONS = {
    "+": "t += i",
    "*": "t *= (i % 3 + 1)",
    "-": "t -= i",
    "&": "t &= i + 2",
    "|": "t |= i",
    "^": "t ^= i",
    "&&": "t = t and i < 5",
    "||": "t = t or i > 5",
    "min": "t = min(t, 7 - i)",
    "max": "t = max(t, i)",
}


def sequential(text):
    """What the program returns when the directives say nothing."""
    space = {
        "omp": lambda what: contextlib.nullcontext() if isinstance(what, str) else what,
        "omp_get_thread_num": lambda: 0,
    }
    exec(text, space)
    return repr(space["run"](1))


def agrees(process, name, text):
    expected = sequential(text)
    for n in (1, 2, 3, 5):
        assert process.run(name, text, n) == ["value", expected], text


FORMS = [*itertools.product(["parallel for", "for", "for nowait", "for simd"], SCHEDULES), ("taskloop", "")]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("form, schedule", FORMS)
def test_loops(form, schedule, space, process):
    head, _ = SPACES[space]
    loop = f"{head}\n    with omp('critical'):\n        got.append(i)"
    if form == "for simd":
        loop = f"{head}\n    got.append(i)"
    if form == "parallel for":
        block = f"with omp('parallel for num_threads(n) {schedule}'):\n{indented(loop, 4)}"
    elif form == "taskloop":
        block = (
            "with omp('parallel num_threads(n)'):\n    with omp('single'):\n        with omp('taskloop'):\n"
            + indented(loop, 12)
        )
    else:
        block = f"with omp('parallel num_threads(n)'):\n    with omp('{form} {schedule}'):\n{indented(loop, 8)}"
    agrees(
        process,
        f"{form} {schedule} over {space}",
        f"@omp\ndef run(n):\n    n0, got = 17, []\n{indented(block, 4)}\n    return sorted(got)\n",
    )


@pytest.mark.parametrize("operator", REDUCTIONS)
@pytest.mark.parametrize("form", ["parallel for", "for", "for dynamic", "sections", "scope", "taskloop", "parallel"])
def test_reductions(form, operator, process):
    update = REDUCTIONS[operator]
    clause = f"reduction({operator}:t)"
    loop = f"for i in range(10):\n    {update}"
    team = "with omp('parallel num_threads(n)'):\n"
    blocks = {
        "parallel for": f"with omp('parallel for num_threads(n) {clause}'):\n{indented(loop, 4)}",
        "for": f"{team}    with omp('for {clause}'):\n{indented(loop, 8)}",
        "for dynamic": f"{team}    with omp('for schedule(dynamic) {clause}'):\n{indented(loop, 8)}",
        "sections": f"{team}    with omp('sections {clause}'):\n"
        + "".join(f"        with omp('section'):\n            i = {i}\n            {update}\n" for i in range(4)),
        "scope": f"{team}    with omp('scope {clause}'):\n        if omp_get_thread_num() == 0:\n            i = 4\n"
        f"            {update}",
        "taskloop": f"{team}    with omp('single'):\n        with omp('taskloop {clause}'):\n{indented(loop, 12)}",
        "parallel": f"with omp('parallel num_threads(n) {clause}'):\n    if omp_get_thread_num() == 0:\n        i = 4\n"
        f"        {update}",
    }
    start = {"&&": "True", "||": "False", "&": "127"}.get(operator, "3")
    agrees(
        process, f"{form} {clause}", f"@omp\ndef run(n):\n    t = {start}\n{indented(blocks[form], 4)}\n    return t\n"
    )


DATA = {
    "private": ("x = 5", "private(x)", "x = i * 2\nout[i] = x"),
    "firstprivate": ("x = 5", "firstprivate(x)", "out[i] = x"),
    "firstprivate list": ("x = [5]", "firstprivate(x)", "out[i] = x[0]"),
    "lastprivate": ("x = 5", "lastprivate(x)", "x = i * 2\nout[i] = x"),
    "both": ("x = 5", "firstprivate(x) lastprivate(x)", "x = i * 2\nout[i] = x"),
    "conditional": ("x = 5", "lastprivate(conditional: x)", "if i % 3 == 0:\n    x = i"),
    "linear": ("x = 5", "linear(x: 3)", "out[i] = x\nx += 3"),
    "reduction": ("x = 5", "reduction(+:x)", "x += i"),
    "two": ("x = 5\ny = 1", "reduction(+:x) reduction(max:y)", "x += i\ny = max(y, i)"),
}


SHARING = itertools.product(["parallel for", "for", "for schedule(dynamic)", "for collapse(2)", "orphaned for"], DATA)


@pytest.mark.parametrize("form, data", [s for s in SHARING if s != ("for collapse(2)", "linear")])
def test_data_sharing(form, data, process):
    start, clause, body = DATA[data]
    result = "out, x" if data not in ("private", "firstprivate", "firstprivate list") else "out"
    head = "for i in range(12):\n"
    if "collapse" in form:
        head, body = "for a in range(4):\n    for b in range(3):\n", indented("i = 3 * a + b\n" + body, 4)
    loop = head + indented(body, 4)
    begin = f"out = [0] * 12\n{start}\n"
    if form == "parallel for":
        text = f"{begin}with omp('parallel for num_threads(n) {clause}'):\n{indented(loop, 4)}\nreturn {result}\n"
        text = f"@omp\ndef run(n):\n{indented(text, 4)}"
    elif form == "orphaned for":
        text = (
            f"@omp\ndef part(out):\n{indented(start, 4)}\n    with omp('for {clause}'):\n{indented(loop, 8)}\n"
            f"    return {result}\n@omp\ndef run(n):\n    out, got = [0] * 12, []\n"
            "    with omp('parallel num_threads(n)'):\n"
            "        mine = part(out)\n        with omp('single'):\n            got.append(mine)\n    return got\n"
        )
    else:
        text = f"{begin}with omp('parallel num_threads(n)'):\n    with omp('{form} {clause}'):\n{indented(loop, 8)}\n"
        text = f"@omp\ndef run(n):\n{indented(text, 4)}    return {result}\n"
    agrees(process, f"{form} {clause}", text)
