"""The aligned series of a verification: both means with the band of their repetitions."""

from __future__ import annotations

from pathlib import Path

from ..errors import SpecError
from .verify import Report, Row

#: Okabe and Ito's blue and vermilion: apart for everyone, and in grey.
COLOURS = {"sim": "#0072B2", "linux": "#D55E00"}


def draw(report: Report, out: Path) -> Path:
    """Draw one panel for each figure that has a series."""
    rows = [(case.label, row) for case in report.cases for row in case.rows if row.series]
    if not rows:
        raise SpecError("there are no series to draw")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(len(rows), 1, figsize=(7, 1.7 * len(rows) + 0.6), sharex=True, squeeze=False)
    for (label, row), axes in zip(rows, panels[:, 0], strict=True):
        _panel(axes, label, row)
    panels[0, 0].legend(loc="upper right", frameon=False, ncols=2)
    panels[-1, 0].set_xlabel("time (s)")
    figure.suptitle(report.title)
    figure.tight_layout()
    try:
        figure.savefig(out, metadata=None)
    except (OSError, ValueError) as error:
        raise SpecError(f"--plot {out}: {error}") from None
    finally:
        pyplot.close(figure)
    return out


def _panel(axes: object, label: str, row: Row) -> None:
    series = row.series
    assert series is not None
    for name, values in (("sim", series.sim), ("linux", series.linux)):
        mean, low, high = zip(*values, strict=True)
        axes.fill_between(series.seconds, low, high, color=COLOURS[name], alpha=0.25, linewidth=0)  # type: ignore[attr-defined]
        axes.plot(series.seconds, mean, color=COLOURS[name], label=name)  # type: ignore[attr-defined]
    axes.set_ylabel(f"{row.figure.name}\n({row.figure.unit})")  # type: ignore[attr-defined]
    axes.set_title(f"{label} {row.of}".strip(), fontsize=9, loc="left")  # type: ignore[attr-defined]
