"""Published values with ours beside them: a row for every cell, a panel for every quantity."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from ..figures import bounds, quantity
from . import style
from .data import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..reproduce import Cell, Comparison

OURS = {"within": style.GREEN, "outside": style.VERMILLION, "undecided": style.ORANGE, "absent": style.VERMILLION,
        "shown": style.BLUE}  # fmt: skip
# More panels than this go into a second line.
ACROSS = 4
# Longer names of rows are broken.
NAME = 28


def beside(comparison: Comparison, size: str = "double", title: str | None = None) -> Figure:
    """A panel for each column of a published table: diamonds are published (frames where a range is), dots ours, grey
    bands the tolerance.

    Bars of ours go from the 20th to the 80th percentile over repetitions. A table of one quantity over two keys makes
    one panel with a row for every cell.
    """
    grid = len({cell.that for cell in comparison.cells}) == 1
    across_keys = grid and len({cell.column for cell in comparison.cells}) > 1
    columns = [""] if grid else list(dict.fromkeys(cell.column for cell in comparison.cells))
    rows = list(dict.fromkeys(_row(cell, across_keys) for cell in comparison.cells))
    names = [textwrap.fill(name, NAME) for name in rows]
    lines = sum(1 + 0.75 * name.count("\n") for name in names)
    across = min(len(columns), ACROSS if size == "double" else 1)
    down = math.ceil(len(columns) / across)
    fig = style.figure(size, 0.35 + down * (0.45 + 0.18 * lines))
    style.spacing(fig, wspace=0.06)
    axes = list(fig.subplots(down, across, squeeze=False, sharey=True).flat)
    for ax, column in zip(axes, columns, strict=False):
        cells = [cell for cell in comparison.cells if grid or cell.column == column]
        called, unit, scale = quantity(cells[0].that)
        for cell in cells:
            _draw(ax, cell, len(rows) - 1 - rows.index(_row(cell, across_keys)), scale)
        ax.set_yticks(range(len(rows))[::-1], names)
        ax.set_ylim(-0.6, len(rows) - 0.4)
        ax.tick_params(axis="y", length=0)
        ax.grid(visible=False, axis="y")
        low, high = ax.get_xlim()
        if unit == "%":
            # Beyond what a figure can be (a share of more than 100 %) is only the margin of the plot or of a tolerance.
            least, most = max(low, 0.0), bounds(cells[0].that)[1]
            ax.set_xlim(least, min(high, most + 0.03 * (most - least)))
        else:
            ax.set_xlim(min(low, 0.0), high)
        ax.locator_params(axis="x", nbins=4 if across > 2 else 6)
        ax.set_title(axis_label(called, unit) if grid else axis_label(column, unit), loc="left")
    for ax in axes[len(columns) :]:
        ax.set_visible(False)
    heading = comparison.title if title is None else title
    style.heading(fig, heading)
    return fig


def _draw(ax: Axes, cell: Cell, row: int, scale: float) -> None:
    if cell.low is not None or cell.high is not None:
        # A bound is open on one side: down to zero, or as far up as anything here lies.
        low = 0.0 if cell.low is None else cell.low
        high = max(2.0 * cell.value, cell.median or 0.0) if cell.high is None else cell.high
        ax.barh(row, scale * (high - low), left=scale * low, height=0.66, color=style.FAINT, alpha=0.22,
                linewidth=0)  # fmt: skip
    colour = OURS.get(cell.verdict, style.BLUE)
    if cell.p20 is not None and cell.p80 is not None and cell.p80 > cell.p20:
        ax.plot([scale * cell.p20, scale * cell.p80], [row, row], color=colour, linewidth=2.2, alpha=0.5)
    least, greatest = cell.range
    if least is not None and greatest is not None and least < greatest:
        # A range has no middle that anybody printed.
        ax.barh(row, scale * (greatest - least), left=scale * least, height=0.36, facecolor="none",
                edgecolor=style.INK, linewidth=0.9)  # fmt: skip
    else:
        ax.plot(scale * cell.value, row, "D", color="none", markeredgecolor=style.INK, markersize=4.5,
                markeredgewidth=0.9)  # fmt: skip
    if cell.median is not None:
        ax.plot(scale * cell.median, row, "o", color=colour, markersize=3.8, markeredgewidth=0)


def _row(cell: Cell, with_column: bool) -> str:
    return f"{cell.row}, {cell.column}" if with_column else cell.row
