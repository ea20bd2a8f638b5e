# SPDX-License-Identifier: BSD-3-Clause
"""Which directives there are, which clauses they take, what may be combined. Used by directive.py and clauses.py."""

import itertools

_DATA = {"private", "firstprivate", "shared", "default"}
_LOOP = {
    "private",
    "firstprivate",
    "lastprivate",
    "reduction",
    "schedule",
    "collapse",
    "ordered",
    "nowait",
    "linear",
    "order",
    "allocate",
}
ATOMIC = {"read", "write", "update", "capture", "compare", "seq_cst", "acq_rel", "acquire", "release", "relaxed"}
_PARALLEL = _DATA | {"if", "num_threads", "copyin", "reduction", "proc_bind", "allocate"}
_TASK = _DATA | {
    "if",
    "untied",
    "final",
    "mergeable",
    "depend",
    "priority",
    "in_reduction",
    "affinity",
    "allocate",
    "detach",
}
_TASKLOOP = (_TASK - {"depend", "affinity", "detach"}) | {
    "grainsize",
    "num_tasks",
    "nogroup",
    "collapse",
    "lastprivate",
    "reduction",
}
_SECTIONS = {"private", "firstprivate", "lastprivate", "reduction", "nowait", "allocate"}
_SIMD = {
    "private",
    "lastprivate",
    "reduction",
    "linear",
    "collapse",
    "safelen",
    "simdlen",
    "aligned",
    "nontemporal",
    "order",
    "if",
}
_SCOPE = {"private", "firstprivate", "reduction", "nowait", "allocate"}

CLAUSES = {
    "parallel": _PARALLEL,
    "for": _LOOP,
    "sections": _SECTIONS,
    "section": set(),
    "single": {"private", "firstprivate", "copyprivate", "nowait", "allocate"},
    "master": set(),
    "masked": {"filter"},
    "critical": {"hint"},
    "barrier": set(),
    "taskwait": {"depend", "nowait"},
    "taskyield": set(),
    "task": _TASK,
    "taskgroup": {"task_reduction", "allocate"},
    "taskloop": _TASKLOOP,
    "flush": set(),
    "ordered": {"threads", "simd", "depend", "doacross"},
    "scan": {"inclusive", "exclusive"},
    "threadprivate": set(),
    "atomic": ATOMIC | {"hint"},
    "cancel": {"if"},
    "cancellation point": set(),
    "declare reduction": {"initializer"},
    "simd": _SIMD,
    "scope": _SCOPE,
    "loop": {"private", "lastprivate", "reduction", "collapse", "order", "bind"},
}
# What may be combined, by the last words; "simd" says nothing to an interpreter.
COMBINED = [
    ("parallel", "for"),
    ("parallel", "for", "simd"),
    ("for", "simd"),
    ("parallel", "sections"),
    ("parallel", "loop"),
    ("parallel", "master"),
    ("parallel", "masked"),
    ("taskloop", "simd"),
    ("master", "taskloop"),
    ("masked", "taskloop"),
    ("master", "taskloop", "simd"),
    ("masked", "taskloop", "simd"),
    ("parallel", "master", "taskloop"),
    ("parallel", "masked", "taskloop"),
    ("parallel", "master", "taskloop", "simd"),
    ("parallel", "masked", "taskloop", "simd"),
]
BEGUN = {c[:n] for c in COMBINED for n in range(1, len(c) + 1)}  # what a combination begins with
STANDALONE = {
    "barrier",
    "taskwait",
    "taskyield",
    "flush",
    "threadprivate",
    "cancel",
    "cancellation point",
    "declare reduction",
    "scan",
}
LISTS = {"private", "firstprivate", "lastprivate", "shared", "copyin", "copyprivate", "inclusive", "exclusive"}
REDUCTIONS = {"reduction", "in_reduction", "task_reduction"}
EXPRESSIONS = {"if", "num_threads", "final", "priority", "grainsize", "num_tasks", "filter"}
# All but if, which may come once for each construct of a combination.
ONCE = ATOMIC | {
    "num_threads",
    "default",
    "schedule",
    "collapse",
    "ordered",
    "nowait",
    "final",
    "priority",
    "proc_bind",
    "untied",
    "mergeable",
    "nogroup",
    "grainsize",
    "num_tasks",
    "filter",
    "safelen",
    "simdlen",
    "order",
    "hint",
    "bind",
    "initializer",
}
CONFLICTS = [
    ("grainsize", "num_tasks"),
    ("nogroup", "reduction"),
    ("threads", "simd"),
    *itertools.combinations(("read", "write", "update"), 2),
    *itertools.product(("read", "write"), ("capture", "compare")),
    *itertools.combinations(("seq_cst", "acq_rel", "acquire", "release", "relaxed"), 2),
]
OPERATORS = {"+", "*", "-", "&", "|", "^", "&&", "||", "min", "max", "and", "or"}
