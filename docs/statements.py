#!/usr/bin/env python3
"""Writes what the suites' statements measured into docs/tcpeval.md, from runs: no figure of those tables is typed.

.venv/bin/sojourn suite tcpeval --quick --json > tcpeval.json
.venv/bin/sojourn suite rfc7928 --quick --json > rfc7928.json
.venv/bin/python docs/statements.py tcpeval.json rfc7928.json

With --check it writes nothing; exit code 1 if the tables are out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import markdown

from sojourn._engine import version

PAGE = Path(__file__).parent / "tcpeval.md"


def section(answer: dict[str, Any]) -> str:
    """A suite's statements with what was measured, in Markdown."""
    verdicts = {True: "holds", False: "**fails**", None: "not judged"}
    rows = [[one["says"], one["source"], one["measured"], verdicts[one["holds"]]] for one in answer["statements"]]
    kind = " --quick" if answer["quick"] else ""
    return f"`sojourn suite {answer['suite']}{kind}`, model {version().model}:\n\n" + markdown.table(
        ["statement", "where", "measured", ""], rows
    )


def main() -> int:
    """Replace what stands between the marks of each suite, or tell whether it is as written."""
    files = [name for name in sys.argv[1:] if name != "--check"]
    if not files:
        sys.exit(__doc__)
    page = fresh = PAGE.read_text("utf-8")
    for name in files:
        answer = json.loads(Path(name).read_text("utf-8"))
        fresh = markdown.filled(fresh, answer["suite"], section(answer))
    if "--check" not in sys.argv:
        PAGE.write_text(fresh, "utf-8")
    elif fresh != page:
        print("docs/tcpeval.md is out of date: run docs/statements.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
