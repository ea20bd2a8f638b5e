# SPDX-License-Identifier: BSD-3-Clause
"""The eleven programs without OpenMP: the answers that programs.py must give, and the times that its times are
compared with."""

import math

from programs import fib_alone, floats, sort_part, walk


def pi(n):
    w, total = 1.0 / n, 0.0
    for i in range(n):
        x = (i + 0.5) * w
        total += 4.0 / (1.0 + x * x)
    return total * w


def quad(n, a, b):
    total = 0.0
    k = 50.0 / math.pi
    for i in range(n):
        x = ((n - i - 1) * a + i * b) / (n - 1)
        total += k / (2500.0 * x * x + 1.0)
    return (b - a) * total / n


def jacobi(a, b, iterations):
    n = len(b)
    x, new, change = [0.0] * n, [0.0] * n, 0.0
    for _ in range(iterations):
        change = 0.0
        for i in range(n):
            row = a[i]
            sigma = 0.0
            for j in range(n):
                sigma += row[j] * x[j]
            value = (b[i] - sigma + row[i] * x[i]) / row[i]
            new[i] = value
            change += (value - x[i]) ** 2
        x, new = new, x
    return x, change


def md(position, steps, dt):
    n = len(position)
    position = [list(p) for p in position]
    velocity = [[0.0, 0.0, 0.0] for _ in range(n)]
    force = [None] * n
    half, sin, sqrt = math.pi / 2, math.sin, math.sqrt
    potential = kinetic = 0.0
    for _ in range(steps):
        here = [tuple(p) for p in position]
        potential = kinetic = 0.0
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
        for i in range(n):
            f, v, p = force[i], velocity[i], position[i]
            velocity[i] = [v[k] + dt * f[k] for k in range(3)]
            position[i] = [p[k] + dt * velocity[i][k] for k in range(3)]
    return potential, kinetic, position


def lud(a):
    n = len(a)
    for k in range(n - 1):
        pivot = a[k][k:]
        for i in range(k + 1, n):
            row = a[i]
            factor = row[k] / pivot[0]
            row[k] = factor
            for j in range(1, n - k):
                row[k + j] -= factor * pivot[j]
    return a


def fft(re, im):
    """Radix-2 Stockham transform of n = 2**k complex numbers, in buffers of their real and imaginary parts (both are
    used up).

    What a thread reads out of a buffer is a number of its own.
    """
    n = len(re)
    half, m = n // 2, 1
    to_re, to_im = floats([0.0] * n), floats([0.0] * n)
    cos = floats(math.cos(2 * math.pi * k / n) for k in range(half))
    sin = floats(-math.sin(2 * math.pi * k / n) for k in range(half))
    while m < n:
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
        re, im, to_re, to_im = to_re, to_im, re, im
        m *= 2
    return re, im


def wordcount(lines):
    count = {}
    for line in lines:
        for word in line.split():
            count[word] = count.get(word, 0) + 1
    return count


def graph(g):
    import networkx

    return list(networkx.clustering(g).values())


def qsort(array):
    return sort_part(array)


def fib(n):
    return fib_alone(n)


def maze(grid):
    seen = bytearray(len(grid) ** 2)
    seen[0] = 1
    return walk(grid, len(grid), 0, 0, seen)
