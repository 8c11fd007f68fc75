"""Polars frames of what the core hands over: rows of summaries, columns of records with names beside their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._engine import diftr_events, table
from ._types import Columns

if TYPE_CHECKING:
    import polars as pl

    from .result import Outcome

DROP_REASONS = ("overflow", "law", "random loss")
_UNSET = 2**64 - 1


def key(outcome: Outcome) -> dict[str, Any]:
    """Columns by which the rows of all frames are told apart, and joined."""
    return {
        "case": outcome.case.index,
        "repetition": outcome.repetition,
        "seed": outcome.seed,
        **outcome.case.values,
    }


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Figures by their paths, as in `rtt_ms.mean`."""
    found: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict):
            found.update(flat(inner, f"{prefix}{name}."))
        else:
            found[prefix + name] = inner
    return found


def of_rows(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Summaries, one to a row."""
    import polars as pl

    frame = pl.DataFrame(list(rows), infer_schema_length=None, strict=False)
    # A distribution that one flow or link lacks and another has is no figure of its own.
    empty = [name for name, dtype in frame.schema.items() if dtype == pl.Null]
    frame = frame.drop(name for name in empty if any(other.startswith(f"{name}.") for other in frame.columns))
    # A figure that no run has (no ECN backoff, no completion) is still a column of numbers.
    return frame.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.Float64))


def of_columns(columns: Columns) -> pl.DataFrame:
    """A recorded table as the core hands it over."""
    import numpy as np
    import polars as pl

    dtypes = {"f64": "<f8", "u64": "<u8", "i64": "<i8", "u32": "<u4", "u16": "<u2"}
    return pl.DataFrame({name: np.frombuffer(data, dtypes[dtype]) for name, (dtype, data) in columns.items()})


def named(frame: pl.DataFrame, outcome: Outcome, name: str) -> pl.DataFrame:
    """Put names beside the numbers of the core: flow, link, variable, cause."""
    import polars as pl

    def lookup(column: str, names: list[str]) -> pl.Expr:
        return (
            pl.col(column)
            .cast(pl.UInt32)
            .replace_strict(list(range(len(names))), names, default=None, return_dtype=pl.String)
        )

    flows = [flow["name"] for flow in outcome.case.flows]
    links = [link["name"] for link in outcome.case.links]
    first = [
        pl.lit(outcome.case.index, pl.UInt32).alias("case"),
        pl.lit(outcome.repetition, pl.UInt32).alias("repetition"),
    ]
    added: list[pl.Expr] = []
    if name == "vars":
        added = [
            pl.when(pl.col("source") == 0).then(lookup("index", flows)).otherwise(lookup("index", links)).alias("of"),
            lookup("source", ["flow", "link"]).alias("source"),
            lookup("name", list(outcome.names)).alias("name"),
        ]
    else:
        if "flow" in frame.columns:
            added.append(lookup("flow", flows).alias("flow_name" if "link" in frame.columns else "name"))
        if "link" in frame.columns:
            added.append(lookup("link", links).alias("link_name" if "flow" in frame.columns else "name"))
        if "cause" in frame.columns:
            causes = {int(cause["number"]): str(cause["name"]) for cause in table("causes")}
            added.append(pl.col("cause").alias("kind"))
            added.append(
                pl.col("cause")
                .replace_strict(list(causes), list(causes.values()), default="unknown", return_dtype=pl.String)
                .alias("cause")
            )
        if name == "diftr":
            added.append(lookup("event", list(diftr_events())).alias("event"))
            # Not every queue has every variable: what one has not is empty, not a number that is none.
            added.extend(pl.col(c).fill_nan(None) for c in frame.columns if frame[c].dtype == pl.Float64)
        if "reason" in frame.columns:
            added.append(lookup("reason", list(DROP_REASONS)).alias("reason"))
        windows = [c for c in frame.columns if c.startswith(("cwnd_", "ssthresh_")) and frame[c].dtype == pl.UInt64]
        added.extend(pl.when(pl.col(c) != _UNSET).then(pl.col(c)).alias(c) for c in windows)
    return frame.select(*first, pl.all()).with_columns(added)
