"""Swept values as numbers with units, so that they have a place on an axis."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(r"^\s*(-?\d+(?:\.\d+)?)\s*(.*)$")
SCALES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
SCALES["h"] = 3600.0
RATES = {f"{prefix}{word}": scale for prefix, scale in (("", 1.0), ("k", 1e3), ("m", 1e6), ("g", 1e9))
         for word in ("bit/s", "bit", "bps")}  # fmt: skip
SIZES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30}
SCALES |= RATES | SIZES | {"packets": 1.0, "packet": 1.0, "p": 1.0, "bdp": 1.0, "%": 0.01, "": 1.0}


def number(text: str) -> tuple[float, str] | None:
    """`12 Mbit/s` as (12, "Mbit/s"); None for what is not a number with a unit."""
    match = NUMBER.match(str(text))
    if match is None or match[2].strip().lower() not in SCALES:
        return None
    return float(match[1]), match[2].strip()


def on_axis(texts: Sequence[str]) -> tuple[list[float], str] | None:
    """Swept values as numbers of one unit (the first one's); None when they are words or of unlike kinds."""
    numbers = [number(text) for text in texts]
    given = [n for n in numbers if n is not None]
    if not texts or len(given) != len(texts):
        return None
    unit = given[0][1]
    base = SCALES[unit.lower()]
    kinds = {_kind(u) for _, u in given}
    if len(kinds) > 1:
        return None
    return [value * SCALES[u.lower()] / base for value, u in given], unit


def _kind(unit: str) -> str:
    unit = unit.lower()
    if unit in RATES:
        return "rate"
    if unit in SIZES:
        return "bytes"
    if unit in ("ns", "us", "µs", "ms", "s", "min", "h"):
        return "time"
    return {"packet": "packets", "p": "packets", "%": "share", "": "share"}.get(unit, unit)
