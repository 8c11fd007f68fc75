"""A flow's one-way delay over time: its links' delays and transmission times, and what its own packets wait."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotRecorded
from . import rates
from .data import Shown, column
from .histogram import Floats

if TYPE_CHECKING:
    import polars as pl

#: Beginnings of the names of queues that keep flows apart: there a packet's wait says nothing of another flow's.
APART = ("fq_", "sfq_", "drr_", "dualpi2")


def one_way(case: Shown, flow: int, links: pl.DataFrame, diftr: pl.DataFrame) -> tuple[Floats, Floats]:
    """Seconds, and the ms that a packet of this flow takes that meets the queues as they are then.

    Raises NotRecorded where that cannot be had from what was recorded.
    """
    import polars as pl

    if links.is_empty():
        raise NotRecorded("no series of links was recorded: run again with --series 100ms")
    t = np.unique(column(links, "t_s"))
    span = float(t[0]), float(t[-1])
    size = packet_bytes(case, flow)
    total = _edge(case, flow, span, size)
    for i in _numbers(case, route(case, flow)):
        total = total + _delays(case, i, span, t)
        rate = rates.steps(case, i, span, np.inf)
        if rate is not None:
            total = total + size * 8 / 1e3 / rates.before(rate, t)
        if apart(case, i):
            total = total + _own(case, flow, i, diftr, t)
        else:
            rows = links.filter(pl.col("link") == i).sort("t_s")
            total = total + np.interp(t, column(rows, "t_s"), column(rows, "queue_ms"))
    info = case.flows[flow]
    stop = info.get("stop_s")
    there = (t >= float(info["start_s"])) & (t <= (np.inf if stop is None else float(stop)))
    return t, np.where(there, total, np.nan)


def packet_bytes(case: Shown, flow: int) -> float:
    """Mean size (IP) of a flow's packets that arrived in the measure window; full segments where none did."""
    begin, end = case.case.measure_s
    found = [
        entry["throughput_mbps"] * 125e3 * (end - begin) / count
        for o in case.outcomes
        if (count := ((entry := o.summary["flows"][flow]).get("owd_ms") or {}).get("samples"))
    ]
    return math.fsum(found) / len(found) if found else float(case.flows[flow].get("mss") or 1448) + 52


def route(case: Shown, flow: int) -> list[str]:
    """The links on the way of a flow's data."""
    return [str(name) for name in case.flows[flow].get("route") or ()]


def _numbers(case: Shown, names: list[str]) -> list[int]:
    return [i for i, link in enumerate(case.links) if str(link["name"]) in names]


def apart(case: Shown, link: int) -> bool:
    """Whether other flows' packets may have waited for another time than this one's."""
    return len(case.flows) > 1 and str(case.links[link].get("queue", "")).startswith(APART)


def _own(case: Shown, flow: int, link: int, diftr: pl.DataFrame, t: Floats) -> Floats:
    """What the last packet of the flow that had left this queue by then had waited."""
    import polars as pl

    if diftr.is_empty():
        queue, name = case.links[link]["queue"], case.links[link]["name"]
        raise NotRecorded(
            f"queue {queue} at {name} keeps flows apart, and the series has the wait of whichever packet left last, "
            f"not {case.flows[flow]['name']}'s own: run again with --diftr, or see metric=flow.NAME.owd_ms.mean"
        )
    mine = diftr.filter(
        (pl.col("link") == link) & (pl.col("flow") == flow) & (pl.col("way") == 0) & (pl.col("event") == "dequeue")
    ).sort("time_s")
    waits = np.concatenate([[np.nan], column(mine, "sojourn_ms")])
    return waits[np.searchsorted(column(mine, "time_s"), t, side="right")]


def _edge(case: Shown, flow: int, span: tuple[float, float], size: float) -> Any:
    """What lies before the first link: half of the base RTT that is on no link, and the sender's own link."""
    info = case.flows[flow]
    names = route(case, flow)
    table = _table(case, str(info.get("group") or info["name"]))
    back = table.get("back") or [link["name"] for link in case.links if link["name"] not in names]
    on_links = sum(float(case.links[i]["delay_ms"]) for i in _numbers(case, [*names, *back]))
    edge = max(0.0, float(info["base_rtt_ms"]) - on_links) / 2
    access = info.get("access_mbps")
    if not access:
        return edge
    narrowest = rates.narrowest(case, flow, span)
    if narrowest is not None and access <= narrowest[1].max():
        raise NotRecorded(
            f"{info['name']}'s own link (access, {access:g} Mbit/s) is no faster than its route: "
            f"packets wait there, and nothing records it; see metric=flow.NAME.owd_ms.mean"
        )
    return edge + size * 8 / 1e3 / access


def _table(case: Shown, group: str) -> Mapping[str, Any]:
    """The file's table of a flow."""
    tables = dict(zip(case.case.groups, rates.file(case).get("flow", ()), strict=False))
    found: Mapping[str, Any] = tables.get(group, {})
    return found


def _delays(case: Shown, link: int, span: tuple[float, float], t: Floats) -> Any:
    """Propagation over a link (ms) at these times: it may change."""
    info = case.links[link]
    first = float(info["delay_ms"])
    if not info.get("changes"):
        return first
    changes = rates.delays(case, str(info["name"]))
    if changes is None:
        raise NotRecorded(f"the delay of {info['name']} changes, and when cannot be read from the file")
    at, ms = np.array([-np.inf, *(s for s, _ in changes)]), np.array([first, *(one for _, one in changes)])
    return ms[np.searchsorted(at, t, side="right") - 1]
