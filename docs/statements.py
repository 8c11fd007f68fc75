#!/usr/bin/env python3
"""Writes what the suites' statements measured into docs/tcpeval.md, from runs: no figure of those tables is typed.

.venv/bin/sojourn suite tcpeval --quick --json > tcpeval.json
.venv/bin/sojourn suite rfc7928 --quick --json > rfc7928.json
.venv/bin/python docs/statements.py tcpeval.json rfc7928.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sojourn._engine import version

PAGE = Path(__file__).parent / "tcpeval.md"
END = "<!-- end -->"


def table(answer: dict[str, Any]) -> str:
    """A suite's statements with what was measured, in Markdown."""
    lines = ["| statement | where | measured | |", "|---|---|---|---|"]
    for one in answer["statements"]:
        verdict = {True: "holds", False: "**fails**", None: "not judged"}[one["holds"]]
        lines.append(f"| {one['says']} | {one['source']} | {one['measured']} | {verdict} |")
    kind = " --quick" if answer["quick"] else ""
    return f"`sojourn suite {answer['suite']}{kind}`, model {version().model}:\n\n" + "\n".join(lines)


def main() -> None:
    """Replace what stands between the marks of each suite."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    text = PAGE.read_text("utf-8")
    for name in sys.argv[1:]:
        answer = json.loads(Path(name).read_text("utf-8"))
        begin = f"<!-- generated: {answer['suite']} -->"
        head, rest = text.split(begin, 1)
        text = f"{head}{begin}\n\n{table(answer)}\n\n{END}{rest.split(END, 1)[1]}"
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
