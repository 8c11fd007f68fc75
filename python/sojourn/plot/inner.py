"""Inner variables of algorithms and queues as panels: which belong together, in which unit, how they are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._engine import table
from ..errors import SpecError
from . import samples, style, traffic
from .data import column
from .keys import legible

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from .data import Shown
    from .histogram import Floats


@dataclass(frozen=True)
class Variable:
    """One variable in a panel: what it is called there, its factor to the panel's unit, its look."""

    name: str
    label: str
    colour: str = style.INK
    dash: Any = "solid"
    factor: float = 1.0
    width: float = 1.0
    dots: bool = False
    """Only where it is not zero, as dots: what was drawn in a toss."""
    depth: float | None = None
    """How deep a shade of its flow's colour it has in a picture, 0 to 1; none for what is no flow's, or a bound."""


@dataclass(frozen=True)
class Inner:
    """Variables that one pair of axes can show."""

    name: str
    label: str
    unit: str
    variables: tuple[Variable, ...]

    def of(self, colour: str) -> Inner:
        """The same in shades of a flow's colour: in its picture another hue would be another flow's."""
        shades = [one.colour if one.depth is None else style.shade(colour, one.depth) for one in self.variables]
        return replace(
            self, variables=tuple(replace(one, colour=c) for one, c in zip(self.variables, shades, strict=True))
        )


THIN, DOTTED, DASHED = 0.7, (0, (1, 1.2)), (0, (4, 2))
#: Depths of what is made of smallest RTTs and of largest ones (these are dashed, too), and of anything else.
MIN, MAX, OWN = 0.2, 0.85, 0.5
# Letters that a line beside a panel has room for.
BESIDE = 15
# Tosses of a long run would be a cloud that hides the probability.
MOST_DOTS = 300

PANELS = (
    Inner(
        "gradient", "Gradient", "ms",
        (
            Variable("g_min", "g min", style.SKY, width=THIN, depth=MIN),
            Variable("average_min", "ḡ min", style.BLUE, width=1.4, depth=MIN),
            Variable("g_max", "g max", style.ORANGE, DASHED, width=THIN, depth=MAX),
            Variable("average_max", "ḡ max", style.VERMILLION, DASHED, width=1.4, depth=MAX),
            Variable("threshold", "threshold", style.INK, DOTTED),
        ),
    ),
    Inner(
        "probability", "Probability", "",
        (
            Variable("probability", "P", style.VERMILLION, width=1.2, depth=OWN),
            Variable("drew", "X, drawn", style.INK, dots=True),
            Variable("p", "p of the queue", style.FAINT),
        ),
    ),
    Inner(
        "estimates", "Estimates", "ms",
        (
            Variable("base_rtt", "base RTT", style.INK, DASHED),
            Variable("base_rtt_ms", "base RTT", style.INK, DASHED),
            Variable("min_rtt_ms", "base RTT", style.INK, DASHED),
            Variable("queue_min", "queue, of the round's smallest RTT", style.BLUE, depth=OWN),
            Variable("queue_ms", "queue", style.BLUE, depth=OWN),
            Variable("h_ms", "h", style.BLUE, depth=OWN),
            Variable("h_b_ms", "h at the back-off", style.VERMILLION, DASHED, depth=MAX),
            Variable("qdelay_ms", "queue's own estimate", style.FAINT),
        ),
    ),
    Inner(
        "bandwidth", "Bandwidth", "Mbit/s",
        (
            Variable("bandwidth", "bandwidth", style.GREEN, factor=1e-6, depth=OWN),
            Variable("bandwidth_mbps", "bandwidth", style.GREEN, depth=OWN),
            Variable("departure_mbps", "departure rate", style.FAINT),
        ),
    ),
    Inner("marks", "Marked", "", (Variable("alpha", "α, part of data that is marked", style.VERMILLION, depth=OWN),)),
    Inner("mode", "Mode", "", (Variable("mode", "mode", style.PURPLE, depth=OWN),)),
    Inner("detection", "Detection", "%", (Variable("detection", "rounds with a long queue", style.PURPLE, depth=OWN),)),
    Inner(
        "consecutive", "Counter", "", (Variable("consecutive", "back-offs without effect", style.PURPLE, depth=OWN),)
    ),
    Inner("queue_state", "Inferred", "", (Variable("queue_state", "state of the queue", style.GREEN, depth=OWN),)),
)  # fmt: skip
#: The probability of an algorithm that adds it up (`Shown.summing`): what is tossed against is the sum.
SUMMED = Inner(
    "probability", "Sum of P", "",
    (
        Variable("probability", "ΣP, added up until a back-off", style.VERMILLION, width=1.2, depth=OWN),
        Variable("accumulated_min", "ΣP of g min", style.BLUE, DOTTED, depth=MIN),
        Variable("accumulated_max", "ΣP of g max", style.ORANGE, DASHED, depth=MAX),
        Variable("drew", "X, drawn", style.INK, dots=True),
    ),
)  # fmt: skip
#: Panels whose numbers are words, those of a value in the table of causes.
WORDS = {"mode": "to", "queue_state": "queue_state"}
#: Not known yet while they are zero.
ESTIMATES = {"base_rtt", "base_rtt_ms", "min_rtt_ms", "bandwidth", "bandwidth_mbps"}
#: Drawn under the window itself.
WINDOWS = {"shadow": ("shadow", DOTTED), "bdp": ("BDP", (0, (4, 1.5, 1, 1.5)))}
#: Panels of their own only when asked for: variables of a law or algorithm that belong to no panel above.
KNOWN = {variable.name for panel in (*PANELS, SUMMED) for variable in panel.variables} | set(WINDOWS)


def subject(every: pl.DataFrame, picked: Sequence[int]) -> int:
    """The first of these flows that has any variable a panel knows."""
    import polars as pl

    if every.is_empty():
        return picked[0]
    own = every.filter((pl.col("source") == "flow") & pl.col("name").is_in(list(KNOWN)))
    having = set(own["index"].to_list())
    return next((flow for flow in picked if flow in having), picked[0])


def of_flow(every: pl.DataFrame, picked: Sequence[int], link: int) -> pl.DataFrame:
    """Variables of the subject among these flows, and of a link's law."""
    import polars as pl

    if every.is_empty():
        return every
    flow = subject(every, picked)
    return every.filter(
        ((pl.col("source") == "flow") & (pl.col("index") == flow))
        | ((pl.col("source") == "link") & (pl.col("index") == link))
    )


def owner(frame: pl.DataFrame, panel: Inner, case: Shown, flow: str) -> str:
    """Whose variables a panel has, where they could be another's: the flow's, or a link's that is no bottleneck."""
    import polars as pl

    if frame.is_empty():
        return ""
    sources = set(frame.filter(pl.col("name").is_in([v.name for v in panel.variables]))["source"].to_list())
    if "flow" in sources:
        return f"of {flow}" if flow else ""
    return f"at {case.place}" if sources and case.place != "bottleneck" else ""


def lines(frame: pl.DataFrame, panel: Inner, span: tuple[float, float]) -> Iterator[tuple[Variable, Floats, Floats]]:
    """The variables of a panel that are more than zero in this span, with times and values in its unit."""
    for variable in panel.variables:
        t, y = values(frame, variable.name, span)
        if variable.name in ESTIMATES:
            y = np.where(y == 0, np.nan, y)
        if len(y) and np.nanmax(np.abs(y), initial=0.0) > 0:
            yield variable, t, y * variable.factor


def values(frame: pl.DataFrame, name: str, span: tuple[float, float]) -> tuple[Floats, Floats]:
    """One variable over time."""
    import polars as pl

    if frame.is_empty():
        return np.zeros(0), np.zeros(0)
    rows = frame.filter((pl.col("name") == name) & samples.between("t_s", span)).sort("t_s")
    return column(rows, "t_s"), column(rows, "value")


def chosen(
    frame: pl.DataFrame, names: Sequence[str] | None, span: tuple[float, float], summed: bool = False
) -> list[Inner]:
    """Panels that have something to show; by name, or by a variable's name, when asked for.

    `summed` says that the subject's probability is a sum.
    """
    known = {panel.name: panel for panel in PANELS} | ({SUMMED.name: SUMMED} if summed else {})
    if names is None:
        return [
            panel
            for panel in known.values()
            if any(True for _ in lines(frame, panel, span)) and _moves(frame, panel, span)
        ]
    recorded = frame["name"].unique().to_list() if not frame.is_empty() else []
    there = [panel.name for panel in known.values() if any(variable.name in recorded for variable in panel.variables)]
    found = []
    for name in names:
        if name in there:
            found.append(known[name])
        elif name in recorded:
            found.append(Inner(name, name.replace("_", " "), "", (Variable(name, legible(name)),)))
        else:
            have = ", ".join([*there, *sorted(set(recorded) - KNOWN)])
            always = ", ".join(("throughput", "cwnd", "delay", "queue", *traffic.PANELS))
            what = f"nothing was recorded for panel {name!r}" if name in known else f"no panel {name!r}"
            raise SpecError(f"{what}; there are {always}" + (f", and of this run {have}" if have else ""))
    return found


def _moves(frame: pl.DataFrame, panel: Inner, span: tuple[float, float]) -> bool:
    """A mode that never changes, or an estimate that never does, needs no panel of its own."""
    return any(np.nanmin(y) < np.nanmax(y) for _, _, y in lines(frame, panel, span))


def words(panel: Inner, lines: Iterable[Floats]) -> dict[int, str]:
    """The words that the numbers of these lines stand for, in a panel that has words; none in any other.

    Numbers of modes are those of every algorithm's: only those that occur have a place.
    """
    if panel.name not in WORDS:
        return {}
    values = (v for cause in table("causes") for v in cause["values"] if v["name"] == WORDS[panel.name])
    every = list(next(values)["words"])
    seen = sorted({int(number) for y in lines for number in y[np.isfinite(y)]}) or [0]
    return {number: every[number].replace("_", " ") for number in seen}


def _cut(text: str, most: int) -> str:
    """A text with its middle left out where it has more letters than so many."""
    kept = most - 1
    return text if len(text) <= most else f"{text[: kept - kept // 3]}…{text[len(text) - kept // 3 :]}"


def draw(ax: Axes, frame: pl.DataFrame, panel: Inner, span: tuple[float, float], owner: str = "") -> None:
    """Draws a panel into axes; `owner` says beside it whose variables these are."""
    low = 0.0
    for variable, t, y in lines(frame, panel, span):
        if variable.dots:
            fresh = (y != 0) & np.concatenate([[True], np.diff(y) != 0])
            if fresh.sum() > MOST_DOTS:
                continue
            ax.plot(t[fresh], y[fresh], ".", color=variable.colour, markersize=3, label=variable.label)
            continue
        ax.step(t, y, where="post", color=variable.colour, linestyle=variable.dash, linewidth=variable.width,
                label=variable.label)  # fmt: skip
        low = min(low, float(np.nanmin(y)))
    named = words(panel, (y for _, _, y in lines(frame, panel, span)))
    if named:
        ax.set_yticks(list(named), list(named.values()), fontsize=6)
        ax.set_ylim(min(named) - 0.3, max(named) + 0.3)
    elif low < 0:
        ax.axhline(0, color=style.FAINT, linewidth=0.6)
    else:
        ax.set_ylim(bottom=0)
    below = ", ".join(filter(None, (owner, panel.unit)))
    if len(below) > BESIDE:  # the name on a line of its own, with both its ends: they tell a and a-2 apart
        below = "\n".join(filter(None, (panel.unit, _cut(owner, BESIDE - 2))))
    ax.set_ylabel(f"{panel.label}\n{below}" if below else panel.label)
    style.legend_above(ax)
