"""Values with units, as experiment files have them: `12 Mbit/s`, `2 BDP`. The core reads them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import NamedTuple

from . import _engine
from .errors import SpecError


class Quantity(NamedTuple):
    """A number and its unit as they are written."""

    value: float
    unit: str
    kind: str
    """`time`, `rate`, `size`, `packets`, `BDP` or `share`."""
    scale: float
    """What the unit is: in seconds, bit/s, bytes, packets, BDPs or as a fraction."""

    @property
    def amount(self) -> float:
        """In seconds, and so on."""
        return self.value * self.scale


def quantity(text: str) -> Quantity | None:
    """`12 Mbit/s` as a number with a unit; None for what is none.

    >>> quantity("12 Mbit/s"), quantity("fifo")
    (Quantity(value=12.0, unit='Mbit/s', kind='rate', scale=1000000.0), None)
    """
    found = _engine.quantity(text)
    return Quantity(*found) if found else None


def milliseconds(text: str) -> float | None:
    """A time in ms; None for what is none.

    >>> milliseconds("0.1 s"), milliseconds("0.1")
    (100.0, None)
    """
    found = quantity(text)
    return found.amount * 1e3 if found and found.kind == "time" else None


def series_step(given: str | float) -> float:
    """Read a step such as `10ms` or `0.1 s`, in ms; a bare number is milliseconds."""
    value = milliseconds(given) if isinstance(given, str) else _number(given)
    if value is None:
        raise SpecError(f"series step {given!r}: expected a time such as 10ms")
    (least, low), (most, high) = _engine.limits().series
    if not low <= value <= high:
        raise SpecError(f"series step {given!r}: allowed is {least} to {most}")
    return value


def _number(given: object) -> float | None:
    """A number as such, numpy's, too; True is none."""
    return float(given) if not isinstance(given, bool) and isinstance(given, Real) else None


def on_axis(texts: Sequence[str]) -> tuple[list[float], str] | None:
    """Values as numbers of one unit (the first one's); None when they are words or of unlike kinds."""
    given = [found for found in map(quantity, texts) if found is not None]
    if not texts or len(given) != len(texts) or len({one.kind for one in given}) > 1:
        return None
    return [one.amount / given[0].scale for one in given], given[0].unit
