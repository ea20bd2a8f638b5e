# SPDX-License-Identifier: BSD-3-Clause
"""py-delta C.json PY.json: joins records of the two suites by row, variant, size and ranks; what Python adds."""

import json
import sys

from .options import Usage


def key(record: dict) -> tuple:
    """What two records of the same measurement share."""
    return record["row"], record.get("variant", ""), record["size"], record["ranks"]


def records(path: str) -> dict[tuple, dict]:
    """The measured records of a file, one JSON object per line."""
    try:
        with open(path) as file:
            found = [json.loads(line) for line in file if line.startswith("{")]
    except (OSError, ValueError) as error:
        raise Usage(f"py-delta: cannot read {path}: {error}") from None
    return {key(r): r for r in found if "value" in r}


def main(words: list[str]) -> int:
    """Prints the table; the status."""
    if len(words) != 2:
        raise Usage("py-delta takes two files: records of the C suite, and records of this one (--json)")
    c, python = records(words[0]), records(words[1])
    print(f"{'row':28} {'size':>10} {'C':>12} {'Python':>12} {'difference':>12} {'Python/C':>10}  unit")
    for name, one in python.items():
        if name not in c:
            continue
        value, other = one["value"], c[name]["value"]
        row = f"{name[0]}/{name[1]}" if name[1] else name[0]
        ratio = value / (other or 1e-30)
        figures = f"{other:12.5g} {value:12.5g} {value - other:12.4g} {ratio:10.3g}"
        print(f"{row:28} {name[2]:>10} {figures}  {one['unit']}")
    missing = len(python.keys() - c.keys())
    if missing:
        print(f"{missing} measured in Python alone", file=sys.stderr)
    return 0
