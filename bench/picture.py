# SPDX-License-Identifier: BSD-3-Clause
"""Draws the record of a sweep: per row and size a field coloured by ours over the best; one panel per number of ranks.

Run by compare in an environment that has matplotlib:  picture.py RECORD.json PICTURE.png
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import sweep  # noqa: E402
import verdict  # noqa: E402

POWERS = range(27)


def field(record, np, rows):
    """Ratios by row and power of two, nan where nothing was measured."""
    known = {(row, size): ratio for _, row, size, ratio, _ in verdict.ratios(record, np)}
    return [[known.get((row, 1 << power), float("nan")) for power in POWERS] for row in rows]


def draw(record, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.colors import LogNorm

    counts = sorted(record["rows"], key=int)
    per = {np: [row for row in sweep.ROWS if row in record["rows"][np]] for np in counts}
    heights = [len(rows) for rows in per.values()]
    size = (9, 0.23 * sum(heights) + 0.9 * len(counts) + 0.6)
    fig, axes = plt.subplots(
        len(counts), 1, figsize=size, height_ratios=heights, layout="constrained", squeeze=False, sharex=True
    )
    for ax, np in zip(axes[:, 0], counts, strict=True):
        points, mean, ahead, level, behind = verdict.totals(verdict.ratios(record, np))
        image = ax.imshow(field(record, np, per[np]), aspect="auto", cmap="RdYlGn_r", norm=LogNorm(0.33, 3))
        ax.set_yticks(range(len(per[np])), per[np], fontsize=8)
        ax.set_xticks(POWERS[::2], [verdict.size_text(1 << power) for power in POWERS[::2]], fontsize=7, rotation=40)
        title = f"{np} ranks: {ahead} of {points} ahead, {level} level, {behind} behind; geometric mean {mean:.2f}"
        ax.set_title(title, fontsize=9, loc="left")
    bar = fig.colorbar(image, ax=axes[:, 0], ticks=[0.33, 0.5, 1, 2, 3], fraction=0.03, pad=0.01)
    bar.ax.set_yticklabels(["1/3", "1/2", "1", "2", "3"])
    bar.ax.minorticks_off()
    bar.set_label("time of Unisono / time of the best of the others", fontsize=8)
    fig.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(json.loads(pathlib.Path(sys.argv[1]).read_text()), sys.argv[2])
