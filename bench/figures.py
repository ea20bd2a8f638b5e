# SPDX-License-Identifier: BSD-3-Clause
"""Picks figures out of the records of a comparison, holds them against the targets. For compare and report.py."""

import targets


def key_of(record):
    row = record.get("row", "")
    variant = record.get("variant", "")
    over = f" over {record['over']}" if "over" in record else ""
    return (f"{row}/{variant}" if variant else row) + over


SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def in_seconds(records):
    """The same records with times that can be divided by one another."""
    return [{**r, "value": r["value"] * SECONDS.get(r.get("unit"), 1)} if "value" in r else r for r in records]


def pick(results, job, mpi, row, size, field):
    for record in results.get(job, {}).get(mpi, []):
        if row in (key_of(record), record.get("row")) and record.get("size", 0) == size and field in record:
            return record[field]
    return None


def judge(target, results, names):
    """One line of the table of targets: figures a MPI, the quotient, whether it is reached (None: nothing to say)."""
    if target["kind"] == "own":
        wanted = (target["job"], target["against"][0])
        results = {job: {n: in_seconds(rs) for n, rs in results.get(job, {}).items()} for job in wanted}
    figures = {
        name: pick(results, target["job"], name, target["row"], target["size"], target["field"]) for name in names
    }
    ours, want, better = figures.get("ours"), target["want"], target["better"]
    quotient = None
    if target["kind"] in ("own", "beyond"):
        job, row, size = target["against"]
        base = {name: pick(results, job, name, row, size, target["field"]) for name in names}
        if row.startswith("socket"):  # no MPI took part
            base = dict.fromkeys(names, base.get("ours"))
        combine = divide if target["kind"] == "own" else subtract
        figures = {name: combine(value, base[name]) for name, value in figures.items()}
        quotient = figures.get("ours")
    elif target["kind"] == "limit":
        quotient = ours
    else:
        rivals = [v for name, v in figures.items() if name != "ours" and v]
        if ours is not None and rivals:
            quotient = divide(ours, min(rivals) if better == targets.LOW else max(rivals))
    reached = None
    if quotient is not None and want is not None:
        reached = quotient <= want if better == targets.LOW else quotient >= want
    return {
        "name": target["name"],
        "figures": figures,
        "quotient": quotient,
        "want": want,
        "reached": reached,
        "better": better,
        "kind": target["kind"],
    }


def divide(a, b):
    return a / b if a is not None and b else None


def subtract(a, b):
    return a - b if a is not None and b is not None else None


def short(value):
    if value is None:
        return "-"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def target_lines(results, names):
    lines = []
    for target in targets.TARGETS:
        if target["job"] in results:
            line = judge(target, results, names)
            if any(v is not None for v in line["figures"].values()):
                lines.append(line)
    return lines
