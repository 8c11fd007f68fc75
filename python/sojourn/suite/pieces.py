"""What a suite is made of."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .._types import Case
from ..plot.style import name_of
from ..stats import bracketed, number
from ..sweep import spread

if TYPE_CHECKING:
    from ..report import Piece, Table
    from ..result import Outcome
    from .answer import Answer

Changes = tuple[tuple[str, str], ...]

#: On real packets runs are in real time: what `--quick` gives a scenario, and the longest run that it takes at all.
QUICK_S = 180.0
#: What a table says where figures have a number in brackets.
BRACKETS = "In brackets behind a mean: of how many of its runs it is, where the others have no value."
#: Seeds of a case that `close` names.
SEEDS = 5


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of the summary as the suite shows it; `metric` as in claims: `link.core-down.queue_ms.mean`.

    A `*` in a name takes the mean over all flows, groups or links called so. What the summary does not hold is computed
    `of` a run, from its series.
    """

    name: str
    title: str
    unit: str
    metric: str = ""
    scale: float = 1.0
    of: Callable[[Outcome], float] | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """What the figures' x axis is: a number out of a case, or None where it has none."""

    title: str
    of: Callable[[Case], float | None]
    #: The queue's setting that this number is, empty where it has none.
    setting: Callable[[Case], str]
    log: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """One case: what it was, and its figures, means over repetitions."""

    scenario: str
    cc: str
    aqm: str
    x: float | None
    #: Everything swept but `cc` and `aqm`.
    values: Mapping[str, str]
    figures: Mapping[str, float]
    n: int
    #: The queue's setting that `x` is.
    setting: str = ""
    #: Which of `cc` and `aqm` are not the file's own, but were asked for.
    added: frozenset[str] = frozenset()
    #: Of how many of the runs a figure is, where the others have no value.
    fewer: Mapping[str, int] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The queue with all its settings but the one that `x` is: what one line of a drawing is of."""
        others = [one for one in settings_of(self.aqm) if one.partition("=")[0].strip() != self.setting]
        name = self.aqm.partition("(")[0].strip()
        return f"{name}({', '.join(others)})" if others else name

    def given(self, figure: str) -> int:
        """How many of the runs have a figure."""
        return self.fewer.get(figure, 0 if math.isnan(self.figures[figure]) else self.n)

    def text(self, figure: str) -> str:
        """A figure as tables have it."""
        return bracketed(number(self.figures[figure]), self.given(figure), self.n)

    @property
    def rest(self) -> str:
        """The swept values besides congestion control and queue, in one line."""
        return "  ".join(
            f"{key.removeprefix('flow.*.').removeprefix('path.')}={value}" for key, value in self.values.items()
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to ask: `rows("delay", cc="newreno", aqm="codel", x=100)` is the mean of that figure over the rows that fit.

    `cc` and `aqm` are patterns, as statements have them: a name, whatever its settings, or a whole spec. Other keys end
    as the swept key does: `load="0.85"`. What a row has itself is looked up with `exactly`.
    """

    rows: Sequence[Row]

    def where(self, **want: str | float | None) -> Rows:
        """The rows that fit."""
        rows = [row for row in self.rows if all(_fits(row, key, value) for key, value in want.items())]
        keys: tuple[Literal["cc", "aqm"], ...] = ("cc", "aqm")
        for key in keys:
            if want.get(key) is not None:
                rows = _meant(rows, key)
        return Rows(rows)

    def published(self, **want: str | float | None) -> Rows:
        """The rows that fit and are the file's own: of what was asked for besides, no text says "every" or "most"."""
        return Rows([row for row in self.where(**want) if not row.added])

    def exactly(self, cc: str) -> Rows:
        """The rows of this congestion control with these settings, as a row has it in `cc`, and of no variant."""
        return Rows([row for row in self.rows if row.cc == cc])

    def __call__(self, figure: str, **want: str | float | None) -> float:
        """The mean of a figure over the rows that fit; NaN without one."""
        values = [row.figures[figure] for row in self.where(**want).rows if not math.isnan(row.figures[figure])]
        return sum(values) / len(values) if values else math.nan

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def xs(self, **want: str | float | None) -> list[float]:
        """The places on the axis that the rows that fit have, in order."""
        return sorted({row.x for row in self.where(**want) if row.x is not None})


def _fits(row: Row, key: str, value: str | float | None) -> bool:
    if value is None:
        return True
    if key == "x":
        return row.x is not None and abs(row.x - float(value)) <= 1e-9 * abs(float(value))
    text = str(value)
    if key in ("cc", "aqm"):
        own = row.cc if key == "cc" else row.aqm
        return same(own, text) or name_of(own) == text
    if key == "scenario":
        return row.scenario == text
    return any(k.split(".")[-1] == key and same(v, text) for k, v in row.values.items())


def _meant(rows: Sequence[Row], key: Literal["cc", "aqm"]) -> list[Row]:
    """Which of the rows of a name a sentence with that name is about: a mean over variants is nobody's figure.

    In each scenario those that its file has; where those were not run, the one that was asked for in their place.
    """
    kept = []
    for scenario in dict.fromkeys(row.scenario for row in rows):
        here = [row for row in rows if row.scenario == scenario]
        own = [row for row in here if key not in row.added]
        asked = {row.cc if key == "cc" else row.aqm for row in here}
        kept += own or (here if len(asked) == 1 else [])
    return kept


def settings_of(spec: str) -> list[str]:
    """`codel(target=20ms, limit=850)` as `target=20ms` and `limit=850`."""
    return [part.strip() for part in spec.partition("(")[2].rstrip(")").split(",") if part]


def same(a: str, b: str) -> bool:
    """Equal but for white space."""
    return re.sub(r"\s", "", a) == re.sub(r"\s", "", b)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a statement; `holds` is None where it could not be judged, since the suite was cut."""

    holds: bool | None
    measured: str


def verdict(holds: bool, measured: str, *figures: float) -> Verdict:
    """A verdict, undecided if any of the figures it rests on was not measured."""
    if any(math.isnan(figure) for figure in figures):
        return Verdict(None, "not run")
    return Verdict(bool(holds), measured)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the literature that the suite checks on its rows."""

    name: str
    says: str
    source: str
    check: Callable[[Rows], Verdict]
    #: Where it fails: the experiment that shows why.
    why: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """An experiment file of a suite."""

    name: str
    about: str
    #: Below `experiments/`.
    file: str
    measures: tuple[Measure, ...]
    #: Swept keys of the congestion control and the queue under test; without one the scenario has no such choice.
    cc: str = ""
    aqm: str = ""
    axis: Axis | None = None
    #: `--set` changes of `--quick`, and which cases it keeps.
    quick: Changes = ()
    quick_keeps: Callable[[Case], bool] = field(default=lambda case: True)
    #: Of those that `--quick` keeps, the ones that come first where there is not time for all: on real packets.
    first: Callable[[Case], bool] = field(default=lambda case: False)
    #: Repetitions of `--quick`.
    quick_repeat: int = 1
    #: Cases that statements tell apart by so little that one seed's connections would decide: where the suite is cut
    #: to the cases of `--quick`, the simulator runs them with several.
    close: Callable[[Case], bool] = field(default=lambda case: False)
    #: Which cases make sense at all: a sweep is a product, and not all of it does.
    keeps: Callable[[Case], bool] = field(default=lambda case: True)
    #: So many of the measures have room at the terminal.
    brief: int = 5
    #: Recorded besides the summary, in ms per step, whatever step is asked for, since measures are made of it; the page
    #: draws it.
    series_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """What a suite says across its scenarios: one table, a shorter one for the terminal, and more for the page."""

    table: Table
    brief: Table
    #: Of each row of the table, of how many runs its figures are, where others have no value: by column.
    fewer: Sequence[Mapping[str, int]]
    pieces: Sequence[Piece] = ()


@dataclass(frozen=True, slots=True)
class Suite:
    """Scenarios and statements."""

    name: str
    title: str
    about: str
    scenarios: tuple[Scenario, ...]
    statements: tuple[Statement, ...] = ()
    #: Congestion controls that are run instead of the files' own.
    ccs: Callable[[], Sequence[str]] | None = None
    #: In place of a table per scenario at the terminal, and at the head of the page.
    overview: Callable[[Answer], Overview] | None = None


def within(cases: Sequence[Case], first: Callable[[Case], bool] = lambda _: False) -> list[Case]:
    """So many cases as there is real time for: those that come first, then others spread over all that are left."""
    most = max(1, int(QUICK_S / max(case.duration_s for case in cases)))
    taken = [case for case in cases if first(case)][:most]
    others = [case for case in cases if case not in taken]
    return sorted([*taken, *spread(others, most - len(taken))], key=lambda case: case.index)
