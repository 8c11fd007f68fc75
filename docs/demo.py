#!/usr/bin/env python3
"""Puts what `make demo` shows into the README: its tables and its figure beside this file.

.venv/bin/python docs/demo.py            runs the demo's experiments and writes README.md and docs/demo.png
.venv/bin/python docs/demo.py --check    runs them and tells whether the README's tables and the figure are of today
"""

from __future__ import annotations

import sys
from pathlib import Path

import markdown

from sojourn import _engine, demo, plot, reproduce
from sojourn.plot.data import footer, shown
from sojourn.reproduce import Comparison
from sojourn.result import Result

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PICTURE = ROOT / "docs" / "demo.png"


def section(comparison: Comparison) -> str:
    """A published table as Markdown, ours in bold beside each column; what is out of tolerance has a mark."""
    columns = list(dict.fromkeys(cell.column for cell in comparison.cells))
    cells = {(cell.row, cell.column): cell for cell in comparison.cells}
    heads = [reproduce.texts(next(c for c in comparison.cells if c.column == column)).column for column in columns]
    lines = []
    for row in dict.fromkeys(cell.row for cell in comparison.cells):
        line = [row]
        for column in columns:
            if (cell := cells.get((row, column))) is None:
                line += ["", ""]
            else:
                texts = reproduce.texts(cell)
                line += [texts.published, f"**{texts.ours}**{demo.MARKS.get(cell.verdict, '')}"]
        lines.append(line)
    made = markdown.table(["", *(text for head in heads for text in (head, "**ours**"))], lines, "lr")
    return f"{reproduce.heading(comparison)}: {comparison.score}.\n\n{made}"


def main(arguments: list[str]) -> int:
    """Runs the experiments, then writes or compares."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    results: list[Result] = []
    for name in demo.EXPERIMENTS:
        experiment = _engine.read(reproduce.find(name))
        results.append(reproduce.simulate(experiment))
    comparisons = [comparison for result in results for comparison in reproduce.compare(result)]
    text = README.read_text("utf-8")
    parts = [f"{demo.amount(results)}:", *map(section, comparisons)]
    wanted = markdown.filled(text, "demo", "\n\n".join(parts))
    if arguments:
        # The picture is signed with the experiment, the seeds and the model it is of.
        signed = footer(shown(results[0])).encode() in PICTURE.read_bytes()
        old = [file.name for file, same in ((README, wanted == text), (PICTURE, signed)) if not same]
        print(f"out of date: {', '.join(old)} (docs/demo.py)" if old else "the README's tables are what comes out")
        return int(bool(old))
    README.write_text(wanted, "utf-8")
    labels = reproduce.labels(results[0], comparisons[0])
    title = "Queue delay of one flow over 10 Mbit/s, 2 ms"
    print(f"wrote {README}\nwrote {plot.draw('cdf', results[0], PICTURE, labels=labels, title=title)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
