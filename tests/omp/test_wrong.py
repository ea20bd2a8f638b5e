# SPDX-License-Identifier: BSD-3-Clause
"""Programs of one construct each that are wrong: the error says why and where."""

import pytest
from watchdog import indented

WRONG = [
    ("private(nothing)", "for i in range(3):\n    pass", "no variable 'nothing'", 0),
    ("firstprivate(nothing)", "for i in range(3):\n    pass", "no variable 'nothing'", 0),
    ("lastprivate(nothing)", "for i in range(3):\n    pass", "no variable 'nothing'", 0),
    ("reduction(+:nothing)", "for i in range(3):\n    pass", "no variable 'nothing'", 0),
    ("private(x, x)", "for i in range(3):\n    x = i", "twice", 0),
    ("private(x) private(x)", "for i in range(3):\n    x = i", "twice", 0),
    ("firstprivate(x) firstprivate(x)", "for i in range(3):\n    x", "twice", 0),
    ("lastprivate(x, x)", "for i in range(3):\n    x = i", "twice", 0),
    ("reduction(+:x, x)", "for i in range(3):\n    x += i", "twice", 0),
    ("reduction(+:x) reduction(*:x)", "for i in range(3):\n    x += i", "twice", 0),
    ("private(x) reduction(+:x)", "for i in range(3):\n    x += i", "both", 0),
    ("schedule(static) schedule(dynamic)", "for i in range(3):\n    pass", "twice", 0),
    ("ordered ordered", "for i in range(3):\n    pass", "twice", 0),
    ("collapse(1) collapse(1)", "for i in range(3):\n    pass", "twice", 0),
    ("", "for i in range(3):\n    i = 4", "loop variable 'i'", 2),
    ("", "for i in range(3):\n    i += 4", "loop variable 'i'", 2),
    ("", "for i in range(3):\n    x = 1\n    del i", "loop variable 'i'", 3),
    ("", "for i in range(3):\n    for i in range(2):\n        pass", "loop variable 'i'", 2),
    ("", "for i in range(3):\n    if (i := 3):\n        pass", "loop variable 'i'", 2),
    ("", "for i, x in enumerate('abc'):\n    x = 1", "loop variable 'x'", 2),
    ("", "for i in range(3):\n    with open('f') as i:\n        pass", "loop variable 'i'", 2),
    ("", "for i in range(3):\n    import os as i", "loop variable 'i'", 2),
    ("collapse(2)", "for i in range(3):\n    for j in range(3):\n        i = 1", "loop variable 'i'", 3),
    ("collapse(2)", "for i in range(3):\n    for i in range(3):\n        pass", "two of the loops", 0),
    ("firstprivate(i)", "for i in range(3):\n    pass", "loop variable", 0),
    ("reduction(+:i)", "for i in range(3):\n    pass", "loop variable", 0),
    ("", "for i in range(3):\n    with omp('ordered'):\n        pass", "ordered clause", 2),
]


@pytest.mark.parametrize("form", ["for", "parallel for"])
@pytest.mark.parametrize(
    "clauses, body, reason, line", WRONG, ids=[f"{c} {b}".replace("\n", "; ") for c, b, *_ in WRONG]
)
def test_what_is_wrong_is_said_with_its_line(form, clauses, body, reason, line, process):
    text = f"@omp\ndef run(n):\n    x = 0\n    with omp('{form} {clauses}'):\n{indented(body, 8)}\n"
    kind, error, message, at = process.run(clauses, text, 2)
    assert (kind, error) == ("error", "OmpSyntaxError") and reason in message and at == 5 + line, (message, at)


WRONG_BLOCKS = [
    ("parallel shared(nothing)", "pass", "no variable 'nothing'"),
    ("parallel copyin(nothing)", "pass", "threadprivate"),
    ("parallel private(nothing)", "pass", "no variable 'nothing'"),
    ("parallel", "omp('flush(x, nothing)')", "no variable 'nothing'"),
    ("parallel shared(x) shared(x)", "x", "twice"),
    ("parallel shared(x) private(x)", "x", "both"),
    ("parallel num_threads(2) num_threads(3)", "pass", "twice"),
    ("parallel if(True) if(False)", "pass", "twice"),
    ("parallel if(True) if(parallel: False)", "pass", "twice"),
    ("parallel if(task: True)", "pass", "parallel expected"),
    ("parallel default(none) default(shared)", "pass", "twice"),
    ("single nowait nowait", "pass", "twice"),
    ("single copyprivate(x, x)", "pass", "twice"),
    ("single private(x) copyprivate(nothing)", "pass", "no variable"),
    ("task final(True) final(True)", "pass", "twice"),
    ("task untied untied", "pass", "twice"),
    ("sections nowait nowait", "pass", "twice"),
    ("masked filter(0) filter(1)", "pass", "twice"),
    ("atomic read write", "v = x", "exclude"),
    ("atomic seq_cst relaxed", "x += 1", "exclude"),
    ("atomic", "x += x", "x itself"),
    ("atomic", "x += x + 1", "x itself"),
    ("atomic", "a[0] += a[0] * 2", "a[0] itself"),
    ("atomic", "x = x + x", "once"),
    ("atomic", "x = 3", "write"),
    ("atomic capture", "v = x; x += x", "x itself"),
    ("parallel", "omp('cancel for')", "only directly inside for"),
    ("parallel", "omp('cancel taskgroup')", "only directly inside task"),
    ("parallel", "omp('cancellation point sections')", "only directly inside section"),
    ("critical", "omp('cancel parallel')", "only directly inside parallel"),
    ("single", "omp('cancellation point for')", "only directly inside for"),
]


@pytest.mark.parametrize("directive, body, reason", WRONG_BLOCKS, ids=[f"{d}, {b}" for d, b, _ in WRONG_BLOCKS])
def test_wrong_blocks_are_said_with_their_line(directive, body, reason, process):
    text = f"@omp\ndef run(n):\n    x, a = 0, [0]\n    with omp('{directive}'):\n        {body}\n"
    kind, error, message, at = process.run(directive, text, 2)
    assert (kind, error) == ("error", "OmpSyntaxError") and reason in message and at in (5, 6), (message, at)
