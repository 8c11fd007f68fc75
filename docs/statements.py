#!/usr/bin/env python3
"""Writes what the suites' statements measured into docs/tcpeval.md, from runs: no figure of those tables is typed.

.venv/bin/sojourn suite tcpeval --quick --json > tcpeval.json
.venv/bin/sojourn suite rfc7928 --quick --json > rfc7928.json
.venv/bin/sojourn suite tcpeval --few --json > few.json
.venv/bin/python docs/statements.py tcpeval.json rfc7928.json few.json

Of runs at the files' own length (--few) only what the quick ones, which must be given before them, judge otherwise is
told. With --check it writes nothing; exit code 1 if the tables are out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import markdown

from sojourn._engine import version

PAGE = Path(__file__).parent / "tcpeval.md"
VERDICTS = {True: "holds", False: "**fails**", None: "not judged"}


def head(answer: dict[str, Any]) -> str:
    """The command that made it, and the model."""
    option = "" if answer["length"] == "full" else f" --{answer['length']}"
    return f"`sojourn suite {answer['suite']}{option}`, model {version().model}:"


def section(answer: dict[str, Any]) -> str:
    """A suite's statements with what was measured, in Markdown."""
    rows = [[one["says"], one["source"], one["measured"], VERDICTS[one["holds"]]] for one in answer["statements"]]
    return f"{head(answer)}\n\n" + markdown.table(["statement", "where", "measured", ""], rows)


def otherwise(answer: dict[str, Any], quick: dict[str, Any]) -> str:
    """How many statements hold in longer runs, and those that do only there, or only in the quick ones."""
    before = {one["name"]: one["holds"] for one in quick["statements"]}
    rows = [
        [one["says"], one["measured"], VERDICTS[one["holds"]]]
        for one in answer["statements"]
        if one["holds"] != before[one["name"]]
    ]
    held = sum(one["holds"] is True for one in answer["statements"])
    lead = f"{head(answer)} {held} of {len(answer['statements'])} hold"
    if not rows:
        return f"{lead}, the same."
    return f"{lead}, and of these the verdict is another:\n\n" + markdown.table(["statement", "measured", ""], rows)


def main() -> int:
    """Replace what stands between the marks of each suite, or tell whether it is as written."""
    files = [name for name in sys.argv[1:] if name != "--check"]
    if not files:
        sys.exit(__doc__)
    fresh = PAGE.read_text("utf-8")
    quick: dict[str, dict[str, Any]] = {}
    for name in files:
        answer = json.loads(Path(name).read_text("utf-8"))
        suite = answer["suite"]
        if answer["length"] == "few":
            fresh = markdown.filled(fresh, f"{suite} --few", otherwise(answer, quick[suite]))
        else:
            quick[suite] = answer
            fresh = markdown.filled(fresh, suite, section(answer))
    return markdown.settle(PAGE, fresh)


if __name__ == "__main__":
    sys.exit(main())
