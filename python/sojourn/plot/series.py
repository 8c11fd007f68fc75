"""One run over time: throughput, window, delays and queue in panels that share their seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import NotRecorded, SpecError
from ..picking import listed, pick
from . import inner, style, traffic
from . import panels as usual
from . import why as causes
from .data import Shown, chosen, column, planned, table
from .links import numbered
from .samples import within

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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

    Top to bottom: throughput (mean over `smooth` seconds, default a 250th of the span, or an RTT or the time of some
    packets where these are longer), cwnd with ssthresh dashed, RTT with base RTT dashed and queue delay filled, queue
    length with drops (×) and marks (▲). With `why`, every cause is a coloured tick in a lane of its own under cwnd, and
    the algorithm's inner variables are further panels.
    `panels` chooses by name, such as `"cwnd, delay, gradient, probability"` or a list of them; any recorded variable is
    one, and so are `goodput`, `ackseq` (bytes acknowledged by then), `owd` (one-way delay) and `loss`.

    The queue, its rate, drops and marks are those of `link`: by default, of the links on the way of the flows' data,
    the one called bottleneck or else the one with the longest mean queue delay. `flows` chooses flows, or groups.
    """
    one = subject(cases, case, repetition)
    run = one.outcomes[0].repetition
    if smooth is not None and smooth < 0:
        raise SpecError(f"smooth={smooth:g}: a mean is over some seconds, or over none (0)")
    series, links = table(one, "flows", run), table(one, "links", run)
    if series.is_empty():
        needed = "--series 10ms --events" if why else "--series 100ms"
        raise NotRecorded(
            f"no time series was recorded for case {one.index}, repetition {run}: run again with {needed}"
        )
    picked = _flows(one, _names(flows))
    if one.links:
        one = replace(one, at=one.busiest(picked) if link is None else numbered(one, str(link)))
    span = _span(series, start, stop)
    if smooth is not None and smooth >= span[1] - span[0]:
        raise SpecError(f"smooth={smooth:g}: a mean over more than the {span[1] - span[0]:g} s shown has no line")
    zoomed = start is not None or stop is not None
    names = _names(panels)
    if names == []:
        raise SpecError(f"panels is empty; name some of {', '.join(HEIGHTS)}, or leave it out")
    every = table(one, "vars", run)
    if why:
        _explained(one, table(one, "events", run), every)
    looks, about = _looks(one, picked), inner.subject(every, picked)
    view = usual.View(one, series, links, looks, span, smooth, zoomed, about)
    if zoomed:  # in a close view losses are counted over what a mean is over, too
        view = replace(view, smooth=view.width)
    variables = inner.of_flow(every, picked, one.bottleneck)
    lanes = []
    if why and "cwnd" in (names or PANELS):
        lanes = causes.lanes(within(table(one, "events", run), "time_s", span), picked)
    kinds = _kinds(names, why, bool(lanes), variables, span, about in one.summing)
    inches = [_inches(kind, len(lanes), why) for kind in kinds]
    tall = (sum(inches) + 0.75) * (1.0 if size == "double" else 0.9)
    fig = style.figure(size, tall)
    axes = np.atleast_1d(fig.subplots(len(kinds), 1, sharex=True, height_ratios=inches)).tolist()
    style.spacing(fig, hspace=0.02, h_pad=0.02)
    # Flows have their names in the first panel that has a line for each of them.
    named = next((kind for kind in kinds if isinstance(kind, str) and kind in HEIGHTS and kind != "queue"), None)
    from .ticks import few  # needs matplotlib, which is slow to load

    for ax, kind in zip(axes, kinds, strict=True):
        if isinstance(kind, inner.Inner):
            whose = inner.owner(variables, kind, one, view.whose)
            inner.draw(ax, variables, kind.of(looks[about].colour), span, whose)
        elif kind == "why":
            causes.draw(ax, lanes, _rows(view, lanes), span, style.SIZES[size] - 1.2, one.summing)
        else:
            _panel(ax, kind, view, run, view.labels() if kind == named else {}, variables if why else None)
        few(ax)
    # A legend of several lines is no reason for flat panels.
    fig.set_figheight(tall + 0.14 * sum(max(style.rows(ax) - 1, 0) for ax in axes))
    axes[-1].set_xlabel("Time, s")
    axes[-1].set_xlim(*span)
    fig.align_ylabels([ax for ax, kind in zip(axes, kinds, strict=True) if kind != "why"])
    heading = _heading(cases, one) if title is None else title
    style.heading(fig, heading)
    return fig


def subject(cases: Sequence[Shown], case: int | None = None, repetition: int | None = None) -> Shown:
    """The case that is drawn, with the one run of it that is: by default the first ones."""
    one = chosen(cases, case)
    run = one.outcomes[0].repetition if repetition is None else repetition
    found = tuple(outcome for outcome in one.outcomes if outcome.repetition == run)
    if not found:
        have = [outcome.repetition for outcome in one.outcomes]
        listed = ", ".join(map(str, have[:12])) + (" …" if len(have) > 12 else "")
        raise SpecError(f"repetition {run} of case {one.index} is not in this result; it has {listed}")
    return replace(one, outcomes=found)


def _explained(one: Shown, events: pl.DataFrame, every: pl.DataFrame) -> None:
    """Refuse to say why where nothing was recorded, or nothing happened that has a reason."""
    if "events" not in one.outcomes[0].tables_held:
        raise NotRecorded("no causes were recorded: run again with --events, or draw without --why")
    if events.is_empty() and every.is_empty():
        raise NotRecorded(
            "there is nothing to explain: in this run no window changed for a cause (datagrams have none), and no "
            "algorithm has inner variables; draw without --why"
        )


def _heading(cases: Sequence[Shown], one: Shown) -> str:
    """Which of several cases and repetitions it is; nothing where there is only one."""
    words = [planned(one, cases)]
    repetitions = len(one.result.of(one.case))
    if repetitions > 1:
        words.append(f"seed {one.outcomes[0].seed} (1 of {repetitions} repetitions)")
    return " · ".join(filter(None, words))


def _names(given: Sequence[str] | str | None) -> list[str] | None:
    if given is None:
        return None
    return [name.strip() for name in (given.split(",") if isinstance(given, str) else given)]


def _looks(case: Shown, picked: Sequence[int]) -> dict[int, style.Look]:
    ccs = [str(case.flows[i]["cc"]) for i in picked]
    if len(picked) <= usual.NAMED_FLOWS:
        return dict(zip(picked, style.looks([(cc, "") for cc in ccs]), strict=True))
    # The legend names kinds, so that flows of one look alike and those of two do not.
    kinds = list(dict.fromkeys(ccs))
    look = dict(zip(kinds, style.looks([(kind, "") for kind in kinds]), strict=True))
    return {flow: look[cc] for flow, cc in zip(picked, ccs, strict=True)}


def _kinds(
    names: Sequence[str] | None,
    why: bool,
    lanes: bool,
    variables: pl.DataFrame,
    span: tuple[float, float],
    summed: bool,
) -> list[str | inner.Inner]:
    """The panels from top to bottom."""
    kinds: list[str | inner.Inner] = []
    for name in PANELS if names is None else [name for name in names if name in HEIGHTS]:
        kinds += [name, "why"] if name == "cwnd" and lanes else [name]
    others = [name for name in names or () if name not in HEIGHTS]
    if why or others:
        kinds += inner.chosen(variables, others if names is not None else None, span, summed)
    return kinds


def _panel(
    ax: Axes, kind: str, view: usual.View, run: int, labels: usual.Labels, variables: pl.DataFrame | None
) -> None:
    """Draw one panel of those that need no inner variables; with them, what `why` adds to it."""
    case, span = view.case, view.span
    if kind == "throughput":
        usual.throughput(ax, view, labels)
    elif kind == "cwnd":
        usual.window(ax, view, labels, variables)
    elif kind == "delay":
        usual.delay(ax, view, labels, None if variables is None else within(table(case, "acks", run), "time_s", span))
    elif kind == "queue":
        usual.queue(ax, view, within(table(case, "drops", run), "time_s", span))
    else:
        traffic.draw(ax, kind, view, labels, table(case, "drops", run))


def _inches(kind: str | inner.Inner, lanes: int, why: bool) -> float:
    if isinstance(kind, inner.Inner):
        return 0.95
    if kind == "why":
        return lanes * causes.LANE
    return HEIGHTS[kind] * (1.25 if not why else 1.05)


def _rows(view: usual.View, lanes: Sequence[tuple[int, str, pl.DataFrame]]) -> dict[int, str]:
    """Flows that have a tick, with their colours."""
    there = {int(flow) for _, _, part in lanes for flow in part["flow"].unique()}
    return {flow: look.colour for flow, look in view.looks.items() if flow in there}


def _flows(case: Shown, names: Sequence[str] | None) -> list[int]:
    if names is None:
        return list(range(len(case.flows)))
    have = f"this case has {listed(case.flows)}"
    if not names:
        raise SpecError(f"flows is empty; {have}: name some, or leave it out")
    return pick(case.flows, names, lambda name: SpecError(f"no flow {name!r}; {have}"))


def _span(series: pl.DataFrame, start: float | None, stop: float | None) -> tuple[float, float]:
    t = column(series, "t_s")
    first, last = min(0.0, float(t.min())), float(t.max())
    low, high = first if start is None else start, last if stop is None else stop
    if not (low < high and low < last and high > first):
        raise SpecError(f"nothing between {low:g} s and {high:g} s; the series goes from {first:g} s to {last:g} s")
    # What is known of a path beyond its run, as its rate and its base RTT, was never there.
    return low, min(high, last)
