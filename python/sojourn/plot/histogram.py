"""Distributions from bins (low, high, count), as the core keeps them: exact at every bin edge, straight between."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Histogram:
    """Bins in ascending order that do not overlap; a bin with low = high is a single value."""

    low: Floats
    high: Floats
    count: Floats

    @property
    def total(self) -> float:
        """How many values were counted."""
        return float(self.count.sum())


def pool(low: Floats, high: Floats, count: Floats) -> Histogram:
    """One histogram from the bins of several runs: equal bins are added, empty ones left out.

    The first and last bins of a run end at its own smallest and largest value, inside those of another: overlapping
    bins are cut at each other's edges, and their counts are spread evenly, as within any bin.
    """
    kept = count > 0
    bins, place = np.unique(np.stack([low[kept], high[kept]], axis=1), axis=0, return_inverse=True)
    total = np.zeros(len(bins))
    np.add.at(total, place.reshape(-1), count[kept].astype(np.float64))
    low, high = bins[:, 0].astype(np.float64), bins[:, 1].astype(np.float64)
    if (low[1:] < high[:-1]).any():
        return _cut(low, high, total)
    return Histogram(low, high, total)


def _cut(low: Floats, high: Floats, count: Floats) -> Histogram:
    """The same counts in bins that do not overlap."""
    edges = np.unique(np.concatenate([low, high]))
    parts: dict[tuple[float, float], float] = {}
    for a, b, n in zip(low, high, count, strict=True):
        inside = edges[np.searchsorted(edges, a) : np.searchsorted(edges, b) + 1]
        for left, right in pairwise(inside) if b > a else [(a, b)]:
            share = n if b == a else n * (right - left) / (b - a)
            parts[float(left), float(right)] = parts.get((float(left), float(right)), 0.0) + share
    bins = sorted(parts)
    ends = np.array(bins, dtype=np.float64)
    return Histogram(ends[:, 0], ends[:, 1], np.array([parts[one] for one in bins]))


def cdf(h: Histogram) -> tuple[Floats, Floats]:
    """Corners (value, fraction of values up to it) of the distribution function.

    Exact at the edges of the bins. Within a bin it is straight; over a gap between two bins it is level; a bin
    without width is a step.
    """
    if h.total == 0:
        return np.zeros(0), np.zeros(0)
    after = np.cumsum(h.count) / h.total
    after[-1] = 1.0
    before = np.concatenate([[0.0], after[:-1]])
    return np.stack([h.low, h.high], axis=1).reshape(-1), np.stack([before, after], axis=1).reshape(-1)


def quantile(h: Histogram, fraction: float) -> float:
    """The value under which `fraction` of the values lie; NaN when there are none."""
    if h.total == 0:
        return float("nan")
    after = np.cumsum(h.count)
    rank = min(max(fraction, 0.0), 1.0) * after[-1]
    bin_ = int(min(np.searchsorted(after, rank, side="left"), len(after) - 1))
    within = (rank - (after[bin_] - h.count[bin_])) / h.count[bin_]
    return float(h.low[bin_] + within * (h.high[bin_] - h.low[bin_]))
