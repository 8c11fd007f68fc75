"""Tables that fit a terminal: no figure is ever cut, for a cut figure would be a wrong figure.

What is too wide has its heads folded first, then its words; columns that may be missed are left out and named above it;
and what is still too wide goes on below, with the columns that tell the lines apart before each part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

#: Words are folded to no less, unless one column of figures beside them asks for it.
LEGIBLE = 12


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; figures stand to the right and are never folded."""

    head: str
    left: bool = False
    #: Whether its cells are words, which fold.
    words: bool = False
    #: Whether it tells lines apart, and so stands before every part of a table in parts; such columns come first.
    key: bool = False
    #: Whether it is left out, and named, where there is no room for it: the highest number first, 0 never.
    spare: int = 0


def fitted(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int, title: str = "") -> RenderableType:
    """Draw a table for a terminal of this width, with every figure whole."""
    from rich.console import Group
    from rich.text import Text

    kept, left_out = list(range(len(columns))), []
    for least in sorted(kept, key=lambda i: -columns[i].spare):
        if _fits(columns, rows, kept, width) or not columns[least].spare:
            break
        kept.remove(least)
        left_out.append(least)
    made: list[RenderableType] = []
    if left_out:  # before the table, whose end may be pages away
        if title:
            made.append(_named(title))
            title = ""
        heads = (columns[i].head.replace("\n", " ") for i in sorted(left_out))
        made.append(Text(f"too narrow for {', '.join(heads)}", style="dim"))
    made += (
        _drawn(columns, rows, part, width, title if n == 0 else "")
        for n, part in enumerate(_parts(columns, rows, kept, width))
    )
    return made[0] if len(made) == 1 else Group(*made)


def one_part(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> bool:
    """Whether the whole table fits, with its columns beside each other."""
    return _fits(columns, rows, range(len(columns)), width)


def _parts(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], kept: Sequence[int], width: int
) -> Iterator[list[int]]:
    """The columns of each part: as many as fit, and never less than one besides those that tell the lines apart."""
    keys = [i for i in kept if columns[i].key]
    part = list(keys)
    for i in kept:
        if columns[i].key:
            continue
        if part != keys and not _fits(columns, rows, [*part, i], width):
            yield part
            part = list(keys)
        part.append(i)
    yield part


def _fits(columns: Sequence[Column], rows: Sequence[Sequence[Text]], shown: Sequence[int], width: int) -> bool:
    return _taken([_least(columns[i], _cells(rows, i)) for i in shown]) <= width


def _taken(widths: Sequence[int]) -> int:
    """The width of a table: a space at either edge, and two between columns."""
    return sum(widths) + 2 * len(widths)


def _cells(rows: Sequence[Sequence[Text]], i: int) -> list[str]:
    return [row[i].plain for row in rows]


def _least(column: Column, cells: Sequence[str]) -> int:
    """The width that a column cannot do without: its longest figure, and the longest word of its head."""
    longest = _longest(cells)
    return max(min(longest, LEGIBLE) if column.words else longest, _longest(column.head.split()))


def _most(column: Column, cells: Sequence[str]) -> int:
    return max(_longest(cells), _longest(column.head.split("\n")))


def _longest(texts: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _named(title: str) -> Text:
    from rich.text import Text

    return Text(title, style="italic")


def _drawn(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], shown: Sequence[int], width: int, title: str
) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = [_most(columns[i], _cells(rows, i)) for i in shown]
    least = [_least(columns[i], _cells(rows, i)) for i in shown]
    # Heads of figures first, the longest words next; where even that does not do, words fold to what is left.
    for words, floors in ((False, least), (True, least), (True, [4 if columns[i].words else 0 for i in shown])):
        foldable = [n for n, i in enumerate(shown) if columns[i].words == words]
        while (over := _taken(widths) - width) > 0:
            wide = max((n for n in foldable if widths[n] > floors[n]), key=lambda n: widths[n], default=None)
            if wide is None:
                break
            widths[wide] -= 1 if over < 100 else over // 2
            widths[wide] = max(widths[wide], floors[wide])
    named = _named(title) if title else None
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=named, title_justify="left")
    for i, wide in zip(shown, widths, strict=True):
        table.add_column(Text(columns[i].head), justify="left" if columns[i].left or columns[i].words else "right",
                         width=wide, overflow="fold")  # fmt: skip
    for row in rows:
        table.add_row(*(row[i] for i in shown))
    return table
