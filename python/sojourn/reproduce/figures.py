"""Figures in the form of the publication, as an experiment file asks for them: `figure = ["heat(metric=…)"]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from .. import _engine
from .._types import Record
from ..errors import NotRecorded, SojournError
from ..plot.asked import options_of
from ..terminal import say

if TYPE_CHECKING:
    from ..report import Piece
    from ..result import Result

#: Step of the series of a figure over time: fine enough for a page 1000 points wide that shows some seconds.
STEP_MS = 10.0


def figures(result: Result) -> list[Piece]:
    """The figures as pieces of a page, or words where too little was run to draw one."""
    from .. import plot, report

    pieces: list[Piece] = []
    for kind, wanted in result.plan.figures:
        try:
            subject, options = _subject(result, kind, wanted)
            svg = plot.svg(kind, subject, **options)
            pieces.append(report.Figure(svg, "Ours, in the form of the publication."))
        except SojournError as error:
            pieces.append(f"Not drawn: {error}.")
    return pieces


def drawn(result: Result, folder: Path, tell: Callable[[str], object] = say) -> Iterator[Path]:
    """Draws the figures into `figure.pdf`, or `figure-1.pdf` and on for several, as far as enough was run.

    `tell` is told of each that this result cannot have at all, such as of a metric that is none of its.
    """
    from .. import plot

    for n, (kind, wanted) in enumerate(result.plan.figures, start=1):
        name = "figure.pdf" if len(result.plan.figures) == 1 else f"figure-{n}.pdf"
        try:
            subject, options = _subject(result, kind, wanted)
            yield plot.draw(kind, subject, folder / name, **options)
        except NotRecorded:
            continue  # too little was run: the page says so
        except SojournError as error:
            tell(f"no {name}: {_engine.misdrawn(result.experiment, n - 1, str(error))}")


def undrawn(result: Result) -> list[str]:
    """What `drawn` tells, of figures that nobody wants to see."""
    told: list[str] = []
    with TemporaryDirectory() as folder:
        for _ in drawn(result, Path(folder), told.append):
            pass
    return told


def _subject(result: Result, kind: str, wanted: Mapping[str, str]) -> tuple[Result, dict[str, Any]]:
    """What to draw, and how. A figure over time needs series, which only one run is recorded for."""
    from .. import plot

    options = options_of(wanted)
    plot.check(kind, options)
    if kind != "time":
        return result, options
    from ..sweep import Sweep, run_all

    start, stop = float(options.get("start", 0.0)), options.get("stop")
    longest = max(case.duration_s for case in result.plan.cases)
    window = (start, longest if stop is None else float(stop))
    record = Record(series_ms=STEP_MS, events=True, window=window)
    one = Sweep(result.experiment, lambda _: [(int(options.get("case", 0)), 0)], record=record)
    run_all([one], jobs=1)
    return one.result(), options
