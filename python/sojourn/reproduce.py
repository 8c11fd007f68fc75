"""A published table beside ours: run its experiment, compare cell by cell, draw both, say how many agree.

The comparison itself (median and 20th to 80th percentile over repetitions, tolerance, verdict) is the core's; here it
is printed, drawn and put on a page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _engine
from ._engine import Experiment, Plan, Record
from .errors import SpecError
from .stats import number

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from .report import Section
    from .result import Result

# Verdicts of the core, in our words and in a terminal's colours.
VERDICTS = {
    "within": ("ok", "green"),
    "outside": ("off", "red"),
    "undecided": ("undecided", "yellow"),
    "shown": ("", ""),
    "missing": ("not run", "yellow"),
}


@dataclass(frozen=True)
class Cell:
    """One printed value with ours beside it, in the metric's unit; `low` and `high` bound its tolerance."""

    row: str
    column: str
    that: str
    when: tuple[tuple[str, str], ...]
    value: float
    low: float | None
    high: float | None
    n: int
    median: float | None
    p20: float | None
    p80: float | None
    difference: float | None
    verdict: str


@dataclass(frozen=True)
class Comparison:
    """A published table with ours beside it; `order` tells whether our rows stand in the printed order."""

    title: str
    source: str
    cells: tuple[Cell, ...]
    order: tuple[tuple[str, bool], ...]
    within: int
    judged: int

    @property
    def undecided(self) -> int:
        """Cells whose tolerance is narrower than our own spread."""
        return sum(cell.verdict == "undecided" for cell in self.cells)

    @property
    def score(self) -> str:
        """`29 of 32 cells within tolerance (91 %), 1 undecided`."""
        share = f" ({100 * self.within / self.judged:.0f} %)" if self.judged else ""
        more = f", {self.undecided} undecided" if self.undecided else ""
        return f"{self.within} of {self.judged} cells within tolerance{share}{more}"


def compare(result: Result) -> list[Comparison]:
    """The published tables of an experiment beside its result."""
    if not result.plan.published:
        return []
    return [
        Comparison(
            title=table["title"],
            source=table["source"],
            cells=tuple(_cell(c) for c in table["cells"]),
            order=tuple((column, bool(kept)) for column, kept in table["order"]),
            within=table["within"],
            judged=table["judged"],
        )
        for table in json.loads(_engine.published(result.experiment, [o.raw for o in result.outcomes]))
    ]


def _cell(data: dict[str, Any]) -> Cell:
    return Cell(
        row=data["row"],
        column=data["column"],
        that=data["that"],
        when=tuple((key, value) for key, value in data["when"]),
        value=data["value"],
        **{key: data[key] for key in ("low", "high", "n", "median", "p20", "p80", "difference", "verdict")},
    )


def find(name: str) -> Path:
    """The experiment file of this path or name, such as `thesis/table-5.1` or `table-5.1`."""
    from difflib import get_close_matches

    from .catalogue import experiments

    if Path(name).is_file():
        return Path(name)
    known = {path: Path(path) for path, _ in experiments()}
    wanted = name.removesuffix(".toml").removeprefix("experiments/")
    for path in known.values():
        stem = path.with_suffix("").as_posix()
        if stem.endswith(f"/{wanted}") or stem == wanted:
            return path
    stems = {p.stem: p for p in known.values()}
    near = get_close_matches(Path(wanted).name, stems, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`sojourn list experiments` names them"
    raise SpecError(f"no experiment {name!r}; {hint}")


def run(
    path_or_name: str, quick: bool = False, out: Path | None = None, jobs: int | None = None, page: bool = True
) -> int:
    """Runs a published experiment; prints published, ours, difference and verdict, writes a drawing and a page.

    Returns 0 when every run finished and every claim of the file holds, 1 otherwise. Cells outside their tolerance
    lower the score, they are no failure.
    """
    from .api import claims
    from .store import place

    experiment = _engine.read(find(path_or_name))
    plan = _engine.check(experiment)
    if not plan.published:
        raise SpecError(f"{experiment.file} has no [published] values; `sojourn run` runs it")
    folder = out or place(experiment, plan)
    console = _console()
    result = simulate(experiment, plan, folder, quick=quick, jobs=jobs)
    comparisons = compare(result)
    for comparison in comparisons:
        console.print(table(comparison))
    if len(comparisons) > 1:
        within, judged = sum(c.within for c in comparisons), sum(c.judged for c in comparisons)
        console.print(f"[bold]All together: {within} of {judged} cells within tolerance[/]")
    verdicts = claims(result)
    for claim in verdicts:
        console.print(f"{'holds' if claim.holds else 'FAILS'}: {claim.name or claim.that} {claim.wanted}", markup=False)
    for failure in result.failures:
        print(f"failed: {failure}", file=sys.stderr)
    if page and result.outcomes:
        files = [*write_drawings(result, comparisons, folder), write_page(result, comparisons, folder)]
        console.print(*files, sep="\n", highlight=False, soft_wrap=True)
    return 0 if not result.failures and all(claim.holds for claim in verdicts) else 1


def simulate(
    experiment: Experiment,
    plan: Plan,
    folder: Path | None,
    *,
    quick: bool = False,
    jobs: int | None = None,
    record: Record = Record(),
) -> Result:
    """Runs an experiment with a progress bar, on from what `folder` holds; nothing is kept without one."""
    from rich.console import Console
    from rich.progress import Progress

    from .result import Outcome
    from .store import Store
    from .sweep import sweep

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(plan.title or experiment.file, total=None)

        def seen(_: Outcome, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        store = None if folder is None else lambda plan: Store(folder, experiment, plan)
        return sweep(experiment, quick=quick, record=record, jobs=jobs, store=store, seen=seen)


def table(comparison: Comparison) -> RenderableType:
    """One line per cell: published, ours, difference, verdict."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    words = [texts(cell) for cell in comparison.cells]
    spread = any(w.spread for w in words)
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    grid.add_column("row", min_width=12)
    grid.add_column("column", no_wrap=True)
    for head in ("published", "ours", *(["20–80 %"] if spread else []), "difference"):
        grid.add_column(head, justify="right", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    before = None
    for cell, w in zip(comparison.cells, words, strict=True):
        word, colour = VERDICTS[cell.verdict]
        figures = [w.published, w.ours, *([w.spread] if spread else []), w.difference]
        grid.add_row(Text(cell.row if cell.row != before else ""), Text(w.column), *figures, Text(word, style=colour))
        before = cell.row
    order = [Text(order_sentence(column, kept), style="" if kept else "red") for column, kept in comparison.order]
    return Group(Text(heading(comparison), style="bold"), grid, *order, Text(comparison.score, style="bold"))


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
    from .plot.data import number as parsed

    unit, scale = unit_of(cell)
    spread = ""
    if cell.p20 is not None and cell.p80 is not None and cell.p20 != cell.p80:
        spread = f"{number(scale * cell.p20)} – {number(scale * cell.p80)}"
    return Texts(
        # A column that is itself a swept value, such as "10 ms", would be misread with a second unit.
        column=cell.column if parsed(cell.column) or not unit else f"{cell.column}, {unit}",
        published=f"{scale * cell.value:.6g}",
        ours="–" if cell.median is None else number(scale * cell.median),
        spread=spread,
        difference=_difference(cell, scale),
    )


def unit_of(cell: Cell) -> tuple[str, float]:
    """The unit in which a cell is shown, and the factor from its own to that one."""
    from .plot.data import quantity

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
    from .plot.data import axis_label, quantity

    title = f"{comparison.title} ({comparison.source})" if comparison.source else comparison.title
    figures = {cell.that for cell in comparison.cells}
    return f"{title}: {axis_label(*quantity(figures.pop())[:2])}" if len(figures) == 1 else title


def order_sentence(column: str, kept: bool) -> str:
    """Whether our rows stand in the printed order by this column, in words."""
    return f"{column}: the rows {'stand in the printed order' if kept else 'do NOT stand in the printed order'}"


def section(comparison: Comparison) -> Section:
    """The same as part of a page: score, drawing, sortable table."""
    from . import plot, report
    from .plot import published

    body: list[list[report.Value]] = []
    for cell in comparison.cells:
        word, _ = VERDICTS[cell.verdict]
        shown = texts(cell)
        _, scale = unit_of(cell)
        kind = {"ok": "ok", "off": "off", "undecided": "undecided"}.get(word, "")
        median = None if cell.median is None else scale * cell.median
        difference = None if cell.difference is None else scale * cell.difference
        body.append(
            [cell.row, shown.column, report.Cell(shown.published, scale * cell.value), report.Cell(shown.ours, median),
             shown.spread, report.Cell(shown.difference, difference), cell.n, report.Cell(word, word, kind)]
        )  # fmt: skip
    heads = ["row", "column", "published", "ours", "20–80 %", "difference", "n", "verdict"]
    good = "ok" if comparison.judged and comparison.within == comparison.judged else ""
    badges = [report.Badge(f"{comparison.within} of {comparison.judged}", "cells within tolerance", good)]
    if comparison.undecided:
        badges.append(report.Badge(str(comparison.undecided), "undecided: our spread is wider", "undecided"))
    pieces: list[report.Piece] = [comparison.source] if comparison.source else []
    pieces += [
        report.Badges(badges),
        report.Figure(
            plot.to_svg(lambda: published.beside(comparison, title="")),
            "Published values (diamonds) with their tolerance (grey), our medians (dots) with 20th to 80th percentile.",
        ),
        *(order_sentence(column, kept) + "." for column, kept in comparison.order),
        report.Table(heads, body, "Ours: median over repetitions (n)."),
    ]
    return report.Section(comparison.title or "Published beside ours", pieces)


def write_drawings(result: Result, comparisons: Sequence[Comparison], folder: Path) -> list[Path]:
    """Draws each table with ours beside it into `published.pdf`, or `published-1.pdf` and on for several."""
    from .plot import published, style
    from .plot.data import footer, shown

    made = []
    with style.styled():
        for n, comparison in enumerate(comparisons, start=1):
            name = "published.pdf" if len(comparisons) == 1 else f"published-{n}.pdf"
            fig = published.beside(comparison)
            made.append(style.save(fig, folder / name, result.title, footer(shown(result))))
    return made


def write_page(result: Result, comparisons: Sequence[Comparison], folder: Path) -> Path:
    """Writes `report.html`: the comparison, then the result itself."""
    from .report import page_of, save

    return save(page_of([result], before=[section(c) for c in comparisons]), folder / "report.html")


def labels(result: Result, comparison: Comparison) -> list[str] | None:
    """The rows' names in print as names of the cases, where every case has one of its own."""
    names = []
    for case in result.plan.cases:
        if not result.of(case):
            continue
        rows = {c.row for c in comparison.cells if all(case.values.get(k) == v for k, v in c.when)}
        if len(rows) != 1:
            return None
        names.append(rows.pop())
    return names if len(set(names)) == len(names) else None


def _console() -> Console:
    from rich.console import Console

    return Console()
