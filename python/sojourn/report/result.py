"""A result as sections of a page: figures beside tables, the run over time, how it can be repeated."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .. import plot
from ..errors import NotRecorded, SojournError
from ..plot.choose import Crowded
from ..plot.data import Shown, runs, shown, swept
from ..plot.keys import short, short_spec, texts
from ..plot.links import looking, place
from ..remarks import remarks
from ..tables import LINK, brackets, fairness, group_columns, legend, rows, telling
from ..units import on_axis, quantity
from .over_time import WHOLE, Span, series
from .pieces import Cell, Column, Figure, Piece, Section, Table, Value, no_picture
from .provenance import provenance

if TYPE_CHECKING:
    from ..result import Result

# A page of a large sweep stays readable and small: so many cases are drawn, the rest are in the tables.
CASES_IN_A_CDF = 12
CASES_IN_A_BOX = 40


def sections(
    result: Result, labels: Sequence[str] | None = None, span: Span = WHOLE, link: str | None = None
) -> list[Piece]:
    """Everything a page says about one result, its runs over time within `span`, pictures of the queue of `link`."""
    cases = looking(shown(result, labels), link)
    pieces: list[Piece] = [Section("Results", tables(result, labels))]
    pictures = figures(cases)
    if pictures:
        pieces.append(Section("Pictures", pictures))
    if claims := _claims(result):
        pieces.insert(0, claims)
    if over_time := series(cases, span):
        pieces.append(Section("Over time", over_time))
    pieces.append(Section("How to repeat it", provenance(result)))
    return pieces


def tables(result: Result, labels: Sequence[str] | None = None) -> list[Piece]:
    """Means over repetitions with their 95 % intervals, per case and group of flows, and per case and link."""
    cases = shown(result, labels)
    # Swept keys are columns of their own, to sort by; given labels say it all in one.
    keys = {} if labels is not None else swept(cases)
    written = {key: texts(values) for key, values in keys.items()}
    where = {
        c.case.label: [c.label] if labels is not None else [_swept(c.values.get(k), written[k]) for k in keys]
        for c in cases
    }
    heads = ["case"] if labels is not None else [short(key) for key in keys]
    mean = (
        "Mean ± 95 % interval over repetitions (n), with its [ends] where it would pass what a figure can be; no "
        "interval where repetitions do not differ."
    )
    pieces: list[Piece] = [f"note: {line}." for line in remarks(result)]
    pieces += [mean] if max(len(c.outcomes) for c in cases) > 1 else []
    pieces += [*fairness(result), *legend(result)]
    above, fewer = len(pieces), list[str]()
    for part, columns, names, caption in (
        ("groups", group_columns(result), ("flow", "cc"), "Flows"),
        ("links", LINK, ("link",), "Links"),
    ):
        lines = list(rows(result, part, columns))
        kept = telling(lines, columns)
        fewer = fewer or brackets(lines, columns)
        body: list[list[Value]] = []
        for row in lines:
            who: list[Value] = [row.name, short_spec(row.kind)] if len(names) == 2 else [row.name]
            body.append(
                [
                    *where[row.case],
                    *who,
                    row.n,
                    *(Cell(columns[i].text(row.cells[i], row.n), row.cells[i].mean) for i in kept),
                ]
            )
        units = [_unit(columns[i].title) for i in kept]
        if lines:
            pieces.append(Table([*heads, *names, "n", *(Column(name, unit) for name, unit in units)], body, caption))
    return [*pieces[:above], *fewer, *pieces[above:]]


def _swept(value: str | None, written: Mapping[str, str]) -> Cell:
    """A swept value, sorted by its number where it is one."""
    if value is None:
        return Cell("–")
    given = quantity(value)
    return Cell(written[value], given.amount if given else value)


def _unit(title: str) -> tuple[str, str]:
    """`RTT p95 ms` as its name and its unit."""
    name, _, unit = title.rpartition(" ")
    return (name, unit) if unit in ("ms", "%", "Mbit/s", "s", "packets") else (title, "")


def figures(cases: Sequence[Shown]) -> list[Piece]:
    """The drawings that suit a result: by what was swept and how many cases there are."""
    where = place(cases) or " at the bottleneck"
    keys = swept(cases)
    made: list[Piece] = []
    repeats = max(len(c.outcomes) for c in cases)
    pooled = f", of {many} together" if (many := runs(len(c.outcomes) for c in cases)) else ""
    numeric = [key for key, values in keys.items() if _numeric(values)]
    if len(cases) <= CASES_IN_A_CDF:
        made += _drawn("cdf", cases, f"Queue delay{where} of the packets that left in the measure window{pooled}.")
    elif len(cases) <= CASES_IN_A_BOX:
        made += _drawn("box", cases, f"Queue delay{where} in the measure window{pooled}.")
    if len(numeric) >= 2:
        for called, metric in (("Utilisation", "utilisation"), ("Mean queue delay", "queue_ms.mean")):
            heat = _drawn("heat", cases, f"{called}{where}, mean over repetitions.", metric=metric)
            made += [piece for piece in heat if piece not in made]  # what cannot be drawn is said once
    elif len(numeric) == 1 and len(keys[numeric[0]]) > 2:
        made += _drawn(
            "lines", cases, f"Means{where} over repetitions with 95 % bands.",
            metric=["utilisation", "queue_ms.mean"], x=numeric[0],
        )  # fmt: skip
    if 1 < len(cases) <= CASES_IN_A_CDF:
        what = "small: repetitions, large: means" if repeats > 1 else "one run each"
        what += ", ellipses: one standard deviation" if repeats > 2 else ""
        made += _drawn(
            "scatter", cases, f"Utilisation against queue delay{where} ({what}). Up and to the right is better."
        )
    return made


def _numeric(values: Sequence[str]) -> bool:
    return on_axis(values) is not None


def _drawn(kind: str, cases: Sequence[Shown], caption: str, **options: object) -> list[Piece]:
    try:
        return [Figure(plot.svg_of(kind, cases, **options), caption, f"{plot.KINDS[kind]}. {caption}")]
    except NotRecorded:  # a metric without values in this result: the page does without the drawing
        return []
    except Crowded as error:
        folder = next((str(case.result.path) for case in cases if case.result.path), "DIR")
        return [no_picture(f"{error}, in `sojourn plot {kind} {shlex.quote(folder)}`")]
    except SojournError as error:
        return [no_picture(error)]


def _claims(result: Result) -> Section | None:
    from ..api import claims
    from ..verdicts import table

    if not result.plan.expect:
        return None
    try:
        verdicts = claims(result)
    except (SojournError, NotRecorded) as error:
        return Section("Claims", [f"Not judged: {error}"])
    return Section("Claims", [table(verdicts)])
