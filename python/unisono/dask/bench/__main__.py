# SPDX-License-Identifier: BSD-3-Clause
"""Measures mpi:// against tcp:// (and ucxx:// where distributed-ucxx is installed), interleaved.

    python -m unisono.dask.bench [ROW...]            all rows, when none is named
        --schemes mpi,tcp     --rounds 3     --max-bytes 64M     --html DIR     --format text|json     --list

Each row is measured once per scheme and round, in turns, so that what else the machine does meets all alike; a figure
is the median of the rounds, the ratio is the first scheme's to the last one's.
"""

import argparse
import asyncio
import importlib.util
import statistics
import sys

from . import cluster, pingpong, report

ROWS = {**pingpong.ROWS, **cluster.ROWS}


def bytes_of(text):
    """A number of bytes: 4096, 64K, 1M, 1G."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    try:
        return int(text[:-1]) * units[text[-1].upper()] if text[-1].upper() in units else int(text)
    except (ValueError, IndexError):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes (4096, 64K, 1M, 1G)") from None


def parse():
    parser = argparse.ArgumentParser(prog="unisono.dask.bench", description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    usual = "mpi,tcp" + (",ucxx" if importlib.util.find_spec("distributed_ucxx") else "")
    parser.add_argument("--schemes", default=usual, help="separated by commas; the ratio is first to last")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--max-bytes", type=bytes_of, default=1 << 26, help="largest message, up to 1G")
    parser.add_argument("--html", metavar="DIR", help="writes a report with pictures there")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--list", action="store_true", help="the rows, and what each measures")
    options = parser.parse_args()
    if "ucxx" in options.schemes.split(",") and not importlib.util.find_spec("distributed_ucxx"):
        parser.error("ucxx:// needs the package distributed-ucxx, which is not installed here")
    for name in options.rows:
        if name not in ROWS:
            parser.error(f"no row is called {name!r}; there are {', '.join(ROWS)}")
    return options


def tried(name, scheme, options, schemes):
    """What a row yields; a scheme other than mpi that cannot connect here is told, and left out from then on."""
    try:
        return list(ROWS[name](scheme, options))
    except OSError as error:
        if scheme == "mpi":
            raise
        print(f"{scheme}:// does not work here and is left out: {error}", file=sys.stderr)
        schemes.remove(scheme)
        options.schemes = ",".join(schemes)
        return []


def measure(options):
    """[{row, case, unit, scheme: [value of a round]}] of all rows."""
    table = {}
    schemes = options.schemes.split(",")
    for name in options.rows or ROWS:
        for _ in range(options.rounds):
            for scheme in list(schemes):
                for case, unit, value in tried(name, scheme, options, schemes):
                    table.setdefault((name, case, unit), {}).setdefault(scheme, []).append(value)
        for key, values in table.items():
            if key[0] == name:
                record = {"row": name, "case": key[1], "unit": key[2], "values": values}
                record["median"] = {scheme: statistics.median(some) for scheme, some in values.items()}
                print(report.line(record, schemes, options.format), flush=True)
                yield record


def main():
    options = parse()
    if options.list:
        for name, row in ROWS.items():
            print(f"{name:12} {row.__doc__.splitlines()[0]}")
        return 0
    if options.format == "text":
        print(report.head(options.schemes.split(",")))
    records = list(measure(options))
    if options.html:
        report.write(options.html, records, options.schemes.split(","))
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:  # the other process of a row: pingpong.Server
        asyncio.run(pingpong.serve(sys.argv[2]))
    else:
        sys.exit(main())
