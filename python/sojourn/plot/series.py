"""One run over time: throughput, window, delays and queue in panels that share their seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import NotRecorded, SpecError
from . import style
from .data import Shown, chosen, column, flow_label, short_spec, table
from .histogram import Floats

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Beyond this many flows a legend of names says less than one of groups.
NAMED_FLOWS = 8


def time(
    cases: Sequence[Shown],
    *,
    case: int | None = None,
    repetition: int | None = None,
    flows: Sequence[str] | None = None,
    start: float | None = None,
    stop: float | None = None,
    why: bool = False,
    smooth: float | None = None,
    size: str = "double",
    title: str | None = None,
) -> Figure:
    """Stacked panels of one case and repetition (default the first), between `start` and `stop` seconds.

    Top to bottom: throughput (mean over `smooth` seconds, default a 250th of the span), cwnd with ssthresh dashed,
    RTT with base RTT dashed and queue delay filled, queue length with drops (×) and marks (▲). With `why`, every
    cause is a coloured tick under cwnd.
    """
    one = chosen(cases, case)
    run = one.outcomes[0].repetition if repetition is None else repetition
    series, links = table(one, "flows", run), table(one, "links", run)
    if series.is_empty():
        raise NotRecorded(
            f"no time series was recorded for case {one.index}, repetition {run}: run again with --series 100ms"
        )
    picked = _flows(one, flows)
    span = _span(series, start, stop)
    events = _within(table(one, "events", run), "time_s", span)
    if why and events.is_empty():
        raise NotRecorded("no causes were recorded: run again with --events, or draw without --why")

    fig = style.figure(size, 5.6 if size == "double" else 5.0)
    upper, window, delay, queue = fig.subplots(4, 1, sharex=True, height_ratios=[1, 1.25 if why else 1.05, 1.05, 0.85])
    style.spacing(fig, hspace=0.02, h_pad=0.02)
    ccs = [str(one.flows[i]["cc"]) for i in picked]
    many = len(picked) > NAMED_FLOWS
    looks = [style.Look(style.colour_of(cc)) for cc in ccs] if many else style.looks([(cc, "") for cc in ccs])
    lines = dict(zip(picked, looks, strict=True))
    thin = 0.5 if many else 1.1

    _throughput(upper, one, series, picked, lines, span, smooth, thin)
    mss = _window(window, one, series, picked, lines, span, thin)
    if why:
        _why(window, one, events, picked)
    _delay(delay, one, series, links, picked, lines, span, thin)
    _queue(queue, one, links, _within(table(one, "drops", run), "time_s", span), span)

    upper.set_ylabel("Throughput\nMbit/s")
    window.set_ylabel("cwnd\npackets" if mss else "cwnd\nkB")
    delay.set_ylabel("Delay\nms")
    queue.set_ylabel("Queue\npackets")
    queue.set_xlabel("Time, s")
    queue.set_xlim(*span)
    fig.align_ylabels()
    if title is not None or len(cases) > 1:
        fig.suptitle(title if title is not None else one.label, fontsize=9)
    return fig


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
        t, y = _averaged(t, y, smooth if smooth is not None else (span[1] - span[0]) / 250)
        name = _name(case, i, len(picked))
        ax.plot(t, y, color=lines[i].colour, linestyle=lines[i].dash, linewidth=thin,
                label=None if name in seen else name)  # fmt: skip
        seen.add(name)
    rate = case.links[case.bottleneck].get("rate_mbps") if case.links else None
    if rate:
        ax.axhline(rate, color=style.FAINT, linewidth=0.7, linestyle=(0, (4, 2)), label="bottleneck rate", zorder=1)
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
) -> bool:
    in_packets = all(case.flows[i].get("mss_bytes") for i in picked)
    top = 0.0
    for i in picked:
        unit = float(case.flows[i]["mss_bytes"]) if in_packets else 1000.0
        t, cwnd = _line(series, i, "cwnd_bytes", span)
        ax.step(t, cwnd / unit, where="post", color=lines[i].colour, linestyle=lines[i].dash, linewidth=thin)
        if len(cwnd) and np.isfinite(cwnd).any():
            top = max(top, float(np.nanmax(cwnd)) / unit)
        if len(picked) > NAMED_FLOWS:
            continue
        t, threshold = _line(series, i, "ssthresh_bytes", span)
        ax.step(t, threshold / unit, where="post", color=lines[i].colour, linestyle=(0, (3, 2)),
                linewidth=0.7, alpha=0.65)  # fmt: skip
    # An ssthresh far above every window (the initial one) would flatten the picture.
    ax.set_ylim(0, 1.08 * top if top > 0 else 1)
    return in_packets


def _why(ax: Axes, case: Shown, events: pl.DataFrame, picked: Sequence[int]) -> None:
    """A strip of ticks under the window, a row per flow."""
    bottom, top = ax.get_ylim()
    rows = [[i] for i in picked] if len(picked) <= NAMED_FLOWS else [list(picked)]
    height = 0.085 * (top - bottom)
    ax.set_ylim(bottom - height * len(rows) * 1.15, top)
    ax.axhline(bottom, color=style.FAINT, linewidth=0.5)
    times, kinds, whose = column(events, "time_s"), events["kind"].to_numpy(), events["flow"].to_numpy()
    names = dict(zip(events["kind"], events["cause"], strict=True))
    counted: dict[int, int] = {}
    for place, row in enumerate(rows):
        mine = np.isin(whose, row)
        base = bottom - height * 1.15 * (place + 1)
        for kind in sorted(set(kinds[mine].tolist())):
            here = times[mine & (kinds == kind)]
            counted[kind] = counted.get(kind, 0) + len(here)
            ax.vlines(here, base, base + height, color=style.cause_colour(names[kind]), linewidth=0.9)
    for kind, count in sorted(counted.items()):
        name = names[kind]
        ax.plot([], [], color=style.cause_colour(name), linewidth=2.5, label=f"{name.replace('_', ' ')} {count}")
    ticks = [t for t in ax.get_yticks() if bottom <= t <= top]
    ax.set_yticks(ticks)
    style.legend_above(ax)


def _delay(
    ax: Axes,
    case: Shown,
    series: pl.DataFrame,
    links: pl.DataFrame,
    picked: Sequence[int],
    lines: dict[int, style.Look],
    span: tuple[float, float],
    thin: float,
) -> None:
    t, y = _link(links, case.bottleneck, "queue_ms", span)
    if len(t):
        ax.fill_between(t, y, step="post", color=style.FAINT, alpha=0.35, linewidth=0, label="queue delay")
    for i in picked:
        t, rtt = _line(series, i, "rtt_ms", span)
        ax.plot(t, rtt, color=lines[i].colour, linestyle=lines[i].dash, linewidth=thin)
    bases = sorted({float(case.flows[i]["base_rtt_ms"]) for i in picked if case.flows[i].get("base_rtt_ms")})
    for base in bases:
        ax.axhline(base, color=style.INK, linestyle=(0, (3, 2)), linewidth=0.7,
                   label="base RTT" if base == bases[0] else None)  # fmt: skip
    ax.plot([], [], color=lines[picked[0]].colour, linewidth=thin, label="RTT")
    ax.set_ylim(bottom=0)
    style.legend_above(ax)


def _queue(ax: Axes, case: Shown, links: pl.DataFrame, drops: pl.DataFrame, span: tuple[float, float]) -> None:
    t, y = _link(links, case.bottleneck, "queue_packets", span)
    ax.fill_between(t, y, step="post", color=style.FAINT, alpha=0.35, linewidth=0)
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


def _losses(
    case: Shown, links: pl.DataFrame, drops: pl.DataFrame, what: str, span: tuple[float, float]
) -> tuple[Floats, str]:
    """Times of drops or marks at the bottleneck with their count in words.

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
        alike = sum(f["cc"] == info["cc"] for f in case.flows)
        return f"{alike} × {short_spec(info['cc'])}" if alike > 1 else short_spec(info["cc"])
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


def _averaged(t: Floats, y: Floats, width: float) -> tuple[Floats, Floats]:
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


def _apart(times: Floats, span: tuple[float, float]) -> Any:
    """Times no closer than half a mark's width: thousands of drops on one pixel make a file large, not clearer."""
    width = (span[1] - span[0]) / 400
    return times[np.unique(np.floor((times - span[0]) / width), return_index=True)[1]]
