"""The survey's one table: the taxonomy with measured columns; its rankings; throughput against delay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .._engine import table
from ..plot.style import name_of
from ..stats import bracketed, number
from .pieces import BRACKETS, Overview, Rows

if TYPE_CHECKING:
    from ..plot.data import Shown
    from ..report import Piece, Section, Value
    from .answer import Answer

#: Evidence that is no ground for a rank.
MEMORY = "partly from memory"
#: Places of a ranking that are shown.
PLACES = 5


class Measured(NamedTuple):
    """A mean, of how many runs it is, and of how many it could be."""

    mean: float
    given: int
    runs: int

    @property
    def whole(self) -> bool:
        """Whether every run has a value: a mean of those that have one flatters what has few."""
        return self.given == self.runs

    def cell(self) -> Value:
        """As a table has it."""
        from ..report import Cell

        return self.mean if self.whole else Cell(bracketed(number(self.mean), self.given, self.runs), self.mean)


@dataclass(frozen=True, slots=True)
class Column:
    """A measured column: a figure of a situation, and whether more of it is better (+1), less (-1) or neither (0)."""

    title: str
    unit: str
    scenario: str
    figure: str
    where: Mapping[str, str] = field(default_factory=dict)
    better: int = 0
    brief: str = ""

    def of(self, rows: Rows, cc: str) -> Measured | None:
        """The figure of one row's congestion control, or None where it has none."""
        part = rows.exactly(cc).where(scenario=self.scenario, **self.where)
        mean = part(self.figure)
        if math.isnan(mean):
            return None
        return Measured(mean, sum(row.given(self.figure) for row in part), sum(row.n for row in part))


def _buffer(bdp: int) -> dict[str, str]:
    return {"buffer": f"{bdp} BDP"}


def _queue(name: str, ecn: str = "false") -> dict[str, str]:
    return {"aqm": name, "ecn": ecn}


COLUMNS = (
    Column("small: utilisation", "%", "alone-small", "load", better=1, brief="small %"),
    Column("small: queue", "ms", "alone-small", "queue", better=-1, brief="queue ms"),
    Column("small: loss", "%", "alone-small", "loss", better=-1),
    Column("small: settling", "s", "alone-small", "settling"),
    Column("small: power", "Mbit/s²", "alone-small", "power", better=1),
    Column("small: variation", "", "alone-small", "smoothness", better=-1),
    Column("delay–loss correlation", "", "alone-small", "correlation"),
    Column("large: utilisation", "%", "alone-large", "load", better=1, brief="large %"),
    Column("large: queue", "ms", "alone-large", "queue", better=-1),
    Column("large: loss", "%", "alone-large", "loss", better=-1),
    Column("large: settling", "s", "alone-large", "settling"),
    Column("large: power", "Mbit/s²", "alone-large", "power", better=1),
    Column("five: Jain", "", "five", "jain", better=1, brief="Jain"),
    Column("five: max–min", "", "five", "max_min", better=1),
    Column("five: δ-fair convergence", "s", "five", "convergence", better=-1, brief="δ-fair s"),
    Column("latecomer: last over first", "", "latecomer", "late", brief="late"),
    Column("beside CUBIC, 1 BDP", "%", "against-cubic", "share", _buffer(1)),
    Column("beside CUBIC, 2 BDP", "%", "against-cubic", "share", _buffer(2), brief="2 BDP %"),
    Column("beside CUBIC, 8 BDP", "%", "against-cubic", "share", _buffer(8), brief="8 BDP %"),
    Column("harm to CUBIC, 1 BDP", "%", "against-cubic", "harm", _buffer(1), better=-1),
    Column("harm to CUBIC, 2 BDP", "%", "against-cubic", "harm", _buffer(2), better=-1, brief="harm %"),
    Column("harm to CUBIC, 8 BDP", "%", "against-cubic", "harm", _buffer(8), better=-1),
    Column("share of 80 ms beside 20 ms", "%", "rtt", "far", brief="far %"),
    Column("× Mathis at 0.1 %", "", "random-loss", "mathis", {"loss": "0.1 %"}),
    Column("× Mathis at 1 %", "", "random-loss", "mathis", {"loss": "1 %"}, better=1, brief="× Mathis"),
    Column("CoDel: utilisation", "%", "queues", "load", _queue("codel"), better=1),
    Column("CoDel: queue", "ms", "queues", "queue", _queue("codel")),
    Column("CoDel with ECN: utilisation", "%", "queues", "load", _queue("codel", "true")),
    Column("CoDel with ECN: queue", "ms", "queues", "queue", _queue("codel", "true")),
    Column("PIE: utilisation", "%", "queues", "load", _queue("pie")),
    Column("PIE: queue", "ms", "queues", "queue", _queue("pie")),
    Column("FQ-CoDel: utilisation", "%", "queues", "load", _queue("fq_codel")),
    Column("FQ-CoDel: queue", "ms", "queues", "queue", _queue("fq_codel")),
    Column("longer route: utilisation", "%", "route-change", "load", better=1, brief="route %"),
    Column("reverse traffic: throughput", "Mbit/s", "reverse", "rate", better=1, brief="reverse"),
    Column("bulk after replies: utilisation", "%", "app-limited", "load", better=1),
    Column("bulk after replies: loss", "%", "app-limited", "loss", better=-1),
    Column("short files beside", "s", "short-flows", "short", better=-1, brief="short s"),
    Column("slow start: exit over BDP", "", "slow-start", "exit"),
    Column("slow start: dropped", "packets", "slow-start", "dropped", better=-1, brief="start drops"),
)


def overview(answer: Answer) -> Overview:
    """The table, a short form of it, rankings and pictures."""
    from .. import report

    rows = Rows([row for ran in answer.scenarios for row in ran.rows])
    known = {str(entry["name"]): entry for entry in table("algorithms")}
    ccs = list(dict.fromkeys(row.cc for row in rows))
    columns = [one for one in COLUMNS if any(one.of(rows, cc) is not None for cc in ccs)]
    measured = {cc: [one.of(rows, cc) for one in columns] for cc in ccs}

    heads: list[report.Column | str] = ["congestion control", "family", "reacts to", "evidence"]
    heads += [report.Column(one.title, one.unit) for one in columns]
    cells = {cc: [one.cell() if one else None for one in measured[cc]] for cc in ccs}
    body: list[list[Value]] = [[*_taxonomy(cc, known), *cells[cc], _paper(cc, known)] for cc in ccs]
    fewer = [
        {column.title: one.given for column, one in zip(columns, measured[cc], strict=True) if one and not one.whole}
        for cc in ccs
    ]
    caption = (
        "Every figure is a mean over repetitions; a dash is a figure that does not exist, such as a convergence that "
        "never comes."
    ) + (f" {BRACKETS}" if any(fewer) else "")
    whole = report.Table([*heads, "paper"], body, caption)

    short = [i for i, one in enumerate(columns) if one.brief]
    brief = report.Table(
        ["cc", "family", *(columns[i].brief for i in short)],
        [[cc, _taxonomy(cc, known)[1], *(cells[cc][i] for i in short)] for cc in ccs],
        answer.suite.title,
    )
    pieces: list[Piece] = [_rankings(answer, columns, measured, known)]
    return Overview(whole, brief, fewer, [*pieces, *_scatters(answer, known)])


def _taxonomy(cc: str, known: Mapping[str, Mapping[str, object]]) -> list[str]:
    entry = known.get(name_of(cc), {})
    return [cc, *(str(entry.get(key, "")) for key in ("family", "signal", "evidence"))]


def _paper(cc: str, known: Mapping[str, Mapping[str, object]]) -> str:
    return str(known.get(name_of(cc), {}).get("paper", ""))


def ranked(answer: Answer, ccs: Sequence[str], known: Mapping[str, Mapping[str, object]]) -> list[str]:
    """Those with evidence that is more than memory, and those that were asked for by name."""
    named = {name_of(cc) for cc in answer.named}
    return [cc for cc in ccs if name_of(cc) in named or known.get(name_of(cc), {}).get("evidence") != MEMORY]


def _rankings(
    answer: Answer,
    columns: Sequence[Column],
    measured: Mapping[str, Sequence[Measured | None]],
    known: Mapping[str, Mapping[str, object]],
) -> Section:
    from .. import report

    field = ranked(answer, list(measured), known)
    body: list[list[Value]] = []
    for i, column in enumerate(columns):
        if not column.better:
            continue
        values = [(cc, one.mean) for cc in field if (one := measured[cc][i]) and one.whole]
        best = sorted(values, key=lambda pair: -column.better * pair[1])[:PLACES]
        places = [f"{cc} {number(value)}" for cc, value in best]
        unit = f", {column.unit}" if column.unit else ""
        body.append(
            [f"{column.title}{unit}", "most" if column.better > 0 else "least", *places, *[""] * (PLACES - len(places))]
        )
    left = [cc for cc in measured if cc not in field]
    words = f"Not ranked, since their evidence is {MEMORY}: {', '.join(left)}." if left else "All are ranked."
    if any(one and not one.whole for cc in field for one in measured[cc]):
        words += " A figure that only some of its runs have has no place."
    heads = ["figure", "best is", *map(str, range(1, PLACES + 1))]
    return report.Section("Rankings", [words, report.Table(heads, body)])


@dataclass(frozen=True, slots=True)
class Cloud:
    """A situation drawn as throughput against delay: which cases of it, the path of what is on the vertical axis."""

    scenario: str
    title: str
    throughput: str = "utilisation"
    where: Mapping[str, str] = field(default_factory=dict)


#: Where neither throughput nor delay comes by itself, alone, in company, and beside CUBIC.
CLOUDS = (
    Cloud("alone-large", "alone on the large path"),
    Cloud("alone-small", "alone on the small path"),
    Cloud("five", "five of a kind"),
    Cloud("against-cubic", "share beside CUBIC, 2 BDP", "group.a.share", {"path.buffer": "2 BDP"}),
    Cloud("against-cubic", "share beside CUBIC, 8 BDP", "group.a.share", {"path.buffer": "8 BDP"}),
    Cloud("random-loss", "1 % of random loss", where={"path.loss": "1 %"}),
    Cloud("reverse", "traffic on the way back"),
)


def _scatters(answer: Answer, known: Mapping[str, Mapping[str, object]]) -> list[Piece]:
    """For each situation of `CLOUDS` a picture per family."""
    from .. import plot, report
    from ..plot.data import shown

    sections: list[Piece] = []
    for cloud in CLOUDS:
        ran = next((one for one in answer.scenarios if one.scenario.name == cloud.scenario), None)
        if ran is None or not ran.result.outcomes:
            continue
        key = ran.scenario.cc
        done = [case for case in ran.result.plan.cases if ran.result.of(case)]
        cases = shown(ran.result, [case.values[key] for case in done])
        families: dict[str, list[Shown]] = {}
        for case in cases:
            if all(case.values.get(name) == value for name, value in cloud.where.items()):
                families.setdefault(str(known.get(name_of(case.label), {}).get("family", "other")), []).append(case)
        figures: list[Piece] = []
        for family, members in families.items():
            svg = plot.svg_of("scatter", members, delay="queue_ms.mean", throughput=cloud.throughput)
            figures.append(report.Figure(svg, f"{family}: {cloud.title}, ellipses of one standard deviation."))
        if figures:
            sections.append(report.Section(f"Throughput against delay: {cloud.title}", figures))
    return sections
