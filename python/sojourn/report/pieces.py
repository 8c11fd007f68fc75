"""What a page is made of: plain frozen pieces, put together by whoever has something to show.

    page = Page("Queues", [Section("Delay", ["Mean of ten seeds.", Table(…), Figure(svg), Series(…)])])
    save(page, Path("queues.html"))

Text is text everywhere: it is escaped when rendered. The one exception is a figure's SVG, which comes from
`sojourn.plot.svg` and is cleaned on the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """A cell whose look says more than its text: its sorting key, a verdict (ok, off, undecided), a link."""

    text: str
    sort: float | str | None = None
    kind: str = ""
    link: str = ""


Value: TypeAlias = "str | float | int | Cell | None"


@dataclass(frozen=True)
class Column:
    """A column of a table; numbers stand to the right, with `digits` after the point (default three significant)."""

    name: str
    unit: str = ""
    digits: int | None = None


@dataclass(frozen=True)
class Table:
    """A table, sortable by any column."""

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Value]]
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG text, with words for those who cannot see it."""

    svg: str
    caption: str = ""
    alt: str = ""


@dataclass(frozen=True)
class Line:
    """One line of a panel over the shared time; colours as #rrggbb, or `ink` for the page's own."""

    name: str
    values: Floats
    colour: str = "ink"
    dashed: bool = False
    filled: bool = False
    stepped: bool = False
    dots: bool = False
    dash: tuple[float, ...] = ()
    """Lengths of strokes and gaps in widths of the line; without any, a dashed line has the usual ones."""
    width: float = 1.0
    """Beside that of other lines."""


@dataclass(frozen=True)
class Tick:
    """A moment worth a tick under a panel, such as a back-off, with what is said about it at the cursor.

    Ticks of one `lane` stand in a row that bears its name.
    """

    at: float
    colour: str
    word: str
    note: str = ""
    lane: str = ""


@dataclass(frozen=True)
class Panel:
    """One panel of a series: a quantity with its unit, and its lines."""

    name: str
    unit: str
    lines: Sequence[Line]
    ticks: Sequence[Tick] = ()
    height: int = 150
    words: Mapping[int, str] = field(default_factory=dict)
    """What the numbers of its axis stand for, where they are no quantity: modes, states."""


@dataclass(frozen=True)
class Series:
    """Stacked panels over one time axis in seconds; cursor and zoom go through all of them."""

    time: Floats
    panels: Sequence[Panel]
    caption: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with values: seeds, versions, hashes."""

    pairs: Mapping[str, Value]


@dataclass(frozen=True)
class Code:
    """Text in its own spacing, such as an experiment file; folded away when `folded` gives it a heading."""

    text: str
    folded: str = ""


@dataclass(frozen=True)
class Badge:
    """A figure in large type with a word under it: a score, a count."""

    value: str
    word: str
    kind: str = ""


@dataclass(frozen=True)
class Badges:
    """Badges side by side."""

    badges: Sequence[Badge]


class Missing(str):
    """A paragraph in the place of a picture that could not be drawn; whoever makes the page is told as well."""

    __slots__ = ()


def no_picture(error: object) -> Missing:
    """What stands in a picture's place: damaged data are not passed over."""
    return Missing(f"No picture: {error}")


Piece: TypeAlias = "str | Table | Figure | Series | Facts | Code | Badges | Section"


@dataclass(frozen=True)
class Section:
    """A heading with pieces under it; strings among them are paragraphs, sections nest."""

    title: str
    pieces: Sequence[Piece] = ()
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """A whole page. `lead` stands under the title, `footer` at the end."""

    title: str
    pieces: Sequence[Piece] = ()
    lead: str = ""
    footer: str = ""
    contents: bool = field(default=True)

    def missing(self) -> list[Missing]:
        """What is said in the place of pictures."""
        return _missing(self.pieces)


def _missing(pieces: Sequence[Piece]) -> list[Missing]:
    found: list[Missing] = []
    for piece in pieces:
        if isinstance(piece, Section):
            found += _missing(piece.pieces)
        elif isinstance(piece, Missing):
            found.append(piece)
    return found


def thinned(time: Floats, columns: Sequence[Floats], points: int = 3000) -> tuple[Floats, list[Floats]]:
    """At most `points` of each column, its spikes kept: the smallest and the largest value of every stretch.

    Columns that are short enough come back as they are. Stretches without a value stay without.
    """
    if len(time) <= points:
        return time, list(columns)
    stretches = np.array_split(np.arange(len(time)), max(points // 2, 1))
    at = np.concatenate([[time[s[0]], time[s[len(s) // 2]]] for s in stretches])
    thin = []
    for values in columns:
        kept = np.full(len(at), math.nan)
        for i, s in enumerate(stretches):
            part = values[s]
            if np.isfinite(part).any():
                low, high = int(np.nanargmin(part)), int(np.nanargmax(part))
                kept[2 * i], kept[2 * i + 1] = part[min(low, high)], part[max(low, high)]
        thin.append(kept)
    return at, thin
