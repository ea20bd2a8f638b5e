# SPDX-License-Identifier: BSD-3-Clause
"""python run.py [--small] [--threads N] [NAME...]: runs the programs, checks every answer against the sequential
twin, shows the times: sequential, one thread, N threads (best of three each), and the speed-up over one thread and
over the sequential program."""

import argparse
import math
import random
import sys
import time

import programs
import sequential

rng = random.Random(1)


def matrix(n):
    return [[rng.random() + (n if i == j else 0.0) for j in range(n)] for i in range(n)]


def make_text(lines):
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 5))) for _ in range(3000)]
    return [" ".join(rng.choices(words, k=12)) for _ in range(lines)]


def make_graph(n):
    import networkx

    return networkx.barabasi_albert_graph(n, min(60, n // 3), seed=1)


def make_signal(n):
    return tuple(programs.floats(rng.random() for _ in range(n)) for _ in range(2))


def make_maze(n):
    grid = [[0] * n for _ in range(n)]
    for i in range(2, n - 1, 2):
        grid[i][i - 1] = 1
    return grid


# name: (arguments for small and full size, arguments between data and the number of threads, how exact)
PROGRAMS = {
    "pi": (lambda s: (20_000 if s else 3_000_000,), (), 1e-9),
    "quad": (lambda s: (20_000 if s else 2_500_000, 0.0, 10.0), (), 1e-9),
    "jacobi": (
        lambda s: (matrix(30 if s else 300), [rng.random() for _ in range(30 if s else 300)], 3 if s else 40),
        (),
        1e-9,
    ),
    "md": (
        lambda s: ([[rng.uniform(0, 10) for _ in range(3)] for _ in range(20 if s else 250)], 2 if s else 6, 1e-4),
        (),
        1e-9,
    ),
    "lud": (lambda s: (matrix(20 if s else 300),), (), 1e-9),
    "fft": (lambda s: make_signal(64 if s else 1 << 17), (), 1e-9),
    "wordcount": (lambda s: (make_text(100 if s else 150_000),), (), 0),
    "graph": (lambda s: (make_graph(60 if s else 1200),), (), 1e-12),
    "qsort": (lambda s: ([rng.random() for _ in range(500 if s else 250_000)],), (lambda s: (50 if s else 8000,)), 0),
    "fib": (lambda s: (14 if s else 27,), (lambda s: (8 if s else 18,)), 0),
    "maze": (lambda s: (make_maze(4 if s else 6),), (lambda s: (4 if s else 6,)), 0),
}


def fresh(data):
    """The data again: programs that work in place must not see each other's results."""
    data = tuple(programs.floats(d) if isinstance(d, memoryview) else d for d in data)
    return tuple([list(r) if isinstance(r, list) else r for r in d] if isinstance(d, list) else d for d in data)


def same(a, b, exact):
    if isinstance(a, (list, tuple, memoryview)):
        return len(a) == len(b) and all(same(x, y, exact) for x, y in zip(a, b))
    if isinstance(a, float):
        return math.isclose(a, b, rel_tol=exact, abs_tol=exact)
    if isinstance(a, complex):
        return abs(a - b) <= exact * max(1.0, abs(a))
    return a == b


def timed(function, data, rest, repeat):
    best, answer = math.inf, None
    for _ in range(repeat):
        args = fresh(data)
        begin = time.perf_counter()
        answer = function(*args, *rest)
        best = min(best, time.perf_counter() - begin)
    return best, answer


def run(name, small, threads, repeat):
    """(correct, sequential, one thread, all threads) for a program."""
    make, extra, exact = PROGRAMS[name]
    data, more = make(small), extra(small) if extra else ()
    alone, expected = timed(getattr(sequential, name), data, (), repeat)
    one, first = timed(getattr(programs, name), data, (*more, 1), repeat)
    many, second = timed(getattr(programs, name), data, (*more, threads), repeat)
    return same(first, expected, exact) and same(second, expected, exact), alone, one, many


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--small", action="store_true", help="tiny sizes: only the answers matter")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    print(
        f"{'program':10}{'sequential':>12}{'1 thread':>10}{f'{args.threads} threads':>11}{'speed-up':>10}"
        f"{'over seq.':>10}  answer"
    )
    wrong = 0
    for name in args.names:
        ok, alone, one, many = run(name, args.small, args.threads, 1 if args.small else args.repeat)
        wrong += not ok
        print(
            f"{name:10}{alone:12.3f}{one:10.3f}{many:11.3f}{one / many:10.2f}{alone / many:10.2f}"
            f"  {'right' if ok else 'WRONG'}",
            flush=True,
        )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
