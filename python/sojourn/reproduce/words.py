"""A comparison in words and on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..fitting import Column, fitted
from ..stats import number, spanned
from ..units import quantity
from .cells import VERDICTS, Cell, Comparison, Score

if TYPE_CHECKING:
    from rich.console import RenderableType


#: Where it is said which of the project's own cells and claims are known to differ.
DIFFERENCES = (
    "Cells that are outside and claims that fail in full runs are known, each with its cause: docs/differences.md; a "
    "sample (--quick) may have others."
)


@dataclass(frozen=True)
class Texts:
    """A cell in words: column with its unit, published, our median, its spread, the difference."""

    column: str
    published: str
    ours: str
    spread: str
    difference: str


def texts(cell: Cell) -> Texts:
    """A cell as tables print it, in the unit a reader expects (utilisation in per cent)."""

    unit, scale = unit_of(cell)
    spread = ""
    if cell.p20 is not None and cell.p80 is not None and cell.p20 != cell.p80:
        spread = f"{number(scale * cell.p20)} – {number(scale * cell.p80)}"
    return Texts(
        # A column that is itself a swept value, such as "10 ms", would be misread with a second unit.
        column=cell.column if quantity(cell.column) or not unit else f"{cell.column}, {unit}",
        published=cell.printed or f"{scale * cell.value:.6g}",
        ours="–" if cell.median is None else number(scale * cell.median),
        spread=spread,
        difference=_difference(cell, scale),
    )


def unit_of(cell: Cell) -> tuple[str, float]:
    """The unit in which a cell is shown, and the factor from its own to that one."""
    from ..figures import quantity

    _, unit, scale = quantity(cell.that)
    return unit, scale


def _difference(cell: Cell, scale: float) -> str:
    if cell.difference is None:
        return "–"
    size = abs(scale * cell.difference)
    if size <= 5e-5 * abs(scale * cell.value):
        return "0"
    return f"{'+' if cell.difference > 0 else '−'}{number(size)}"


def heading(comparison: Comparison) -> str:
    """The title of a table with its source, and its quantity where all cells have the same."""
    from ..figures import quantity
    from ..plot.data import axis_label

    title = f"{comparison.title} ({comparison.source})" if comparison.source else comparison.title
    figures = {cell.that for cell in comparison.cells}
    if len(figures) != 1:
        return title
    called, unit, _ = quantity(figures.pop())
    if called.lower() not in comparison.title.lower():
        return f"{title}: {axis_label(called, unit)}"
    return f"{title}, in {unit}" if unit else title


def order_sentences(comparison: Comparison) -> list[tuple[str, bool]]:
    """Whether our rows rank as published, in words and as such, for each column that should."""
    said = []
    for column, kept in comparison.order:
        verdicts = {cell.verdict for cell in comparison.cells if cell.column == column}
        why = [word for verdict, word in (("missing", "not run"), ("absent", "without a value")) if verdict in verdicts]
        left_out = f" (rows {' or '.join(why)} left out)" if why else ""
        said.append((f"{column}: our rows {'rank' if kept else 'do NOT rank'} in the published order{left_out}", kept))
    return said


def table(comparison: Comparison, width: int = 160) -> RenderableType:
    """One line per cell for a terminal of this width: published, ours, difference, verdict."""
    from rich.console import Group
    from rich.text import Text

    words = [texts(cell) for cell in comparison.cells]
    spread = any(w.spread for w in words)
    columns = [
        Column("row", words=True, key=True),
        Column("column", words=True, key=True),
        Column("published"),
        Column("ours"),
        *([Column("20–80 %", spare=2)] if spread else []),
        Column("difference", spare=1),
        Column("verdict", left=True),
    ]
    rows: list[list[Text]] = []
    before = None
    for cell, w in zip(comparison.cells, words, strict=True):
        word, colour = VERDICTS[cell.verdict]
        figures = [w.published, w.ours, *([w.spread] if spread else []), w.difference]
        named = cell.row if cell.row != before else ""
        rows.append([*map(Text, (named, w.column, *figures)), Text(word, style=colour)])
        before = cell.row
    order = [Text(sentence, style="" if kept else "red") for sentence, kept in order_sentences(comparison)]
    own = own_sentence(comparison)
    counts = [cell.n for cell in comparison.cells if cell.n]
    if counts:
        percentiles = "; 20–80 %: their 20th and 80th percentile" if spread else ""
        order.append(Text(f"ours: median over {spanned(counts, 'run')}{percentiles}", style="dim"))
    score = [Text(comparison.score, style="bold"), *([Text(own)] if own else [])]
    return Group(Text(heading(comparison), style="bold"), fitted(columns, rows, width), *order, *score)


def own_sentence(comparison: Comparison) -> str | None:
    """What a run of ours would score, if that is less than all: then chance is in the table, and in its score."""
    own = comparison.own
    if own is None or own.median == own.cells:
        return None
    of_numbers = f"{own.within} of the {own.cells} printed as numbers; " if own.cells < comparison.judged else ""
    return (
        f"{of_numbers}for comparison: one of our own runs, taken as the published one, would match {own.median:.0f} of "
        f"{own.cells} cells ({own.p5:.0f} to {own.p95:.0f} in 90 % of runs)"
    )


def index(tables: Iterable[tuple[str, Comparison]], width: int = 160) -> RenderableType:
    """A line per table for a terminal of this width: its file, its title and its score."""
    from rich.text import Text

    scored = [(name, comparison, Score.of([comparison])) for name, comparison in tables]
    absent = any(score.absent for *_, score in scored)
    columns = [
        Column("experiment", words=True, key=True),
        Column("table", words=True, key=True),
        *map(Column, ("within", "off", "undecided", *(["no value"] if absent else []), "not run", "%")),
        Column("own runs", spare=1),
    ]
    rows: list[list[Text]] = []
    before = None
    for name, comparison, score in scored:
        share = "–" if score.share is None else f"{100 * score.share:.0f}"
        style = "" if score.share is None or score.reached else "red"
        cells = [
            name if name != before else "",
            comparison.title,
            f"{score.within}/{score.judged}",
            str(score.outside),
            score.undecided_text,
            *([str(score.absent)] if absent else []),
            str(score.missing),
            share,
            comparison.own.text if comparison.own else "–",
        ]
        rows.append([Text(cell, style=style) for cell in cells])
        before = name
    return fitted(columns, rows, width)


def altered(changes: Mapping[str, str]) -> str:
    """What is to be known before scores of experiments that are not as they were published."""
    listed = ", ".join(f"{key}={value}" for key, value in changes.items())
    return f"Altered: {listed}. Cells and scores are of that, not of the experiments as published."


def total(score: Score) -> str:
    """The score of everything in a sentence."""
    said = f"All together: {score.text}; {score.reached} of {score.tables} tables have 60 % or more"
    return f"{said} ({score.medians})." if score.medians else f"{said}."
