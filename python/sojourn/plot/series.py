"""One run over time: throughput, window, delays and queue in panels that share their seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotRecorded, SpecError
from . import inner, rates, style, traffic
from . import why as causes
from .data import Shown, chosen, column, flow_label, short_spec, table, while_heard
from .histogram import Floats
from .links import numbered, place

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Beyond this many flows a legend of names says less than one of groups.
NAMED_FLOWS = 8
# Where rounds would be more than dots beside each other they only hide the line.
MOST_ROUNDS = 200


PANELS = ("throughput", "cwnd", "delay", "queue")
# Relative to each other, and in inches for one unit of a page's width.
HEIGHTS = {"throughput": 1.0, "cwnd": 1.25, "delay": 1.05, "queue": 0.85} | dict.fromkeys(traffic.PANELS, 1.0)


def time(
    cases: Sequence[Shown],
    *,
    case: int | None = None,
    repetition: int | None = None,
    flows: Sequence[str] | str | None = None,
    link: str | None = None,
    start: float | None = None,
    stop: float | None = None,
    why: bool = False,
    panels: Sequence[str] | str | None = None,
    smooth: float | None = None,
    size: str = "double",
    title: str | None = None,
) -> Figure:
    """Stacked panels of one case and repetition (default the first), between `start` and `stop` seconds.

    Top to bottom: throughput (mean over `smooth` seconds, default a 250th of the span), cwnd with ssthresh dashed,
    RTT with base RTT dashed and queue delay filled, queue length with drops (×) and marks (▲). With `why`, every
    cause is a coloured tick in a lane of its own under cwnd, and the algorithm's inner variables are further panels.
    `panels` chooses by name, such as `"cwnd, delay, gradient, probability"` or a list of them; any recorded variable is
    one, and so are `goodput`, `ackseq` (bytes acknowledged by then), `owd` (one-way delay) and `loss`.

    The queue, its rate, drops and marks are those of `link`: by default, of the links on the way of the flows' data,
    the one called bottleneck or else the one with the longest mean queue delay. `flows` chooses flows, or groups.
    """
    one = chosen(cases, case)
    run = one.outcomes[0].repetition if repetition is None else repetition
    have = [outcome.repetition for outcome in one.outcomes]
    if run not in have:
        listed = ", ".join(map(str, have[:12])) + (" …" if len(have) > 12 else "")
        raise SpecError(f"repetition {run} of case {one.index} is not in this result; it has {listed}")
    if smooth is not None and smooth < 0:
        raise SpecError(f"smooth={smooth:g}: a mean is over some seconds, or over none (0)")
    series, links = table(one, "flows", run), table(one, "links", run)
    if series.is_empty():
        raise NotRecorded(
            f"no time series was recorded for case {one.index}, repetition {run}: run again with --series 100ms"
        )
    picked = _flows(one, [flows] if isinstance(flows, str) else flows)
    if one.links:
        one = replace(one, at=one.busiest(picked) if link is None else numbered(one, str(link)))
    span = _span(series, start, stop)
    events = _within(table(one, "events", run), "time_s", span)
    zoomed = start is not None or stop is not None
    if smooth is None and zoomed:
        # In a close view, what a round trip delivered: less would be single packets.
        rtt = max(float(one.flows[i].get("base_rtt_ms") or 0.0) for i in picked) / 1e3
        smooth = max(rtt, (span[1] - span[0]) / 50)
    names = [name.strip() for name in panels.split(",")] if isinstance(panels, str) else panels
    shown = PANELS if names is None else tuple(name for name in names if name in HEIGHTS)
    if why and not table(one, "events", run).height:
        raise NotRecorded("no causes were recorded: run again with --events, or draw without --why")
    lanes = causes.lanes(events, picked) if why and "cwnd" in shown else []
    variables = inner.of_flow(table(one, "vars", run), picked, one.bottleneck)
    others = [name for name in names or () if name not in HEIGHTS]
    kinds: list[str | inner.Inner] = []
    for name in shown:
        kinds += [name, "why"] if name == "cwnd" and lanes else [name]
    if why or others:
        kinds += inner.chosen(variables, others if names is not None else None, span)
    inches = [_inches(kind, len(lanes), why) for kind in kinds]
    fig = style.figure(size, (sum(inches) + 0.75) * (1.0 if size == "double" else 0.9))
    axes = np.atleast_1d(fig.subplots(len(kinds), 1, sharex=True, height_ratios=inches)).tolist()
    style.spacing(fig, hspace=0.02, h_pad=0.02)
    ccs = [str(one.flows[i]["cc"]) for i in picked]
    many = len(picked) > NAMED_FLOWS
    looks = [style.Look(style.colour_of(cc)) for cc in ccs] if many else style.looks([(cc, "") for cc in ccs])
    drawn = dict(zip(picked, looks, strict=True))
    thin = 0.5 if many else 1.1

    for ax, kind in zip(axes, kinds, strict=True):
        if isinstance(kind, inner.Inner):
            inner.draw(ax, variables, kind, span)
        elif kind == "throughput":
            _throughput(ax, one, series, picked, drawn, span, smooth, thin)
            ax.set_ylabel("Throughput\nMbit/s")
        elif kind == "cwnd":
            _window(ax, one, series, picked, drawn, span, thin, variables if why else None, zoomed)
            ax.set_ylabel("cwnd\nkB")
        elif kind in traffic.PANELS:
            needed = ("drops", "diftr") if kind == "owd" else ("drops",)
            tables = {"flows": series, "links": links} | {name: table(one, name, run) for name in needed}
            traffic.draw(ax, kind, one, tables, picked, drawn, span, smooth)
        elif kind == "why":
            causes.draw(ax, lanes, _rows(drawn, lanes), span, style.SIZES[size] - 1.2)
        elif kind == "delay":
            _delay(ax, one, series, links, picked, drawn, span, thin, zoomed)
            if why:
                _rounds(ax, _within(table(one, "acks", run), "time_s", span), picked[0])
            style.legend_above(ax)
            ax.set_ylabel("Delay\nms")
        else:
            _queue(ax, one, links, _within(table(one, "drops", run), "time_s", span), span)
            ax.set_ylabel("Queue\npackets")
    axes[-1].set_xlabel("Time, s")
    axes[-1].set_xlim(*span)
    fig.align_ylabels([ax for ax, kind in zip(axes, kinds, strict=True) if kind != "why"])
    if title is not None or len(cases) > 1:
        fig.suptitle(title if title is not None else one.label, fontsize=9)
    return fig


def _inches(kind: str | inner.Inner, lanes: int, why: bool) -> float:
    if isinstance(kind, inner.Inner):
        return 0.95
    if kind == "why":
        return lanes * causes.LANE
    return HEIGHTS[kind] * (1.25 if not why else 1.05)


def _rows(drawn: dict[int, style.Look], lanes: Sequence[tuple[int, str, pl.DataFrame]]) -> dict[int, str]:
    """Flows that have a tick, with their colours."""
    there = {int(flow) for _, _, part in lanes for flow in part["flow"].unique()}
    return {flow: look.colour for flow, look in drawn.items() if flow in there}


def _throughput(
    ax: Axes,
    case: Shown,
    series: pl.DataFrame,
    picked: Sequence[int],
    lines: dict[int, style.Look],
    span: tuple[float, float],
    smooth: float | None,
    thin: float,
) -> None:
    seen: set[str] = set()
    for i in picked:
        t, y = _line(series, i, "throughput_mbps", span)
        t, y = averaged(t, y, smooth if smooth is not None else (span[1] - span[0]) / 250)
        name = _name(case, i, len(picked))
        ax.plot(t, y, color=lines[i].colour, linestyle=lines[i].dash, linewidth=thin,
                label=None if name in seen else name)  # fmt: skip
        seen.add(name)
    width = max(smooth if smooth is not None else (span[1] - span[0]) / 250, _step(series))
    rate = rates.steps(case, case.bottleneck, span, width) if case.links else None
    if rate is not None:
        label = "bottleneck rate" if case.place == "bottleneck" else f"rate of {case.place}"
        ax.step(*rate, where="post", color=style.FAINT, linewidth=0.7, linestyle=(0, (4, 2)), label=label, zorder=1)
    ax.set_ylim(bottom=0)
    style.legend_above(ax)


def _window(
    ax: Axes,
    case: Shown,
    series: pl.DataFrame,
    picked: Sequence[int],
    lines: dict[int, style.Look],
    span: tuple[float, float],
    thin: float,
    variables: pl.DataFrame | None,
    zoomed: bool,
) -> None:
    top, low = 0.0, math.inf
    for i in picked:
        t, cwnd = _line(series, i, "cwnd_bytes", span)
        ax.step(t, cwnd / 1e3, where="post", color=lines[i].colour, linestyle=lines[i].dash, linewidth=thin)
        if len(cwnd) and np.isfinite(cwnd).any():
            top, low = max(top, float(np.nanmax(cwnd)) / 1e3), min(low, float(np.nanmin(cwnd)) / 1e3)
        if len(picked) > NAMED_FLOWS:
            continue
        t, threshold = _line(series, i, "ssthresh_bytes", span)
        ax.step(t, threshold / 1e3, where="post", color=lines[i].colour, linestyle=(0, (3, 2)),
                linewidth=0.7, alpha=0.65)  # fmt: skip
    if variables is not None:
        ax.plot([], [], color=lines[picked[0]].colour, linewidth=thin, label="cwnd")
        ax.plot([], [], color=lines[picked[0]].colour, linestyle=(0, (3, 2)), linewidth=0.7, alpha=0.65,
                label="ssthresh")  # fmt: skip
        recorded = False
        for name, (label, dash) in inner.WINDOWS.items():
            t, y = inner.values(variables, name, span)
            if len(y) and np.nanmax(y, initial=0.0) > 0:
                ax.step(t, y / 1e3, where="post", color=style.INK, linestyle=dash, linewidth=0.9, label=label)
                recorded |= name == "bdp"
        bdp = None if recorded else _bdp(case, picked[0], span)
        if bdp is not None:
            ax.step(bdp[0], bdp[1] / 1e3, where="post", color=style.INK, linestyle=inner.WINDOWS["bdp"][1],
                    linewidth=0.8, label="BDP of the path")  # fmt: skip
        style.legend_above(ax)
    # An ssthresh far above every window (the initial one) would flatten the picture.
    ax.set_ylim(0.85 * low if zoomed and low < math.inf else 0, 1.08 * top if top > 0 else 1)


def _bdp(case: Shown, flow: int, span: tuple[float, float]) -> tuple[Floats, Floats] | None:
    """Payload bytes that the empty path holds, from some seconds on."""
    info = case.flows[flow]
    rate, rtt, mss = rates.narrowest(case, flow, span), info.get("base_rtt_ms"), info.get("mss")
    return (rate[0], rate[1] * rtt * 125 * mss / (mss + 52)) if rate is not None and rtt and mss else None


def _delay(
    ax: Axes,
    case: Shown,
    series: pl.DataFrame,
    links: pl.DataFrame,
    picked: Sequence[int],
    lines: dict[int, style.Look],
    span: tuple[float, float],
    thin: float,
    zoomed: bool,
) -> None:
    bases = sorted({float(case.flows[i]["base_rtt_ms"]) for i in picked if case.flows[i].get("base_rtt_ms")})
    t, y = _link(links, case.bottleneck, "queue_ms", span)
    # In a close view a queue of a few ms would be a thin line far under the RTT: it stands on the base RTT instead.
    lift = bases[0] if zoomed and len(bases) == 1 and len(y) and np.nanmax(y) < bases[0] else 0.0
    if len(t):
        label = f"queue delay{_at(case)} above base RTT" if lift else f"queue delay{_at(case)}"
        ax.fill_between(t, y + lift, lift, step="post", color=style.FAINT, alpha=0.35, linewidth=0, label=label)
    for i in picked:
        t, rtt = _line(series, i, "rtt_ms", span)
        rtt = while_heard(rtt, _line(series, i, "in_flight_bytes", span)[1])
        ax.plot(t, rtt, color=lines[i].colour, linestyle=lines[i].dash, linewidth=thin)
    for base in bases:
        ax.axhline(base, color=style.INK, linestyle=(0, (3, 2)), linewidth=0.7,
                   label="base RTT" if base == bases[0] else None)  # fmt: skip
    ax.plot([], [], color=lines[picked[0]].colour, linewidth=thin, label="RTT")
    if not lift:
        ax.set_ylim(bottom=0)


def _rounds(ax: Axes, acks: pl.DataFrame, flow: int) -> None:
    """The smallest and largest RTT of every round, as the algorithm was told: what gradients are made of."""
    import polars as pl

    if acks.is_empty():
        return
    rounds = acks.filter((pl.col("flow") == flow) & pl.col("round_min_rtt_ms").is_finite())
    if not rounds.height or rounds.height > MOST_ROUNDS:
        return
    for name, label, colour in (("min", "smallest of a round", style.BLUE), ("max", "largest", style.ORANGE)):
        ax.plot(rounds["time_s"], rounds[f"round_{name}_rtt_ms"], ".", color=colour, markersize=3, label=label)


def _queue(ax: Axes, case: Shown, links: pl.DataFrame, drops: pl.DataFrame, span: tuple[float, float]) -> None:
    t, y = _link(links, case.bottleneck, "queue_packets", span)
    ax.fill_between(t, y, step="post", color=style.FAINT, alpha=0.35, linewidth=0,
                    label=f"queue{_at(case)}" if _at(case) else None)  # fmt: skip
    ax.step(t, y, where="post", color=style.FAINT, linewidth=0.6)
    top = max(float(np.nanmax(y)) if len(y) else 0.0, 1.0)
    kinds = [(times, word, marker, colour) for times, word, marker, colour in (
        (*_losses(case, links, drops, "dropped", span), "x", style.VERMILLION),
        (*_losses(case, links, drops, "marked", span), "^", style.BLUE),
    ) if len(times)]  # fmt: skip
    for row, (times, label, marker, colour) in enumerate(kinds):
        at = _apart(times, span)
        ax.plot(at, np.full(len(at), (1.14 + 0.2 * row) * top), marker, color=colour, markersize=3,
                markeredgewidth=0.8, linestyle="none", label=label)  # fmt: skip
    ax.set_ylim(0, (1.06 + 0.2 * len(kinds)) * top)
    ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 1.06 * top])
    style.legend_above(ax)


def _at(case: Shown) -> str:
    """Which queue it is, where that is not the only one there could be."""
    return place([case]) if case.links else ""


def _losses(
    case: Shown, links: pl.DataFrame, drops: pl.DataFrame, what: str, span: tuple[float, float]
) -> tuple[Floats, str]:
    """Times of drops or marks at the link looked at, with their count in words.

    From the log of drops, or, without one, from the steps in which the series counted some.
    """
    word = {"dropped": "drop", "marked": "mark"}[what]
    if not drops.is_empty():
        marked = drops["marked"].to_numpy().astype(bool)
        mine = (drops["link"].to_numpy() == case.bottleneck) & (marked == (what == "marked"))
        times = column(drops, "time_s")[mine]
        count = len(times)
    else:
        t, n = _link(links, case.bottleneck, what, span)
        times, count = t[n > 0], int(n.sum())
    return times, f"{count} {word}{'' if count == 1 else 's'}"


def _flows(case: Shown, names: Sequence[str] | None) -> list[int]:
    if names is None:
        return list(range(len(case.flows)))
    have = [str(f["name"]) for f in case.flows]
    groups = [str(f.get("group", "")) for f in case.flows]
    picked = [i for i in range(len(have)) if have[i] in names or groups[i] in names]
    unknown = [n for n in names if n not in have and n not in groups]
    if unknown:
        raise SpecError(f"no flow {unknown[0]!r}; this case has {', '.join(have[:20])}{' …' if len(have) > 20 else ''}")
    return picked


def _name(case: Shown, flow: int, shown: int) -> str:
    info = case.flows[flow]
    if shown > NAMED_FLOWS:
        names = [short_spec(f["cc"]) if f["cc"] != "none" else "datagrams" for f in case.flows]
        alike = names.count(names[flow])
        return f"{alike} × {names[flow]}" if alike > 1 else names[flow]
    return flow_label(info)


def _span(series: pl.DataFrame, start: float | None, stop: float | None) -> tuple[float, float]:
    t = column(series, "t_s")
    first, last = min(0.0, float(t.min())), float(t.max())
    low, high = first if start is None else start, last if stop is None else stop
    if not (low < high and low < last and high > first):
        raise SpecError(f"nothing between {low:g} s and {high:g} s; the series goes from {first:g} s to {last:g} s")
    return low, high


def _within(frame: pl.DataFrame, name: str, span: tuple[float, float]) -> pl.DataFrame:
    import polars as pl

    return frame if frame.is_empty() else frame.filter(pl.col(name).is_between(*span))


def _line(series: pl.DataFrame, flow: int, name: str, span: tuple[float, float]) -> tuple[Floats, Floats]:
    return _picked(series, "flow", flow, name, span)


def _link(links: pl.DataFrame, link: int, name: str, span: tuple[float, float]) -> tuple[Floats, Floats]:
    return _picked(links, "link", link, name, span)


def _picked(frame: pl.DataFrame, key: str, at: int, name: str, span: tuple[float, float]) -> tuple[Floats, Floats]:
    import polars as pl

    if frame.is_empty():
        return np.zeros(0), np.zeros(0)
    rows = frame.filter((pl.col(key) == at) & pl.col("t_s").is_between(*span)).sort("t_s")
    return column(rows, "t_s"), column(rows, name)


def averaged(t: Floats, y: Floats, width: float) -> tuple[Floats, Floats]:
    """Means over bins of `width` seconds, placed at the bins' middles; untouched where the steps are wider."""
    if len(t) < 3 or width <= 1.5 * float(np.median(np.diff(t))):
        return t, y
    bins = np.floor((t - t[0]) / width).astype(np.int64)
    places, which = np.unique(bins, return_inverse=True)
    good = np.isfinite(y)
    counts = np.bincount(which, weights=good, minlength=len(places))
    sums = np.bincount(which, weights=np.where(good, y, 0.0), minlength=len(places))
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(counts > 0, sums / counts, math.nan)
    return t[0] + (places + 0.5) * width, means


def _step(series: pl.DataFrame) -> float:
    """Seconds between the samples of a series."""
    times = np.unique(column(series, "t_s"))
    return float(np.median(np.diff(times))) if len(times) > 1 else 0.0


def _apart(times: Floats, span: tuple[float, float]) -> Any:
    """Times no closer than half a mark's width: thousands of drops on one pixel make a file large, not clearer."""
    width = (span[1] - span[0]) / 400
    return times[np.unique(np.floor((times - span[0]) / width), return_index=True)[1]]
