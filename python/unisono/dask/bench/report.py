# SPDX-License-Identifier: BSD-3-Clause
"""How results are shown: lines of text or JSON, and a page of pictures: lines over sizes and workers, and a bar per
figure, each against the last scheme."""

import html
import json
import os
import platform

from .charts import COLOURS, pictures


def head(schemes):
    return f"{'row':12} {'case':18} {'unit':11}" + "".join(f"{s:>12}" for s in schemes) + f"{'ratio':>8}"


def ratio(record, schemes):
    """The first scheme's median to the last one's."""
    last = record["median"].get(schemes[-1])
    return record["median"][schemes[0]] / last if last else float("nan")


def line(record, schemes, form):
    if form == "json":
        return json.dumps(record)
    values = "".join(f"{record['median'].get(s, float('nan')):12.4g}" for s in schemes)
    return f"{record['row']:12} {record['case']:18} {record['unit']:11}{values}{ratio(record, schemes):8.2f}"


def bars(record, schemes):
    """A picture of one record: a bar per scheme, from its smallest to its largest value a line."""
    most = max(max(some) for some in record["values"].values()) or 1
    parts = []
    for i, scheme in enumerate(s for s in schemes if s in record["values"]):
        some, middle = record["values"][scheme], record["median"][scheme]
        y, scale = 4 + 22 * i, 420 / most
        parts.append(f'<rect x="60" y="{y}" width="{middle * scale:.1f}" height="14" fill="{COLOURS[i % 3]}"/>')
        span = f'x1="{60 + min(some) * scale:.1f}" x2="{60 + max(some) * scale:.1f}"'
        parts.append(f'<line {span} y1="{y + 7}" y2="{y + 7}" stroke="#1a202c"/>')
        parts.append(f'<text x="0" y="{y + 12}">{html.escape(scheme)}</text>')
        parts.append(f'<text x="{66 + max(some) * scale:.1f}" y="{y + 12}">{middle:.4g}</text>')
    height = 8 + 22 * len(record["values"])
    return f'<svg width="600" height="{height}" font-size="12" font-family="sans-serif">{"".join(parts)}</svg>'


def page(records, schemes):
    """The report: per record a heading with the ratio, and the bars."""
    parts = [
        "<!doctype html><meta charset=utf-8><title>unisono.dask.bench</title>",
        "<style>body{font-family:sans-serif;max-width:52em;margin:2em auto}h3{margin:1.2em 0 .2em}</style>",
        f"<h1>Dask over {html.escape(', '.join(schemes))}</h1>",
        f"<p>{html.escape(platform.platform())}, Python {platform.python_version()}. Bars are medians of rounds that",
        "were measured in turns, thin lines go from the smallest to the largest. In brackets: ratio of the first to",
        "the last scheme.</p>",
        *pictures(records).values(),
    ]
    for record in records:
        said = f"{record['row']}, {record['case']} [{record['unit']}] ({ratio(record, schemes):.2f})"
        parts += [f"<h3>{html.escape(said)}</h3>", bars(record, schemes)]
    return "\n".join(parts) + "\n"


def write(folder, records, schemes):
    """The report: index.html, a file per picture, and all values in rows.json."""
    os.makedirs(folder, exist_ok=True)
    files = {"index.html": page(records, schemes), "rows.json": json.dumps(records, indent=1)}
    files |= {f"{name}.svg": text for name, text in pictures(records).items()}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
