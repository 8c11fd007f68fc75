"""The numbers behind window changes as columns of their own: `probability`, `queue_ms`, `reason`.

The core keeps them as integers in `v0` … `v7`, which mean something else for each cause; `docs/reference/causes.md`
has them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ._engine import table

if TYPE_CHECKING:
    import polars as pl

#: What a unit of the core becomes: how the column's name ends, and what it is divided by, of whole numbers nothing.
UNITS: dict[str, tuple[str, float | None]] = {
    "nanos": ("_ms", 1e6),
    "bps": ("_mbps", 1e6),
    "ppb": ("", 1e9),
    "bytes": ("_bytes", None),
    "count": ("", None),
}


def explained(events: pl.DataFrame) -> pl.DataFrame:
    """Window changes with a column for each number that some cause among them has, empty where another cause has none.

    Columns that are there stay as they are.
    """
    import polars as pl

    columns: dict[str, pl.Expr] = {}
    for kind, place, value in _values(set(events["kind"].to_list())):
        name, number = _column(value, place)
        mine = pl.when(pl.col("kind") == kind).then(number)
        columns[name] = pl.coalesce(columns[name], mine) if name in columns else mine
    return events.with_columns(**{name: made for name, made in columns.items() if name not in events.columns})


def _values(kinds: set[int]) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Cause, place and value, of these causes."""
    for cause in table("causes"):
        if cause["number"] in kinds:
            for place, value in enumerate(cause["values"]):
                yield int(cause["number"]), place, value


def _column(value: dict[str, Any], place: int) -> tuple[str, pl.Expr]:
    """The name of a value's column, and the value in its unit, or in words where it stands for some."""
    import polars as pl

    given = pl.col(f"v{place}")
    words = value.get("words")
    if words:
        said = given.replace_strict(list(range(len(words))), list(words), default=None, return_dtype=pl.String)
        return str(value["name"]), said
    suffix, parts = UNITS[str(value["unit"])]
    return f"{value['name']}{suffix}", given if parts is None else given / parts
