"""A metric over swept keys: heat maps of two, lines against one."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._types import Case
from ..errors import NotRecorded, SpecError
from ..figures import bounds, quantity
from ..stats import mean_interval
from ..units import on_axis
from . import hues, strokes, style
from .choose import LINES, limited
from .data import Shown, axis_label, lacking, over_repeats, partial, runs, swept, valued
from .histogram import Floats
from .keys import called, legible, short_spec
from .links import chosen, words
from .options import one_of
from .parts import parted, shared

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More panels than this are unreadable on one page.
PANELS = 12
# Beside each other on a page there are three, but for as many as these that fill its rows then.
ACROSS = {4: 2}
# Inches that a digit takes in a cell.
LETTER = 0.064
# What a cell of a heat map shows of its repetitions.
OVER_RUNS: dict[str, Callable[[Floats], Any]] = {"mean": np.mean, "median": np.median}


def heat(
    cases: Sequence[Shown],
    *,
    metric: str = "utilisation",
    x: str | None = None,
    y: str | None = None,
    statistic: str = "mean",
    low: float | None = None,
    high: float | None = None,
    link: str | None = None,
    size: str = "double",
    title: str | None = None,
) -> Figure:
    """The mean of `metric` over repetitions in cells, `x` and `y` two swept keys (default the last two that do not
    move together); with `statistic="median"` the median, which one odd run does not move.

    Further swept keys make one panel for each combination, and for each of several results. Ratios are coloured to both
    sides of 1, everything else from dark to bright; `low` and `high` fix the ends of the colours, in the unit shown.
    `link` is whose figure it is when `metric` names none (default each case's bottleneck).
    """
    if low is not None and high is not None and low >= high:
        raise SpecError(f"low={low:g} is not below high={high:g}: they are the ends of the colours, darkest first")
    one_of("statistic", statistic, OVER_RUNS)
    cases = chosen(cases, link, [metric])
    keys = swept(cases)
    x, y = _axes(cases, shared(cases, keys), x, y)
    keys |= {axis: _upwards(keys[axis]) for axis in (x, y)}
    with_axes = {axis: [key for key in keys if key not in (x, y) and _together(cases, axis, key)] for axis in (x, y)}
    others = _beside(cases, keys, x, y)
    panels = parted(cases, keys, (x, y), others)
    if len(panels) > PANELS:
        results = ["results"] if len({case.result.title for case in cases}) > 1 else []
        what = f"panels for {' × '.join([*results, *others])}"
        cure = _other_axes(cases, shared(cases, keys)) if others else "fewer results"
        limited("heat", what, len(panels), PANELS, cure)
    _, _, factor = quantity(metric)
    along = {axis: "\nwith ".join([_key_label(axis, keys[axis]), *with_axes[axis]]) for axis in (x, y)}
    maps = _maps(len(panels), size, keys, x, y, along[y], _colour_words(cases, metric, statistic))
    fig = style.figure(size, maps.height)
    axes = fig.subplots(maps.down, maps.across, squeeze=False, sharex=True, sharey=True)
    over = OVER_RUNS[statistic]
    grids = [factor * _grid(panel.cases, metric, over, x, y, keys) for panel in panels]
    values = np.concatenate([g.reshape(-1) for g in grids])
    colours = _colours(metric, values[np.isfinite(values)], low, high)
    digits = _digits(values[np.isfinite(values)], maps.wide)
    # Numbers grow upwards; names are read from the top, in the order of every legend.
    origin: Literal["lower", "upper"] = "lower" if on_axis(keys[y]) else "upper"
    image = None
    for ax, panel, grid in itertools.zip_longest(axes.flat, panels, grids):
        if grid is None:
            ax.set_visible(False)
            continue
        image = ax.imshow(grid, aspect="auto", origin=origin, **colours)
        if maps.wide > 4 * LETTER:  # figures that run into each other say nothing
            _cells(ax, grid, image, digits)
        ax.set_xticks(range(len(maps.below)), maps.below, rotation=90 if maps.upright else 0)
        ax.set_yticks(range(len(maps.beside)), maps.beside)
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        if panel.label:
            ax.set_title(textwrap.fill(panel.label, maps.letters), loc="left")
    for ax in axes[:, 0]:
        ax.set_ylabel(maps.aside)
    for column in axes.T:
        lowest = [ax for ax in column if ax.get_visible()][-1]
        lowest.set_xlabel(along[x])
        lowest.tick_params(labelbottom=True)
    if image is not None:
        bar = fig.colorbar(image, ax=axes, shrink=0.9, aspect=24, pad=0.02)
        bar.set_label(maps.shown)
        bar.outline.set_visible(False)
    style.heading(fig, title)
    return fig


class _Maps(NamedTuple):
    """How heat maps lie on their page, in inches."""

    down: int
    across: int
    height: float
    wide: float
    """A cell."""
    below: list[str]
    beside: list[str]
    upright: bool
    """The values below, which would run into each other."""
    aside: str
    """What the values beside are of."""
    shown: str
    """What the colours are of."""
    letters: int
    """In a line above a map."""


def _maps(many: int, size: str, keys: Mapping[str, Sequence[str]], x: str, y: str, aside: str, shown: str) -> _Maps:
    across = min(many, ACROSS.get(many, 3) if size == "double" else 1)
    down = math.ceil(many / across)
    below, beside = ([_bare(v, keys[key]) for v in keys[key]] for key in (x, y))
    wide = (style.SIZES[size] - 1.0 - 0.055 * max(map(len, beside))) / across / len(below)
    upright = 0.06 * max(map(len, below)) > wide
    room = 0.055 * max(map(len, below)) if upright else 0.0
    tall = (0.27 if size == "double" else 0.25) * len(beside)
    aside, shown = style.upright(aside, tall), style.upright(shown, down * (0.95 + tall) - 0.95)
    # Words beside a map reach a little beyond it, above and below.
    tall = max(tall, _tall(aside) - 0.2, _tall(shown) - 0.2 if down == 1 else 0.0)
    height = down * (0.95 + tall) + 0.25 + room
    letters = max(12, round(wide * len(below) / 0.06))
    return _Maps(down, across, height, wide, below, beside, upright, aside, shown, letters)


def _colour_words(cases: Sequence[Shown], metric: str, statistic: str) -> str:
    counts = [valued(case, metric) for case in cases]
    many, without = runs(counts), lacking(counts, sum(len(case.outcomes) for case in cases))
    return "\n".join(
        filter(None, (words(cases, metric, upright=True), f"{statistic} of {many}" if many else "", without))
    )


def lines(
    cases: Sequence[Shown],
    *,
    metric: str | Sequence[str] = "utilisation",
    x: str | None = None,
    log: bool | None = None,
    log_y: bool = False,
    low: float | None = None,
    high: float | None = None,
    link: str | None = None,
    size: str = "double",
    title: str | None = None,
) -> Figure:
    """The mean of `metric` against the swept key `x` (default the longest sweep of numbers), 95 % bands.

    A line for every combination of the other keys, and for each of several results; where the values of `x` are words,
    points with 95 % intervals. Several metrics make panels over one axis. `log` makes x logarithmic (default: when its
    values span more than a factor of 12), `log_y` the other axis; `low` and `high` are the ends of that one, in the
    unit shown, of one metric alone. `link` is whose figures they are when `metric` names none (default each case's
    bottleneck).
    """
    metrics = [name.strip() for name in (metric.split(",") if isinstance(metric, str) else metric)]
    if not metrics:
        raise SpecError("metric is an empty list; name some, such as utilisation, or leave it out")
    strokes.refuse_ends(metrics, low, high, log=log_y)
    cases = chosen(cases, link, metrics)
    keys = swept(cases)
    x = _line_axis(cases, shared(cases, keys), x)
    numbers = on_axis(keys[x])
    places = numbers[0] if numbers else [float(i) for i in range(len(keys[x]))]
    at = dict(zip(keys[x], places, strict=True))
    along = [key for key in keys if key != x and _together(cases, x, key)]  # keys of a zip are one axis
    others = _beside(cases, keys, x)
    parts = parted(cases, keys, (x,), others)
    _told_apart(len(parts))
    labels = [part.label or legible(short_spec(part.cases[0].cc)) for part in parts]
    looks = hues.of_lines([part.cases for part in parts])
    spread = "bands" if numbers else "intervals"
    named = "\n".join(["\nwith ".join([_key_label(x, keys[x]), *along]), *_over(cases, metrics, spread, size)])
    tall = 0.7 + 1.75 * len(metrics)
    # Ticks, words and the space between panels are no part of the axes.
    below = 0.4 + 0.14 * len(named.splitlines()) + (0.15 if title else 0.0)
    with style.long_handles():
        fig = style.figure(size, tall + style.room(labels, size, tall, above=len(metrics) > 1))
    axes = fig.subplots(len(metrics), 1, sharex=True, squeeze=False)[:, 0]
    for ax, path in zip(axes, metrics, strict=True):
        factor = quantity(path)[2]
        for n, (part, label, look) in enumerate(zip(parts, labels, looks, strict=True)):
            mine = sorted(part.cases, key=lambda c: at[str(c.values[x])])
            xs = np.array([at[str(c.values[x])] for c in mine])
            bands = np.array([_band(factor * over_repeats(c, path), bounds(path)) for c in mine])
            if numbers:
                strokes.line(ax, xs, bands, label, look)
            else:
                strokes.points(ax, strokes.dodged(xs, n, len(parts)), bands, label, look)
        ax.set_ylabel(style.upright(words(cases, path, upright=True), (tall - below) / len(metrics)))
        strokes.upright(ax, path, low, high, log=log_y)
    _scale(axes[-1], keys[x], numbers, log)
    axes[-1].set_xlabel(named)
    with style.long_handles() if numbers else nullcontext():
        if len(metrics) == 1:
            style.legend(axes[0], size)
        elif len(parts) > 1:
            style.legend_above(axes[0], style.LEFT[size])
    style.heading(fig, title)
    return fig


def _over(cases: Sequence[Shown], metrics: Sequence[str], spread: str, size: str) -> list[str]:
    """Over how many runs the means are, and of which metric runs have no value, in lines under the axis."""
    counts = {path: [valued(case, path) for case in cases] for path in metrics}
    of = sum(len(case.outcomes) for case in cases)
    many = runs(itertools.chain(*counts.values()))
    parts = [f"means of {many}, 95 % {spread}"] if many else []
    for path, some in counts.items():
        if without := lacking(some, of):
            parts.append(f"{words(cases, path)}: {without}" if len(metrics) > 1 else without)
    letters = round((style.SIZES[size] - 0.6) / style.WORDS)
    return textwrap.wrap(f"({'; '.join(parts)})", letters) if parts else []


def _band(values: Floats, limits: tuple[float, float]) -> tuple[float, float, float]:
    """The mean and the ends of its interval, which go no further than any value can."""
    i = mean_interval(values.tolist())
    low, high = min(limits[0], i.mean), max(limits[1], i.mean)
    return i.mean, max(i.mean - i.half, low), min(i.mean + i.half, high)


def _tall(text: str) -> float:
    """Inches that words take beside an upright axis."""
    return style.WORDS * max(map(len, text.splitlines()))


def _together(cases: Sequence[Shown | Case], one: str, other: str) -> bool:
    """Whether two keys move together, as those of a zip do: each value of the one has one of the other."""
    pairs = {(str(case.values.get(one)), str(case.values.get(other))) for case in cases}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def _beside(cases: Sequence[Shown | Case], keys: Iterable[str], *axes: str) -> list[str]:
    """The swept keys that are no axis, nor move with one."""
    return [key for key in keys if key not in axes and not any(_together(cases, axis, key) for axis in axes)]


def planned_lines(cases: Sequence[Case], x: str | None) -> None:
    """Refuse more `lines` over `x` than can be told apart before anything runs."""
    keys = swept(cases)
    if keys and (x is None or x in keys):
        others = _beside(cases, keys, x or _longest(keys))
        _told_apart(len({tuple(str(case.values.get(key)) for key in others) for case in cases}))


def _told_apart(lines: int) -> None:
    limited("lines", "lines", lines, LINES, "another axis: --with x=KEY")


def _other_axes(cases: Sequence[Shown], keys: Mapping[str, Sequence[str]]) -> str:
    """Which axes to ask for: the longest, where they leave few enough panels."""
    x, *rest = sorted(keys, key=lambda key: -len(keys[key]))
    y = next((key for key in rest if not _together(cases, x, key)), rest[0])
    results = len({case.result.title for case in cases})
    if results * math.prod(len(keys[key]) for key in _beside(cases, keys, x, y)) > PANELS:
        x = y = "KEY"
    return f"other axes: --with x={x} --with y={y}"


def _axes(cases: Sequence[Shown], keys: Mapping[str, Sequence[str]], x: str | None, y: str | None) -> tuple[str, str]:
    for given in (x, y):
        _refuse_unswept(cases, keys, given)
    if x is not None and x == y:
        raise SpecError(f"x and y are both {x!r}; name two keys, or one and the other is chosen")
    # Numbers make the better axes; the last two of a sweep are the ones its author varies fastest.
    free = sorted((k for k in keys if k not in (x, y)), key=lambda k: on_axis(keys[k]) is not None)
    if len(free) < (x is None) + (y is None):
        who = "these results share" if _by_all(cases) else "this result has"
        raise NotRecorded(f"a heat map needs two swept keys; {who} {', '.join(keys) or 'none'}{partial(cases)}")
    # Keys of a zip are one axis, not two.
    if x is None:
        x = ([key for key in free if y is None or not _together(cases, y, key)] or free)[-1]
    if y is None:
        free = [key for key in free if key != x]
        y = ([key for key in free if not _together(cases, x, key)] or free)[-1]
    return x, y


def _refuse_unswept(cases: Sequence[Shown], keys: Mapping[str, Sequence[str]], axis: str | None) -> None:
    if axis is not None and axis not in keys:
        raise SpecError(f"{axis!r} is not swept{_by_all(cases)}; swept are {', '.join(keys) or 'none'}")


def _by_all(cases: Sequence[Shown]) -> str:
    return " by all of these results" if len({id(case.result) for case in cases}) > 1 else ""


def _line_axis(cases: Sequence[Shown], keys: Mapping[str, Sequence[str]], x: str | None) -> str:
    if not keys:
        raise NotRecorded(
            f"nothing was swept{_by_all(cases)}: lines need cases that differ in a key; run with "
            f"""--set 'sweep.path.rtt=["10 ms", "40 ms"]', for instance{partial(cases)}"""
        )
    _refuse_unswept(cases, keys, x)
    return _longest(keys) if x is None else x


def _longest(keys: Mapping[str, Sequence[str]]) -> str:
    """The longest sweep of numbers, or of words where there is none."""
    numeric = [k for k in keys if on_axis(keys[k]) is not None]
    return max(numeric or list(keys), key=lambda k: len(keys[k]))


def _grid(
    cases: Sequence[Shown],
    metric: str,
    over: Callable[[Floats], Any],
    x: str,
    y: str,
    keys: Mapping[str, Sequence[str]],
) -> Floats:
    grid = np.full((len(keys[y]), len(keys[x])), math.nan)
    for case in cases:
        values = over_repeats(case, metric)
        good = values[np.isfinite(values)]
        if len(good):
            row, col = keys[y].index(str(case.values[y])), keys[x].index(str(case.values[x]))
            grid[row, col] = float(over(good))
    return grid


def _upwards(values: Sequence[str]) -> list[str]:
    """Numbers by size, whatever the file's order; names as they are."""
    numbers = on_axis(values)
    places = dict(zip(values, numbers[0], strict=True)) if numbers else {}
    return sorted(values, key=lambda value: places.get(value, 0.0))


def _colours(metric: str, values: Floats, low: float | None, high: float | None) -> dict[str, Any]:
    from matplotlib.colors import TwoSlopeNorm

    if metric.endswith("_ratio") or metric == "ratio":
        bottom = low if low is not None else min(float(values.min()), 0.99)
        top = high if high is not None else max(float(values.max()), 1.01)
        if not bottom < 1.0 < top:
            raise SpecError(f"{metric} is coloured to both sides of 1: low must be below it and high above")
        return {"cmap": "PuOr_r", "norm": TwoSlopeNorm(1.0, bottom, top)}
    bottom = low if low is not None else float(values.min())
    top = high if high is not None else float(values.max())
    if top <= bottom:
        top = bottom + (abs(bottom) or 1.0) * 1e-3
    return {"cmap": style.VALUES, "vmin": bottom, "vmax": top}


def _digits(values: Floats, wide: float) -> str:
    """How figures stand in cells of so many inches: without a decimal, 99.92 would be 100 beside 98."""
    biggest = float(np.abs(values).max())
    if 0.0 < biggest < 1.0:
        first = -math.floor(math.log10(biggest))  # the place of the first digit
        room = round(wide / LETTER - 0.5) - len("-0." if values.min() < 0.0 else "0.")
        if first > 4:  # %g writes an exponent
            return ".2g" if wide > 7 * LETTER else ".1g"
        return f".{min(first + 2, room)}f" if room > first else ".2g"
    if biggest < 100:
        return ".1f" if biggest >= 10 else ".2f"
    return f".{int(biggest < 1000 and float(values.max() - values.min()) < 30 and wide > 5 * LETTER)}f"


def _cells(ax: Axes, grid: Floats, image: Any, digits: str) -> None:
    for row, col in np.ndindex(grid.shape):
        value = grid[row, col]
        if not np.isfinite(value):
            ax.text(col, row, "–", ha="center", va="center", color=style.FAINT)
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        bright = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
        # Near-black on bright cells, whatever the page's ink: the cell does not turn dark with the page.
        ax.text(col, row, f"{value:{digits}}", ha="center", va="center", fontsize=7,
                color="#111111" if bright else "#ffffff")  # fmt: skip


def _bare(value: str, values: Sequence[str]) -> str:
    """The number alone where the axis already names the unit."""
    numbers = on_axis(values)
    return f"{numbers[0][list(values).index(value)]:g}" if numbers else short_spec(value)


def _key_label(key: str, values: Sequence[str]) -> str:
    numbers = on_axis(values)
    unit = numbers[1] if numbers else ""
    return axis_label(called(key), "packets" if unit in ("p", "packet") else unit)


def _scale(ax: Axes, values: Sequence[str], numbers: tuple[list[float], str] | None, log: bool | None) -> None:
    if numbers is None:
        if log:
            raise SpecError(f"log=true: {', '.join(map(short_spec, values))} are no numbers of one unit; leave log out")
        ax.set_xticks(range(len(values)), [short_spec(v) for v in values])
        ax.set_xlim(-0.5, len(values) - 0.5)
        return
    places = sorted(set(numbers[0]))
    if log is None:
        log = places[0] > 0 and places[-1] / places[0] > 12 and len(places) > 2
    elif log and places[0] <= 0:
        raise SpecError(f"log=true: {places[0]:g} has no place on a logarithmic axis; leave log out")
    if log:
        style.logarithmic(ax, "x")
    if len(places) <= 10:
        ax.set_xticks(places, _legible(places, log, ax))


def _legible(places: Sequence[float], log: bool, ax: Axes) -> list[str]:
    """A label for every swept value but those that would run into the one before."""
    fig = ax.get_figure(root=True)
    wide = fig.get_figwidth() - 0.7 if fig is not None else 6.0
    at = [math.log(p) if log else p for p in places]
    span = (at[-1] - at[0]) or 1.0
    labels, last = [], -math.inf
    for place, value in zip(at, places, strict=True):
        label, inches = f"{value:g}", (place - at[0]) / span * wide
        fits = inches - last > 0.035 * len(label)
        labels.append(label if fits else "")
        last = inches + 0.035 * len(label) + 0.04 if fits else last
    return labels
