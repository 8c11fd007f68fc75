"""How means over a swept key are drawn: over numbers a line with its band, over words points with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import SpecError
from ..figures import bounds, quantity
from . import style
from .histogram import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Of the room between two words on an axis, how much points of several lines spread over, and the most between two.
SPREAD, STEP = 0.7, 0.12


def line(ax: Axes, at: Floats, bands: Floats, label: str, look: style.Look) -> None:
    """Means joined by a line, over the band of their intervals; each of `bands` is a mean, a low and a high end."""
    ax.plot(at, bands[:, 0], color=look.colour, linestyle=look.dash, marker=look.marker, markersize=3.5, label=label)
    if (bands[:, 2] > bands[:, 1]).any():
        # Edges have the line's dash: where bands lie over each other it says whose each is.
        ax.fill_between(at, bands[:, 1], bands[:, 2], facecolor=(look.colour, 0.18), edgecolor=(look.colour, 0.7),
                        linewidth=0.5, linestyle=look.dash)  # fmt: skip


def points(ax: Axes, at: Floats, bands: Floats, label: str, look: style.Look) -> None:
    """Means as points with their intervals: between two words there is nothing that a line could go through."""
    ax.vlines(at, bands[:, 1], bands[:, 2], color=look.colour, linewidth=1.0, alpha=0.7)
    ax.plot(at, bands[:, 0], look.marker, color=look.colour, markersize=4.5, markeredgewidth=0, label=label)
    ax.grid(visible=False, axis="x")


def dodged(at: Floats, place: int, many: int) -> Floats:
    """Where the points of one of many stand beside those of the others."""
    return np.asarray(at + min(STEP, SPREAD / many) * (place - (many - 1) / 2))


def refuse_ends(metrics: Sequence[str], low: float | None, high: float | None, *, log: bool) -> None:
    """Refuse ends of the upright axis that are none, before anything is drawn."""
    for name, end in (("low", low), ("high", high)):
        if end is not None and len(metrics) > 1:
            raise SpecError(f"{name}={end:g}: {', '.join(metrics)} have an axis each; draw one, or leave it out")
        if end is not None and log and end <= 0:
            raise SpecError(f"{name}={end:g}: has no place on a logarithmic axis; give one above 0, or leave log_y out")
    if low is not None and high is not None and low >= high:
        raise SpecError(f"low={low:g} is not below high={high:g}: they are the ends of the upright axis")


def upright(ax: Axes, path: str, low: float | None, high: float | None, *, log: bool) -> None:
    """Scale the upright axis of a metric, from zero unless it has no unit or is logarithmic; `low` and `high` are its
    ends where they are given.
    """
    means = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines] or [np.ones(1)])
    if log:
        if (means <= 0).any():  # an interval may go on below the axis, a mean has to be on it
            least = float(np.nanmin(means))
            raise SpecError(f"log_y=true: {path} has a mean of {least:g}, which a logarithmic axis has no place for")
        style.logarithmic(ax, "y")
    elif quantity(path)[1] != "":
        # Of what scales itself to values far from zero little room is left above them once zero is below.
        bottom, most = min(0.0, ax.dataLim.y0), ax.dataLim.y1
        ax.set_ylim(bottom, most + 0.06 * (most - bottom) if most > bottom else None)
    if bounds(path)[1] == 100.0 and ax.get_ylim()[1] > 85:
        ax.set_ylim(top=103)
    if low is None and high is None:
        return
    ax.set_ylim(low, high)
    bottom, top = ax.get_ylim()
    if bottom >= top:
        end = f"low={low:g}" if low is not None else f"high={high:g}"
        raise SpecError(f"{end}: none of {path} is there; its means are {np.nanmin(means):g} to {np.nanmax(means):g}")
