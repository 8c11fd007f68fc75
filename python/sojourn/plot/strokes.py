"""How means over a swept key are drawn: over numbers a line with its band, over words points with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
