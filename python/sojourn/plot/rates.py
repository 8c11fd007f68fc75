"""Rates and base RTTs over time, for figures: constant, with scheduled changes, or a trace's opportunities."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .. import schedule
from ..schedule import Steps
from .data import Shown
from .histogram import Floats

#: Bits that one line of a mahimahi trace delivers.
OPPORTUNITY = 1500 * 8
#: A trace file larger than this is left alone: a picture is not worth the wait.
MOST_BYTES = 64 << 20


def steps(case: Shown, link: int, span: tuple[float, float], width: float) -> Steps | None:
    """The rate within `span`, its last entry at the end; of a trace the means over bins of `width` seconds.

    None where there is none, or none to be known: no rate, a trace that is no longer where it was.
    """
    info = case.links[link]
    first = info.get("rate_mbps")
    if not first:
        return None
    if info.get("trace"):
        return _trace(case, link, float(first), span, width)
    changes = schedule.changes(info, "rate_mbps")
    return None if changes is None else schedule.within(float(first), changes, span)


def base_rtt(case: Shown, flow: int, span: tuple[float, float]) -> Steps | None:
    """A flow's base RTT in ms within `span`, its last entry at the end; None where it has none."""
    return schedule.base_rtt(case.case, flow, span)


def narrowest(case: Shown, flow: int, span: tuple[float, float]) -> Steps | None:
    """The least rate on a flow's way out over time, its host's access included; a trace counts with its mean."""
    route = {str(name) for name in case.flows[flow].get("route") or ()}
    access = case.flows[flow].get("access_mbps")
    found: list[Steps] = [(np.array(span), np.array([float(access)] * 2))] if access else []
    for i, info in enumerate(case.links):
        if str(info["name"]) in route and info.get("rate_mbps"):
            mean = np.array([float(info["rate_mbps"])] * 2)
            one = (np.array(span), mean) if info.get("trace") else steps(case, i, span, np.inf)
            if one is None:
                return None
            found.append(one)
    if not found:
        return None
    t = np.unique(np.concatenate([one[0] for one in found]))
    return t, np.min([schedule.at(one, t) for one in found], axis=0)


def _trace(case: Shown, link: int, mean: float, span: tuple[float, float], width: float) -> Steps | None:
    path = Path(case.result.experiment.file).parent / str(case.links[link]["trace"])
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        lines = (line.strip() for line in path.read_text("utf-8").splitlines())
        times = np.array([int(line) for line in lines if line and not line.startswith("#")]) / 1e3
    except (OSError, ValueError):
        return None
    # Another file of that name by now would have another mean.
    if not len(times) or times[-1] <= 0 or abs(len(times) * OPPORTUNITY / times[-1] / 1e6 / mean - 1) > 1e-6:
        return None
    bins = max(1, round((span[1] - span[0]) / width))
    edges: Floats = np.linspace(*span, bins + 1)
    rounds, rest = np.divmod(edges, times[-1])
    passed = rounds * len(times) + np.searchsorted(times, rest + 1e-9, side="right")
    mbps = np.diff(passed) * OPPORTUNITY / np.diff(edges) / 1e6
    return edges, np.append(mbps, mbps[-1])
