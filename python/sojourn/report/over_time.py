"""A run over time: panels to look into, with what made the window change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import schedule
from ..errors import SpecError
from ..plot import inner, rates, style
from ..plot.data import Shown, column, flow_label, table, while_heard
from ..plot.links import place, queue_delay
from ..plot.samples import between
from ..plot.why import named_values
from .pieces import Line, Missing, Panel, Piece, Section, Series, Tick, no_picture, thinned

if TYPE_CHECKING:
    import polars as pl

    from ..plot.histogram import Floats

# A page of a large sweep stays readable and small: these many cases are drawn over time, the rest are in the tables.
CASES_OVER_TIME = 8
FLOWS_OVER_TIME = 12
# A page with every tick of a long run would be mostly ticks.
MOST_TICKS = 4000

# Between these seconds; None is the beginning or the end of the run.
Span: TypeAlias = "tuple[float | None, float | None]"
WHOLE: Span = (None, None)


def series(cases: Sequence[Shown], span: Span = WHOLE) -> list[Piece]:
    """The first repetition of each case over time, for looking into.

    Nothing when no series were recorded, unless a span was asked for: then words on that.
    """
    made = [(case.label, _over_time(case, 6000 if len(cases) == 1 else 2500, span)) for case in cases[:CASES_OVER_TIME]]
    there = [(label, one) for label, one in made if one is not None]
    if there and all(isinstance(one, Missing) and one == there[0][1] for _, one in there):
        return [there[0][1]]
    pieces: list[Piece] = [Section(label, [one]) if len(cases) > 1 else one for label, one in there]
    if pieces and len(cases) > CASES_OVER_TIME:
        pieces.append(
            f"The first {CASES_OVER_TIME} of {len(cases)} cases; `sojourn plot time DIR --with case=N` draws any."
        )
    return pieces


def _over_time(case: Shown, points: int, span: Span) -> Series | Missing | None:
    """The first run of a case, or why there is none."""
    first = case.outcomes[0].repetition
    try:
        one = over_time(case, first, points, span)
        if one is not None or span == WHOLE:
            return one
        recorded = not table(case, "flows", first).is_empty()
    except SpecError as error:
        return no_picture(error)
    start, stop = span
    when = f"from {start:g} s on" if stop is None else f"between {start or 0:g} and {stop:g} s"
    finer = " of a finer step" if recorded else ""
    return no_picture(f"no series was recorded {when}; run again with --series{finer}")


def over_time(case: Shown, repetition: int, points: int = 6000, span: Span = WHOLE) -> Series | None:
    """One run as stacked panels: throughput, cwnd with ssthresh and causes, RTT with base RTT and queue delay, queue
    length with drops and marks.

    The queue, and the dashed rate, are those of the link that the case looks at, named where it is none of the usual.
    Under them are the inner variables of the first algorithm that has some.
    """
    flows, links = (_between(table(case, name, repetition), span) for name in ("flows", "links"))
    (variables, no_variables), (events, no_events) = (
        _if_whole(case, name, repetition, span) for name in ("vars", "events")
    )
    if flows.is_empty() or links.is_empty():
        return None
    link = _of(links, "link", case.bottleneck)
    time = column(link, "t_s")
    step = float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    # Bytes delivered in one short step are a few packets or none: a mean over more of them is what a reader means.
    smooth = max(1, len(time) // 400)
    picked = list(range(min(len(case.flows), FLOWS_OVER_TIME)))
    own = inner.of_flow(variables, picked, case.bottleneck)
    about = inner.subject(variables, picked)
    looks = _looks(case, picked)
    whose = str(case.flows[about]["name"]) if len(case.flows) > 1 else ""
    further = _inner(own, time, about in case.summing, looks[about].colour)
    values = _of_flows(flows, picked, time, smooth) | _of_link(case, link, step, smooth)
    values["inner"] = [y for _, _, y in further]
    at, values = _thinned(time, values, points)
    inside = [(panel, variable, y) for (panel, variable, _), y in zip(further, values["inner"], strict=True)]
    ticks, cut_off = _ticks(events, looks, case.summing)
    lost, more_lost = _losses(link)
    window, cut = _window(case, picked, values, inside, whose, ticks)
    panels = [
        _throughput(case, picked, values),
        window,
        _delay(case, picked, values, at),
        Panel("Queue", "packets", [Line(f"queue{place([case])}", values["queue_packets"][0], "faint", filled=True,
              stepped=True)], lost, height=110),
        *_inner_panels(case, own, inside, whose),
    ]  # fmt: skip
    caption = f"Repetition {repetition}, seed {case.case.seed + repetition}, sampled every {1e3 * step:g} ms"
    caption += f", throughput as a mean over {1e3 * step * smooth / 1e3:g} s" if smooth > 1 else ""
    caption += "; smallest and largest value of each stretch." if len(time) > points else "."
    if len(case.flows) > len(picked):
        caption += f" The first {len(picked)} of {len(case.flows)} flows."
    caption += " Thresholds and shadow windows far above the window are not drawn." if cut else ""
    return Series(at, panels, caption + cut_off + more_lost + no_variables + no_events)


def _if_whole(case: Shown, name: str, repetition: int, span: Span) -> tuple[pl.DataFrame, str]:
    """A table that a run can be drawn without: empty where its file is gone or damaged, with words on that."""
    import polars as pl

    try:
        return _between(table(case, name, repetition), span), ""
    except SpecError as error:
        return pl.DataFrame(), f" Drawn without {name}: {error}."


# What panels are drawn of, by name, with a line per flow or per variable; a link's are alone in their list.
Values: TypeAlias = "dict[str, list[Floats]]"
# Inner variables, each with its panel; without one it stands under the window.
Inside: TypeAlias = "Sequence[tuple[inner.Inner | None, inner.Variable, Floats]]"


def _of_flows(flows: pl.DataFrame, picked: Sequence[int], time: Floats, smooth: int) -> Values:
    """The columns of each flow on the link's times, throughput as a moving mean over `smooth` of them."""

    def aligned(name: str) -> list[Floats]:
        return [_aligned(_of(flows, "flow", i), name, time) for i in picked]

    return {
        "throughput_mbps": [_moving_mean(values, smooth) for values in aligned("throughput_mbps")],
        "cwnd_bytes": aligned("cwnd_bytes"),
        "ssthresh_bytes": aligned("ssthresh_bytes"),
        "rtt_ms": [*map(while_heard, aligned("rtt_ms"), aligned("in_flight_bytes"))],
    }


def _of_link(case: Shown, link: pl.DataFrame, step: float, smooth: int) -> Values:
    """The link's queue, and its rate where it has one."""
    time = column(link, "t_s")
    values = {name: [column(link, name)] for name in ("queue_ms", "queue_packets")}
    steps = rates.steps(case, case.bottleneck, (time[0] - step, time[-1]), smooth * step) if step else None
    return values | ({} if steps is None else {"rate_mbps": [schedule.before(steps, time)]})


def _thinned(time: Floats, values: Values, points: int) -> tuple[Floats, Values]:
    at, thin = thinned(time, [line for lines in values.values() for line in lines], points)
    rest = iter(thin)
    return at, {name: [next(rest) for _ in lines] for name, lines in values.items()}


def _lines(case: Shown, picked: Sequence[int], values: Sequence[Floats], word: str = "", **kind: bool) -> list[Line]:
    """A line per flow. Datagrams have no window and no RTT, nor has a flow an ssthresh before its first back-off: no
    line, no name.
    """
    return [
        Line(f"{flow_label(case.flows[i])}{word}", line, look.colour, dash=() if word else strokes(look.dash), **kind)
        for (i, look), line in zip(_looks(case, picked).items(), values, strict=True)
        if np.isfinite(line).any()
    ]


def _looks(case: Shown, picked: Sequence[int]) -> dict[int, style.Look]:
    return dict(zip(picked, style.looks([(str(case.flows[i]["cc"]), "") for i in picked]), strict=True))


def _throughput(case: Shown, picked: Sequence[int], values: Values) -> Panel:
    called = f"rate of {case.place}" if place([case]) else "bottleneck rate"
    rated = [Line(called, rate, "faint", dashed=True, stepped=True) for rate in values.get("rate_mbps", ())]
    return Panel("Throughput", "Mbit/s", [*_lines(case, picked, values["throughput_mbps"]), *rated])


def _window(
    case: Shown, picked: Sequence[int], values: Values, inside: Inside, whose: str, ticks: list[Tick]
) -> tuple[Panel, bool]:
    """Windows with what stands beside them, and whether some of that is left out: far above they would be flattened."""
    windows, thresholds = ([y / 1e3 for y in values[name]] for name in ("cwnd_bytes", "ssthresh_bytes"))
    under = [(variable, y) for panel, variable, y in inside if panel is None]
    most = 1.5 * max((float(np.nanmax(y)) for y in windows if np.isfinite(y).any()), default=1e-3)

    def near(kilobytes: Floats) -> Floats:
        return np.where(kilobytes <= most, kilobytes, np.nan)

    cut = any((y > most).any() for y in (*thresholds, *(y for _, y in under)))
    drawn = [
        *_lines(case, picked, windows, stepped=True),
        *_lines(case, picked, [near(y) for y in thresholds], " ssthresh", dashed=True, stepped=True),
        *(_inner_line(variable, near(y), f" of {whose}" if whose else "") for variable, y in under),
    ]
    return Panel("cwnd", "kB", drawn, ticks, 170), cut


def _delay(case: Shown, picked: Sequence[int], values: Values, time: Floats) -> Panel:
    waited = Line(queue_delay(case), values["queue_ms"][0], "faint", filled=True)
    trips = _lines(case, picked, values["rtt_ms"], " RTT")
    return Panel("Delay", "ms", [waited, *trips, *_base_rtts(case, picked, time)])


def _inner_panels(case: Shown, variables: pl.DataFrame, inside: Inside, whose: str) -> list[Panel]:
    """A panel for each group of inner variables."""
    drawn: dict[inner.Inner, list[Line]] = {}
    for panel, variable, y in inside:
        if panel is not None:
            drawn.setdefault(panel, []).append(_inner_line(variable, y))
    return [
        Panel(
            f"{panel.label} {inner.owner(variables, panel, case, whose)}".strip(),
            panel.unit,
            lines,
            words=inner.words(panel, (line.values for line in lines)),
        )
        for panel, lines in drawn.items()
    ]


def _inner_line(variable: inner.Variable, values: Floats, whose: str = "") -> Line:
    return Line(f"{variable.label}{whose}", values, ink(variable.colour), dash=strokes(variable.dash),
                stepped=True, dots=variable.dots, width=variable.width)  # fmt: skip


def _base_rtts(case: Shown, flows: Sequence[int], time: Floats) -> list[Line]:
    """The base RTTs that flows have, each once."""
    found = (rates.base_rtt(case, i, (float(time[0]), float(time[-1]))) for i in flows)
    bases = sorted({tuple(schedule.at(base, time)) for base in found if base is not None})
    names = ["base RTT"] if len(bases) == 1 else [f"base RTT {base[0]:g} ms" for base in bases]
    return [
        Line(name, np.array(base), "ink", dashed=True, stepped=True) for name, base in zip(names, bases, strict=True)
    ]


def _between(frame: pl.DataFrame, span: Span) -> pl.DataFrame:
    for name in ("t_s", "time_s"):
        if name in frame.columns and span != WHOLE:
            low, high = (end if end is not None else far for end, far in zip(span, (-np.inf, np.inf), strict=True))
            return frame.filter(between(name, (low, high)))
    return frame


def _inner(
    frame: pl.DataFrame, time: Floats, summed: bool, colour: str
) -> list[tuple[inner.Inner | None, inner.Variable, Floats]]:
    """Inner variables in their flow's colour, with their panel (None: under the window), on the link's times."""
    if frame.is_empty():
        return []
    whole = (-np.inf, np.inf)
    found: list[tuple[inner.Inner | None, inner.Variable, Floats]] = []

    def put(panel: inner.Inner | None, variable: inner.Variable, t: Floats, y: Floats) -> None:
        place = np.minimum(np.searchsorted(time, t - 1e-9), len(time) - 1)
        values = np.full(len(time), np.nan)
        if variable.dots:
            fresh = (y != 0) & np.concatenate([[True], np.diff(y) != 0])
            place, y = place[fresh], y[fresh]
        values[place] = y
        found.append((panel, variable, values))

    for name, (label, dash) in inner.WINDOWS.items():
        t, y = inner.values(frame, name, whole)
        if len(y) and np.nanmax(y, initial=0.0) > 0:
            put(None, inner.Variable(name, label, dash=dash), t, y / 1e3)
    for panel in (panel.of(colour) for panel in inner.chosen(frame, None, whole, summed)):
        for variable, t, y in inner.lines(frame, panel, whole):
            put(panel, variable, t, y)
    return found


def _of(frame: pl.DataFrame, key: str, index: int) -> pl.DataFrame:
    import polars as pl

    return frame.filter(pl.col(key) == index).sort("t_s")


def _aligned(frame: pl.DataFrame, name: str, time: Floats) -> Floats:
    """A flow's column on the link's times: a flow that starts late has no rows before."""
    values = np.full(len(time), np.nan)
    if frame.height:
        at = column(frame, "t_s")
        place = np.searchsorted(time, at - 1e-9)
        good = (place < len(time)) & (np.abs(time[np.minimum(place, len(time) - 1)] - at) < 1e-6)
        values[place[good]] = column(frame, name)[good]
    return values


def _moving_mean(values: Floats, width: int) -> Floats:
    if width < 2:
        return values
    good = np.isfinite(values)
    kernel = np.ones(width)
    sums = np.convolve(np.where(good, values, 0.0), kernel, "same")
    counts = np.convolve(good, kernel, "same")
    return np.where(good, sums / np.maximum(counts, 1), np.nan)


def _ticks(events: pl.DataFrame, looks: Mapping[int, style.Look], summing: Collection[int]) -> tuple[list[Tick], str]:
    """The first ticks, as many as a page bears, and words on those that are not among them."""
    if events.is_empty():
        return [], ""
    import polars as pl

    every = events.filter(pl.col("flow").is_in(list(looks))).sort("time_s")
    mine, left_out = every.head(MOST_TICKS), every.height - MOST_TICKS
    cut_off = (
        f" {left_out} of {every.height} window changes are not drawn, those after {mine['time_s'][-1]:.3f} s: "
        "`sojourn report DIR --from S --to S` shows a shorter span."
        if left_out > 0
        else ""
    )
    made = []
    # Lanes in the order of the causes' numbers, as in figures.
    for row in mine.sort("kind", "time_s").iter_rows(named=True):
        before, after = row["cwnd_before"], row["cwnd_after"]
        cut = [f"cwnd {before / 1e3:.1f} → {after / 1e3:.1f} kB"] if before is not None and before != after else []
        name = row.get("name") or f"flow {row['flow']}"
        cause = str(row["cause"])
        note = ", ".join([*cut, *values(row, summing)])
        made.append(
            Tick(
                float(row["time_s"]),
                # Lanes bear the causes' names: of several flows the colour says which one it was.
                looks[int(row["flow"])].colour if len(looks) > 1 else ink(style.cause_colour(cause)),
                f"{name} {cause.replace('_', ' ')}",
                note,
                cause.replace("_", " "),
            )
        )
    return made, cut_off


def _losses(link: pl.DataFrame) -> tuple[list[Tick], str]:
    """The first steps in which the queue dropped or marked packets, and words on those that are not among them."""
    made, more = [], ""
    for what, word, colour in (("dropped", "drops", "ink"), ("marked", "marks", "faint")):
        counts = column(link, what)
        at = np.flatnonzero(counts)
        for i in at[:MOST_TICKS]:
            made.append(Tick(float(link["t_s"][int(i)]), colour, f"{counts[i]:g} {what}", "", word))
        if len(at) > MOST_TICKS:
            more += f" {word.capitalize()} after {link['t_s'][int(at[MOST_TICKS - 1])]:.3f} s are not drawn."
    return made, more


def values(event: Mapping[str, Any], summing: Collection[int] = ()) -> list[str]:
    """The named numbers behind a window change, such as `probability 0.13` and `drew 0.09`."""
    return [f"{name.replace('_', ' ')} {text}" for name, _, text in named_values(event, summing=summing)]


def ink(colour: str) -> str:
    """The page's own ink, or grey, where a figure uses paper's."""
    return {style.INK: "ink", style.FAINT: "faint"}.get(colour, colour)


def strokes(dash: Any) -> tuple[float, ...]:
    """A figure's dash pattern as a page's lines have it."""
    return () if dash == "solid" else tuple(float(length) for length in dash[1])
