#!/usr/bin/env python3
"""Runs the example of docs/whatif.md and puts what the command prints at 100 columns into the page.

.venv/bin/python docs/whatif.py        a few seconds
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from rich.console import Console

from sojourn.whatif import ask
from sojourn.whatif.scene import Question
from sojourn.whatif.words import show

PAGE = Path(__file__).with_suffix(".md")
QUESTION = Question("50Mbit/s", "20ms", "4 cubic, voip, web, game", up="10Mbit/s")
OTHER_WEIGHTS = ({"loss": 1.0}, {"delay": 1.0}, {"delay": 1.0, "utilisation": 1.0}, {"voip": 1.0, "jitter": 1.0})


def main() -> None:
    answer = ask(QUESTION)
    screen = Console(file=StringIO(), width=100, color_system=None)
    with screen.capture() as capture:
        show(answer, screen)
    printed = "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())
    rows = ["| weights | choice | not told apart from it |", "|---|---|---|"]
    for weights in OTHER_WEIGHTS:
        other = answer.weigh(weights)
        options = " ".join(f"`--weight {key}={weight:g}`" for key, weight in weights.items())
        tied = ", ".join(f"`{one.queue}`" for one in other.ranking if one.tied)
        rows.append(f"| {options} | `{other.choice}` | {tied} |")
    text = PAGE.read_text("utf-8")
    for name, block in (("output", f"```\n{printed}\n```"), ("weights", "\n".join(rows))):
        # A function, so that nothing in the block is taken for a reference to a group.
        text = re.sub(
            rf"(<!-- {name}: docs/whatif.py -->\n).*?(<!-- end -->)",
            lambda match, block=block: f"{match[1]}\n{block}\n\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
