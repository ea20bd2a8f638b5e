# SPDX-License-Identifier: BSD-3-Clause
"""Programs of one construct each, made from tables: constructs inside constructs (seen and through a call), and
exceptions caught around constructs that others still wait in. A program that hangs fails with its name."""

import pytest
from watchdog import indented


# Blocks of constructs: %s is what stands in the middle.
OUTER = {
    "for": 'with omp("for"):\n    for i in range(8):\n        %s',
    "for dynamic": 'with omp("for schedule(dynamic) nowait"):\n    for i in range(8):\n        %s',
    "for collapse": 'with omp("for collapse(2)"):\n    for i in range(4):\n        for j in range(2):\n            %s',
    "for ordered": 'with omp("for ordered"):\n    for i in range(8):\n        with omp("ordered"):\n            %s',
    "for simd": 'with omp("for simd"):\n    for i in range(8):\n        %s',
    "loop": 'with omp("loop"):\n    for i in range(8):\n        %s',
    "sections": 'with omp("sections"):\n    with omp("section"):\n        %s\n    with omp("section"):\n        pass',
    "single": 'with omp("single"):\n    %s',
    "single nowait": 'with omp("single nowait"):\n    %s',
    "scope": 'with omp("scope"):\n    %s',
    "master": 'with omp("master"):\n    %s',
    "masked": 'with omp("masked filter(0)"):\n    %s',
    "critical": 'with omp("critical(outer)"):\n    %s',
    "task": 'with omp("task"):\n    %s',
    "taskloop": 'with omp("taskloop"):\n    for i in range(8):\n        %s',
    "master taskloop": 'with omp("master taskloop"):\n    for i in range(8):\n        %s',
}
INNER = {
    "barrier": 'omp("barrier")',
    "for": 'with omp("for"):\n    for k in range(4):\n        pass',
    "for dynamic": 'with omp("for schedule(dynamic)"):\n    for k in range(4):\n        pass',
    "sections": 'with omp("sections"):\n    with omp("section"):\n        pass',
    "single": 'with omp("single"):\n    pass',
    "scope": 'with omp("scope"):\n    pass',
    "master": 'with omp("master"):\n    pass',
    "masked": 'with omp("masked"):\n    pass',
    "critical": 'with omp("critical(outer)"):\n    pass',
    "parallel": 'with omp("parallel num_threads(2)"):\n    omp("barrier")',
    "task": 'with omp("task"):\n    pass\nomp("taskwait")',
    "taskgroup": 'with omp("taskgroup"):\n    pass',
    "flush": 'omp("flush")',
}
EVERYWHERE = {"parallel", "task", "taskgroup", "flush"}


def allowed(outer, inner):
    """What the standard says about regions that are closely nested."""
    kind = outer.split()[0] if outer not in ("for ordered", "master taskloop") else outer.split()[1]
    if inner in EVERYWHERE:
        return True
    if inner == "critical":
        return kind != "critical"
    if inner in ("master", "masked"):
        return kind in ("master", "masked", "critical")
    return False


def program(outer, inner, called):
    middle = "inner()" if called else inner
    column = len(outer.split("%s")[0].rpartition("\n")[2])
    block = outer.replace("%s", indented(middle, column).lstrip())
    text = f"@omp\ndef inner():\n{indented(inner, 4)}\n" if called else ""
    return (
        f"{text}@omp\ndef run(n):\n    done = []\n    with omp('parallel num_threads(n)'):\n"
        f"{indented(block, 8)}\n"
        "        omp('barrier')\n        done.append(1)\n    return len(done)\n"
    )


@pytest.mark.parametrize("called", [False, True], ids=["seen", "called"])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("outer", OUTER)
def test_constructs_inside_constructs(outer, inner, called, process):
    text = program(OUTER[outer], INNER[inner], called)
    for n in (1, 2, 3):
        got = process.run(f"{inner} in {outer}", text, n)
        if allowed(outer, inner):
            assert got == ["value", repr(n)], text
            continue
        assert got[0] == "error" and got[1] == ("RuntimeError" if called else "OmpSyntaxError"), (got, text)
        assert inner.split()[0] in got[2]
        if not called:
            assert text.splitlines()[got[3] - 2].strip().startswith(INNER[inner].partition("\n")[0])


# Constructs that a thread leaves by an exception, with the values that the others may see afterwards.
LEFT = {
    "for": 'with omp("for"):\n    for i in range(12):\n        fails(i)',
    "for static 1": 'with omp("for schedule(static, 1)"):\n    for i in range(12):\n        fails(i)',
    "for dynamic": 'with omp("for schedule(dynamic)"):\n    for i in range(12):\n        fails(i)',
    "for guided": 'with omp("for schedule(guided)"):\n    for i in range(12):\n        fails(i)',
    "for nowait": 'with omp("for schedule(dynamic) nowait"):\n    for i in range(12):\n        fails(i)',
    "for over a list": 'with omp("for"):\n    for i in list(range(12)):\n        fails(i)',
    "for collapse": 'with omp("for collapse(2)"):\n    for i in range(12):\n        for j in range(3):\n'
    "            fails(i)",
    "for ordered": 'with omp("for ordered schedule(static, 1)"):\n    for i in range(12):\n'
    '        with omp("ordered"):\n            fails(i)',
    "for before ordered": 'with omp("for ordered schedule(dynamic)"):\n    for i in range(12):\n        fails(i)\n'
    '        with omp("ordered"):\n            pass',
    "for doacross": 'with omp("for ordered(1) schedule(static, 1)"):\n    for i in range(12):\n'
    '        omp("ordered depend(sink: i - 1)")\n        fails(i)\n        omp("ordered depend(source)")',
    "for reduction": 'with omp("for reduction(+:total)"):\n    for i in range(12):\n        fails(i)\n'
    "        total += 1",
    "for reduction task": 'with omp("for reduction(task, +:total)"):\n    for i in range(12):\n        fails(i)\n'
    "        total += 1",
    "for own reduction": 'mine = 0\nwith omp("for reduction(+:mine)"):\n    for i in range(12):\n        fails(i)\n'
    "        mine += 1",
    "for inscan": 'with omp("for reduction(inscan, +:total)"):\n    for i in range(12):\n        total += fails(i)\n'
    '        omp("scan inclusive(total)")\n        list((total,))',
    "for inscan, second part": 'with omp("for reduction(inscan, +:total)"):\n    for i in range(12):\n'
    '        total += 1\n        omp("scan inclusive(total)")\n        fails(i)',
    "for lastprivate": 'with omp("for lastprivate(total)"):\n    for i in range(12):\n        total = fails(i)',
    "for first- and lastprivate": 'with omp("for firstprivate(total) lastprivate(total)"):\n'
    "    for i in range(12):\n        total = fails(i)",
    "for conditional": 'with omp("for lastprivate(conditional: total)"):\n    for i in range(12):\n'
    "        if fails(i) is None:\n            total = i",
    "sections": 'with omp("sections"):\n    with omp("section"):\n        fails(1)\n    with omp("section"):\n'
    '        fails(5)\n    with omp("section"):\n        fails(7)',
    "sections reduction": 'with omp("sections reduction(+:total)"):\n    with omp("section"):\n        fails(5)\n'
    '        total += 1\n    with omp("section"):\n        total += 1',
    "single": 'with omp("single"):\n    fails(5)',
    "single nowait": 'with omp("single nowait"):\n    fails(5)',
    "scope": 'with omp("scope"):\n    if omp_get_thread_num() == 0:\n        fails(5)',
    "scope reduction": 'with omp("scope reduction(+:total)"):\n    total += 1\n    if omp_get_thread_num() == 0:\n'
    "        fails(5)",
    "master": 'with omp("master"):\n    fails(5)',
    "critical": 'with omp("critical(left)"):\n    fails(5)',
    "taskgroup": 'with omp("taskgroup"):\n    fails(5)',
    "parallel": 'with omp("parallel num_threads(2)"):\n    fails(5)\n    omp("barrier")',
}
AFTER = """
        omp("barrier")
        with omp("for schedule(dynamic)"):
            for k in range(6):
                done.append(k)
        with omp("single copyprivate(word)"):
            word = "same"
        with omp("for reduction(+:sum_)"):
            for k in range(6):
                sum_ += k
        done.append((word, sum_))
"""


@pytest.mark.parametrize("which", [(5,), (0, 11), tuple(range(12))], ids=["one", "ends", "all"])
@pytest.mark.parametrize("name", LEFT)
def test_exceptions_caught_around_a_construct(name, which, process):
    text = (
        f"def fails(i):\n    if i in {which}:\n        raise ValueError(i)\n"
        f"    return None if {'cond' in name} else 1\n"
        "@omp\ndef run(n):\n    total, done, sum_, caught = 0, [], 0, []\n    with omp('parallel num_threads(n)'):\n"
        f"        try:\n{indented(LEFT[name], 12)}\n        except ValueError as error:\n"
        f"            caught.append(error.args[0])\n{AFTER}"
        "    return bool(caught), sorted(d for d in done if type(d) is int), [d for d in done if type(d) is tuple]\n"
    )
    some = bool({5, 7, 1} & set(which)) if "sections" in name else True
    some = 5 in which if name.split()[0] in ("single", "scope", "master", "critical", "taskgroup", "parallel") else some
    for n in (1, 2, 3):
        for _ in range(5):
            got = process.run(f"exceptions out of {name}", text, n)
            assert got == [
                "value",
                repr((some if name != "sections reduction" else 5 in which, list(range(6)), [("same", 15)] * n)),
            ], text


@pytest.mark.parametrize("clause", ["", "copyprivate(v)"])
def test_exceptions_out_of_a_single_with_copyprivate(clause, process):
    text = f"""
@omp
def run(n):
    got = []
    with omp("parallel num_threads(n)"):
        v = None
        try:
            with omp("single {clause}"):
                v = 1
                raise ValueError
        except ValueError:
            got.append("mine")
        except RuntimeError as error:
            got.append(type(error.__cause__).__name__)
        omp("barrier")
        with omp("single copyprivate(v)"):
            v = 2
        got.append(v)
    return sorted(map(str, got))
"""
    for n in (1, 2, 4):
        others = ["ValueError"] * (n - 1) if clause else []
        assert process.run(f"single {clause}", text, n) == ["value", repr(sorted(["mine", *others, *["2"] * n]))]
