"""Panels over time that TEACUP draws and the usual four leave out: goodput, acknowledged bytes, one-way delay, loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import NotRecorded
from . import style
from .data import Shown, column
from .histogram import Floats

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

#: Name, and the words of its axis.
PANELS = {
    "goodput": "Goodput\nMbit/s",
    "ackseq": "Acknowledged\nMB",
    "owd": "One-way delay\nms",
    "loss": "Lost\n% of packets",
}
#: Loss is counted over this many seconds unless `smooth` says otherwise.
LOSS_S = 1.0

Lines = dict[int, style.Look]


def acked(t: Floats, goodput_mbps: Floats) -> Floats:
    """Megabytes that came in order since the first sample shown: what the sequence numbers of ACKs say."""
    return np.cumsum(np.nan_to_num(goodput_mbps) * widths(t)) / 8


def widths(t: Floats) -> Floats:
    """How long each sample stands for, up to its time. The first of a window is as long as the next."""
    steps = np.diff(t)
    return np.concatenate((np.minimum(t[:1], steps[:1] if len(steps) else t[:1]), steps))


def one_way(case: Shown, flow: int, links: pl.DataFrame) -> tuple[Floats, Floats]:
    """Half the base RTT and the queues on the route, as a packet that leaves them then has met them."""
    import polars as pl

    route = [str(name) for name in case.flows[flow]["route"]]
    numbers = [i for i, link in enumerate(case.links) if str(link["name"]) in route]
    mine = links.filter(pl.col("link").is_in(numbers))
    summed = mine.group_by("t_s").agg(pl.col("queue_ms").sum()).sort("t_s")
    return column(summed, "t_s"), column(summed, "queue_ms") + float(case.flows[flow]["base_rtt_ms"]) / 2


def lost(
    case: Shown, flow: int, series: pl.DataFrame, drops: pl.DataFrame, span: tuple[float, float], width: float
) -> tuple[Floats, Floats]:
    """Dropped packets in percent of those that were dropped or came, in bins of `width` seconds."""
    import polars as pl

    edges = np.arange(span[0], span[1] + width, width)
    rows = series.filter(pl.col("flow") == flow).sort("t_s")
    t, mbps = column(rows, "t_s"), np.nan_to_num(column(rows, "throughput_mbps"))
    size = float(case.flows[flow].get("mss") or 1448) + 52
    came, _ = np.histogram(t - 1e-9, edges, weights=mbps * widths(t) * 1e6 / 8 / size)
    marked = drops["marked"].to_numpy().astype(bool)
    mine = (drops["flow"].to_numpy() == flow) & ~marked
    gone, _ = np.histogram(column(drops, "time_s")[mine], edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        return edges[:-1] + width / 2, 100.0 * gone / (gone + came)


def draw(
    ax: Axes,
    name: str,
    case: Shown,
    tables: tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame],
    picked: Sequence[int],
    lines: Lines,
    span: tuple[float, float],
    smooth: float | None,
) -> None:
    """Draw one of the panels; tables are the series of flows and of links, and the drops."""
    import polars as pl

    from .series import averaged

    series, links, drops = tables
    if name == "loss" and drops.is_empty() and not {"flow", "marked"} <= set(drops.columns):
        raise NotRecorded("no drops were recorded: run again with --events")
    for i in picked:
        mine = series.filter(pl.col("flow") == i).sort("t_s")
        t, y = column(mine, "t_s"), column(mine, "goodput_mbps")
        if name == "goodput":
            t, y = averaged(t, y, smooth if smooth is not None else (span[1] - span[0]) / 250)
        elif name == "ackseq":
            y = acked(t, y)
        elif name == "owd":
            t, y = one_way(case, i, links)
        else:
            t, y = lost(case, i, series, drops, span, smooth or LOSS_S)
        within = (t >= span[0]) & (t <= span[1])
        step = "steps-mid" if name == "loss" else "default"
        ax.plot(t[within], y[within], color=lines[i].colour, linestyle=lines[i].dash, linewidth=1.0, drawstyle=step)
    ax.set_ylim(bottom=0)
    ax.set_ylabel(PANELS[name])
