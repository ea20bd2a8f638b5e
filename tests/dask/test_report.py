# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of the benchmark's report: each line has the points that were measured, in order and to scale."""

import re
import xml.etree.ElementTree

from unisono.dask.bench import charts, report

SCHEMES = ["mpi", "tcp"]


def record(row, case, mpi, tcp):
    values = {"mpi": [mpi] * 3, "tcp": [tcp] * 3}
    return {"row": row, "case": case, "unit": "us", "values": values, "median": {"mpi": mpi, "tcp": tcp}}


RECORDS = [
    record("latency", "1 B", 1, 2),
    record("latency", "65536 KiB NumPy", 10_000, 40_000),
    record("latency", "1 KiB NumPy", 100, 200),
    record("latency", "1024 KiB NumPy", 400, 800),
    record("merge", "1 workers", 500, 600),
    record("merge", "4 workers", 1000, 900),
    record("transpose", "1 workers", 5, 6),
]


def test_series():
    lines = charts.series(RECORDS, "latency", charts.size, charts.gigabytes)
    assert [x for x, _ in lines["mpi"]] == [1 << 10, 1 << 20, 1 << 26]
    assert lines["tcp"][2][1] == (1 << 26) / 40_000 / 1e3


def test_pictures():
    """Those with two points and more; a line through every point, higher where the figure is larger."""
    made = charts.pictures(RECORDS)
    assert sorted(made) == ["latency", "throughput", "weak-scaling"]
    for text in made.values():
        xml.etree.ElementTree.fromstring(text)
    ways = re.findall(r'<polyline points="([^"]*)"', made["weak-scaling"])
    (a, b), (c, d) = [[float(p.split(",")[1]) for p in way.split()] for way in ways]
    assert b < a and d < c and c < a and b < d  # y grows downwards
    assert abs((a - b) / (a - c) - 5) < 0.01


def test_report(tmp_path):
    report.write(tmp_path / "there", RECORDS, SCHEMES)
    names = sorted(p.name for p in (tmp_path / "there").iterdir())
    assert names == ["index.html", "latency.svg", "rows.json", "throughput.svg", "weak-scaling.svg"]
    page = (tmp_path / "there/index.html").read_text()
    assert page.count("<polyline") == 6 and "latency, 1 B [us] (0.50)" in page
