"""Polars frames of what the core hands over: rows of summaries, columns of records with names beside their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
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


def of_rows(rows: Iterable[Mapping[str, Any]], subject: str = "") -> pl.DataFrame:
    """Summaries, one to a row. With a `subject` (`flow`, `group`, `link`) all its figures are columns, in the order of
    the core's list, whatever these runs have; of those that runs name themselves (`mode_s.*`) there is what they have.
    """
    import polars as pl

    frame = pl.DataFrame(list(rows), infer_schema_length=None, strict=False)
    frame = _with_all(frame, subject) if subject and frame.columns else frame
    # A figure that no run has (no ECN backoff, no completion) is still a column of numbers.
    return frame.with_columns(pl.selectors.by_dtype(pl.Null).cast(pl.Float64))


def _with_all(frame: pl.DataFrame, subject: str) -> pl.DataFrame:
    import polars as pl

    listed = _figures(subject)
    # A distribution that a flow or link lacks is null in its place, and no figure of its own.
    parents = {name.rpartition(".")[0] for name in listed}
    have = [name for name in frame.columns if name not in parents]
    figures: list[str] = []
    for name in listed:
        figures += [own for own in have if own.startswith(name[:-1])] if name.endswith(".*") else [name]
    known = {*figures}
    first = next(i for i, name in enumerate(have) if name in known)
    others = [name for name in have[first:] if name not in known]
    return frame.select(
        *have[:first], *(name if name in have else pl.lit(None).alias(name) for name in figures), *others
    )


@cache
def _figures(subject: str) -> list[str]:
    """The figures of a flow, group or link as the core lists them; of every distribution there is all that one has."""

    def below(place: str) -> list[str]:
        names = (str(one["name"]) for one in table("figures"))
        return [name[len(place) :] for name in names if name.startswith(place)]

    listed, spread = below(f"{subject}.NAME."), below("flow.NAME.rtt_ms.")
    figures: dict[str, None] = {}
    for name in listed:
        parent = name.rpartition(".")[0]
        whole = f"{parent}.p95" in listed
        figures |= dict.fromkeys([f"{parent}.{leaf}" for leaf in spread] if whole else [name])
    return list(figures)


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
        # In the order of the core's VarSource.
        source = lookup("source", ["flow", "link"])
        added = [
            pl.when(source == "flow").then(lookup("index", flows)).otherwise(lookup("index", links)).alias("of"),
            source.alias("source"),
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
