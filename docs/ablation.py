#!/usr/bin/env python3
"""Writes docs/ablation.md: what each mechanism of HLDG is for, measured by taking it away.

.venv/bin/python docs/ablation.py            runs experiments/ablation/*.toml and writes the page (a minute)
.venv/bin/python docs/ablation.py --check    writes nothing; exit code 1 if the page is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

import markdown

import sojourn
from sojourn.figures import quantity
from sojourn.stats import number

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ablation.md"
WITHOUT = "without "

HEAD = """# Ablation of HLDG

Each mechanism of HLDG removed alone takes a figure that the thesis printed out of its tolerance: that is what it is
for. One line each: what was removed, the figure, what is allowed, and the figure with the mechanism and without
(medians over the repetitions). Where the figure is of another variant than the whole of HLDG, that variant loses it.

"""
HEADS = ("removed", "setting", "figure", "allowed", "with", "without")

TAIL = """
`docs/ablation.py` writes this page from `experiments/ablation/*.toml`; their claims fail as soon as one of these lines
is not true any more, and `python/tests/test_ablation.py` runs them. The file of Table 5.2 has the thesis' testbed
([its page](testbed.md)), the others exact clocks and hosts in step. On the testbed the lines of Figure 5.33 hold as
well: 93 and 64 % with all mechanisms, 80 % without the shadow window, 31 % without the BDP after a loss (medians of
sixty runs of `sojourn run experiments/thesis/figure-5.33.toml` with `--set path.rate=4Mbit/s --set path.up=1Mbit/s
--set path.loss=0.1% --set flow.a.stack=freebsd-11 --set flow.a.cc=hldg --repeat 60`, on 10 ms with 4 packets and on
340 ms with 114 of `path.buffer`, and the same with `--set flow.a.cc.use_shadow=false` and `--set
flow.a.cc.westwood=false`).

Two mechanisms are not in the table. The ineffectual back-off that HLDG has from CDG changes no printed figure: mode
switching decides before it does. The window that is restored over two RTTs after a probe (Eq 5.14) has no switch to
remove it.
"""


def shown(value: float | None, that: str) -> str:
    """A figure with its unit."""
    if value is None:
        return "–"
    _, unit, scale = quantity(that)
    return f"{number(scale * value)} {unit}".strip()


def rows(path: Path) -> list[list[str]]:
    """The lines of one file: every claim that begins with "without", beside the one it repeats."""
    result = sojourn.run(path)
    claims = sojourn.api.claims(result)
    kept = {claim.name: claim for claim in claims if not claim.name.startswith(WITHOUT)}
    lines = []
    for claim in claims:
        if not claim.name.startswith(WITHOUT):
            continue
        what, figure = claim.name.removeprefix(WITHOUT).split(": ", 1)
        base = kept[figure]
        if not claim.holds or not base.holds:
            print(f"{path.name}: {(claim if not claim.holds else base).why}", file=sys.stderr)
        cells = [what, f"`{dict(claim.case)['flow.a.cc']}`", figure, base.wanted]
        lines.append([*cells, shown(base.measured, claim.that), shown(claim.measured, claim.that)])
    return lines


def main() -> int:
    """The command line."""
    lines = [line for path in sorted((ROOT / "experiments" / "ablation").glob("*.toml")) for line in rows(path)]
    text = HEAD + markdown.table(HEADS, lines, "llllr") + "\n" + TAIL
    if "--check" in sys.argv[1:]:
        same = PAGE.is_file() and PAGE.read_text("utf-8") == text
        print("docs/ablation.md is " + ("what comes out today" if same else "out of date: run docs/ablation.py"))
        return 0 if same else 1
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
