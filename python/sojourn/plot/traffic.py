"""Panels over time that TEACUP draws and the usual four leave out: goodput, acknowledged bytes, one-way delay, loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotRecorded
from . import style
from .data import Shown, column
from .histogram import Floats
from .samples import averaged, heard

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from matplotlib.axes import Axes

    from .panels import Labels, View

#: Name, and the words of its axis.
PANELS = {
    "goodput": "Goodput\nMbit/s",
    "ackseq": "Acknowledged\nMB",
    "owd": "One-way delay\nms",
    "loss": "Lost\n% of packets",
}
#: Loss is counted over this many seconds unless `smooth` says otherwise.
LOSS_S = 1.0


def packet_bytes(case: Shown, flow: int) -> float:
    """Mean size (IP) of a flow's packets that arrived in the measure window; full segments where none did."""
    begin, end = case.case.measure_s
    found = [
        entry["throughput_mbps"] * 125e3 * (end - begin) / count
        for o in case.outcomes
        if (count := ((entry := o.summary["flows"][flow]).get("owd_ms") or {}).get("samples"))
    ]
    return math.fsum(found) / len(found) if found else float(case.flows[flow].get("mss") or 1448) + 52


def acked(t: Floats, goodput_mbps: Floats) -> Floats:
    """Megabytes that came in order since the first sample shown: what the sequence numbers of ACKs say."""
    return np.cumsum(np.nan_to_num(goodput_mbps) * widths(t)) / 8


def widths(t: Floats) -> Floats:
    """How long each sample stands for, up to its time. The first of a window is as long as the next."""
    steps = np.diff(t)
    return np.concatenate((np.minimum(t[:1], steps[:1] if len(steps) else t[:1]), steps))


def lost(
    case: Shown, flow: int, series: pl.DataFrame, drops: pl.DataFrame, span: tuple[float, float], width: float
) -> tuple[Floats, Floats]:
    """Data packets dropped on their way, in percent of those dropped or come: edges of bins, and their values.

    Bins are `width` seconds long; what is left in the end is none of its own if it is less than half a bin.
    """
    import polars as pl

    count = max(round((span[1] - span[0]) / width), 1)
    edges = np.append(span[0] + width * np.arange(count), span[1])
    rows = series.filter(pl.col("flow") == flow).sort("t_s")
    t, mbps = column(rows, "t_s"), np.nan_to_num(column(rows, "throughput_mbps"))
    came, _ = np.histogram(t - 1e-9, edges, weights=mbps * widths(t) * 125e3 / packet_bytes(case, flow))
    # A flow's ACKs are dropped under its number, too.
    route = case.flows[flow].get("route") or ()
    out = [i for i, link in enumerate(case.links) if link["name"] in route]
    mine = drops.filter((pl.col("flow") == flow) & (pl.col("marked") == 0) & pl.col("link").is_in(out))
    gone, _ = np.histogram(column(mine, "time_s"), edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        return edges, 100.0 * gone / (gone + came)


def _of_connections(view: View) -> list[int]:
    """The flows drawn that stand for connections."""
    outcomes = view.case.outcomes
    return [i for i in view.flows if any(o.summary["flows"][i].get("connections") for o in outcomes)]


def _without_goodput(view: View) -> list[int]:
    """The flows of connections of which the series has no goodput: it was not always recorded."""
    flows = [(i, _line("goodput", view, i, view.series)[1]) for i in _of_connections(view)]
    return [i for i, mbps in flows if not np.isfinite(mbps).any()]


def draw(ax: Axes, name: str, view: View, labels: Labels, drops: pl.DataFrame) -> None:
    """Draw one of the panels."""
    span = view.span
    if name == "loss" and drops.is_empty() and not {"flow", "marked"} <= set(drops.columns):
        raise NotRecorded("no drops were recorded: run again with --events")
    if name == "loss" and _of_connections(view) and (drops["flow"] >= len(view.case.flows)).any():
        raise NotRecorded(
            "this older result has drops of connections that come and go (tmix) under numbers of their own: "
            "run again with --fresh, or leave these flows out with flows=…"
        )
    if name == "owd" and "owd_ms" not in view.series.columns:
        raise NotRecorded("this older result has no one-way delays over time: run again with --fresh")
    if name in ("goodput", "ackseq") and (old := _without_goodput(view)):
        names = ", ".join(str(view.case.flows[i]["name"]) for i in old)
        raise NotRecorded(
            f"this older result has no goodput over time of {names}, whose connections come and go (tmix): "
            "run again with --fresh, or leave these flows out with flows=…"
        )
    for i, look in view.looks.items():
        how: Mapping[str, Any] = {"color": look.colour, "linestyle": look.dash, "linewidth": min(view.thin, 1.0)}
        t, y = _line(name, view, i, drops)
        if name == "loss":
            # A bin's value holds until the bin's end, the last one's too.
            ax.step(t, np.append(y, y[-1]), where="post", **how, label=labels.get(i))
            continue
        within = (t >= span[0]) & (t <= span[1])
        ax.plot(t[within], y[within], **how, label=labels.get(i))
    ax.set_ylim(bottom=0)
    ax.set_ylabel(f"{PANELS[name]}, {view.mean}" if name == "goodput" else PANELS[name])
    style.legend_above(ax)


def _line(name: str, view: View, flow: int, drops: pl.DataFrame) -> tuple[Floats, Floats]:
    """What a panel has of one flow."""
    import polars as pl

    if name == "loss":
        return lost(view.case, flow, view.series, drops, view.span, view.smooth or LOSS_S)
    mine = view.series.filter(pl.col("flow") == flow).sort("t_s")
    if name == "owd":
        return heard(*averaged(column(mine, "t_s"), column(mine, "owd_ms"), view.width))
    t, y = column(mine, "t_s"), column(mine, "goodput_mbps")
    return (t, acked(t, y)) if name == "ackseq" else averaged(t, y, view.width)
