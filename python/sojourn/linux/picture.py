"""The aligned series of a verification: both means with the band of their repetitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SpecError
from ..plot import style
from .verify import Report, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"sim": style.BLUE, "linux": style.VERMILLION}


def draw(report: Report, out: Path) -> Path:
    """Draw one panel for each figure that has a series."""
    rows = [(case.label, row) for case in report.cases for row in case.rows if row.series]
    if not rows:
        raise SpecError("there are no series to draw")
    with style.styled():
        fig = style.figure("double", 1.5 * len(rows) + 0.5)
        panels = fig.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
        for (label, row), ax in zip(rows, panels, strict=True):
            _panel(ax, label, row)
        panels[0].legend(loc="upper right", ncols=2)
        panels[-1].set_xlabel("time (s)")
        fig.suptitle(report.title)
        try:
            return style.save(fig, out, report.title, "sojourn verify: band and mean of the repetitions")
        except OSError as error:
            raise SpecError(f"--plot {out}: {error.strerror}") from None


def _panel(ax: Axes, label: str, row: Row) -> None:
    assert row.series is not None
    for name, values in (("sim", row.series.sim), ("linux", row.series.linux)):
        mean, low, high = zip(*values, strict=True)
        ax.fill_between(row.series.seconds, low, high, color=COLOURS[name], alpha=0.25, linewidth=0)
        ax.plot(row.series.seconds, mean, color=COLOURS[name], label=name)
    ax.set_ylabel(f"{row.figure.name}\n({row.figure.unit})")
    ax.set_title(f"{label} {row.of}".strip(), loc="left")
