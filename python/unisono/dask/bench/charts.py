# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of how a figure changes with the size of a message or the number of workers: a line per scheme, as SVG."""

import html
import math
import re

COLOURS = ["#2b6cb0", "#a0aec0", "#dd6b20"]
LEFT, TOP, WIDE, HIGH = 70, 30, 420, 240  # of the picture's field, pixels


def size(case):
    """Bytes of a case of the row latency, None of one that is no array."""
    found = re.fullmatch(r"(\d+) KiB NumPy", case)
    return int(found[1]) << 10 if found else None


def workers(case):
    found = re.fullmatch(r"(\d+) workers", case)
    return int(found[1]) if found else None


def bytes_text(x):
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if x >= 1 << shift:
            return f"{x >> shift} {unit}"
    return f"{x} B"


def gigabytes(x, y):
    """GB/s of a message of x bytes that takes y us."""
    return x / y / 1e3


def itself(_x, y):
    return y


# Name: title, row of the benchmark, the x of a case, the figure of (x, median), text of an x, whether the figure's axis
# is logarithmic.
PICTURES = {
    "latency": ("NumPy array, one way [us]", "latency", size, itself, bytes_text, True),
    "throughput": ("NumPy array, one way [GB/s]", "latency", size, gigabytes, bytes_text, False),
    "strong-scaling": ("Sum of an array and its transpose, by workers [ms]", "transpose", workers, itself, str, False),
    "weak-scaling": ("Merge of 500,000 rows per worker, by workers [ms]", "merge", workers, itself, str, False),
}


def series(records, row, where, figure):
    """{scheme: [(x, y)]} of a row, in the order of x."""
    found = {}
    for record in records:
        x = where(record["case"]) if record["row"] == row else None
        for scheme, median in record["median"].items() if x else ():
            found.setdefault(scheme, []).append((x, figure(x, median)))
    return {scheme: sorted(points) for scheme, points in found.items()}


def ticks(most, least, logarithmic):
    """Values along the figure's axis."""
    if logarithmic:
        return [10.0**e for e in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)]
    step = 10.0 ** math.floor(math.log10(most))
    step *= next(part for part in (0.2, 0.5, 1, 2) if most / (step * part) <= 6)
    return [step * i for i in range(math.ceil(most / step) + 1)]


def picture(title, lines, text_of, logarithmic):
    """SVG of one picture; x values are equally spaced by their logarithm."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    ys = [y for points in lines.values() for _, y in points]
    marks = ticks(max(ys), min(ys), logarithmic)
    scale = math.log10 if logarithmic else float
    low, high = scale(marks[0]), scale(marks[-1])

    def place(x, y):
        across = math.log2(x / xs[0]) / math.log2(xs[-1] / xs[0])
        return LEFT + WIDE * across, TOP + HIGH * (1 - (scale(y) - low) / (high - low))

    parts = [f'<text x="{LEFT}" y="16" font-weight="bold">{html.escape(title)}</text>']
    for mark in marks:
        _, y = place(xs[0], mark)
        parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDE}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{mark:g}</text>')
    for x in xs:
        parts.append(
            f'<text x="{place(x, marks[0])[0]:.1f}" y="{TOP + HIGH + 18}" text-anchor="middle">{text_of(x)}</text>'
        )
    for i, (scheme, points) in enumerate(lines.items()):
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in points))
        parts.append(f'<polyline points="{way}" fill="none" stroke="{COLOURS[i % 3]}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="3" fill="{COLOURS[i % 3]}"/>'
            for p in way.split()
        ]
        x, y = place(*points[-1])
        parts.append(
            f'<text x="{x + 8:.1f}" y="{y + 4 + 12 * i:.1f}" fill="{COLOURS[i % 3]}">{html.escape(scheme)}</text>'
        )
    box = f'width="{LEFT + WIDE + 80}" height="{TOP + HIGH + 30}" font-size="12" font-family="sans-serif"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(parts)}</svg>'


def pictures(records):
    """{name: SVG} of those pictures that have at least two points."""
    made = {}
    for name, (title, row, where, figure, text_of, logarithmic) in PICTURES.items():
        lines = series(records, row, where, figure)
        if lines and min(len(points) for points in lines.values()) > 1:
            made[name] = picture(title, lines, text_of, logarithmic)
    return made
