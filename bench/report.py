# SPDX-License-Identifier: BSD-3-Clause
"""Turns the records of bench/compare into a report: one HTML file with its pictures (SVG), PNGs beside it, or Markdown.

Run by compare in an environment that has matplotlib:  report.py RECORDS.json [--html FOLDER] [--docs FILE.md]
"""

import argparse
import html
import io
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers  # noqa: E402
import targets  # noqa: E402
import verdict  # noqa: E402
from figures import key_of, short, target_lines  # noqa: E402

COLOURS = {"ours": "#c0392b", "mpich": "#2c6fbb", "openmpi": "#2e8b57", "impi": "#8e6bbf"}
MARKS = {"ours": "o", "mpich": "s", "openmpi": "^", "impi": "D"}
BETTER = {"value": "lower is better", "MB_s": "higher is better", "Mmsg_s": "higher is better"}


def series(data):
    """{(row, field, unit): {mpi: [(size, value), ...]}} of jobs that measured a row at three sizes or more."""
    found = {}
    for per in data["results"].values():
        here = {}
        for mpi, records in per.items():
            for r in records:
                if "value" not in r or r.get("size", 0) <= 0:
                    continue
                for field in ("value", "MB_s"):
                    if field in r and (field == "value") != (r["row"] in ("bw", "bibw", "mbw")):
                        key = (key_of(r), field, r["unit"])
                        here.setdefault(key, {}).setdefault(mpi, []).append((r["size"], r[field]))
        for key, lines in here.items():
            if max(len(points) for points in lines.values()) >= 3:
                found.setdefault(key, lines)
    return found


def bytes_text(n, _=None):
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if n >= 1 << power:
            return f"{n / (1 << power):g} {unit}"
    return f"{n:g} B"


def axes_of(ax, sizes):
    ax.set_xscale("log", base=2)
    step = max(1, (len(sizes) + 5) // 6)
    ax.set_xticks(sizes[::step], [bytes_text(s) for s in sizes[::step]], rotation=30, ha="right", fontsize=8)
    ax.minorticks_off()
    ax.grid(True, alpha=0.3)


def draw_row(plt, key, per):
    """Left: the figure over the size, log-log; right: its ratio to ours (or to the best, where ours is missing)."""
    from matplotlib.ticker import FuncFormatter

    row, field, unit = key
    label = f"time ({unit})" if field == "value" else "bandwidth (MB/s)"
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes = sorted({s for points in per.values() for s, _ in points})
    for mpi, points in per.items():
        x, y = zip(*sorted(points), strict=True)
        left.plot(x, y, color=COLOURS[mpi], marker=MARKS[mpi], markersize=4, label=peers.TITLES[mpi])
    left.set_yscale("log")
    axes_of(left, sizes)
    left.set(xlabel="message size", ylabel=label, title=f"{row}: {label}, {BETTER[field]}")
    left.legend(fontsize=8)
    best = min if field == "value" else max
    base = (
        dict(per["ours"])
        if "ours" in per
        else {s: best(v for p in per.values() for t, v in p if t == s) for s in sizes}
    )
    for mpi, points in per.items():
        pairs = [(s, v / base[s]) for s, v in sorted(points) if base.get(s)]
        if pairs:
            right.plot(
                *zip(*pairs, strict=True), color=COLOURS[mpi], marker=MARKS[mpi], markersize=4, label=peers.TITLES[mpi]
            )
    right.set_yscale("log", base=2)
    right.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:.3g}"))
    axes_of(right, sizes)
    against = "Unisono" if "ours" in per else "the best"
    right.set(xlabel="message size", ylabel=f"ratio to {against}", title=f"{row}: ratio to {against}")
    return fig


def python_lines(data):
    """{label: [(size, time, what Python adds)]} of our library's ping-pong in C and by each way from Python."""
    names, found = (
        {
            "py-lat": "mpi4py, NumPy",
            "py-lat-raw": "unisono.fast, bound",
            "py-lat-fast": "unisono.fast, NumPy",
            "py-lat-pickle": "mpi4py, pickle",
        },
        {},
    )
    for per in data["results"].values():
        for r in per.get("ours", []):
            if r.get("row") in names and "c_value" in r and r["size"] > 0:
                found.setdefault(names[r["row"]], []).append((r["size"], r["value"], r["delta"]))
                if r["row"] == "py-lat":
                    found.setdefault("C", []).append((r["size"], r["c_value"], 0))
    return {name: sorted(points) for name, points in found.items() if len(points) >= 3}


def draw_python(plt, per):
    """Left: ping-pong from C and from Python on our library; right: what Python adds to C, in the same processes."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    looks = {
        "C": ("#444444", "x"),
        "unisono.fast, bound": (COLOURS["ours"], "o"),
        "unisono.fast, NumPy": ("#e08e0b", "v"),
        "mpi4py, NumPy": ("#2c6fbb", "s"),
    }
    sizes = sorted({s for points in per.values() for s, _, _ in points})
    for name in sorted(per, key=lambda n: per[n][0][1]):
        colour, mark = looks.get(name, ("#8e6bbf", "^"))
        x, time, extra = zip(*per[name], strict=True)
        left.plot(x, time, color=colour, marker=mark, markersize=4, label=name)
        if name != "C":
            seen = [(s, more) for s, more in zip(x, extra, strict=True) if more > 0]  # noise can be larger than Python
            right.plot(*zip(*seen, strict=True), color=colour, marker=mark, markersize=4, label=name)
    left.set_yscale("log")
    right.set_yscale("log")
    for ax in (left, right):
        axes_of(ax, sizes)
        ax.legend(fontsize=8)
    left.set(xlabel="message size", ylabel="half round trip (us)", title="Ping-pong on Unisono, from C and Python")
    right.set(xlabel="message size", ylabel="time beyond C (us)", title="What Python adds")
    return fig


def draw_targets(plt, lines):
    """Bars: ours over the best peer; the line is the figure to reach."""
    lines = [line for line in lines if line["kind"] == "ratio" and line["quotient"] is not None]
    if not lines:
        return None
    fig, ax = plt.subplots(figsize=(9, 0.32 * len(lines) + 1.4), layout="constrained")
    speed = [1 / line["quotient"] if line["better"] == targets.LOW else line["quotient"] for line in lines]
    names = [line["name"].rsplit(",", 1)[0] for line in lines]
    wants = [1 / (x["want"] or 1) if x["better"] == targets.LOW else (x["want"] or 1) for x in lines]
    # The number stands clear of the mark when the two are near each other.
    shown = [1.06 * (max(v, w) if 0.6 < w / v < 2.5 else v) for v, w in zip(speed, wants, strict=True)]
    ax.barh(names, speed, color=[COLOURS["ours"] if v >= 1 else "#999999" for v in speed])
    for i, line in enumerate(lines):
        if line["want"]:
            ax.plot(
                [wants[i], wants[i]],
                [i - 0.4, i + 0.4],
                color="black",
                linewidth=2,
                label="figure to reach" if i == 0 else None,
            )
        ax.text(shown[i], i, f"{speed[i]:.2f} x", va="center", fontsize=8)
    ax.axvline(1, color="#444444", linewidth=0.8, linestyle="--", label="the best peer")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(lambda v, _: f"{v:g}")
    ax.set_xlim(min(0.5, min(speed) * 0.8), max(speed) * 2.2)
    ax.set_ylim(len(lines) - 0.2, -0.8)
    ax.set(
        xlabel="times as good as the best peer (log scale)",
        title="Unisono against the best of " + ", ".join(peers.TITLES[n] for n in peers.PACKAGES),
    )
    ax.legend(fontsize=8, loc="upper right")
    return fig


def pictures(data, lines, folder):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    matplotlib.rcParams["svg.fonttype"] = "none"
    drawn = []
    figure = draw_targets(plt, lines)
    figures = [("overview", figure)] if figure else []
    beside = python_lines(data)
    if "C" in beside:
        figures.append(("python", draw_python(plt, beside)))
    figures += [
        (f"{row.replace('/', '-').replace(' ', '-')}-{field}", draw_row(plt, (row, field, unit), per))
        for (row, field, unit), per in series(data).items()
    ]
    for name, fig in figures:
        fig.savefig(folder / f"{name}.png", dpi=110)
        text = io.StringIO()
        fig.savefig(text, format="svg")
        svg = text.getvalue()
        drawn.append((name, svg[svg.index("<svg") :]))
        plt.close(fig)
    return drawn


def machine_line(m):
    virtual = ", virtual" if m.get("virtual") else ""
    return (
        f"{m.get('processor')}, {m.get('cores')} cores{virtual}, {m.get('caches')}, {m.get('vector')}, "
        f"{m.get('memory')}, kernel {m.get('kernel')}, "
        f"{m.get('date')}, load {m.get('load', 0):.1f}"
    )


def versions(data):
    found = {}
    for per in data["results"].values():
        for mpi, records in per.items():
            for r in records:
                if "library" in r and mpi not in found:
                    found[mpi] = " ".join(r["library"].split())
    return [f"{peers.TITLES[n]}: {found[n]}" for n in data["names"] if n in found]


def table_of(lines, names):
    head = ["figure", *[peers.TITLES[n] for n in names], "ours / best", "to reach", ""]
    body = []
    for line in lines:
        sign = "<=" if line["better"] == targets.LOW else ">="
        quotient = "" if line["kind"] == "limit" or line["quotient"] is None else short(line["quotient"])
        verdict = {True: "reached", False: "missed", None: ""}[line["reached"]]
        body.append(
            [
                line["name"],
                *[short(line["figures"].get(n)) for n in names],
                quotient,
                "" if line["want"] is None else f"{sign} {line['want']:g}",
                verdict,
            ]
        )
    return head, body


def all_rows(data):
    names = data["names"]
    rows = {}
    for job, per in data["results"].items():
        for mpi, records in per.items():
            for r in records:
                if "value" in r:
                    rows.setdefault((key_of(r), r.get("size", 0), r.get("ranks", r.get("np", 0)), r["unit"], job), {})[
                        mpi
                    ] = r["value"]
    head = ["row", "size", "ranks", *[peers.TITLES[n] for n in names], "unit"]
    return head, [
        [row, bytes_text(size) if size else "", f"{int(np)}", *[short(v.get(n)) for n in names], unit]
        for (row, size, np, unit, _), v in rows.items()
    ]


def failures(data):
    found = []
    for job, per in data["results"].items():
        for mpi, records in per.items():
            for r in records:
                if "failed" in r:
                    found.append(f"{peers.TITLES[mpi]}, {job}: failed: {r['failed']}")
                elif "skipped" in r:
                    found.append(f"{peers.TITLES[mpi]}, {key_of(r)}: skipped: {r['skipped']}")
    return found


def floor_table(data):
    return ["floor", "bytes", "value", "unit"], [
        [r["row"], str(r["size"]), short(r["value"]), r["unit"]] for r in data["floor"]
    ]


def sets_of(data):
    """The sets that the measured jobs belong to, in the order of the targets."""
    return list(dict.fromkeys(name for job, (name, *_) in targets.JOBS.items() if job in data["results"]))


def write_docs(data, lines, path):
    left = failures(data)
    parts = [
        "# Figures",
        f"Written by `bench/compare --docs` from the sets {', '.join(sets_of(data))}; do not edit by hand. "
        "Median of interleaved rounds; "
        "how each figure is taken: docs/benchmarking.md. One-sided: docs/results-rma.md; files: docs/results-io.md; "
        "jobs that meet and grow: docs/results-processes.md; "
        "all else: docs/results.md.",
        f"Machine: {machine_line(data['machine'])}.",
        "Versions: " + "; ".join(versions(data)) + ".",
        "## Figures to reach",
        verdict.markdown(*table_of(lines, data["names"])),
    ]
    if data["floor"]:
        parts += ["## What the machine allows (`unisono-bench floor`)", verdict.markdown(*floor_table(data))]
    parts += ["## All rows", verdict.markdown(*all_rows(data))]
    if left:
        parts += ["## What did not run", "\n".join(f"- {line}" for line in left)]
    records = verdict.records_in(path.parent / "sweep")
    if records and "core" in sets_of(data):
        parts.insert(2, verdict.section(records))
    path.write_text("\n\n".join(parts) + "\n")


STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;"
    "font-size:13px}td,th{border:1px solid #ccc;padding:2px 8px;text-align:right}"
    "td:first-child,th:first-child{text-align:left}"
    ".reached{color:#2e7d32}.missed{color:#c0392b;font-weight:bold}svg{max-width:100%;height:auto}h2{margin-top:2em}"
)


def html_table(head, body):
    cells = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    rows = "".join(
        "<tr>"
        + "".join(f"<td class='{c if c in ('reached', 'missed') else ''}'>{html.escape(c)}</td>" for c in row)
        + "</tr>"
        for row in body
    )
    return f"<table><tr>{cells}</tr>{rows}</table>"


def write_html(data, lines, folder):
    folder.mkdir(parents=True, exist_ok=True)
    drawn = pictures(data, lines, folder)
    left = "".join(f"<li>{html.escape(line)}</li>" for line in failures(data))
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><title>Unisono: comparison</title>",
        f"<style>{STYLE}</style>",
        "<h1>MPI libraries side by side</h1>",
        f"<p>{html.escape(machine_line(data['machine']))}</p>",
        "<ul>" + "".join(f"<li>{html.escape(v)}</li>" for v in versions(data)) + "</ul>",
    ]
    if lines:
        parts += ["<h2>Figures to reach</h2>", html_table(*table_of(lines, data["names"]))]
    parts += [f"<h2>{html.escape(name)}</h2>{svg}" for name, svg in drawn]
    parts += [
        "<h2>What the machine allows</h2>",
        html_table(*floor_table(data)),
        "<h2>All rows</h2>",
        html_table(*all_rows(data)),
    ]
    if left:
        parts.append(f"<h2>What did not run</h2><ul>{left}</ul>")
    (folder / "index.html").write_text("\n".join(parts))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("records", type=pathlib.Path)
    p.add_argument("--html", type=pathlib.Path)
    p.add_argument("--docs", type=pathlib.Path)
    o = p.parse_args()
    data = json.loads(o.records.read_text())
    lines = target_lines(data["results"], data["names"])
    if o.html:
        write_html(data, lines, o.html)
        print(f"report: {o.html / 'index.html'}")
    if o.docs:
        write_docs(data, lines, o.docs)
        print(f"report: {o.docs}")


if __name__ == "__main__":
    main()
