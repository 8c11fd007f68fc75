"""What came of a suite, and its form as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._types import Claim
from ..result import Result
from .pieces import Overview, Rows, Scenario, Statement, Suite, Verdict

if TYPE_CHECKING:
    from ..report import Value
    from .live import Refused


@dataclass(frozen=True, slots=True)
class Ran:
    """What came of one scenario."""

    scenario: Scenario
    result: Result = field(repr=False)
    rows: Rows
    claims: tuple[Claim, ...]
    #: Congestion controls and queues that were asked for, as they were spelled.
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A statement and its verdict."""

    statement: Statement
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a suite."""

    suite: Suite
    #: `quick`, `few` (the quick cases at the files' length) or `full`.
    length: str
    scenarios: tuple[Ran, ...]
    statements: tuple[Judged, ...]
    #: Congestion controls that were asked for by name.
    named: tuple[str, ...] = ()
    #: `sim` or `linux`; on linux what was not run, and which runs are in doubt.
    on: str = "sim"
    refused: tuple[Refused, ...] = ()
    suspect: tuple[str, ...] = ()

    @property
    def failures(self) -> list[str]:
        """Runs that failed."""
        return [f"{ran.scenario.name}: {failure}" for ran in self.scenarios for failure in ran.result.failures]

    @property
    def ok(self) -> bool:
        """Everything ran, and of what could be judged claims hold, and statements that are not known to fail."""
        failed = any(claim.fails for ran in self.scenarios for claim in ran.claims)
        unknown = [j for j in self.statements if j.verdict.holds is False and not j.statement.why]
        return not self.failures and not failed and not unknown

    def _live(self) -> dict[str, Any]:
        refused = [{"scenario": one.scenario, "cases": one.cases, "why": one.why} for one in self.refused]
        return {"on": self.on, "refused": refused, "suspect": list(self.suspect)}

    def data(self) -> dict[str, Any]:
        """Everything as JSON has it."""
        return {
            "suite": self.suite.name,
            "length": self.length,
            **({} if self.on == "sim" else self._live()),
            **({"overview": _records(self.suite.overview(self))} if self.suite.overview else {}),
            "scenarios": [
                {
                    "name": ran.scenario.name,
                    "hash": ran.result.hash,
                    "rows": [
                        {
                            "cc": row.cc,
                            "aqm": row.aqm,
                            "x": row.x,
                            "values": dict(row.values),
                            "n": row.n,
                            "fewer": dict(row.fewer),
                            **{key: None if math.isnan(value) else value for key, value in row.figures.items()},
                        }
                        for row in ran.rows
                    ],
                    "claims": [claim.data() for claim in ran.claims],
                    "failures": [str(failure) for failure in ran.result.failures],
                }
                for ran in self.scenarios
            ],
            "statements": [
                {
                    "name": one.statement.name,
                    "says": one.statement.says,
                    "source": one.statement.source,
                    "holds": one.verdict.holds,
                    "measured": one.verdict.measured,
                    "why": one.statement.why if one.verdict.holds is False else "",
                }
                for one in self.statements
            ],
        }


def _records(overview: Overview) -> list[dict[str, Any]]:
    """A table's rows under the names of its columns."""
    table = overview.table
    heads = [head if isinstance(head, str) else head.name for head in table.columns]
    return [
        {**dict(zip(heads, map(_bare, row), strict=True)), "fewer": dict(fewer)}
        for row, fewer in zip(table.rows, overview.fewer, strict=True)
    ]


def _bare(value: Value) -> Any:
    from ..report import Cell

    return value.sort if isinstance(value, Cell) else value
