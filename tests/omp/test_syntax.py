# SPDX-License-Identifier: BSD-3-Clause
"""Everything that must be a SyntaxError at decoration, with its place and reason."""

import linecache
import textwrap

import pytest
from unisono.omp import *

BAD = [
    ("with omp('parallel'):\n    return 1", "return"),
    ("with omp('parallel'):\n    yield 1", "yield"),
    ("for i in range(3):\n    with omp('parallel'):\n        break", "break"),
    ("for i in range(3):\n    with omp('critical'):\n        continue", "continue"),
    ("with omp('for'):\n    for i in range(3):\n        break", "break"),
    ("with omp('for'):\n    x = 1", "for loop"),
    ("with omp('for'):\n    for i in range(3):\n        pass\n    else:\n        pass", "else"),
    ("with omp('for'):\n    while True:\n        pass", "for loop"),
    (
        "with omp('for collapse(2)'):\n    for i in range(3):\n        x = i\n"
        "        for j in range(2):\n            pass",
        "collapse",
    ),
    ("with omp('paralel'):\n    pass", "did you mean 'parallel'"),
    ("with omp('parallel fro'):\n    pass", "unknown"),
    ("with omp('parallel schedule(static)'):\n    pass", "does not belong"),
    ("with omp('parallel num_threads(2'):\n    pass", "not closed"),
    ("with omp('parallel num_threads(2 +)'):\n    pass", "not a Python expression"),
    ("with omp('parallel if(True) if(True) if(True) if(True)'):\n    pass", "twice"),
    ("with omp('parallel private(a-b)'):\n    pass", "not the name"),
    ("a = 1\nwith omp('parallel private(a) firstprivate(a)'):\n    pass", "both"),
    ("a = 1\nwith omp('parallel default(none)'):\n    a += 1", "default(none)"),
    ("with omp('for schedule(static, 0)'):\n    for i in range(3):\n        pass", "chunk"),
    ("with omp('for schedule(random)'):\n    for i in range(3):\n        pass", "schedule"),
    ("a = 0\nwith omp('parallel reduction(?:a)'):\n    pass", "operator"),
    ("a = 0\nwith omp('parallel reduction(nothing:a)'):\n    pass", "nothing"),
    ("omp('parallel')", "needs a block"),
    ("with omp('barrier'):\n    x = 1", "stands alone"),
    ("x = omp('barrier')", "statement"),
    ("x = [\n    1,\n    omp('barrier'),\n]", "statement"),
    ("x = 1; y = omp('barrier')", "statement"),
    ("@omp('parallel')\ndef g():\n    pass", "statement"),
    ("match 1:\n    case 1:\n        omp('single')", "needs a block"),
    ("d = 'barrier'\nomp(d)", "written out"),
    ("with omp('parallel') as p:\n    pass", "as"),
    ("with omp('sections'):\n    with omp('section'):\n        pass\n    x = 1", "section"),
    ("with omp('section'):\n    pass", "section"),
    ("with omp('single nowait copyprivate(x)'):\n    x = 1", "copyprivate"),
    ("with omp('atomic'):\n    print(1)", "atomic"),
    ("omp('cancel everything')", "expected"),
    ("with omp('parallel copyin(x)'):\n    pass", "threadprivate"),
    ("class C:\n    with omp('critical'):\n        pass", "class"),
    ("with omp(''):\n    pass", "directive expected"),
]


@pytest.mark.parametrize("body, reason", BAD, ids=[b.replace("\n", "; ")[:60] for b, _ in BAD])
def test_what_cannot_be_done_is_a_syntax_error(body, reason, tmp_path):
    f = tmp_path / "bad.py"
    f.write_text("from unisono.omp import *\n@omp\ndef f():\n" + textwrap.indent(body, "    ") + "\n")
    with pytest.raises(SyntaxError) as info:
        exec(compile(f.read_text(), str(f), "exec"), {"__name__": "bad"})
    e = info.value
    assert (
        reason in e.msg and e.filename == str(f) and 4 <= e.lineno <= 4 + body.count("\n") and e.text and e.offset >= 1
    )


def test_await_and_async_in_a_region(tmp_path):
    for line in ("await x", "[i async for i in x]", "async with x: pass", "async for i in x: pass"):
        f = tmp_path / "bad.py"
        f.write_text(f"from unisono.omp import *\n@omp\nasync def f(x):\n    with omp('parallel'):\n        {line}\n")
        linecache.checkcache()
        with pytest.raises(SyntaxError, match="await|async"):
            exec(compile(f.read_text(), str(f), "exec"), {"__name__": "bad"})


def test_an_undecorated_function_says_so():
    def plain():
        with omp("parallel"):
            pass

    with pytest.raises(OmpError, match="plain.*not decorated"):
        plain()


def test_a_lambda_or_wrapper_is_refused():
    with pytest.raises(OmpError):
        omp(lambda: 0)
    with pytest.raises(TypeError):
        omp(3)
