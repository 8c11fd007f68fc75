#!/usr/bin/env python3
"""Which windows of Tables 4.4 and 5.4 are windows of ours, to the last printed digit: a table of docs/testbed.md.

.venv/bin/python docs/windows.py

A slow start may end where a round does, so every cell prints a window at the end of a round. Here runs that toss no
coin (`g=10000`) say which windows those are. What is looked at is which windows there can be, not where the dice stop.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import markdown
import polars as pl

import sojourn as sj

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "testbed.md"
RUNS = 20
#: The control, and what it leaves of the window: Table 5.4 prints the window itself.
TABLES = {"table-4.4": ("cdg(g=10000)", 0.7), "table-5.4": ("cdg(g=10000, slow_start_min=true)", 1.0)}
#: Both print ratios to the hundredth.
HALF_A_DIGIT = 0.005
#: A window is in whole bytes, and the cut one rounded down: of a step of 1460 bytes that is less than this.
WHOLE_BYTES = 0.02
#: Windows are this and a segment with its options for every ACK.
FIRST, STEP = 14_480, 1460


@dataclass(frozen=True)
class Window:
    """A printed cell, and in how many runs of ours a round ends with its window."""

    rate: str
    rtt: str
    found: int


def windows(name: str) -> Iterator[Window]:
    """Every cell of a table."""
    control, kept = TABLES[name]
    file = ROOT / "experiments" / "thesis" / f"{name}.toml"
    (_, *rtts), *rows = tomllib.loads(file.read_text("utf-8"))["published"]["grid"]
    printed = {(rate, rtt): value for rate, *values in rows for rtt, value in zip(rtts, values, strict=True)}
    result = sj.run(file, set={"flow.a.cc": control, "run.duration": "8 s"}, repeat=RUNS, acks=True)
    rounds = result.acks.filter(pl.col("round_min_rtt_ms").is_not_nan())
    for case in result.plan.cases:
        where = dict(case.values)
        key = (where["path.rate"], where["path.rtt"])
        bdp = float(key[0].split()[0]) * 125 * float(key[1].split()[0])
        ends = (printed[key] + by for by in (-HALF_A_DIGIT, HALF_A_DIGIT))
        least, most = ((ratio * bdp / kept - FIRST) / STEP for ratio in ends)
        acks = rounds.filter(pl.col("case") == case.index).with_columns(n=(pl.col("cwnd_before") - FIRST) / STEP)
        found = acks.filter(pl.col("n").is_between(least - WHOLE_BYTES, most + WHOLE_BYTES))["repetition"].n_unique()
        yield Window(*key, found)


def main() -> None:
    """Runs both tables and writes the page's part."""
    rows = []
    for name in TABLES:
        cells = list(windows(name))
        some = [w for w in cells if 0 < w.found < RUNS]
        none = [w for w in cells if not w.found]
        rows.append([f"Table {name[6:]}", f"{len(cells) - len(none)} of {len(cells)}", _named(some), _named(none)])
    heads = ["", "in some run", f"not in all {RUNS}", "in none"]
    made = markdown.table(heads, rows, "lrl")
    PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "windows", made), "utf-8")
    print(made)


def _named(cells: list[Window]) -> str:
    return "; ".join(f"{w.rate.split()[0]} at {w.rtt}: {w.found}" if w.found else f"{w.rate}, {w.rtt}" for w in cells)


if __name__ == "__main__":
    main()
