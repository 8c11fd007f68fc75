"""Reports: one HTML file that opens without a network, made of small pieces.

    from sojourn.report import Page, Section, Table, save
    save(Page("Queues", [Section("Delay", [Table(["queue", "ms"], [["codel", 5.1]])])]), Path("queues.html"))

`write` makes the page of whole results; suites put together their own from the same pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .pieces import (
    Badge,
    Badges,
    Cell,
    Code,
    Column,
    Facts,
    Figure,
    Line,
    Page,
    Panel,
    Piece,
    Section,
    Series,
    Table,
    Tick,
    Value,
    thinned,
)
from .render import render, save

if TYPE_CHECKING:
    from ..result import Result

__all__ = [
    "Badge",
    "Badges",
    "Cell",
    "Code",
    "Column",
    "Facts",
    "Figure",
    "Line",
    "Page",
    "Panel",
    "Piece",
    "Section",
    "Series",
    "Table",
    "Tick",
    "Value",
    "page_of",
    "render",
    "save",
    "thinned",
    "write",
]


def write(
    results: Sequence[Result],
    out: str | Path,
    title: str | None = None,
    span: tuple[float | None, float | None] = (None, None),
    link: str | None = None,
    tell: Callable[[str], object] | None = None,
) -> Path:
    """Writes one page about results, with published values beside ours where there are some; returns its path.

    Runs over time are drawn within `span` (seconds) alone, then as finely as they were recorded. Queues in pictures are
    those of `link`, by default of each case's bottleneck. `tell` hears of pictures that could not be drawn.
    """
    from ..errors import SpecError
    from ..reproduce import compare, section

    folders = [result.path.resolve() for result in results if result.path]
    for result in results:
        if result.path and folders.count(result.path.resolve()) > 1:
            raise SpecError(f"{result.path}: given more than once; a page has each result once")
    before = [section(comparison) for result in results for comparison in compare(result)]
    page = page_of(results, title, before, span=span, link=link)
    if tell:
        for said in page.missing():
            tell(said)
    return save(page, Path(out))


def page_of(
    results: Sequence[Result],
    title: str | None = None,
    before: Sequence[Piece] = (),
    labels: Sequence[Sequence[str] | None] | None = None,
    span: tuple[float | None, float | None] = (None, None),
    link: str | None = None,
) -> Page:
    """The page of results, with pieces of the caller's own before them; `labels` names the cases of each result."""
    from ..stats import counted
    from .result import sections

    if not results:
        raise ValueError("a report needs at least one result")
    pieces: list[Piece] = list(before)
    names = list(labels) if labels is not None else [None] * len(results)
    if len(results) == 1:
        pieces += sections(results[0], names[0], span, link)
    else:
        pieces += [Section(r.title, sections(r, n, span, link)) for r, n in zip(results, names, strict=True)]
    runs = sum(len(r.outcomes) for r in results)
    cases = sum(len({o.case.index for o in r.outcomes}) for r in results)
    planned = sum(len(r.plan.cases) for r in results)
    of = f"{cases} of {counted(planned, 'case')}" if cases < planned else counted(cases, "case")
    lead = f"{of}, {counted(runs, 'run')}."
    lead += "".join(f" {r.title}: {r.partial}." for r in results if r.partial)
    lead += "".join(f" Failed: {failure}." for r in results for failure in r.failures)
    heading = title or "; ".join(dict.fromkeys(r.title for r in results))
    makers = dict.fromkeys(f"sojourn {r.version.version}, model {r.version.model}" for r in results)
    hashes = list(dict.fromkeys(r.hash for r in results))
    specs = f"spec{'s' if len(hashes) > 1 else ''} {' '.join(hashes)}"
    return Page(heading, pieces, lead, f"Made by {' and '.join(makers)}, from {specs}.")
