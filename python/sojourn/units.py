"""Values with units, as experiment files have them: `12 Mbit/s`, `2 BDP`. The core lists the units."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from . import _engine
from .errors import SpecError

#: Where a number ends, for the core and here: an "e" belongs to it only if a digit follows, with or without a sign.
_NUMBER = re.compile(r"[+-]?(?:[0-9._]|[eE][+-]?(?=[0-9]))*")
#: Endings of rates that count bytes, which the core refuses.
_BYTES = ("Bps", "BPS")


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
    text = text.strip()
    end = match.end() if (match := _NUMBER.match(text)) else 0
    unit = text[end:].strip()
    found = _units().get(unit) or (None if unit.endswith(_BYTES) else _rates().get(unit.lower()))
    try:
        value = float(text[:end].replace("_", ""))  # underscores say nothing, wherever they stand
    except ValueError:
        return None
    return Quantity(value, unit, *found) if found and math.isfinite(value) else None


def milliseconds(text: str) -> float | None:
    """A time in ms; None for what is none.

    >>> milliseconds("0.1 s"), milliseconds("0.1")
    (100.0, None)
    """
    found = quantity(text)
    return found.amount * 1e3 if found and found.kind == "time" else None


def series_step(given: str | float) -> float:
    """Read a step such as `10ms` or `0.1 s`, in ms; a bare number is milliseconds."""
    value = milliseconds(given) if isinstance(given, str) else float(given)
    if value is None:
        raise SpecError(f"series step {given!r}: expected a time such as 10ms")
    (least, low), (most, high) = _engine.limits().series
    if not low <= value <= high:
        raise SpecError(f"series step {given!r}: allowed is {least} to {most}")
    return value


def on_axis(texts: Sequence[str]) -> tuple[list[float], str] | None:
    """Values as numbers of one unit (the first one's); None when they are words or of unlike kinds."""
    given = [found for found in map(quantity, texts) if found is not None]
    if not texts or len(given) != len(texts) or len({one.kind for one in given}) > 1:
        return None
    return [one.amount / given[0].scale for one in given], given[0].unit


@cache
def _units() -> Mapping[str, tuple[str, float]]:
    """Kind and scale of each."""
    listed = {**_engine.units(), "BDP": {"BDP": 1.0, "bdp": 1.0}, "share": {"%": 0.01, "": 1.0}}
    return {unit: (kind, scale) for kind, units in listed.items() for unit, scale in units.items()}


@cache
def _rates() -> Mapping[str, tuple[str, float]]:
    """Those of rates, which are read in capitals and small letters alike, in small ones."""
    return {unit.lower(): found for unit, found in _units().items() if found[0] == "rate"}
