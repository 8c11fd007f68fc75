"""The main claims of the HLDG thesis, out of the simulator: tables beside ours, a figure, a page.

Thesis Table 5.1 and Figure 5.18 (one flow over 10 Mbit/s, 2 ms, 1000 packets) and the 10 Mbit/s, 100 ms path of
sections 4.2.2 and 5.2.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from . import _engine, reproduce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from .reproduce import Comparison
    from .result import Result

# For terminals without colours.
MARKS = {"outside": "✗", "absent": "✗", "undecided": "?"}
EXPERIMENTS = ("thesis/table-5.1", "thesis/steps-10mbit-100ms", "thesis/figure-5.16")


def run(out: Path = Path("runs/demo"), jobs: int | None = None) -> int:
    """Runs the experiments, prints them beside the thesis, writes the figure and the page into `out`.

    Nothing is taken from an earlier run. Returns 0 when all runs finished, 1 otherwise.
    """
    from rich.console import Console

    from . import plot
    from .report import page_of, save

    console = Console()
    began = time.perf_counter()
    results = []
    for name in EXPERIMENTS:
        experiment = _engine.read(reproduce.find(name))
        results.append(reproduce.simulate(experiment, jobs))
    took = time.perf_counter() - began

    failures = [failure for result in results for failure in result.failures]
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if failures:
        return 1
    comparisons = [reproduce.compare(result) for result in results]
    for tables in comparisons:
        for comparison in tables:
            console.print(beside(comparison))
    console.print(f"{amount(results)} simulated in {took:.1f} s.\n", highlight=False)
    names = [reproduce.labels(r, c[0]) if c else None for r, c in zip(results, comparisons, strict=True)]
    figure = plot.draw(
        "cdf", results[0], out / "figure-5.18.png", labels=names[0],
        title="Queue delay of one flow over 10 Mbit/s, 2 ms (thesis Figure 5.18)",
    )  # fmt: skip
    sections = [reproduce.section(comparison) for tables in comparisons for comparison in tables]
    page = page_of(results, "The HLDG thesis, out of the simulator", before=sections, labels=names)
    report = save(page, out / "report.html")
    console.print(f"Figure 5.18   {figure}\nReport        {report}", highlight=False, soft_wrap=True)
    return 0


def amount(results: Sequence[Result]) -> str:
    """How much was simulated."""
    outcomes = [outcome for result in results for outcome in result.outcomes]
    simulated = sum(outcome.case.duration_s for outcome in outcomes)
    packets = sum(int(outcome.summary["packets"]) for outcome in outcomes)
    return f"{len(outcomes)} runs, {simulated:,.0f} s of network time and {packets:,} packets"


def beside(comparison: Comparison) -> RenderableType:
    """A table with a line per row: each published value, ours to its right, ✗ outside its tolerance, ? undecided."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    columns = list(dict.fromkeys(cell.column for cell in comparison.cells))
    # Eighty columns must hold four quantities with ours beside each.
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    grid.add_column("", min_width=12)
    cells = {(cell.row, cell.column): cell for cell in comparison.cells}
    ours_head = "\nours " if any(", " in reproduce.texts(cell).column for cell in comparison.cells) else "ours "
    for column in columns:
        some = next(cell for cell in comparison.cells if cell.column == column)
        grid.add_column(reproduce.texts(some).column.replace(", ", "\n"), justify="right", no_wrap=True)
        grid.add_column(ours_head, justify="right", no_wrap=True)
    for row in dict.fromkeys(cell.row for cell in comparison.cells):
        line = [Text(row)]
        for column in columns:
            cell = cells.get((row, column))
            if cell is None:
                line += [Text(""), Text("")]
            else:
                shown, colour = reproduce.texts(cell), reproduce.VERDICTS[cell.verdict][1]
                line += [
                    Text(shown.published, style="dim"),
                    Text(shown.ours + MARKS.get(cell.verdict, " "), style=colour),
                ]
        grid.add_row(*line)
    order = [Text(sentence) for sentence, _ in reproduce.order_sentences(comparison)]
    return Group(Text(reproduce.heading(comparison), style="bold"), grid, *order, Text(comparison.score), Text(""))


if __name__ == "__main__":
    sys.exit(run())
