#!/usr/bin/env python3
"""Writes the tables of docs/beside-ns-controls.md from runs beside ns-2: no figure of them is typed.

.venv/bin/python bench/controls/run.py --json > tables.json
.venv/bin/python docs/beside_ns.py tables.json

With --check it writes nothing; exit code 1 if the tables are out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import markdown

PAGE = Path(__file__).parent / "beside-ns-controls.md"


def main() -> int:
    """Replace what stands between the marks of each path, or tell whether it is as written."""
    files = [name for name in sys.argv[1:] if name != "--check"]
    if not files:
        sys.exit(__doc__)
    page = fresh = PAGE.read_text("utf-8")
    for name in files:
        for path, made in json.loads(Path(name).read_text("utf-8")).items():
            fresh = markdown.filled(fresh, path, made)
    if "--check" not in sys.argv:
        PAGE.write_text(fresh, "utf-8")
    elif fresh != page:
        print("docs/beside-ns-controls.md is out of date: run docs/beside_ns.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
