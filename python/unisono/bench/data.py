# SPDX-License-Identifier: BSD-3-Clause
"""Message content and its check: seeded bytes for what is moved, small integers for what is combined.

No NumPy needed: patterns come from the C code of `random` and are repeated by copying. The period of a pattern is odd,
so a block that lands in the wrong place is found. Operands repeat after 221 elements, and so do their combinations.
"""

import array
import functools
import operator
import random

PERIOD = (1 << 18) + 13
CYCLE = 13 * 17  # of the operands: 13 of the values, 17 of the factors
CODES = {"byte": "B", "int": "i", "int64": "q", "float": "f", "double": "d"}
COMBINE = {"sum": operator.add, "prod": operator.mul, "max": max, "min": min, "band": operator.and_,
           "bor": operator.or_, "bxor": operator.xor}  # fmt: skip


@functools.lru_cache(maxsize=64)
def base(seed: int) -> bytes:
    """One period of the pattern of a seed."""
    return random.Random(seed).randbytes(PERIOD)


def pattern(n: int, seed: int) -> bytes:
    """n bytes with the content of a seed."""
    one = base(seed)
    return one[:n] if n <= PERIOD else (one * (n // PERIOD + 1))[:n]


def first_difference(got: bytes, want: bytes) -> int:
    """Offset of the first byte that differs, or -1."""
    if got == want:
        return -1
    low, high = 0, min(len(got), len(want))
    while low < high:  # the first `low` bytes agree; somewhere before `high` they do not
        middle = (low + high) // 2
        if got[low : middle + 1] == want[low : middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


def operand(op: str, i: int, rank: int) -> int:
    """Element i of a rank's vector. Products stay exact: mostly 1, now and then 2."""
    return 1 + ((i + rank) % 17 == 0) if op == "prod" else (i * 3 + rank * 5) % 13


def values(code: str, op: str, first: int, n: int, ranks: range) -> bytes:
    """The combination of the vectors of some ranks, elements first to first + n - 1, in a type."""
    one, size = cycle(code, op, first % CYCLE, ranks.start, ranks.stop), array.array(code).itemsize * n
    return one[:size] if size <= len(one) else (one * (size // len(one) + 1))[:size]


@functools.lru_cache(maxsize=256)
def cycle(code: str, op: str, first: int, low: int, high: int) -> bytes:
    """One cycle of combined operands from element `first` on."""
    combined = (functools.reduce(COMBINE[op], (operand(op, i, r) for r in range(low, high)))
                for i in range(first, first + CYCLE))  # fmt: skip
    if code in "fd":
        return array.array(code, map(float, combined)).tobytes()
    return array.array(code, (v & 255 if code == "B" else v for v in combined)).tobytes()
