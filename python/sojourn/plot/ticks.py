"""Ticks of logarithmic axes: as fine as their labels have room, and with numbers as they are written elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from matplotlib.ticker import AutoLocator, FuncFormatter, Locator, MaxNLocator, NullFormatter, NullLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

#: Ticks for the values between two, the finest first; what they leave out, the next ones may have.
Choices = Callable[[float, float], Iterator[Sequence[float]]]
#: Inches of a letter, of the space between two labels, and of a line.
LETTER, SPACE, LINE = 0.062, 0.07, 0.15
#: Fewer ticks do not say what an axis is; fewer than these do not say it well.
FEWEST, FEW = 2, 3
#: Parts of the axis of a flat panel, and what each may be.
BINS, STEPS = 4, (1, 2, 5, 10)
SUBS = ((1, 2, 5), (1, 3), (1,))


class Legible(Locator):
    """The first of several choices of ticks whose labels do not run into each other."""

    def __init__(self, choices: Choices, written: Callable[[float], str], upright: bool) -> None:
        self.choices, self.written, self.upright = choices, written, upright

    def __call__(self) -> Sequence[float]:
        """The ticks of the axis as it is."""
        low, high = sorted(cast("Axis", self.axis).get_view_interval())
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """The ticks between two values."""
        best: Sequence[float] = ()
        for ticks in self.choices(vmin, vmax):
            # A choice with hardly a tick is worse than a crowded one.
            if len(ticks) < FEWEST and best:
                break
            best = ticks
            if self._apart(ticks):
                break
        return best

    def _apart(self, ticks: Sequence[float]) -> bool:
        axis = cast("Axis", self.axis)
        box = axis.axes.bbox
        inches = (box.height if self.upright else box.width) / axis.axes.figure.dpi
        ends = axis.get_transform().transform(np.array(axis.get_view_interval()))
        at = (axis.get_transform().transform(np.array(ticks)) - ends[0]) / (ends[1] - ends[0]) * inches
        half = [LINE / 2 if self.upright else (LETTER * len(self.written(tick)) + SPACE) / 2 for tick in ticks]
        places = sorted(zip(at.tolist(), half, strict=True))
        return all(b - a >= one + other for (a, one), (b, other) in pairwise(places))


def logarithmic(ax: Axes, way: Literal["x", "y"], subs: Sequence[Sequence[int]] = SUBS) -> None:
    """Makes an axis logarithmic, with numbers as they are written elsewhere: 1000, not a power of ten."""
    ax.set(**{f"{way}scale": "log"})
    _set(ax, way, lambda low, high: _decades(low, high, subs), plain)


def few(ax: Axes) -> None:
    """Ticks enough to read a value from, in a panel as flat as those over time; words keep theirs."""
    if isinstance(ax.yaxis.get_major_locator(), AutoLocator):
        ax.yaxis.set_major_locator(MaxNLocator(BINS, steps=STEPS, min_n_ticks=FEW))


def below(ax: Axes, top: float) -> None:
    """Ticks of whole numbers on an upright axis, none of them above `top`, where something else stands."""
    for bins in range(BINS, 2 * BINS):
        found = np.asarray(MaxNLocator(bins, steps=STEPS, integer=True).tick_values(0, top))
        places = found[found <= top]
        if len(places) >= FEW:
            break
    ax.set_yticks(places)


def powers_of_two(ax: Axes, way: Literal["x", "y"], least: float | None = None) -> None:
    """Ticks of an axis whose values are logarithms to base 2, `least` one at which all stand that are smaller."""
    if least is None:
        _set(ax, way, _exponents, lambda value: power(2.0**value))
        return
    _set(
        ax,
        way,
        lambda low, high: ([least, *(tick for tick in ticks if tick > least)] for ticks in _exponents(low, high)),
        lambda value: f"{'≤ ' if value <= least else ''}{power(2.0**value)}",
    )


def _set(ax: Axes, way: Literal["x", "y"], choices: Choices, written: Callable[[float], str]) -> None:
    axis = ax.xaxis if way == "x" else ax.yaxis
    axis.set_major_locator(Legible(choices, written, way == "y"))
    axis.set_major_formatter(FuncFormatter(lambda value, _: written(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _decades(low: float, high: float, subs: Sequence[Sequence[int]]) -> Iterator[Sequence[float]]:
    if low <= 0:
        return
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    made = [[sub * 10.0**n for n in range(first, last + 1) for sub in some] for some in subs]
    made += [[10.0**n for n in range(first, last + 1) if n % step == 0] for step in range(2, last - first + 2)]
    slack = 1 + 1e-9
    within = [[tick for tick in ticks if low / slack <= tick <= high * slack] for ticks in made]
    yield from within if len(within[0]) >= FEW else _round(low, high)


def _exponents(low: float, high: float) -> Iterator[Sequence[float]]:
    whole = range(math.ceil(low), math.floor(high) + 1)
    if len(whole) < FEW:
        yield from ([math.log2(value) for value in values] for values in _round(2.0**low, 2.0**high))
        return
    for step in range(1, len(whole)):
        yield [float(n) for n in whole if n % step == 0]


def _round(low: float, high: float) -> Iterator[Sequence[float]]:
    """Round numbers between two that no power lies between."""
    for bins in (5, 3, 2):
        yield [float(value) for value in MaxNLocator(bins).tick_values(low, high) if max(low, 0.0) < value < high]


def plain(value: float) -> str:
    """A number with all its digits and no exponent."""
    return np.format_float_positional(float(f"{value:.12g}"), trim="-")


def power(value: float) -> str:
    """A power of two: 2048 whole, 0.0156 to three digits."""
    return plain(round(value) if value >= 100 else float(f"{value:.3g}"))
