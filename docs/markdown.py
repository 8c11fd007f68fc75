"""What scripts write into pages: tables, and parts between `<!-- generated: NAME -->` and the next `<!-- end -->`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

END = "<!-- end -->"
_RULES = {"l": "---", "r": "--:"}


def filled(text: str, name: str, made: str) -> str:
    """The page with `made` in the place of what stood there.

    Raises ValueError where the page has no such part, or two.
    """
    begin = f"<!-- generated: {name} -->"
    before, after = text.split(begin)
    return f"{before}{begin}\n\n{made}\n\n{END}{after.split(END, 1)[1]}"


def settle(page: Path, fresh: str) -> int:
    """Write the page, or, where the script was called with --check, tell whether it is as written; the exit code."""
    if "--check" not in sys.argv[1:]:
        page.write_text(fresh, "utf-8")
    elif fresh != page.read_text("utf-8"):
        print(f"docs/{page.name} is out of date: run docs/{Path(sys.argv[0]).name}", file=sys.stderr)
        return 1
    return 0


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str = "l") -> str:
    """A table, without a newline at its end. `align` has "l" or "r" for each column, the last one for the rest, too."""
    rules = [_RULES[letter] for letter in align.ljust(len(heads), align[-1])]
    lines = [line(heads), f"|{'|'.join(rules)}|", *map(line, rows)]
    return "\n".join(lines)


def line(cells: Sequence[str]) -> str:
    """One row of a table."""
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def cell(text: str) -> str:
    """Any text, as a cell holds it."""
    return " ".join(text.split()).replace("|", "\\|")
