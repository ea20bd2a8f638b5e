# SPDX-License-Identifier: BSD-3-Clause
"""python -m unisono.omp.bench: what each construct costs, in the manner of the EPCC micro-benchmarks.

A construct is run `inner` times in one timed piece; a piece without it, with the same Python around it, is taken off.
The figure is the median over the repetitions, in microseconds, with the quartiles. `--import-from omp4py` measures
another package that has the same spelling.
"""

import argparse
import importlib
import json
import statistics
import sys
import tempfile
import time

CONSTRUCTS = {
    "parallel": (
        'for _ in range(n):\n    with omp("parallel num_threads(t)"):\n        pass',
        "for _ in range(n):\n    pass",
    ),
    "reduction": (
        'x = 0\nfor _ in range(n):\n    with omp("parallel num_threads(t) reduction(+:x)"):\n        x += 1',
        "x = 0\nfor _ in range(n):\n    x += 1",
    ),
    "barrier": (
        'with omp("parallel num_threads(t)"):\n    for _ in range(n):\n        omp("barrier")',
        "for _ in range(n):\n    pass",
    ),
    "single": (
        'with omp("parallel num_threads(t)"):\n    for _ in range(n):\n        with omp("single"):\n            pass',
        "for _ in range(n):\n    pass",
    ),
    "for": (
        'with omp("parallel num_threads(t)"):\n    for _ in range(n):\n        with omp("for"):\n'
        "            for i in range(t):\n"
        "                pass",
        "for _ in range(n):\n    for i in range(1):\n        pass",
    ),
    "for_reduction": (
        'x = 0\nwith omp("parallel num_threads(t)"):\n    for _ in range(n):\n        with omp("for reduction(+:x)"):\n'
        "            for i in range(t):\n                x += 1",
        "x = 0\nfor _ in range(n):\n    for i in range(1):\n        x += 1",
    ),
    "static_step": (
        'with omp("parallel for num_threads(t) schedule(static, 1)"):\n    for i in range(n * t):\n        pass',
        "for i in range(n):\n    pass",
    ),
    "dynamic_step": (
        'with omp("parallel for num_threads(t) schedule(dynamic, 1)"):\n    for i in range(n * t):\n        pass',
        "for i in range(n):\n    pass",
    ),
    "guided_step": (
        'with omp("parallel for num_threads(t) schedule(guided, 1)"):\n    for i in range(n * t):\n        pass',
        "for i in range(n):\n    pass",
    ),
    "task": (
        'with omp("parallel num_threads(t)"):\n    with omp("single"):\n        for _ in range(n):\n'
        '            with omp("task"):\n'
        "                pass",
        "for _ in range(n):\n    pass",
    ),
    "critical": (
        'with omp("parallel num_threads(t)"):\n    for _ in range(n // t):\n'
        '        with omp("critical"):\n            pass',
        "for _ in range(n // t):\n    pass",
    ),
    "atomic": (
        'x = 0\nwith omp("parallel num_threads(t)"):\n    for _ in range(n // t):\n'
        '        with omp("atomic"):\n            x += 1',
        "x = 0\nfor _ in range(n // t):\n    x += 1",
    ),
    "lock": (
        'lock = omp_init_lock()\nwith omp("parallel num_threads(t)"):\n    for _ in range(n // t):\n'
        "        omp_set_lock(lock)\n"
        "        omp_unset_lock(lock)",
        "for _ in range(n // t):\n    pass",
    ),
    "sections": (
        'with omp("parallel num_threads(t)"):\n    for _ in range(n):\n        with omp("sections"):\n'
        '            with omp("section"):\n                pass\n            with omp("section"):\n'
        "                pass",
        "for _ in range(n):\n    pass",
    ),
    "ordered": (
        'with omp("parallel for num_threads(t) ordered schedule(static, 1)"):\n    for i in range(n):\n'
        '        with omp("ordered"):\n            pass',
        "for i in range(n):\n    pass",
    ),
    "taskwait": (
        'with omp("parallel num_threads(t)"):\n    for _ in range(n):\n        omp("taskwait")',
        "for _ in range(n):\n    pass",
    ),
    "copyprivate": (
        'with omp("parallel num_threads(t)"):\n    for _ in range(n):\n'
        '        with omp("single copyprivate(v)"):\n            v = 1',
        "for _ in range(n):\n    v = 1",
    ),
}


def functions(package, names):
    """The measured functions, compiled from a real file (a decorator needs its source)."""
    lines = [f"from {package} import *"]
    for name in names:
        with_, without = CONSTRUCTS[name]
        for kind, body in (("with", with_), ("without", without)):
            lines.append("@omp" if kind == "with" else "")
            lines.append(f"def {kind}_{name}(n, t):\n    " + body.replace("\n", "\n    "))
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as f:
        f.write("\n".join(lines) + "\n")
    namespace = {"__name__": "measured", "__file__": f.name}
    exec(compile(open(f.name).read(), f.name, "exec"), namespace)
    return namespace


def piece(function, n, t):
    begin = time.perf_counter()
    function(n, t)
    return time.perf_counter() - begin


def measure(space, name, threads, repetitions, seconds):
    """Median and quartiles of the cost of one construct in microseconds."""
    with_, without = space["with_" + name], space["without_" + name]
    inner = 16
    while piece(with_, inner, threads) < seconds and inner < 1 << 20:
        inner *= 2
    costs = []
    for _ in range(repetitions):
        plain = piece(without, inner, threads)
        costs.append((piece(with_, inner, threads) - plain) / inner * 1e6)
    low, middle, high = statistics.quantiles(costs, n=4)
    return {
        "construct": name,
        "threads": threads,
        "us": round(middle, 3),
        "q1": round(low, 3),
        "q3": round(high, 3),
        "inner": inner,
    }


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m unisono.omp.bench", description=__doc__.splitlines()[0])
    parser.add_argument("constructs", nargs="*", help=f"which ones (default all): {' '.join(CONSTRUCTS)}")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.005, help="least length of a timed piece")
    parser.add_argument("--import-from", default="unisono.omp", help="package with the same spelling to measure")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    unknown = set(args.constructs) - set(CONSTRUCTS)
    if unknown:
        parser.error(f"no such construct: {', '.join(sorted(unknown))}")
    importlib.import_module(args.import_from)
    space = functions(args.import_from, args.constructs or CONSTRUCTS)
    rows = [
        measure(space, name, t, args.repetitions, args.seconds)
        for name in args.constructs or CONSTRUCTS
        for t in args.threads
    ]
    if args.json:
        json.dump({"python": sys.version, "package": args.import_from, "rows": rows}, sys.stdout, indent=1)
        print()
        return
    print(f"# {args.import_from} on {sys.version.split(' (')[0]} (us, median and quartiles of {args.repetitions})")
    print(f"{'construct':16}{'threads':>8}{'us':>10}{'q1':>10}{'q3':>10}")
    for r in rows:
        print(f"{r['construct']:16}{r['threads']:>8}{r['us']:>10.3f}{r['q1']:>10.3f}{r['q3']:>10.3f}")


if __name__ == "__main__":
    main()
