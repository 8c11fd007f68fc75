"""Series of a run between two times: one flow's or link's column, and means over bins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .data import column
from .histogram import Floats

if TYPE_CHECKING:
    import polars as pl


#: No packet for so many seconds is silence, not a slow sender.
SILENCE_S = 1.0


#: Times are steps multiplied, and 28 of 0.05 s are 1.4000000000000001 s.
EDGE_S = 1e-9


def between(name: str, span: tuple[float, float]) -> pl.Expr:
    """Whether a time lies between two, or at one of them."""
    import polars as pl

    return pl.col(name).is_between(span[0] - EDGE_S, span[1] + EDGE_S)


def within(frame: pl.DataFrame, name: str, span: tuple[float, float]) -> pl.DataFrame:
    """The rows of a table between two times."""
    return frame if frame.is_empty() else frame.filter(between(name, span))


def line(series: pl.DataFrame, flow: int, name: str, span: tuple[float, float]) -> tuple[Floats, Floats]:
    """A flow's column over time."""
    return _picked(series, "flow", flow, name, span)


def link(links: pl.DataFrame, number: int, name: str, span: tuple[float, float]) -> tuple[Floats, Floats]:
    """A link's column over time."""
    return _picked(links, "link", number, name, span)


def _picked(frame: pl.DataFrame, key: str, at: int, name: str, span: tuple[float, float]) -> tuple[Floats, Floats]:
    import polars as pl

    if frame.is_empty():
        return np.zeros(0), np.zeros(0)
    rows = frame.filter((pl.col(key) == at) & between("t_s", span)).sort("t_s")
    return column(rows, "t_s"), column(rows, name)


def averaged(t: Floats, y: Floats, width: float) -> tuple[Floats, Floats]:
    """Means over bins of `width` seconds, placed at the bins' middles; untouched where the steps are wider."""
    if len(t) < 3 or width <= 1.5 * float(np.median(np.diff(t))):
        return t, y
    # A sample is of the step before it: the last one closes a bin, and is none of its own, nor is less than half a bin.
    last = max(round((t[-1] - t[0]) / width), 1) - 1
    bins = np.clip(np.ceil((t - t[0]) / width - 1e-9) - 1, 0, last).astype(np.int64)
    places, which = np.unique(bins, return_inverse=True)
    good = np.isfinite(y)
    counts = np.bincount(which, weights=good, minlength=len(places))
    sums = np.bincount(which, weights=np.where(good, y, 0.0), minlength=len(places))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, sums / counts, math.nan)
    ends = np.where(places == last, t[-1], t[0] + (places + 1) * width)
    return (t[0] + places * width + ends) / 2, means


def heard(t: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The samples that are numbers: slow senders' packets miss many steps. The line ends where none is for long."""
    good = np.isfinite(y)
    t, y = t[good], y[good]
    breaks = np.flatnonzero(np.diff(t) > SILENCE_S) + 1
    return np.insert(t, breaks, t[breaks - 1]), np.insert(y, breaks, math.nan)


def step(series: pl.DataFrame) -> float:
    """Seconds between the samples of a series."""
    times = np.unique(column(series, "t_s"))
    return float(np.median(np.diff(times))) if len(times) > 1 else 0.0


def apart(times: Floats, span: tuple[float, float]) -> Any:
    """Times no closer than half a mark's width: thousands of drops on one pixel make a file large, not clearer."""
    width = (span[1] - span[0]) / 400
    return times[np.unique(np.floor((times - span[0]) / width), return_index=True)[1]]
