"""A published table beside ours, cell by cell. The comparison itself is the core's; here are its types and scores."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import _engine

if TYPE_CHECKING:
    from .._types import Case
    from ..result import Result

# Verdicts of the core, in our words and in a terminal's colours.
VERDICTS = {
    "within": ("ok", "green"),
    "outside": ("off", "red"),
    "undecided": ("undecided", "yellow"),
    "shown": ("", ""),
    "absent": ("no value", "red"),
    "missing": ("not run", "yellow"),
}
#: A table is reached if at least this part of its cells is within tolerance.
REACHED = 0.6


@dataclass(frozen=True)
class Cell:
    """One printed value with ours beside it, in the metric's unit; `low` and `high` bound its tolerance.

    `printed` is the text of a range or a bound; then `low` or `high` may be open (None) though the cell is judged.
    `range` are the ends of what is printed, equal for a number, None where a bound is open.
    """

    row: str
    column: str
    that: str
    when: tuple[tuple[str, str], ...]
    value: float
    printed: str | None
    range: tuple[float | None, float | None]
    low: float | None
    high: float | None
    n: int
    median: float | None
    p20: float | None
    p80: float | None
    difference: float | None
    verdict: str

    @property
    def judged(self) -> bool:
        """Whether there is a tolerance, a range or a bound to be within."""
        return self.low is not None or self.high is not None

    @property
    def leans_within(self) -> bool:
        """Undecided, but our median is within the tolerance."""
        if self.verdict != "undecided" or self.median is None or self.low is None or self.high is None:
            return False
        return self.low <= self.median <= self.high


@dataclass(frozen=True)
class OwnRuns:
    """Cells within tolerance if a run of ours stands in print's place and the others are compared with it.

    That is what a perfect copy would score: the median over our runs, and the 5th and 95th percentile, of `cells`
    (numbers with a tolerance; ranges and bounds have no part in it), of which print itself has `within`.
    """

    cells: int
    within: int
    p5: float
    median: float
    p95: float

    @property
    def text(self) -> str:
        """`11/25 (8–13)`."""
        return f"{self.median:.0f}/{self.cells} ({self.p5:.0f}–{self.p95:.0f})"


@dataclass(frozen=True)
class Comparison:
    """A published table with ours beside it; `order` tells whether our rows stand in the printed order.

    `judged` counts the cells with a tolerance, whether they were run or not. `own` is None if a cell has fewer than
    five runs.
    """

    title: str
    source: str
    cells: tuple[Cell, ...]
    order: tuple[tuple[str, bool], ...]
    within: int
    judged: int
    own: OwnRuns | None

    @property
    def undecided(self) -> int:
        """Cells whose tolerance is narrower than our own spread."""
        return sum(cell.verdict == "undecided" for cell in self.cells)

    @property
    def leaning(self) -> int:
        """Undecided ones with our median within the tolerance."""
        return sum(cell.leans_within for cell in self.cells)

    @property
    def absent(self) -> int:
        """Judged cells whose figure has no value in some run."""
        return sum(cell.verdict == "absent" and cell.judged for cell in self.cells)

    @property
    def missing(self) -> int:
        """Cells of which no run has finished, or of several cases none that all of them have."""
        return sum(cell.verdict == "missing" for cell in self.cells)

    @property
    def score(self) -> str:
        """`29 of 32 cells within tolerance (91 %), 2 undecided, of 1 our median is within`, of those that were run."""
        return Score.of([self]).text


@dataclass(frozen=True)
class Score:
    """How many cells of some tables are within tolerance, of those that were run and have one."""

    within: int
    outside: int
    undecided: int
    #: Undecided ones with our median within the tolerance.
    leaning: int
    #: Cells whose figure has no value in some run.
    absent: int
    missing: int
    #: Tables with a judged cell that was run, and those of them that reach 60 %.
    tables: int
    reached: int
    #: Tables that reach it if our medians alone decide, however wide our spread.
    reached_by_median: int

    @classmethod
    def of(cls, tables: Iterable[Comparison]) -> Score:
        """Add tables up."""
        some = list(tables)
        count = {verdict: sum(c.verdict == verdict for t in some for c in t.cells) for verdict in VERDICTS}
        counts = [(t.within, t.leaning, ran) for t in some if (ran := t.judged - _unrun(t))]
        return cls(
            within=count["within"],
            outside=count["outside"],
            undecided=count["undecided"],
            leaning=sum(table.leaning for table in some),
            absent=sum(table.absent for table in some),
            missing=count["missing"],
            tables=len(counts),
            reached=sum(within / ran >= REACHED for within, _, ran in counts),
            reached_by_median=sum((within + leaning) / ran >= REACHED for within, leaning, ran in counts),
        )

    @property
    def judged(self) -> int:
        """Cells with a tolerance that were run. One undecided or without a value counts: it is no pass."""
        return self.within + self.outside + self.undecided + self.absent

    @property
    def undecided_text(self) -> str:
        """`9 (3)`: undecided cells, and those of them with our median within the tolerance."""
        return f"{self.undecided} ({self.leaning})" if self.leaning else str(self.undecided)

    @property
    def share(self) -> float | None:
        """The part within tolerance."""
        return self.within / self.judged if self.judged else None

    @property
    def medians(self) -> str | None:
        """What our medians alone would decide, in words; None if nothing is undecided."""
        if not self.undecided:
            return None
        cells = self.within + self.leaning
        return (
            f"by our medians alone, however wide our spread: {cells} of {self.judged} cells "
            f"({100 * cells / self.judged:.0f} %), {self.reached_by_median} of {self.tables} tables"
        )

    @property
    def text(self) -> str:
        """In words."""
        share = "" if self.share is None else f" ({100 * self.share:.0f} %)"
        more = f", {self.undecided} undecided" if self.undecided else ""
        more += f", of {self.leaning} our median is within" if self.leaning else ""
        more += f", {self.absent} without a value" if self.absent else ""
        unrun = f", {self.missing} not run" if self.missing else ""
        return f"{self.within} of {self.judged} cells within tolerance{share}{more}{unrun}"


def _unrun(table: Comparison) -> int:
    """Judged cells that were not run."""
    return sum(cell.verdict == "missing" and cell.judged for cell in table.cells)


def compare(result: Result) -> list[Comparison]:
    """The published tables of an experiment beside its result."""
    if not result.plan.published:
        return []
    return parse(_engine.published(result.experiment, [o.raw for o in result.outcomes]))


def parse(raw: str) -> list[Comparison]:
    """Tables as the core gives them."""
    return [
        Comparison(
            title=table["title"],
            source=table["source"],
            cells=tuple(_cell(c) for c in table["cells"]),
            order=tuple((column, bool(kept)) for column, kept in table["order"]),
            within=table["within"],
            judged=table["judged"],
            own=None if table["own"] is None else OwnRuns(**table["own"]),
        )
        for table in json.loads(raw)
    ]


def _cell(data: dict[str, Any]) -> Cell:
    same = ("row", "column", "that", "value", "printed", "low", "high", "n", "median", "p20", "p80", "difference")
    when = tuple((key, value) for key, value in data["when"])
    low, high = data["range"]
    return Cell(when=when, verdict=data["verdict"], range=(low, high), **{key: data[key] for key in same})


def meets(case: Case, when: Sequence[tuple[str, str]]) -> bool:
    """Whether a printed cell is of a case: `when` has each key with its value, or with several of which one will do.

    The core spells them as the sweep does.
    """
    return all((key, case.values.get(key)) in when for key, _ in when)


def labels(result: Result, comparison: Comparison) -> list[str] | None:
    """The rows' names in print as names of the cases, where every case has one of its own."""
    names = []
    for case in result.plan.cases:
        if not result.of(case):
            continue
        rows = {c.row for c in comparison.cells if meets(case, c.when)}
        if len(rows) != 1:
            return None
        names.append(rows.pop())
    return names if len(set(names)) == len(names) else None
