# SPDX-License-Identifier: BSD-3-Clause
"""Order statistics of samples; the interval of the median is the distribution-free one, ranks n/2 -+ 0.98 sqrt(n)."""

import math
from types import SimpleNamespace


def quantile(ordered: list[float], q: float) -> float:
    """Linear interpolation between the two nearest ranks."""
    at = q * (len(ordered) - 1)
    i = int(at)
    return ordered[-1] if i + 1 >= len(ordered) else ordered[i] + (at - i) * (ordered[i + 1] - ordered[i])


def median(samples: list[float]) -> float:
    """The median; 0 of no samples."""
    return quantile(sorted(samples), 0.5) if samples else 0.0


def interval(ordered: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median."""
    n = len(ordered)
    half = 0.98 * math.sqrt(n)
    return ordered[max(int(n / 2 - half), 0)], ordered[min(int(n / 2 + half) + 1, n - 1)]


def describe(samples: list[float]) -> SimpleNamespace:
    """All the figures of a record."""
    n = len(samples)
    if not n:
        names = "mean sd min p1 p5 p25 median p75 p95 p99 max lo hi lag1"
        return SimpleNamespace(n=0, **dict.fromkeys(names.split(), 0.0))
    mean = math.fsum(samples) / n
    square = math.fsum((x - mean) ** 2 for x in samples)
    lag = math.fsum((a - mean) * (b - mean) for a, b in zip(samples, samples[1:], strict=False))
    ordered = sorted(samples)
    lo, hi = interval(ordered)
    points = {f"p{p}": quantile(ordered, p / 100) for p in (1, 5, 25, 75, 95, 99)}
    return SimpleNamespace(
        n=n, mean=mean, sd=math.sqrt(square / (n - 1)) if n > 1 else 0.0, lag1=lag / square if square else 0.0,
        median=quantile(ordered, 0.5), min=ordered[0], max=ordered[-1], lo=lo, hi=hi, **points,
    )  # fmt: skip
