#!/usr/bin/env python3
"""Writes the table of docs/survey.md from a run of the survey: no figure on that page is typed.

.venv/bin/sojourn suite survey --json > survey.json
.venv/bin/python docs/survey.py survey.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import markdown

from sojourn._engine import version
from sojourn.stats import number
from sojourn.suite.pieces import BRACKETS
from sojourn.suite.survey_table import COLUMNS

PAGE = Path(__file__).parent / "survey.md"


def section(answer: dict[str, object]) -> str:
    """The columns that the terminal shows, in Markdown."""
    rows = answer["overview"]
    assert isinstance(rows, list)
    shown = [column for column in COLUMNS if column.brief and column.title in rows[0]]
    heads = [f"{column.title}{', ' + column.unit if column.unit else ''}" for column in shown]
    lines = []
    for row in rows:
        cells = [text(row, column.title) for column in shown]
        lines.append([f"`{row['congestion control']}`", row["family"], row["evidence"], *cells])
    kind = "the whole" if answer["length"] == "full" else f"`--{answer['length']}`"
    made = markdown.table(["", "family", "evidence", *heads], lines, "lllr")
    lacking = any(column.title in row["fewer"] for row in rows for column in shown)
    return "\n\n".join([f"Of {kind} suite, model {version().model}:", made, *([BRACKETS] if lacking else [])])


def text(row: dict[str, Any], title: str) -> str:
    """A figure, with the number of its runs in brackets where not all have it."""
    value = row[title]
    if value is None:
        return "–"
    return f"{number(value)} ({row['fewer'][title]})" if title in row["fewer"] else number(value)


def main() -> None:
    """Replace what stands between the marks."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    made = section(json.loads(Path(sys.argv[1]).read_text("utf-8")))
    PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "survey", made), "utf-8")


if __name__ == "__main__":
    main()
