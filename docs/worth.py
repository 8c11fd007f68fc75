#!/usr/bin/env python3
"""What each part of the testbed is worth: one changed at a time in the thesis' files, a table of docs/testbed.md.

.venv/bin/python docs/worth.py            runs them all and writes the table (half an hour on two cores)
.venv/bin/python docs/worth.py PART…      prints the rows of these parts only, such as "no header"

What a part leaves as it is, is taken from the newest results (`make full`).
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import markdown

import sojourn as sj
from sojourn._types import Experiment
from sojourn.reproduce.cells import Score, compare

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "testbed.md"
NEWEST = max((ROOT / "results").glob("*.scores.json"))
COUNTED = ("within", "undecided", "leaning", "outside", "reached", "reached_by_median")
#: What Appendix B is about is the clock, of hosts that need none of the rest.
AS_THEY_ARE = "thesis/appendix-b-"
CLOCK = r"tick\(hz=10000, round=floor\)"
#: What is looked for in the files, and what stands in its place; of each part as it is nothing is.
PARTS: dict[str, tuple[str, str] | None] = {
    "as it is": None,
    "no header": (r'"bulk\(header=24 B\)"', '"bulk"'),
    "hosts that take no time, and so are in step": (r'^processing = "125 us"$', 'processing = "0 s"'),
    "hosts that take up to a packet time": (r'^processing = "125 us"$', ""),
    "dummynet's clock as it came": (CLOCK, "tick(hz=10000, clock=coarse)"),
    "a clock of 1 kHz, FreeBSD's default": (CLOCK, "tick(hz=1000)"),
    "buffers in bytes": (r'"packets\((\d+ (?:ms|BDP))\)"', r'"\1"'),
}


def score(part: str) -> Counter[str]:
    """The thesis' cells with this part changed."""
    total: Counter[str] = Counter()
    for known in json.loads(NEWEST.read_text("utf-8"))["experiments"]:
        if known["name"].startswith("thesis/") and known["tables"]:
            total.update(_changed(known["name"], PARTS[part]) or _as_it_is(known))
    return total


def _as_it_is(known: dict[str, Any]) -> Counter[str]:
    total: Counter[str] = Counter()
    for table in known["tables"]:
        total.update({key: table["score"][key] for key in COUNTED})
    return total


def _changed(name: str, change: tuple[str, str] | None) -> Counter[str] | None:
    """The cells of a file in which something is looked for and found."""
    file = ROOT / "experiments" / f"{name}.toml"
    text = file.read_text("utf-8")
    if change is None or name.startswith(AS_THEY_ARE) or not re.search(change[0], text, re.MULTILINE):
        return None
    text = re.sub(*change, text, flags=re.MULTILINE)
    of = asdict(Score.of(compare(sj.run(Experiment(text, file.name, ())))))
    return Counter({key: of[key] for key in COUNTED})


def row(part: str) -> list[str]:
    """One line of the table."""
    of = score(part)
    by_median = f"{of['within'] + of['leaning']}, {of['reached_by_median']}"
    counts = [of["within"], of["undecided"], of["outside"], of["reached"]]
    return [part, *map(str, counts), by_median]


def main(parts: list[str]) -> int:
    """Runs all parts, or those given."""
    lines = []
    for part in parts or PARTS:
        lines.append(row(part))
        print(markdown.line(lines[-1]), flush=True)
    if not parts:
        heads = ["the testbed with", "cells within", "undecided", "outside", "tables at 60 %", "both by our medians"]
        made = markdown.table(heads, lines, align="lr")
        PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "worth", made), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
