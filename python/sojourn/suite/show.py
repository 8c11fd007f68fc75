"""A suite's answer at the terminal and on one page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .. import verdicts
from ..fitting import Column, fitted
from ..stats import counted, number
from .answer import Answer, Ran
from .drawn import DRAWN, curves, dots, looks, parts, placed
from .labels import labels, settings_in_common, titled
from .pieces import BRACKETS, Row, Suite

if TYPE_CHECKING:
    from rich.console import Console

    from ..report import Piece, Section, Value
    from ..report import Table as ReportTable
    from ..result import Outcome

#: Rows that a table at the terminal has room for; the page has all.
MOST_ROWS = 60
#: Drawings over time of a scenario.
MOST_SERIES = 12
#: Congestion controls that a drawing tells apart.
MOST_COLOURS = 12
#: What a page says of runs that are not all of the suite.
SAMPLES = {"quick": "A sample: shorter runs of fewer cases. ", "few": "A sample: fewer cases. ", "full": ""}
WORDS = {True: "holds", False: "FAILS", None: "not run"}


def terminal(answer: Answer, console: Console) -> None:
    """Print a table per scenario and a line per statement."""
    if answer.suite.overview:
        _overview(answer.suite.overview(answer).brief, console)
    for ran in () if answer.suite.overview else answer.scenarios:
        _table(ran, console)
        for line in verdicts.lines(ran.claims):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    judged = [one for one in answer.statements if one.verdict.holds is not None]
    for one in judged:
        why = f"; {one.statement.why}" if one.verdict.holds is False and one.statement.why else ""
        line = f"{WORDS[one.verdict.holds]}: {one.statement.says} ({one.verdict.measured}){why}"
        console.print(line, markup=False, highlight=False)
    if left := len(answer.statements) - len(judged):
        console.print(verdicts.not_judged(left, "statement"), markup=False, highlight=False)
    for line in verdicts.unrun([claim for ran in answer.scenarios for claim in ran.claims]):
        console.print(line, markup=False, highlight=False)
    for failure in answer.failures:
        console.print(f"failed: {failure}", markup=False, highlight=False)


def _table(ran: Ran, console: Console) -> None:
    from rich.text import Text

    rows = list(ran.rows)
    measures = ran.scenario.measures[: ran.scenario.brief]
    named = [
        (name, texts)
        for name, texts in zip(("cc", "queue", "case"), labels(rows, ran.asked), strict=True)
        if any(texts)
    ]
    columns = [Column(name, words=True, key=True) for name, _ in named] + [Column(titled(m)) for m in measures]
    lines = [
        [*(Text(texts[i]) for _, texts in named), *(Text(row.text(m.name)) for m in measures)]
        for i, row in enumerate(rows[:MOST_ROWS])
    ]
    console.print(fitted(columns, lines, console.width, ran.scenario.name))
    if len(rows) > MOST_ROWS:
        console.print(f"… and {len(rows) - MOST_ROWS} more cases: on the page, or with --json", highlight=False)
    if any(m.name in row.fewer for row in rows[:MOST_ROWS] for m in measures):
        console.print(BRACKETS, markup=False, highlight=False, style="dim")
    if common := settings_in_common(rows, ran.asked):
        line = f"Settings that each has in all its rows: {', '.join(common)}"
        console.print(line, markup=False, highlight=False, style="dim")


def _overview(table: ReportTable, console: Console) -> None:
    from rich.text import Text

    from ..report import Cell

    columns = []
    for i, head in enumerate(table.columns):
        name, unit = (head, "") if isinstance(head, str) else (head.name, head.unit)
        words = not any(isinstance(row[i], float | Cell) for row in table.rows)
        columns.append(Column(f"{name} {unit}".strip(), words=words, key=i == 0))
    lines = [[Text(_said(value)) for value in row] for row in table.rows]
    console.print(fitted(columns, lines, console.width, table.caption))
    # What is no bare figure has its number of runs behind it.
    if any(isinstance(value, Cell) for row in table.rows for value in row):
        console.print(BRACKETS, markup=False, highlight=False, style="dim")


def _said(value: Value) -> str:
    from ..report import Cell

    if isinstance(value, Cell):
        return value.text
    return number(value) if isinstance(value, float) else str(value if value is not None else "–")


def listing(suites: Sequence[Suite]) -> list[tuple[str, str, str]]:
    """Suite, scenario, what it is about."""
    return [(suite.name, one.name, one.about) for suite in suites for one in suite.scenarios]


def named(suite: Suite, scenarios: Sequence[str]) -> str:
    """The file of a page: one of some scenarios must not take the place of the whole suite's, nor of others'."""
    some = list(dict.fromkeys(scenarios))
    if not some or len(some) == len(suite.scenarios):
        return "report.html"
    return f"{'+'.join(some)}.html"


def page(answer: Answer, out: Path) -> Path:
    """Write the one page: statements, then each scenario's drawings and table."""
    from .. import report
    from .._engine import version

    pieces: list[Piece] = [answer.suite.about]
    if answer.statements:
        pieces.append(_statements(answer))
    if answer.suite.overview:
        overview = answer.suite.overview(answer)
        pieces += [overview.table, *overview.pieces]
    pieces += [_scenario(ran) for ran in answer.scenarios]
    if answer.refused or answer.suspect:
        pieces.append(_refused(answer))
    pieces.append(_provenance(answer))
    runs = sum(len(ran.result.outcomes) for ran in answer.scenarios)
    sample = SAMPLES[answer.length]
    doubts = f", {len(answer.suspect)} of them suspect" if answer.suspect else ""
    live = f" on real packets over this machine's kernel{doubts}" if answer.on == "linux" else ""
    lead = f"{sample}{counted(len(answer.scenarios), 'scenario')}, {counted(runs, 'run')}{live}."
    hashes = " ".join(ran.result.hash[:16] for ran in answer.scenarios)
    footer = f"Made by sojourn {version().version}, model {version().model}, from specs {hashes}."
    return report.save(report.Page(answer.suite.title, pieces, lead, footer), out, "--html")


def _provenance(answer: Answer) -> Section:
    """What repeats each scenario, and by what to see that it is the same."""
    from .. import report
    from ..report.provenance import seeds

    body: list[list[Value]] = [
        [
            ran.scenario.name,
            len({o.case.index for o in ran.result.outcomes}),
            len(ran.result.outcomes),
            report.Cell(seeds(ran.result)),
            ran.result.hash[:16],
            ran.result.digest,
        ]
        for ran in answer.scenarios
        if ran.result.outcomes
    ]
    words = (
        "Each scenario's experiment is folded away under its table: save it and give it to sojourn run. "
        "Equal digests are equal runs."
    )
    heads = ["scenario", "cases", "runs", "seeds", "spec hash", "digest"]
    return report.Section("How to repeat it", [words, report.Table(heads, body)])


def _refused(answer: Answer) -> Section:
    from .. import report

    body: list[list[Value]] = [[one.scenario, one.cases, one.why] for one in answer.refused]
    body += [["", None, f"suspect: {line}"] for line in answer.suspect]
    return report.Section("What was not run, and what is in doubt", [report.Table(["scenario", "cases", "why"], body)])


def _statements(answer: Answer) -> Section:
    from .. import report

    kinds = {True: "ok", False: "off", None: ""}
    body: list[list[Value]] = [
        [
            one.statement.says,
            one.statement.source,
            one.verdict.measured,
            report.Cell(WORDS[one.verdict.holds], WORDS[one.verdict.holds], kinds[one.verdict.holds]),
            one.statement.why if one.verdict.holds is False else "",
        ]
        for one in answer.statements
    ]
    judged = [one for one in answer.statements if one.verdict.holds is not None]
    held = sum(one.verdict.holds is True for one in judged)
    badge = report.Badge(f"{held} of {len(judged)}", "statements hold", "ok" if held == len(judged) else "")
    table = report.Table(["statement", "source", "measured", "verdict", "where it fails"], body)
    return report.Section("Statements", [*([report.Badges([badge])] if judged else []), table])


def _scenario(ran: Ran) -> Section:
    from .. import plot, report

    rows = list(ran.rows)
    pieces: list[Piece] = [ran.scenario.about]
    # A colour each for more is a riddle; the table sorts.
    drawn = len({row.cc for row in rows}) <= MOST_COLOURS
    for words, part in parts(rows) if drawn else ():
        before = f"{words}: " if words else ""
        there, elsewhere = placed(ran, part)
        if there:
            svg = plot.to_svg(partial(curves, ran, there))
            axis = ran.scenario.axis.title if ran.scenario.axis else ""
            what = f"against {axis}, a column per congestion control, a line per queue and its other settings."
            if elsewhere:
                left = ", ".join(dict.fromkeys(labels(elsewhere, ran.asked)[1]))
                what += f" Without a place on this axis, and in the table alone: {left}."
        else:
            svg = plot.to_svg(partial(dots, ran, part))
            what = "a panel per figure, a line per queue and setting, a colour per congestion control."
        caption = f"{before}{what} {_sample(ran, part)}"
        pieces.append(report.Figure(svg, caption[0].upper() + caption[1:]))
    heads = [report.Column("congestion control"), report.Column("queue"), report.Column("case")]
    heads += [report.Column(m.title, m.unit) for m in ran.scenario.measures]
    body: list[list[Value]] = [
        [row.cc, row.aqm, row.rest, *(_cell(row, m.name) for m in ran.scenario.measures)] for row in rows
    ]
    pieces.append(report.Table(heads, body, BRACKETS if any(row.fewer for row in rows) else ""))
    if drawn and any(outcome.record.series_ms for outcome in ran.result.outcomes):
        pieces.append(_over_time(ran))
    if ran.claims:
        pieces.append(verdicts.table(ran.claims))
    pieces += [report.Code(str(failure)) for failure in ran.result.failures]
    pieces.append(report.Code(ran.result.spec, "The experiment"))
    return report.Section(ran.scenario.name, pieces)


def _sample(ran: Ran, rows: Sequence[Row]) -> str:
    """How many runs are behind a point, and the seeds of the scenario's."""
    from ..report.provenance import seeds

    few, most = (end(row.n for row in rows) for end in (min, max))
    n = f"n = {most}" if few == most else f"n = {few} to {most}"
    word = "seed" if len({outcome.seed for outcome in ran.result.outcomes}) == 1 else "seeds"
    lacking = any(m.name in row.fewer for row in rows for m in ran.scenario.measures[:DRAWN])
    mean = "the mean of those of its case's runs that have a value" if lacking else "the mean of its case's runs"
    what = "one run" if most == 1 else mean
    return f"Each point is {what} ({n}, {word} {seeds(ran.result)})."


def _over_time(ran: Ran) -> Section:
    """Delay, queue and open connections in steps, a drawing per queue and a line per congestion control."""
    from .. import report
    from ..report.over_time import ink, strokes
    from . import steady

    link = ran.scenario.measures[0].metric.split(".")[1]
    groups: dict[str, list[tuple[str, Outcome, float | None]]] = {}
    rows = list(ran.rows)
    names, queues, rest = labels(rows, ran.asked)
    every = looks(rows)
    seen = {name: every[row.cc] for name, row in zip(names, rows, strict=True)}
    cases = [case for case in ran.result.plan.cases if ran.result.of(case)]
    for case, cc, queue, other in zip(cases, names, queues, rest, strict=True):
        lines_of = groups.setdefault(" ".join(filter(None, (queue, other))), [])
        lines_of.append((cc, ran.result.of(case)[0], steady.offered(case)))
    pieces: list[Piece] = []
    for title, lines in list(groups.items())[:MOST_SERIES]:
        drawn = {cc: steady.trace(outcome, link) for cc, outcome, _ in lines}
        panels = []
        for name, unit, column in (("Delay", "ms", "delay_ms"), ("Queue", "packets", "queue_packets")):
            curves = [
                report.Line(cc, steps[column], ink(seen[cc].colour), dash=strokes(seen[cc].dash))
                for cc, steps in drawn.items()
            ]
            panels.append(report.Panel(name, unit, curves))
        time = next(iter(drawn.values()))["t_s"]
        settled = {cc: steady.of(outcome, link, offered) for cc, outcome, offered in lines}
        words = ", ".join(f"{cc} {'not' if at is None else f'{at:.1f} s'}" for cc, at in settled.items())
        seed = lines[0][1].seed
        pieces.append(report.Series(time, panels, f"{title or link}, the run of seed {seed}. Settled after: {words}."))
    left = len(groups) - len(pieces)
    if left > 0:
        pieces.append(f"{left} more are in the results folder.")
    return report.Section("Over time", pieces, folded=True)


def _cell(row: Row, figure: str) -> Value:
    from ..report import Cell

    value = row.figures[figure]
    if figure in row.fewer:
        return Cell(row.text(figure), value)
    return None if math.isnan(value) else value
