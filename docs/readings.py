#!/usr/bin/env python3
"""What each reading of the HLDG thesis moves: runs its tables with one reading changed at a time.

.venv/bin/python docs/readings.py            runs them and writes the table in docs/what-the-thesis-leaves-open.md
.venv/bin/python docs/readings.py READING…   prints the rows of these switches only, such as `after_probe=stay`
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import median

import markdown

import sojourn as sj
from sojourn._types import Experiment
from sojourn.reproduce.cells import compare

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "what-the-thesis-leaves-open.md"
THESIS = ROOT / "experiments" / "thesis"
# Seeds of every run: enough to tell a reading from the dice.
REPEAT = 3
# What of the tables depends on the readings: full HLDG on a short and on a long path, shares, fairness, low priority.
TABLES = ("table-5.1", "table-5.2", "table-6.1", "steps-10mbit-100ms", "figure-6.3")
# The number of the ambiguity (reference order) and the switches that take the other reading.
READINGS = {
    "as chosen": "",
    "1": "gradient_fix=false",
    "4": "threshold_by=weights",
    "9": "use_max=true",
    "11": "min_first=true",
    "12": "zsgw_push=true",
    "13": "zsgw_effectual=false",
    "14": "weights=old",
    "16 slower": "g_rate=0.016",
    "16 faster": "g_rate=0.064",
    "18": "g_delay=round_min",
    "19": "loss_dwell=10s",
    "20": "dwell_again=true",
    "23": "leave_loss=true",
    "25": "probe_rounds=ended",
    "23, 25": "probe_rounds=ended, leave_loss=true",
    "26 stay": "after_probe=stay",
    "26 search": "after_probe=search",
    "28": "base_in_repairs=false",
    "29 wait": "base_wait=0s",
    "29 hold": "base_hold=0",
    "30": "base_window=0s",
    "31 once": "search_again=false",
    "33": "train=6",
    "38": "westwood=false",
    "39 cap": "shadow_cap=true",
    "39 cut": "shadow_after_cut=true",
    "40": "forget_shadow=false",
    "46 stale": "stale_rtt=true",
    "CDG: start": "slow_start_at_ssthresh=false",
    "CDG: ACKs": "ack_counting=false",
    "CDG: repairs": "repair_growth=both",
    "no repairs": "repair_growth=none",
    "two at least": "least=2",
    "CDG: none": "least=0",
    "CDG: rounds": "every_round=true",
    "loss mode: ACKs": "loss_ack_counting=true",
    "slow start: none": "start_threshold=none",
    "slow start: Eq 5.3": "start_threshold=window",
    "slow start: B_n": "start_bandwidth=round",
    "Eq 5.5": "acked=cumulative",
}


def changed(text: str, switches: str) -> str:
    """An experiment with these switches in every HLDG of it, in the printed tables' conditions too."""

    def put(match: re.Match[str]) -> str:
        given = [part for part in (match[1] or "").split(", ") if part]
        taken = {part.split("=")[0] for part in given}
        more = [part for part in switches.split(", ") if part.split("=")[0] not in taken]
        inside = ", ".join(given + more)
        return f'"hldg({inside})"' if inside else '"hldg"'

    return re.sub(r'"hldg(?:\(([^")]*)\))?"', put, text) if switches else text


def row(name: str, switches: str) -> list[str]:
    """One line of the table: cells within tolerance per published file, then the figures that tell most."""
    scores: list[str] = []
    # Table, row, what is measured, our median.
    ours: list[tuple[str, str, str, float]] = []
    for table in TABLES:
        text = changed((THESIS / f"{table}.toml").read_text("utf-8"), switches)
        tables = compare(sj.run(Experiment(text, f"{table}.toml", ()), repeat=REPEAT))
        scores.append(f"{sum(t.within for t in tables)}/{sum(t.judged for t in tables)}")
        ours += [(table, c.row, c.that, c.median) for t in tables for c in t.cells if c.median is not None]

    def medians(table: str, that: str, of: str = "") -> list[float]:
        return [value for where, row, what, value in ours if (where, what) == (table, that) and of in ("", row)]

    queue = medians("table-5.1", "link.bottleneck.queue_ms.mean", "HLDG")[0]
    use = 100 * medians("table-5.1", "link.bottleneck.utilisation", "HLDG")[0]
    shares = [100 * share for share in medians("table-5.2", "flow.a.share")]
    jain = min(medians("table-6.1", "fairness.jain"))
    figures = [f"{queue:.1f} ms, {use:.1f} %", f"{min(shares):.0f}, {median(shares):.0f} %", f"{jain:.3f}"]
    return [name, f"`{switches}`" if switches else "", *scores, *figures]


def main(arguments: list[str]) -> int:
    """Runs all readings, or those given."""
    wanted = {name: s for name, s in READINGS.items() if not arguments or s in arguments}
    lines = []
    for name, switches in wanted.items():
        lines.append(row(name, switches))
        print(markdown.line(lines[-1]), flush=True)
    if not arguments:
        files = [table.removesuffix("-10mbit-100ms") for table in TABLES]
        heads = ["#", "switch", *files, "T5.1 HLDG", "T5.2 least, median", "T6.1 least Jain"]
        PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "readings", markdown.table(heads, lines)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
