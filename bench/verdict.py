# SPDX-License-Identifier: BSD-3-Clause
"""Judges the raw data of a sweep (sweep.py): ours over the best peer per row, size and number of ranks.

A record per processor keeps the verdict (docs/sweep/*.json); a later run, of other rows or on other sizes, replaces
what it measured anew. The summary of all records stands at the head of docs/results.md.
"""

import json
import math
import re
import statistics
from bisect import bisect

import peers
import sweep

SLOWER = 1.05  # a row is behind from here on, and ahead below its inverse
APART = 1.5  # line times that differ by more belong to two states of the machine
NEAR, RARE = 1.2, 0.01  # with fewer than this share of all within that factor, a line time was disturbed
BEGIN, END = "<!-- sweep: written by bench/compare -->", "<!-- end of the sweep -->"


def borders(lines):
    """Where the states of the machine part: the middle of each gap of more than APART between the usual line times."""
    seen = sorted(line for line in lines if line)
    usual = [x for x in seen if bisect(seen, NEAR * x) - bisect(seen, x / NEAR) >= RARE * len(seen)]
    return [math.sqrt(a * b) for a, b in zip(usual, usual[1:], strict=False) if b > APART * a]


def line_times(runs):
    """All that were measured."""
    return [line for run in runs for *_, lines in run["records"] for line in lines or []]


def state_of(lines, limits):
    """A figure's state as a number, the fastest 0; None if it changed meanwhile or is not known."""
    if not lines:
        return None
    before, after = (sum(line > limit for limit in limits) for line in lines)
    return before if before == after else None


def collected(runs, limits):
    """{(np, row, size): {state: {mpi: {turn: value}}}}, the line times {state: [us]}, how many figures are left out."""
    points, times, moved = {}, {}, 0
    for run in runs:
        for row, size, value, lines in run["records"]:
            state = state_of(lines, limits)
            if state is None:
                moved += 1
                continue
            times.setdefault(state, []).extend(lines)
            per = points.setdefault((run["np"], row, int(size)), {}).setdefault(state, {})
            per.setdefault(run["mpi"], {})[run["turn"]] = value
    return points, times, moved


def spread(ours, best):
    """The quartiles of the rounds' ratios; their ends where there are few, none where there is one."""
    ratios = sorted(ours[turn] / best[turn] for turn in ours if best.get(turn))
    if len(ratios) < 2:
        return None, None
    if len(ratios) < 4:
        return ratios[0], ratios[-1]
    low, _, high = statistics.quantiles(ratios, n=4)
    return low, high


def judge(states):
    """One point: [ours, best, its name, low and high ratio, rounds, state], in the state most seen; None: no pair."""
    for state, per in sorted(states.items(), key=lambda pair: -sum(map(len, pair[1].values()))):
        rivals = {mpi: statistics.median(v.values()) for mpi, v in per.items() if mpi != "ours"}
        if "ours" in per and rivals:
            best = min(rivals, key=rivals.get)
            low, high = spread(per["ours"], per[best])
            ours = statistics.median(per["ours"].values())
            return [*map(figure, (ours, rivals[best])), best, figure(low), figure(high), len(per["ours"]), state]
    return None


def figure(value):
    return None if value is None else float(f"{value:.4g}")


def verdict(runs, machine, sync):
    """The record of a processor."""
    points, times, moved = collected(runs, borders(line_times(runs)))
    rows = {}
    for (np, row, size), states in points.items():
        one = judge(states)
        if one:
            rows.setdefault(str(np), {}).setdefault(row, {})[size] = one
    return {
        "schema": 1,
        "machine": machine,
        "versions": {run["mpi"]: run["library"] for run in runs if run["library"]},
        "sync": sync,
        "lines_us": {str(s): figure(statistics.median(x)) for s, x in sorted(times.items())},
        "moved": moved,
        "moved_what": "figures",  # until November 2026, when the line was measured between jobs: "jobs"
        "failed": sorted({f"{peers.TITLES[r['mpi']]}: {r['job']}: {r['failed']}" for r in runs if "failed" in r}),
        "rows": {np: {row: in_order(sizes) for row, sizes in per.items()} for np, per in rows.items()},
    }


def in_order(sizes):
    return [[size, *sizes[size]] for size in sorted(sizes)]


def merged(old, new):
    """The record `old` with what `new` measured anew in it."""
    rows = {np: dict(per) for np, per in old.get("rows", {}).items()}
    for np, per in new["rows"].items():
        for row, points in per.items():
            kept = {point[0]: point[1:] for point in rows.setdefault(np, {}).get(row, [])}
            rows[np][row] = in_order({**kept, **{point[0]: point[1:] for point in points}})
    counts = {f"np {np} " for np in new["rows"]}
    failed = [text for text in old.get("failed", []) if not any(count in text for count in counts)]
    versions = {**old.get("versions", {}), **new["versions"]}
    return {**new, "versions": versions, "rows": rows, "failed": sorted({*failed, *new["failed"]})}


def file_name(machine):
    """Of the record of a processor: vendor, family, model, cores."""
    words = f"{machine.get('model_code') or machine.get('processor', 'unknown')} {machine.get('cores')} cores"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def write(record, folder):
    """Into the folder of records, one row per line; what is there already for this processor is kept where not new."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{file_name(record['machine'])}.json"
    if path.exists():
        record = merged(json.loads(path.read_text()), record)
    head = {key: value for key, value in record.items() if key != "rows"}
    lines = [f' "{key}": {json.dumps(value)},' for key, value in head.items()]
    counts = []
    for np, per in sorted(record["rows"].items(), key=lambda pair: int(pair[0])):
        body = ",\n".join(f'   "{row}": {json.dumps(points, separators=(",", ":"))}' for row, points in per.items())
        counts.append(f'  "{np}": {{\n{body}\n  }}')
    path.write_text("{\n" + "\n".join(lines) + '\n "rows": {\n' + ",\n".join(counts) + "\n }\n}\n")
    return path


def ratios(record, np=None, row=None):
    """[(np, row, size, ratio, point)] of a record, in the order of the rows."""
    found = []
    for count, per in sorted(record["rows"].items(), key=lambda pair: int(pair[0])):
        for name in sorted(per, key=lambda r: sweep.ROWS.index(r) if r in sweep.ROWS else len(sweep.ROWS)):
            if (np is None or count == np) and (row is None or name == row):
                found += [(count, name, p[0], p[1] / p[2], p) for p in per[name]]
    return found


def totals(found):
    """(points, geometric mean, ahead, level, behind) of a list of ratios()."""
    values = [ratio for _, _, _, ratio, _ in found]
    ahead, behind = sum(v < 1 / SLOWER for v in values), sum(v > SLOWER for v in values)
    mean = statistics.geometric_mean(values) if values else None
    return len(values), mean, ahead, len(values) - ahead - behind, behind


def size_text(size):
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


def behind_lines(record):
    """One line per row and number of ranks with points behind: size, ratio, who is best, spread."""
    lines = {}
    for np, row, size, ratio, point in ratios(record):
        if ratio > SLOWER:
            text = f"{size_text(size)} {ratio:.2f}"
            if point[4] is not None:
                text += f" [{point[4]:.2f}-{point[5]:.2f}]"
            lines.setdefault((np, row), []).append(f"{text} {peers.TITLES[point[3]]}")
    return [f"np {np}, {row}: " + "; ".join(texts) for (np, row), texts in lines.items()]


def row_table(record):
    """Head and body: per row and number of ranks the geometric mean and how many sizes are behind."""
    counts = sorted(record["rows"], key=int)
    body = []
    for row in sweep.ROWS:
        cells = []
        for np in counts:
            points, mean, _, _, behind = totals(ratios(record, np, row))
            cells.append("" if not points else f"{mean:.2f}" + (f" ({behind} of {points} behind)" if behind else ""))
        if any(cells):
            body.append([row, *cells])
    return ["row", *[f"np {np}" for np in counts]], body


def count_table(record):
    counts = sorted(record["rows"], key=int)
    body = []
    for np in [*counts, None]:
        found = ratios(record, np)
        points, mean, ahead, level, behind = totals(found)
        if points:
            seen = sorted({point[6] for *_, point in found})
            rounds = f"{seen[0]} to {seen[-1]}" if len(seen) > 1 else str(seen[0])
            cells = map(str, (ahead, level, behind, rounds))
            body.append([f"{np} ranks" if np else "all", str(points), f"{mean:.3f}", *cells])
    return ["", "points", "geometric mean", "ahead", "level", "behind", "rounds"], body


def markdown(head, body):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in body])


def section(records):
    """The head of docs/results.md: one part per processor."""
    parts = [
        BEGIN,
        "## The sweep: ours over the best peer, every power of two",
        "Times (for windows: of a window) of ours over those of the best of the others, medians of interleaved rounds "
        f"in the same state of the machine; behind: above {SLOWER}, ahead: below {1 / SLOWER:.2f}. Buffers of a job "
        f"are limited to {sweep.MEMORY >> 30} GiB. How it is measured: docs/benchmarking.md; all points: docs/sweep/.",
    ]
    for record in records:
        m = record["machine"]
        states = ", ".join(f"{line} us" for line in record["lines_us"].values())
        how = {"apart": "each call after a barrier, mean over ranks", "batch": "calls in a row, slowest rank"}
        parts += [
            f"### {m.get('processor')} ({m.get('model_code', '')}), {m.get('cores')} cores"
            f"{', virtual' if m.get('virtual') else ''}",
            f"{m.get('date')}, kernel {m.get('kernel')}; a line from core to core takes {states} (states of the "
            f"machine; {record['moved']} {record.get('moved_what', 'jobs')} in which it changed are left out). "
            f"Collectives: {how.get(record['sync'])}. " + "; ".join(record["versions"].values()) + ".",
            markdown(*count_table(record)),
            markdown(*row_table(record)),
        ]
        behind = behind_lines(record)
        if behind:
            parts.append("Behind (ratio, quartiles of the rounds, the best peer):\n\n" + listed(behind))
        if record["failed"]:
            parts.append("Left out:\n\n" + listed(record["failed"]))
    return "\n\n".join([*parts, END])


def listed(lines):
    return "\n".join(f"- {line}" for line in lines)


def records_in(folder):
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def with_section(page, text):
    """The page with this section at its head, below the title and the first paragraph, or in the place of the old."""
    if BEGIN in page and END in page:
        return page[: page.index(BEGIN)] + text + page[page.index(END) + len(END) :]
    blocks = page.split("\n\n")
    return "\n\n".join([*blocks[:2], text, *blocks[2:]])


def show(record):
    """Every point, then the totals and what is behind, on stdout."""
    print(f"{'np':>3} {'row':16}{'size':>9}{'ours us':>12}{'best us':>12}  {'best':11}{'ours/best':>9}  rounds")
    for np, row, size, ratio, point in ratios(record):
        quartiles = "" if point[4] is None else f"[{point[4]:.2f}-{point[5]:.2f}]"
        flag = " BEHIND" if ratio > SLOWER else ""
        print(
            f"{np:>3} {row:16}{size_text(size):>9}{point[1]:>12.4g}{point[2]:>12.4g}  {peers.TITLES[point[3]]:11}"
            f"{ratio:>9.3f}  {point[6]} {quartiles}{flag}"
        )
    for cells in count_table(record)[1]:
        print(f"{cells[0]}: {cells[1]} points, geometric mean {cells[2]}, {cells[3]} ahead, {cells[4]} level, "
              f"{cells[5]} behind")  # fmt: skip
    for line in [*behind_lines(record), *record["failed"]]:
        print(line)
