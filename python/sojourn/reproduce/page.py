"""Comparisons as pages: one experiment's with its result, or all of them behind an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .. import verdicts
from ..terminal import say
from .cells import VERDICTS, Comparison, Score
from .figures import drawn, figures
from .words import altered, order_sentences, own_sentence, texts, unit_of

if TYPE_CHECKING:
    from .._types import Claim
    from ..errors import SojournError
    from ..report import Piece, Section, Value
    from ..result import Result


@dataclass(frozen=True)
class Reproduced:
    """What became of one experiment file: its tables beside ours, its claims, what failed."""

    name: str
    title: str
    tables: tuple[Comparison, ...] = ()
    claims: tuple[Claim, ...] = ()
    failures: tuple[str, ...] = ()
    result: Result | None = field(default=None, repr=False)
    refused: SojournError | None = field(default=None, repr=False)
    """Why nothing of it could be run."""

    @property
    def ok(self) -> bool:
        """Everything ran and no claim fails."""
        return not self.failures and not any(claim.fails for claim in self.claims)

    @property
    def differs(self) -> bool:
        """Whether a claim fails, or a cell is outside its tolerance or has no value."""
        score = Score.of(self.tables)
        return any(claim.fails for claim in self.claims) or score.outside + score.absent > 0


def section(comparison: Comparison) -> Section:
    """A table as part of a page: score, drawings, sortable table."""
    from .. import plot, report
    from ..plot import published

    body: list[list[Value]] = []
    for cell in comparison.cells:
        word, _ = VERDICTS[cell.verdict]
        shown = texts(cell)
        _, scale = unit_of(cell)
        kind = {"ok": "ok", "off": "off", "undecided": "undecided", "no value": "off"}.get(word, "")
        median = None if cell.median is None else scale * cell.median
        difference = None if cell.difference is None else scale * cell.difference
        body.append(
            [cell.row, shown.column, report.Cell(shown.published, scale * cell.value), report.Cell(shown.ours, median),
             shown.spread, report.Cell(shown.difference, difference), cell.n, report.Cell(word, word, kind)]
        )  # fmt: skip
    heads = ["row", "column", "published", "ours", "20–80 %", "difference", "n", "verdict"]
    score = Score.of([comparison])
    good = "ok" if score.judged and score.within == score.judged else ""
    badges = [report.Badge(f"{score.within} of {score.judged}", "cells within tolerance", good)] if score.judged else []
    if score.undecided:
        badges.append(report.Badge(score.undecided_text, "undecided (median within): our spread is wider", "undecided"))
    if score.absent:
        badges.append(report.Badge(str(score.absent), "without a value in some run", ""))
    if score.missing:
        badges.append(report.Badge(str(score.missing), "not run", ""))
    own = own_sentence(comparison)
    pieces: list[report.Piece] = [comparison.source] if comparison.source else []
    pieces += [
        report.Badges(badges),
        report.Figure(
            plot.to_svg(lambda: published.beside(comparison, title="")),
            "Published values (diamonds; ranges in frames) with their tolerance (grey), our medians (dots) with "
            "20th to 80th percentile.",
        ),
        *(sentence + "." for sentence, _ in order_sentences(comparison)),
        *([own[0].upper() + own[1:] + "."] if own else []),
        report.Table(heads, body, "Ours: median over repetitions (n)."),
    ]
    return report.Section(comparison.title or "Published beside ours", pieces)


def write_drawings(
    result: Result, comparisons: Sequence[Comparison], folder: Path, tell: Callable[[str], object] = say
) -> list[Path]:
    """Draws each table with ours beside it into `published.pdf`, or `published-1.pdf` and on for several.

    What the file asks for in the publication's form becomes `figure.pdf`, or `figure-1.pdf` and on; `tell` is told
    of what cannot be drawn.
    """
    from ..plot import published, style
    from ..plot.data import footer, shown

    made = []
    with style.styled():
        for n, comparison in enumerate(comparisons, start=1):
            name = "published.pdf" if len(comparisons) == 1 else f"published-{n}.pdf"
            fig = published.beside(comparison)
            made.append(style.save(fig, folder / name, result.title, footer(shown(result))))
    return [*made, *drawn(result, folder, tell)]


def write_page(
    result: Result, comparisons: Sequence[Comparison], folder: Path, changes: Mapping[str, str] | None = None
) -> Path:
    """Writes `report.html`: what was altered, the comparison, then the result itself."""
    from ..report import page_of, save

    before = [*([altered(changes)] if changes else []), *(section(c) for c in comparisons), *figures(result)]
    return save(page_of([result], before=before), folder / "report.html")


def write_all(
    everything: Sequence[Reproduced], out: Path, quick: bool, changes: Mapping[str, str] | None = None
) -> Path:
    """Writes one page about all experiments: scores of every table first, then a section for each file."""
    from .. import report
    from .._engine import version

    tables = [table for one in everything for table in one.tables]
    score = Score.of(tables)
    scored = [
        report.Badge("–" if score.share is None else f"{100 * score.share:.0f} %", f"of {score.judged} cells"),
        report.Badge(f"{score.reached} of {score.tables}", "tables have 60 % or more"),
        report.Badge(score.undecided_text, "undecided (median within)", "undecided" if score.undecided else ""),
    ]
    # Some files have claims alone.
    badges = scored if tables else []
    claims = [claim for one in everything for claim in one.claims]
    if claims:
        held, left = verdicts.score(claims)
        badges.append(report.Badge(held, "claims hold"))
        badges += [report.Badge(left, "claims not judged")] if left else []
    rows: list[list[Value]] = []
    sections: list[Piece] = []
    for one in everything:
        link = _slug(one.name)
        for table in one.tables:
            mine = Score.of([table])
            share = None if mine.share is None else 100 * mine.share
            kind = "" if share is None else "ok" if mine.reached else "off"
            own = report.Cell(table.own.text, table.own.median) if table.own else report.Cell("–")
            percent = report.Cell("–" if share is None else f"{share:.0f}", share, kind)
            rows.append(
                [report.Cell(one.name, one.name, link=link), table.title, mine.within, mine.judged, mine.outside,
                 report.Cell(mine.undecided_text, mine.undecided), *([mine.absent] if score.absent else []),
                 mine.missing, percent, own]
            )  # fmt: skip
        sections.append(report.Section(one.name, _pieces(one)))
    absent = ["no value"] if score.absent else []
    heads = ["experiment", "table", "within", "of", "off", "undecided", *absent, "not run", "%", "own runs"]
    sample = "A sample: few repetitions of some cases. " if quick else ""
    lead = (
        (f"{altered(changes)} " if changes else "")
        + sample
        + "Published beside ours, cell by cell; ours is the median over repetitions."
    )
    medians = [f"{score.medians[0].upper()}{score.medians[1:]}."] if score.medians else []
    scores: list[Piece] = [report.Badges(badges), *medians] if badges else ["Nothing was judged."]
    index = report.Section("Scores", [*scores, *([report.Table(heads, rows)] if rows else [])])
    hashes = " ".join(one.result.hash for one in everything if one.result is not None)
    specs = f", from specs {hashes}" if hashes else ""
    footer = f"Made by sojourn {version().version}, model {version().model}{specs}."
    return report.save(report.Page("Published results, reproduced", [index, *sections], lead, footer), out, "--html")


def _pieces(one: Reproduced) -> list[Piece]:
    from .. import report

    pieces: list[Piece] = [one.title] if one.title else []
    pieces += [section(table) for table in one.tables]
    if one.result is not None and one.result.outcomes:
        pieces += figures(one.result)
    if one.claims:
        pieces.append(verdicts.table(one.claims))
    pieces += [report.Code(failure) for failure in one.failures]
    return pieces


def _slug(title: str) -> str:
    """The anchor that the page gives a section of this title."""
    import re

    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
