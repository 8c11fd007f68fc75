"""What is scheduled for links: rates and delays that change, and the base RTTs that come of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._types import Case

Floats: TypeAlias = "NDArray[np.float64]"
#: Seconds in rising order, and what holds from each of them on.
Steps: TypeAlias = "tuple[Floats, Floats]"


def changes(link: Mapping[str, Any], key: str) -> list[tuple[float, float]] | None:
    """Seconds, in rising order, and new values of what a link changes: `rate_mbps` or `delay_ms`.

    None where only their number is known, in results of before the plan told more.
    """
    listed = link.get("changes") or []
    return None if isinstance(listed, int) else [(one["at_s"], one[key]) for one in listed if key in one]


def base_rtt(case: Case, flow: int, span: tuple[float, float]) -> Steps | None:
    """A flow's base RTT in ms within `span`, its last entry at the end; None where it has none."""
    info = case.flows[flow]
    if not info.get("base_rtt_ms"):
        return None
    way = [*(info.get("route") or ()), *(info.get("back") or ())]
    moves: list[tuple[float, float]] = []  # when, and by how much it becomes longer
    for link in case.links:
        if link["name"] not in way:
            continue
        told, before = changes(link, "delay_ms"), float(link.get("delay_ms") or 0.0)
        if told is None:
            return None
        for at, delay in told:
            moves.append((at, way.count(link["name"]) * (delay - before)))
            before = delay
    base, moved = float(info["base_rtt_ms"]), dict[float, float]()
    for at, longer in sorted(moves):
        base += longer
        moved[at] = base
    return within(float(info["base_rtt_ms"]), list(moved.items()), span)


def within(first: float, changes: Sequence[tuple[float, float]], span: tuple[float, float]) -> Steps:
    """What begins with `first` and changes at these times, between two times."""
    t, held = np.array([-np.inf, *(at for at, _ in changes)]), np.array([first, *(new for _, new in changes)])
    at_start = int(np.searchsorted(t, span[0], side="right")) - 1
    later = (t > span[0]) & (t < span[1])
    inside = np.concatenate([[held[at_start]], held[later]])
    return np.concatenate([[span[0]], t[later], [span[1]]]), np.append(inside, inside[-1])


def at(steps: Steps, times: Floats) -> Floats:
    """What holds from each of these times on."""
    return steps[1][np.maximum(np.searchsorted(steps[0], times, side="right") - 1, 0)]


def before(steps: Steps, times: Floats) -> Floats:
    """What held just before each of these times: samples are of the step that ends there."""
    return steps[1][np.maximum(np.searchsorted(steps[0], times, side="left") - 1, 0)]
