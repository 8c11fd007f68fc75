"""The drawings of a scenario on a suite's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .answer import Ran
from .labels import labels, lines, titled
from .pieces import Row

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    from ..plot.style import Look

#: So many of a scenario's measures are drawn.
DRAWN = 3


def parts(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows of equal further values (load, initial window), each part a drawing."""
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(row.rest, []).append(row)
    return list(parts.items())


def placed(ran: Ran, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Rows with a place on the scenario's axis, and those without."""
    axis = ran.scenario.axis
    there: list[Row] = []
    elsewhere: list[Row] = []
    for row in rows:
        drawable = axis is not None and row.x is not None and (row.x > 0 or not axis.log)
        (there if drawable else elsewhere).append(row)
    return there, elsewhere


def looks(rows: Sequence[Row]) -> dict[str, Look]:
    """The looks of a scenario's congestion controls, those that they have in every figure."""
    from ..plot import style

    ccs = list(dict.fromkeys(row.cc for row in rows))
    if not any(ccs):
        return dict.fromkeys(ccs, style.Look(style.INK))
    return dict(zip(ccs, style.looks([(cc, "") for cc in ccs]), strict=True))


def curves(ran: Ran, rows: Sequence[Row]) -> Figure:
    """Figures of rows that are `placed` against the scenario's axis: a column per congestion control."""
    from ..plot import style

    ccs = list(dict.fromkeys(row.cc for row in rows))
    called = lines(rows)
    measures = ran.scenario.measures[:DRAWN]
    fig = style.figure("double", 1.35 * len(measures) + 0.7)
    axes = fig.subplots(len(measures), len(ccs), sharex=True, sharey="row", squeeze=False)
    # A column is one control's: in a hue its lines would be other controls'.
    rowed = dict(zip(called, style.row(len(called)), strict=True))
    for i, measure in enumerate(measures):
        for j, cc in enumerate(ccs):
            ax = axes[i][j]
            for line, name in called.items():
                mine = [row for row in rows if row.cc == cc and row.line == line]
                if points := sorted((row.x, row.figures[measure.name]) for row in mine if row.x is not None):
                    xs, ys = zip(*points, strict=True)
                    look = {"color": rowed[line].colour, "marker": rowed[line].marker, "markersize": 3}
                    ax.plot(xs, ys, label=name or measure.title, linestyle=style.dash_of(line), **look)
            if ran.scenario.axis and ran.scenario.axis.log:
                style.logarithmic(ax, "x")
            if i == 0:
                ax.set_title(cc)
            if j == 0:
                ax.set_ylabel(f"{measure.title}{', ' + measure.unit if measure.unit else ''}")
            if i == len(measures) - 1 and ran.scenario.axis:
                ax.set_xlabel(ran.scenario.axis.title)
    for measure, row_axes in zip(measures, axes, strict=True):
        # The axes of a row share their scale, and a limit set early would not grow with what is drawn later.
        highest = max((y for row in rows if (y := row.figures[measure.name]) == y), default=0.0)
        row_axes[0].set_ylim(0, 1.06 * highest or 1.0)
    handles: dict[str, Artist] = {}
    for row_axes in axes:
        for ax in row_axes:
            drawn, names = ax.get_legend_handles_labels()
            handles |= dict(zip(names, drawn, strict=True))
    fig.legend(
        list(handles.values()),
        list(handles),
        loc="outside upper center",
        ncols=style.columns(list(handles), style.SIZES["double"]),
    )
    return fig


def dots(ran: Ran, rows: Sequence[Row]) -> Figure:
    """A panel per figure, a line per queue and setting, a colour per congestion control."""
    from ..plot import style

    names, queues, rest = labels(rows, ran.asked)
    places = [" ".join(filter(None, pair)) for pair in zip(queues, rest, strict=True)]
    order = list(dict.fromkeys(places))
    ccs = list(dict.fromkeys(names))
    measures = ran.scenario.measures[:DRAWN]
    every = looks(list(ran.rows))
    seen = {name: every[row.cc] for name, row in zip(names, rows, strict=True)}
    # Equal points stand under each other, all of them nearer to their own line than to the next.
    apart = min(0.2, 0.6 / len(ccs))
    fig = style.figure("double", max(0.22, 0.08 * len(ccs)) * len(order) + 1.0)
    axes = fig.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    for ax, measure in zip(axes, measures, strict=True):
        for k, cc in enumerate(ccs):
            mine = [i for i, name in enumerate(names) if name == cc]
            xs = [rows[i].figures[measure.name] for i in mine]
            ys = [order.index(places[i]) + apart * (k - (len(ccs) - 1) / 2) for i in mine]
            look = {"color": seen[cc].colour, "marker": seen[cc].marker, "markersize": 4}
            dots = {"linestyle": "none", "clip_on": False, **look}
            ax.plot(xs, ys, label=cc, **dots)
        ax.set_xlim(left=0)
        ax.set_ylim(-0.5, len(order) - 0.5)
        ax.set_xlabel(titled(measure))
        ax.set_yticks(range(len(order)), order)
    axes[0].invert_yaxis()
    if any(ccs):
        drawn, texts = axes[0].get_legend_handles_labels()
        fig.legend(drawn, texts, loc="outside upper center", ncols=min(len(ccs), 7))
    return fig
