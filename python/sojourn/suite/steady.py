"""When a run is in its steady state, by the evaluation suite's rule, from the series that `--series 300ms` records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..result import Outcome

#: "Look alike": what the suite's draft leaves to the eye, in words of a number.
ALIKE = 0.1
#: Candidates for the end of the warm-up, as parts of the run; later ones leave too little to compare.
LATEST = 0.6


def warm_up(time: NDArray[np.float64], *figures: NDArray[np.float64]) -> float | None:
    """The earliest time after which the halves of the rest have means within a tenth of each other, in all figures.

    None if there is none in the first three fifths. Steps without a value (nothing left the queue) count as nothing.
    """
    for begin in range(int(len(time) * LATEST)):
        middle = begin + (len(time) - begin) // 2
        if all(_alike(np.nan_to_num(f[begin:middle]), np.nan_to_num(f[middle:])) for f in figures):
            return float(time[begin - 1]) if begin else 0.0
    return None


def _alike(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    first, second = float(one.mean()), float(other.mean())
    return abs(first - second) <= ALIKE * max(first, second)


def trace(outcome: Outcome, link: str) -> dict[str, NDArray[np.float64]]:
    """Time and what a link did in every step; a `*` in its name takes the first that fits."""
    from fnmatch import fnmatchcase

    import polars as pl

    frame = outcome.frame("links")
    if frame is None:
        raise ValueError("the run has no series")
    name = next(one["name"] for one in outcome.summary["links"] if fnmatchcase(one["name"], link))
    mine = frame.filter(pl.col("name") == name)
    columns = ("t_s", "delay_ms", "queue_packets", "arrived_bytes", "departed_bytes")
    return {column: mine[column].to_numpy().astype(np.float64) for column in columns}


def of(outcome: Outcome, link: str) -> float | None:
    """The warm-up of a run at a link: by throughput and mean queue, or in overload by throughput alone."""
    steps = trace(outcome, link)
    overload = steps["arrived_bytes"].sum() > 1.02 * steps["departed_bytes"].sum()
    figures = [steps["departed_bytes"]] + ([] if overload else [steps["queue_packets"]])
    return warm_up(steps["t_s"], *figures)
