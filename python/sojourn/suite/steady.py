"""When a run is in its steady state, by the evaluation suite's rule, from the series that `--series 300ms` records."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .._types import Case
    from ..result import Outcome

#: "Statistically similar": 5 % apart, and four times that for the queue (draft, section 3.2; the code's finish).
THROUGHPUT, QUEUE = 0.05, 0.20
#: Candidates for the end of the warm-up, as parts of the run: the code's.
LATEST = 0.67
#: Offered loads about the rate, at which the queue is no stable measure: the code's.
ABOUT = (0.70, 1.05)


def warm_up(
    time: NDArray[np.float64], throughput: NDArray[np.float64], queue: NDArray[np.float64] | None = None
) -> float | None:
    """The earliest time after which the halves of the rest have a like throughput, and a like queue if one is given.

    None if there is none in the first two thirds. Steps without a value (nothing left the queue) count as nothing.
    """
    for begin in range(int(len(time) * LATEST)):
        middle = begin + (len(time) - begin) // 2
        if _apart(throughput, begin, middle) <= THROUGHPUT and (
            queue is None or _apart(queue, begin, middle, 1.0) <= QUEUE
        ):
            return float(time[begin - 1]) if begin else 0.0
    return None


def _apart(figure: NDArray[np.float64], begin: int, middle: int, least: float = 0.0) -> float:
    """How far apart the means are, as a part of the first; of means up to `least` the difference itself."""
    halves = np.nan_to_num(figure[begin:middle]), np.nan_to_num(figure[middle:])
    first, second = (float(half.mean()) for half in halves)
    apart = abs(first - second)
    return apart if min(first, second) <= least or not apart else apart / first


def trace(outcome: Outcome, link: str) -> dict[str, NDArray[np.float64]]:
    """Time and what a link did in every step; a `*` in its name takes the first that fits."""
    import polars as pl

    frame = outcome.frame("links")
    if frame is None:
        raise ValueError("the run has no series")
    name = next(one["name"] for one in outcome.summary["links"] if fnmatchcase(one["name"], link))
    mine = frame.filter(pl.col("name") == name)
    columns = ("t_s", "delay_ms", "queue_packets", "arrived_bytes", "departed_bytes")
    return {column: mine[column].to_numpy().astype(np.float64) for column in columns}


def of(outcome: Outcome, link: str, offered: float | None = None) -> float | None:
    """The warm-up of a run at a link: by throughput, and by the mean queue where the offered load is far from the rate.

    Where none is offered, it is what arrived over what the link carries.
    """
    steps = trace(outcome, link)
    load = offered if offered is not None else _arrived(outcome, link)
    about = ABOUT[0] < load < ABOUT[1]
    return warm_up(steps["t_s"], steps["departed_bytes"], None if about else steps["queue_packets"])


def _arrived(outcome: Outcome, link: str) -> float:
    """What arrived over what a link carries."""
    return float(next(one["load"] for one in outcome.summary["links"] if fnmatchcase(one["name"], link)))


def offered(case: Case) -> float | None:
    """The load that a case's connections offer together, where it says it for all of them."""
    load = case.values.get("flow.*.traffic.load")
    return None if load is None else float(load)
