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
_TARGET = {
    "if",
    "device",
    "map",
    "private",
    "firstprivate",
    "is_device_ptr",
    "has_device_addr",
    "defaultmap",
    "nowait",
    "depend",
    "thread_limit",
    "allocate",
    "uses_allocators",
}
_MOVES = {"map", "if", "device", "nowait", "depend"}
_TEAMS = _DATA | {"num_teams", "thread_limit", "reduction", "allocate"}
_DISTRIBUTE = {
    "private",
    "firstprivate",
    "lastprivate",
    "collapse",
    "dist_schedule",
    "order",
    "allocate",
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
    "depobj": {"depend", "update", "destroy"},
    "scope": _SCOPE,
    "target": _TARGET,
    "target data": {"map", "if", "device", "use_device_ptr", "use_device_addr"},
    "target enter data": _MOVES,
    "target exit data": _MOVES,
    "target update": {"to", "from", "if", "device", "nowait", "depend"},
    "declare target": {"to", "enter", "link", "device_type", "indirect"},
    "teams": _TEAMS,
    "distribute": _DISTRIBUTE,
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
_SHARED_OUT = [("distribute",), ("distribute", "simd"), ("distribute", "parallel", "for")]
_SHARED_OUT += [("distribute", "parallel", "for", "simd"), ("loop",)]
_LEAGUES = [("teams", *words) for words in _SHARED_OUT]
_HOSTED = [("parallel",), ("parallel", "for"), ("parallel", "for", "simd"), ("parallel", "loop"), ("simd",)]
COMBINED += _SHARED_OUT[1:4] + _LEAGUES
COMBINED += [("target", *words) for words in [("teams",), *_LEAGUES, *_HOSTED]]
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
    "target enter data",
    "target exit data",
    "target update",
    "declare target",
    "depobj",
}
LISTS = {"private", "firstprivate", "lastprivate", "shared", "copyin", "copyprivate", "inclusive", "exclusive"}
REDUCTIONS = {"reduction", "in_reduction", "task_reduction"}
MAPS = {"map", "to", "from", "is_device_ptr", "has_device_addr", "use_device_ptr", "use_device_addr", "enter", "link"}
EXPRESSIONS = {"thread_limit", "device", "if", "num_threads", "final", "priority", "grainsize", "num_tasks", "filter"}
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
    "num_teams",
    "thread_limit",
    "dist_schedule",
    "device",
    "device_type",
    "indirect",
    "detach",
    "destroy",
}
CONFLICTS = [
    ("grainsize", "num_tasks"),
    ("detach", "mergeable"),
    *itertools.combinations(("depend", "update", "destroy"), 2),
    ("nogroup", "reduction"),
    ("threads", "simd"),
    *itertools.combinations(("read", "write", "update"), 2),
    *itertools.product(("read", "write"), ("capture", "compare")),
    *itertools.combinations(("seq_cst", "acq_rel", "acquire", "release", "relaxed"), 2),
]
OPERATORS = {"+", "*", "-", "&", "|", "^", "&&", "||", "min", "max", "and", "or"}
