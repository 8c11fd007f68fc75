#!/usr/bin/env python3
"""How often CDG tells a congestion loss from a random one: counts the judgements in the event trace.

.venv/bin/python docs/queue_state.py         runs experiments/beyond/queue-state-*.toml and writes docs/queue-state.md
"""

from __future__ import annotations

from pathlib import Path

import markdown
import polars as pl

import sojourn as sj

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "queue-state.md"
# The file, what its losses are, and the kind of event that judges them rightly.
FILES = (("overflow", "overflows", "loss_backoff"), ("random", "random losses", "loss_tolerated"))


def count(name: str, what: str, right: str) -> list[str]:
    """One line per algorithm of a file: losses judged, how many rightly, and what it got."""
    result = sj.run(ROOT / "experiments" / "beyond" / f"queue-state-{name}.toml", events=True)
    start = 10.0
    lines = []
    for case in result.cases["case"].unique().sort():
        events = result.events.filter(
            (pl.col("case") == case)
            & (pl.col("name") == "a")
            & (pl.col("time_s") >= start)
            & pl.col("cause").is_in(["loss_backoff", "loss_tolerated"])
        )
        flows = result.flows.filter((pl.col("case") == case) & (pl.col("name") == "a"))
        good = events.filter(pl.col("cause") == right).height
        share = 100 * good / max(events.height, 1)
        rate = sum(flows["throughput_mbps"]) / flows.height
        lines.append([what, f"`{flows['cc'][0]}`", str(events.height), f"{share:.0f} %", f"{rate:.2f} Mbit/s"])
    return lines


def main() -> None:
    """Runs both files and writes the table."""
    rows = [line for file in FILES for line in count(*file)]
    made = markdown.table(["losses", "", "judged", "rightly", "goes at"], rows, "llr")
    PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "counts", made), "utf-8")
    print(made)


if __name__ == "__main__":
    main()
