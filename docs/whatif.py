#!/usr/bin/env python3
"""Runs the example of docs/whatif.md and puts what the command prints at 100 columns into the page.

.venv/bin/python docs/whatif.py        a few seconds
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import markdown
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
    rows = []
    for weights in OTHER_WEIGHTS:
        other = answer.weigh(weights)
        options = " ".join(f"`--weight {key}={weight:g}`" for key, weight in weights.items())
        tied = ", ".join(f"`{one.queue}`" for one in other.ranking if one.tied)
        rows.append([options, f"`{other.choice}`", tied])
    text = markdown.filled(PAGE.read_text("utf-8"), "output", f"```\n{printed}\n```")
    text = markdown.filled(text, "weights", markdown.table(["weights", "choice", "not told apart from it"], rows))
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
