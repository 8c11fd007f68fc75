"""Distributions: CDF and box plots of queue delay and RTT."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import NotRecorded, SpecError
from ..figures import quantity
from . import histogram, hues, style
from .data import Shown, axis_label, column, lacking, over_repeats, runs, table
from .histogram import Floats, Histogram, pool
from .links import chosen, looking, place, words
from .options import one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DELAYS = {"queue": "queue delay", "rtt": "RTT"}
#: The table that holds each, and what its bins count.
HELD = {"queue": ("queue_delay", "packets"), "rtt": ("rtt", "samples")}
#: Of fewer runs quartiles say nothing that the runs do not: they are drawn themselves.
QUARTILES = 5
#: Where logarithmic axes of delays begin: less is no delay to speak of.
LEAST_MS = 0.01


def cdf(
    cases: Sequence[Shown],
    *,
    of: str = "queue",
    log: bool = False,
    tail: bool = False,
    limit: float | None = None,
    link: str | None = None,
    size: str = "double",
    title: str | None = None,
) -> Figure:
    """Fraction of packets with a queue delay (`of="queue"`) or of samples with an RTT (`of="rtt"`) up to x ms.

    `log` makes x logarithmic; `tail` shows 1 − F on a log axis, for the last per cent; `limit` ends x (ms,
    default just after the widest case's 99.9th percentile, so that one late packet does not squeeze the rest);
    `link` is whose queue (default each case's bottleneck).
    """
    cases = _at(cases, of, link)
    drawn = [(case, _delays(case, of)) for case in cases]
    _someone(drawn, of)
    called, what = axis_label(DELAYS[of] + (place(cases) if of == "queue" else ""), "ms"), HELD[of][1]
    left, limit = _ends([h for _, h in drawn if h.total], called, log, tail, limit)
    labels = [case.label if h.total else f"{case.label} (no {what})" for case, h in drawn]
    tall = 2.9 if size == "double" else 2.3
    fig = style.figure(size, tall + style.room(labels, size, tall))
    ax = fig.add_subplot()
    for (_, h), label, look in zip(drawn, labels, hues.looks(cases), strict=True):
        x, y = histogram.cdf(h)
        if len(x):
            # The function is 0 before the smallest value and 1 after the largest: draw it so to the edges.
            x = np.concatenate([[min(left, x[0])], x, [max(limit, x[-1])]])
            y = np.concatenate([[0.0], y, [1.0]])
        ax.plot(x, 1 - y if tail else y, color=look.colour, linestyle=look.dash, label=label)
    if log:
        style.logarithmic(ax, "x")
    if tail:
        style.logarithmic(ax, "y", ((1,),))
        ax.set_ylim(1e-4, 1)
    else:
        ax.set_ylim(0, 1)
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1])
    ax.set_xlim(left, limit)
    ax.set_xlabel(called)
    many = runs(len(case.outcomes) for case in cases)
    pooled = f"\n({what} of {many})" if many else ""
    ax.set_ylabel(f"Fraction of {what} {'above' if tail else 'up to'} x{pooled}")
    style.legend(ax, size)
    style.heading(fig, title)
    return fig


def _ends(there: Sequence[Histogram], called: str, log: bool, tail: bool, limit: float | None) -> tuple[float, float]:
    """Where the axis of a distribution of delays begins and ends, in ms."""
    if limit is not None and limit <= (LEAST_MS if log else 0.0):
        cure = "; give a larger one, or leave log out" if log else ""
        raise SpecError(f"limit={limit:g}: the axis of delays ends above {LEAST_MS if log else 0:g} ms{cure}")
    end = limit or 1.02 * max(h.high[-1] if tail else histogram.quantile(h, 0.999) for h in there)
    if not log:
        return 0.0, end
    if end <= LEAST_MS:
        raise _no_place(called, LEAST_MS)
    begin = max(LEAST_MS, min(histogram.quantile(h, 0.01) for h in there))
    # A limit below all delays has a decade before it.
    return (begin if begin < end else max(LEAST_MS, end / 10)), end


def _no_place(called: str, least: float) -> SpecError:
    return SpecError(
        f"log=true: {called}, is hardly ever above {least:g}, which has no place on a logarithmic axis; leave log out"
    )


def box(
    cases: Sequence[Shown],
    *,
    of: str = "queue",
    metric: str | None = None,
    log: bool = False,
    link: str | None = None,
    size: str = "double",
    title: str | None = None,
) -> Figure:
    """Boxes of the quartiles with whiskers at the 5th and 95th percentile, one per case.

    Of packets' queue delay (`of="queue"`) or RTT samples (`of="rtt"`) in the measure window; with `metric` (a path
    such as `utilisation`) of that figure over the repetitions, which are dots where they are fewer than five. `link`
    is whose queue or figure (default each case's bottleneck).
    """
    if metric is None:
        cases = _at(cases, of, link)
        boxes, few, called, unit, how = _of_delays(cases, of)
    else:
        cases = chosen(cases, link, [metric])
        boxes, few, called, unit, how = _of_figure(cases, metric)
    fig = style.figure(size)
    ax = fig.add_subplot()
    rows = list(range(len(cases)))[::-1]
    colours = [look.colour for look in hues.looks(cases)]
    for row, values, colour in zip(rows, few, colours, strict=True):
        ax.plot(values, [row] * len(values), "o", color=colour, markersize=4, alpha=0.85,
                markeredgecolor=style.INK, markeredgewidth=0.5)  # fmt: skip
    drawn_boxes = ax.bxp(
        boxes,
        positions=rows,
        orientation="horizontal",
        widths=0.6,
        showfliers=False,
        patch_artist=True,
        medianprops={"color": style.INK, "linewidth": 1.2},
        whiskerprops={"color": style.FAINT, "linewidth": 0.8},
        capprops={"color": style.FAINT, "linewidth": 0.8},
    )
    for patch, colour in zip(drawn_boxes["boxes"], colours, strict=True):
        patch.set(facecolor=colour, edgecolor=style.INK, linewidth=0.6, alpha=0.85)
    ax.set_yticks(rows, [case.label for case in cases])
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
    ends = [one["whishi"] for one in boxes if math.isfinite(one["whishi"])] + [float(v.max()) for v in few if len(v)]
    if log:
        if max(ends) <= (least := LEAST_MS if unit == "ms" else 0.0):
            raise _no_place(called, least)
        style.logarithmic(ax, "x")
        if unit == "ms":
            ax.set_xlim(left=max(ax.get_xlim()[0], LEAST_MS))
    elif unit == "ms":
        ax.set_xlim(0, max(ax.get_xlim()[1], 1.03 * max(ends, default=1.0)))
    # Axes are as wide as the names beside them leave.
    names = max(len(line) for case in cases for line in case.label.splitlines() or [""])
    wide, whole = (round((style.SIZES[size] - 0.2 - 0.058 * beside) / 0.064) for beside in (names, 0))
    below = _below(called, how, wide, whole)
    fig.set_figheight(max(1.2, 0.55 + 0.21 * len(cases)) + 0.13 * below.count("\n"))
    ax.set_xlabel(below, loc="center" if max(map(len, below.splitlines())) <= wide else "right")
    style.heading(fig, title)
    return fig


class _Boxes(NamedTuple):
    """What boxes are drawn of, a case each: the ends, and the values themselves where they are too few for a box."""

    boxes: list[dict[str, Any]]
    few: list[Floats]
    called: str
    unit: str
    how: list[str]


_ENDS = {"whislo": 5, "q1": 25, "med": 50, "q3": 75, "whishi": 95}


def _of_delays(cases: Sequence[Shown], of: str) -> _Boxes:
    drawn = [(case, _delays(case, of)) for case in cases]
    _someone(drawn, of)
    boxes = [{end: histogram.quantile(h, at / 100) for end, at in _ENDS.items()} for _, h in drawn]
    called = axis_label(DELAYS[of] + (place(cases) if of == "queue" else ""), "ms")
    many = runs(len(case.outcomes) for case in cases)
    pooled = f" of the {'packets' if of == 'queue' else 'samples'} of {many}" if many else ""
    how = _quartiles(pooled)
    if without := lacking((h.total > 0 for _, h in drawn), len(drawn), "case"):
        how.append(without)
    return _Boxes(boxes, [np.zeros(0)] * len(cases), called, "ms", how)


def _of_figure(cases: Sequence[Shown], metric: str) -> _Boxes:
    _, unit, factor = quantity(metric)
    boxes: list[dict[str, Any]] = []
    few: list[Floats] = []
    counts: list[int] = []
    for case in cases:
        values = factor * over_repeats(case, metric)
        good = values[np.isfinite(values)]
        enough = len(good) >= QUARTILES
        counts.append(len(good))
        few.append(good[:0] if enough else good)
        at = np.percentile(good, list(_ENDS.values())) if enough else np.full(len(_ENDS), math.nan)
        boxes.append(dict(zip(_ENDS, map(float, at), strict=True)))
    many = runs(count for count in counts if count >= QUARTILES)
    how = _quartiles(f" of {many}" if many else "")
    if any(map(len, few)):
        how = ["dots: runs", *(how if max(counts) >= QUARTILES else [])]
    if without := lacking(counts, sum(len(case.outcomes) for case in cases)):
        how.append(without)
    return _Boxes(boxes, few, words(cases, metric), unit, how)


def _quartiles(pooled: str) -> list[str]:
    return [f"box: quartiles{pooled}", "whiskers: 5th and 95th percentile"]


def _below(called: str, how: Sequence[str], letters: int, most: int) -> str:
    """An axis' words, its figure and how it is drawn: in one or two lines of so many letters, or several of `most`."""
    for text in (f"{called}  ({', '.join(how)})", f"{called}\n({', '.join(how)})"):
        if max(map(len, text.splitlines())) <= letters:
            return text
    return "\n".join(line for part in (called, *how) for line in textwrap.wrap(part, most))


def _at(cases: Sequence[Shown], of: str, link: str | None) -> list[Shown]:
    if of == "rtt":
        if link is not None:
            raise SpecError(f"link={link} with of=rtt: an RTT is a flow's, over all its links; leave one of them out")
        return list(cases)
    return looking(cases, link)


def _delays(case: Shown, of: str) -> Histogram:
    """Queue delays of packets or RTT samples (ms) over all repetitions, in the measure window."""
    one_of("of", of, DELAYS)
    import polars as pl

    frame, count = table(case, HELD[of][0]), HELD[of][1]
    if of == "queue" and not frame.is_empty():
        frame = frame.filter(pl.col("link") == case.bottleneck)
    if frame.is_empty():
        return pool(np.zeros(0), np.zeros(0), np.zeros(0))
    return pool(column(frame, "low_ms"), column(frame, "high_ms"), column(frame, count))


def _someone(drawn: Sequence[tuple[Shown, Histogram]], of: str) -> None:
    if not any(h.total for _, h in drawn):
        raise NotRecorded(f"no {DELAYS[of]} was recorded in the measure window: did any packet leave in it?")
