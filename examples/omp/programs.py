# SPDX-License-Identifier: BSD-3-Clause
"""Eleven programs with OpenMP: pi, quad, jacobi, md, lud, fft, wordcount, graph, qsort, fib, maze.

Each has a sequential twin in sequential.py that its answer is checked against (run.py does that and takes the times).
Written in the way that scales on a free-threaded CPython: a thread's rows are bound to local names before the inner
loop, results are stored in containers that one thread owns at a time.
"""

import array
import math

from unisono.omp import *


@omp
def pi(n, t):
    w = 1.0 / n
    total = 0.0
    with omp("parallel for reduction(+:total) num_threads(t)"):
        for i in range(n):
            x = (i + 0.5) * w
            total += 4.0 / (1.0 + x * x)
    return total * w


@omp
def quad(n, a, b, t):
    total = 0.0
    k = 50.0 / math.pi
    with omp("parallel for reduction(+:total) num_threads(t)"):
        for i in range(n):
            x = ((n - i - 1) * a + i * b) / (n - 1)
            total += k / (2500.0 * x * x + 1.0)
    return (b - a) * total / n


@omp
def jacobi(a, b, iterations, t):
    """Rows of floats; each thread copies the vector it reads once per iteration."""
    n = len(b)
    x, new = [0.0] * n, [0.0] * n
    change = 0.0
    with omp("parallel num_threads(t)"):
        with omp("for nowait"):
            for i in range(n):
                a[i] = [v + 0.0 for v in a[i]]  # the rows that a thread works on belong to it
        for _ in range(iterations):
            mine = [v + 0.0 for v in x]
            with omp("single"):
                change = 0.0
            with omp("for reduction(+:change)"):
                for i in range(n):
                    row = a[i]
                    sigma = 0.0
                    for j in range(n):
                        sigma += row[j] * mine[j]
                    value = (b[i] - sigma + row[i] * mine[i]) / row[i]
                    new[i] = value
                    change += (value - mine[i]) ** 2
            with omp("single"):
                x, new = new, x
    return x, change


@omp
def md(position, steps, dt, t):
    """Particles with a soft central pair potential; returns potential and kinetic energy and the positions."""
    n = len(position)
    position = [list(p) for p in position]
    velocity = [[0.0, 0.0, 0.0] for _ in range(n)]
    force = [None] * n
    half = math.pi / 2
    potential = kinetic = 0.0
    with omp("parallel num_threads(t)"):
        for _ in range(steps):
            here = [(p[0] + 0.0, p[1] + 0.0, p[2] + 0.0) for p in position]
            sin, sqrt = math.sin, math.sqrt
            with omp("single"):
                potential = kinetic = 0.0
            with omp("for reduction(+:potential, kinetic)"):
                for i in range(n):
                    xi, yi, zi = here[i]
                    fx = fy = fz = 0.0
                    for j in range(n):
                        if i != j:
                            xj, yj, zj = here[j]
                            dx, dy, dz = xi - xj, yi - yj, zi - zj
                            d = sqrt(dx * dx + dy * dy + dz * dz) or 1e-15
                            d2 = d if d < half else half
                            potential += 0.5 * sin(d2) ** 2
                            pull = sin(2.0 * d2) / d
                            fx -= dx * pull
                            fy -= dy * pull
                            fz -= dz * pull
                    force[i] = (fx, fy, fz)
                    v = velocity[i]
                    kinetic += 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
            with omp("for"):
                for i in range(n):
                    f, v, p = force[i], velocity[i], position[i]
                    velocity[i] = [v[k] + dt * f[k] for k in range(3)]
                    position[i] = [p[k] + dt * velocity[i][k] for k in range(3)]
    return potential, kinetic, position


@omp
def lud(a, t):
    """LU decomposition without pivoting, in place on rows."""
    n = len(a)
    with omp("parallel num_threads(t)"):
        with omp("for schedule(static, 1)"):
            for i in range(n):
                a[i] = [v + 0.0 for v in a[i]]
        for k in range(n - 1):
            pivot = [v + 0.0 for v in a[k][k:]]
            with omp("for schedule(static, 1)"):
                for i in range(n):
                    if i > k:
                        row = a[i]
                        factor = row[k] / pivot[0]
                        row[k] = factor
                        for j in range(1, n - k):
                            row[k + j] -= factor * pivot[j]
    return a


def floats(values):
    """A buffer of floats."""
    return memoryview(array.array("d", values))


@omp
def fft(re, im, t):
    """Radix-2 Stockham transform of n = 2**k complex numbers, in buffers of their real and imaginary parts (both are
    used up).

    What a thread reads out of a buffer is a number of its own.
    """
    n = len(re)
    half, m = n // 2, 1
    to_re, to_im = floats([0.0] * n), floats([0.0] * n)
    cos = floats(math.cos(2 * math.pi * k / n) for k in range(half))
    sin = floats(-math.sin(2 * math.pi * k / n) for k in range(half))
    with omp("parallel num_threads(t)"):
        while m < n:
            with omp("for"):
                for i in range(half):
                    k = i % m
                    j = 2 * i - k
                    wr, wi = cos[i - k], sin[i - k]
                    ar, ai, br, bi = re[i], im[i], re[i + half], im[i + half]
                    to_re[j] = ar + br
                    to_im[j] = ai + bi
                    dr, di = ar - br, ai - bi
                    to_re[j + m] = wr * dr - wi * di
                    to_im[j + m] = wr * di + wi * dr
            with omp("single"):
                re, im, to_re, to_im = to_re, to_im, re, im
                m *= 2
    return re, im


@omp
def wordcount(lines, t):
    count = {}
    n = len(lines)
    with omp("parallel num_threads(t)"):
        mine = {}
        with omp("for schedule(dynamic) nowait"):
            for first in range(0, n, 500):  # five hundred lines out of the shared list at a time
                for line in lines[first : first + 500]:
                    for word in line.split():
                        mine[word] = mine.get(word, 0) + 1
        with omp("critical"):
            for word, k in mine.items():
                count[word] = count.get(word, 0) + k
    return count


@omp
def graph(g, t):
    """Clustering coefficient of every node, by networkx."""
    import networkx

    n = len(g)
    result = [0.0] * n
    with omp("parallel num_threads(t)"):
        ids = list(range(n))  # a graph of the thread's own, down to the numbers of its nodes:
        mine = networkx.Graph()  # nobody else counts references to them
        mine.add_nodes_from(ids)
        mine.add_edges_from([(ids[u], ids[v]) for u, v in g.edges])
        with omp("for schedule(dynamic)"):
            for first in range(0, n, 50):
                part = networkx.clustering(mine, range(first, min(first + 50, n)))
                result[first : first + 50] = part.values()
    return result


def partition(array, low, high):
    pivot = array[(low + high) // 2]
    while low <= high:
        while array[low] < pivot:
            low += 1
        while array[high] > pivot:
            high -= 1
        if low <= high:
            array[low], array[high] = array[high], array[low]
            low += 1
            high -= 1
    return low, high


def sort_part(part):
    """Quicksort of a list that the thread owns."""
    todo = [(0, len(part) - 1)]
    while todo:
        low, high = todo.pop()
        if low < high:
            i, j = partition(part, low, high)
            todo.append((low, j))
            todo.append((i, high))
    return part


@omp
def qsort(data, limit, t):
    """Splits in tasks down to `limit` elements; a task sorts a copy of its part."""

    def sort(part, at):
        if len(part) <= limit:
            data[at : at + len(part)] = sort_part([v + 0.0 for v in part])
            return
        pivot = sorted(part[:: len(part) // 31])[15]
        low = [v for v in part if v < pivot]
        same = [v for v in part if v == pivot]
        high = [v for v in part if v > pivot]
        data[at + len(low) : at + len(low) + len(same)] = same
        with omp("task"):
            sort(low, at)
        with omp("task"):
            sort(high, at + len(low) + len(same))

    with omp("parallel num_threads(t)"):
        with omp("single"):
            sort(list(data), 0)
    return data


def fib_alone(n):
    return n if n < 2 else fib_alone(n - 1) + fib_alone(n - 2)


@omp
def fib_task(n, cut):
    if n < cut:
        return fib_alone(n)
    with omp("task shared(a)"):
        a = fib_task(n - 1, cut)
    with omp("task shared(b)"):
        b = fib_task(n - 2, cut)
    omp("taskwait")
    return a + b


@omp
def fib(n, cut, t):
    result = 0
    with omp("parallel num_threads(t)"):
        with omp("single"):
            result = fib_task(n, cut)
    return result


MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


@omp  # it has no directives, but its constants are shared by the threads without being counted
def walk(maze, size, row, column, seen):
    """How many ways lead from here to the last corner without crossing themselves."""
    if row == size - 1 and column == size - 1:
        return 1
    ways = 0
    for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
        r, c = row + dr, column + dc
        if 0 <= r < size and 0 <= c < size and not maze[r][c] and not seen[r * size + c]:
            seen[r * size + c] = 1
            ways += walk(maze, size, r, c, seen)
            seen[r * size + c] = 0
    return ways


@omp
def maze(grid, depth, t):
    """Counts the ways through a maze; tasks down to `depth` steps, each with its own copy of what it has seen."""
    size, ways = len(grid), 0

    def explore(row, column, seen, steps):
        nonlocal ways
        if steps >= depth or (row == size - 1 and column == size - 1):
            own = [list(line) for line in grid]
            found = walk(own, size, row, column, seen)
            with omp("atomic"):
                ways += found
            return
        for dr, dc in MOVES:
            r, c = row + dr, column + dc
            if 0 <= r < size and 0 <= c < size and not grid[r][c] and not seen[r * size + c]:
                mark = bytearray(seen)
                mark[r * size + c] = 1
                with omp("task"):
                    explore(r, c, bytearray(mark), steps + 1)

    with omp("parallel num_threads(t)"):
        with omp("single"):
            first = bytearray(size * size)
            first[0] = 1
            explore(0, 0, first, 0)
    return ways
