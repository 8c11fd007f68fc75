#!/usr/bin/env python3
"""Measures what looks strange in the survey, and writes that table of docs/survey.md: only the words are typed.

.venv/bin/python docs/strange.py                 runs every row of docs/strange.toml (some minutes)
.venv/bin/python docs/strange.py --row NAME …    runs and prints these rows only; the page stays as it is
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import markdown

import sojourn as sj
from sojourn import _engine
from sojourn._types import Experiment
from sojourn.figures import quantity, value
from sojourn.result import Result

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "survey.md"
ROWS = ROOT / "docs" / "strange.toml"
SITUATIONS = Path("experiments", "survey", "situations")
#: Of every row but those that say otherwise: what seldom happens is seen.
SEEDS = 8


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: what is strange, the experiment that shows it beside one changed thing, and the cause."""

    name: str
    what: str
    #: A situation of the survey, or an experiment in one line.
    run: str
    #: What is changed of it; what has several values is swept.
    set: dict[str, Any]
    #: Figures of the summary by name: `share = "flow.a.share"`.
    show: dict[str, str]
    why: str
    repeat: int = SEEDS

    @property
    def source(self) -> str:
        """What `sojourn run` is given, from the root of the repository."""
        return self.run if ":" in self.run else (SITUATIONS / f"{self.run}.toml").as_posix()

    @property
    def changes(self) -> dict[str, str]:
        """The values of `--set`."""
        return {
            f"sweep.{key}" if isinstance(value, list) else key: value
            if isinstance(value, str)
            else json.dumps(value, ensure_ascii=False)
            for key, value in self.set.items()
        }

    @property
    def command(self) -> str:
        """The words that repeat it."""
        sets = (word for key, value in self.changes.items() for word in ("--set", f"{key}={value}"))
        return shlex.join(["sojourn", "run", self.source, "--repeat", str(self.repeat), *sets])

    def experiment(self) -> Experiment:
        """The experiment with the row's changes."""
        source = self.source if ":" in self.run else ROOT / self.source
        return sj.api.prepare(source, self.changes)


def rows() -> list[Row]:
    """Every row of the data file, in its order."""
    return [Row(name, **row) for name, row in tomllib.loads(ROWS.read_text("utf-8")).items()]


def brief(value: float) -> str:
    """Two digits, or whole numbers: more than runs of some seeds can tell."""
    return f"{value:.0f}" if abs(value) >= 10 else f"{value:.2g}"


def spread(values: list[float]) -> str:
    """The median, and where they differ the smallest and the largest."""
    low, mid, high = (brief(of(values)) for of in (min, median, max))
    return mid if low == high else f"{mid} ({low} to {high})"


def label(key: str, value: str) -> str:
    """A swept value in words: what a switch belongs to is said."""
    if value in ("true", "false"):
        return f"`{key.rsplit('.', 1)[-1]}={value}`"
    if value.startswith("["):
        return " to ".join(json.loads(value))
    return f"`{value}`" if key.endswith((".cc", ".vary", ".queue")) else value


def cells(row: Row, result: Result) -> Iterator[tuple[list[str], str]]:
    """For each case the words for what it has of its own, and its figures."""
    cases: dict[tuple[tuple[str, str], ...], list[dict[str, Any]]] = {}
    for outcome in result.outcomes:
        values = {key: str(value) for key, value in outcome.case.values.items()}
        first = [key for key in row.set if key in values]
        case = tuple((key, values[key]) for key in [*first, *(key for key in values if key not in first)])
        cases.setdefault(case, []).append(outcome.summary)
    varied = {key for key, _ in next(iter(cases)) if len({dict(case)[key] for case in cases}) > 1}
    for case, runs in cases.items():
        found = []
        for path in row.show.values():
            _, _, scale = quantity(path)
            found.append(spread([scale * value(summary, path) for summary in runs]))
        yield [label(key, value) for key, value in case if key in varied], "; ".join(found)


def measured(row: Row) -> str:
    """The figures of one row: a line for each value of all keys but the last, whose values stand side by side."""
    result = sj.run(row.experiment(), repeat=row.repeat)
    heads = []
    for name, path in row.show.items():
        _, unit, _ = quantity(path)
        heads.append(f"{name}, {unit}" if unit else name)
    lines: dict[str, list[str]] = {}
    for words, found in cells(row, result):
        *before, last = words or [""]
        lines.setdefault(", ".join(before), []).append(f"{last} {found}".strip())
    sides = (f"{before}: {', '.join(found)}" if before else ", ".join(found) for before, found in lines.items())
    return "<br>".join(["; ".join(heads) + ":", *sides])


def in_page(row: Row, seen: str) -> list[str]:
    """The row of the table."""
    return [row.what, f"`{row.command}`", seen, row.why]


def main() -> None:
    """Runs all rows and writes the table, or prints those that were asked for."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--row", action="append", choices=[row.name for row in rows()], metavar="NAME")
    wanted = words.parse_args().row
    made = []
    for row in rows():
        if not wanted or row.name in wanted:
            made.append(in_page(row, measured(row)))
            print(
                markdown.line(made[-1]) if wanted else row.name, file=sys.stdout if wanted else sys.stderr, flush=True
            )
    if not wanted:
        told = f"Model {_engine.version().model}:\n\n"
        told += markdown.table(["what", "the command that shows it", "measured", "why"], made)
        PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "strange", told), "utf-8")


if __name__ == "__main__":
    main()
