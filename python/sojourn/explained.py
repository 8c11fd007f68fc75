"""The numbers behind window changes, by name and in their units: `probability`, `queue_ms`, `reason`.

The core keeps them as integers in `v0` … `v7`, which mean something else for each cause; `docs/reference/causes.md`
has them all. Tables, qlog and pictures say by this what they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ._engine import table

if TYPE_CHECKING:
    import polars as pl


class Unit(NamedTuple):
    """What a unit of the core becomes."""

    ending: str
    """How the name of a column or key ends."""
    parts: float | None
    """What the core's number is divided by; nothing divides whole numbers."""
    sign: str = ""
    """What pictures write behind it."""
    shown: float = 1.0
    """How many of the column's unit are one of the picture's."""


UNITS = {
    "nanos": Unit("_ms", 1e6, " ms"),
    "bps": Unit("_mbps", 1e6, " Mbit/s"),
    "ppb": Unit("", 1e9),
    "bytes": Unit("_bytes", None, " kB", 1e3),
    "count": Unit("", None),
}


@dataclass(frozen=True)
class Value:
    """One of the numbers behind the window changes of a cause."""

    name: str
    unit: Unit
    words: tuple[str, ...]
    """What 0, 1, … stand for, where it is no number."""
    place: str

    @property
    def column(self) -> str:
        """Its name with the unit that it has."""
        return self.name if self.words else f"{self.name}{self.unit.ending}"

    def number(self, event: Mapping[str, Any]) -> float:
        """In its unit."""
        whole = int(event[self.place])
        return whole if self.unit.parts is None else whole / self.unit.parts

    def word(self, event: Mapping[str, Any]) -> str:
        """What it stands for; empty where that is nothing."""
        whole = int(event[self.place])
        return self.words[whole] if 0 <= whole < len(self.words) else ""


@cache
def numbers() -> Mapping[int, tuple[Value, ...]]:
    """What the window changes of each cause have behind them, by the cause's number."""
    return {
        int(cause["number"]): tuple(
            Value(str(one["name"]), UNITS[str(one["unit"])], tuple(one.get("words") or ()), f"v{i}")
            for i, one in enumerate(cause["values"])
        )
        for cause in table("causes")
    }


def explained(events: pl.DataFrame) -> pl.DataFrame:
    """Window changes with a column for each number that some cause has, empty where another cause has none.

    Which columns there are, and their order, is the core's list of causes and not what happened. Columns that are there
    stay as they are.
    """
    import polars as pl

    columns: dict[str, pl.Expr] = {}
    for kind, value in ((kind, value) for kind, held in numbers().items() for value in held):
        mine = pl.when(pl.col("kind") == kind).then(_column(value))
        columns[value.column] = pl.coalesce(columns[value.column], mine) if value.column in columns else mine
    return events.with_columns(**{name: made for name, made in columns.items() if name not in events.columns})


def _column(value: Value) -> pl.Expr:
    """A value in its unit, or in words where it stands for some."""
    import polars as pl

    given = pl.col(value.place)
    if value.words:
        whole = list(range(len(value.words)))
        return given.replace_strict(whole, list(value.words), default=None, return_dtype=pl.String)
    return given if value.unit.parts is None else given / value.unit.parts
