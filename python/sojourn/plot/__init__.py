"""Figures of results: `draw("cdf", result, "queue.pdf")`. The kinds are in `KINDS`, the rest of the options in each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import writing
from ..errors import SpecError
from .choose import room
from .options import checked, one_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .._types import Case, Experiment, Record
    from ..result import Result
    from .data import Shown

__all__ = ["KINDS", "check", "draw", "make", "planned", "recording", "svg", "svg_of", "to_svg"]

KINDS: dict[str, str] = {
    "time": "throughput, cwnd with ssthresh, RTT with queue delay, queue with drops and marks, over time",
    "cdf": "distribution of queue delay or RTT, all cases in one",
    "box": "quartiles and 5th to 95th percentile per case, of a delay or of a metric over repetitions",
    "heat": "a metric over two swept keys, numbers in the cells: means over repetitions, or medians",
    "scatter": (
        "utilisation (or another metric) against delay; delay grows to the left, so up and right is better; "
        "ellipses: 1 σ over repetitions, of log delay"
    ),
    "lines": "a metric against one swept key, with 95 % bands over repetitions",
}


def draw(
    kind: str,
    result: Result | Sequence[Result],
    out: str | Path,
    *,
    only: Mapping[str, object] | None = None,
    **options: Any,
) -> Path:
    """Draws a figure into `out` (.png, .pdf or .svg) and returns its path.

    `only={"path.rtt": "40 ms"}` draws the cases with these values of swept keys alone. Every kind takes
    `size="single"|"double"` (3.3 or 7 in), `title` and `labels` (one per case); its own options are those of the
    function of that name in this package.
    """
    from . import data, style
    from .series import subject

    path = Path(out)
    check(kind)
    writing.ending("", path, writing.PICTURE)
    cases = data.shown(result, _labels(options), only)
    room(kind, len(cases))
    with style.styled():
        fig = make(kind, cases, **options)
        drawn = [subject(cases, options.get("case"), options.get("repetition"))] if kind == "time" else cases
        return style.save(fig, path, data.title_of(cases), data.footer(drawn))


def check(kind: str, options: Mapping[str, Any] | None = None) -> None:
    """Refuses an unknown kind of plot, or option, so that nothing is run for it."""
    if kind not in KINDS:
        raise SpecError(f"no kind of plot {kind!r}; there are {', '.join(KINDS)}{_like(kind)}")
    if options:
        given = checked(kind, _makers()[kind], options)
        for name, allowed in _words().items():
            if given.get(name) is not None:
                one_of(name, given[name], allowed)


def planned(kind: str, cases: Sequence[Case], options: Mapping[str, Any]) -> None:
    """Refuses a figure that has no room for these cases, so that nothing is run for it."""
    room(kind, len(cases))
    if kind == "lines":
        from .sweep import planned_lines

        planned_lines(cases, options.get("x"))


# Steps (ms) of series that a picture of so many seconds has room for, finest first.
STEPS = ((5.0, 1.0), (20.0, 2.0))
COARSE = 10.0


def recording(kind: str, why: bool, start: float | None, stop: float | None, experiment: Experiment) -> Record:
    """What a run must record for a picture: of a short span a fine series, and with `why` each round's RTTs."""
    from .._engine import check as plan
    from .._types import Record

    if kind != "time":
        return Record()
    if start is None and stop is None:
        return Record(COARSE, events=True)
    duration = max(case.duration_s for case in plan(experiment).cases)
    window = (max(start or 0.0, 0.0), duration if stop is None else stop)
    if not (window[0] < window[1] and window[0] < duration):
        raise SpecError(f"--from {window[0]:g} --to {window[1]:g}: nothing there; the run is {duration:g} s long")
    step = next((step for span, step in STEPS if window[1] - window[0] <= span), COARSE)
    return Record(step, events=True, acks=why, window=window)


def svg(kind: str, result: Result | Sequence[Result], **options: Any) -> str:
    """The same figure as SVG text for a page: transparent, unsigned (the page says the hash)."""
    from .data import shown

    return svg_of(kind, shown(result, _labels(options)), **options)


def svg_of(kind: str, cases: Sequence[Shown], **options: Any) -> str:
    """`svg` of cases that are already at hand, from `sojourn.plot.data.shown`."""
    return to_svg(lambda: make(kind, cases, **options))


def to_svg(drawing: Callable[[], Figure]) -> str:
    """A figure, drawn in the house style, as SVG text."""
    import io

    from . import style

    with style.styled():
        fig = drawing()
        fig.patch.set_visible(False)
        for ax in fig.axes:
            ax.patch.set_visible(False)
        text = io.StringIO()
        fig.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def make(kind: str, cases: Sequence[Shown], **options: Any) -> Figure:
    """The figure itself, for further work with matplotlib; `cases` from `sojourn.plot.data.shown`."""
    makers = _makers()
    if kind not in makers:
        raise SpecError(f"no kind of plot {kind!r}; there are {', '.join(KINDS)}{_like(kind)}")
    return makers[kind](cases, **checked(kind, makers[kind], options))


def _labels(options: dict[str, Any]) -> Sequence[str] | str | None:
    given = options.pop("labels", None)
    return given if given is None or isinstance(given, (str, list, tuple)) else str(given)


def _makers() -> dict[str, Callable[..., Figure]]:
    from .distribution import box, cdf
    from .scatter import scatter
    from .series import time
    from .sweep import heat, lines

    return {"time": time, "cdf": cdf, "box": box, "heat": heat, "scatter": scatter, "lines": lines}


def _words() -> dict[str, Collection[str]]:
    """Options that have some words alone."""
    from .distribution import DELAYS
    from .style import SIZES
    from .sweep import OVER_RUNS

    return {"size": SIZES, "statistic": OVER_RUNS, "of": DELAYS}


def _like(kind: str) -> str:
    import difflib

    near = difflib.get_close_matches(kind, KINDS, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
