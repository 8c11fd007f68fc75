"""Appendix A of the HLDG thesis on simulated runs: how many window changes an event log holds, and how many polling.

.venv/bin/python docs/loggers.py     writes the table of docs/formats.md
"""

from __future__ import annotations

from pathlib import Path

import markdown
import polars as pl

import sojourn as sj
from sojourn.formats import export, loggers
from sojourn.formats.sockets import states

#: Section A.5.1: 100 Mbit/s, 6 ms, iperf over CUBIC, the first 1.4 s; its buffer is not told.
LINE = "100Mbit/s 6ms 100p fifo: {cc}"
SETTINGS = {"run.duration": "1.4 s"}
PAGE = Path(__file__).with_name("formats.md")


def measured(cc: str) -> list[list[str]]:
    """One row of the table for the whole run, one for the first 30 ms."""
    run = export.Run.of(sj.api.prepare(LINE.format(cc=cc), SETTINGS))
    rows = states(export.recorded_flows(run, [0]), [0])
    # The windows that stood, numbered: packets either way find each that stood long enough to matter to one.
    rows = rows.with_columns(window=(pl.col("cwnd") != pl.col("cwnd").shift()).fill_null(False).cum_sum())
    logs = [rows.filter(pl.col("direction") == "i"), loggers.polled_at(rows, 1, 1.4), loggers.polled_at(rows, 10, 1.4)]
    begin = int(rows["time_ns"][0])
    lines = []
    for name, until in (("1.4 s", 1.4e9), ("first 30 ms", begin + 30e6)):
        early = pl.col("time_ns") <= until
        found = rows.filter(early)
        windows = found["window"].n_unique()
        cells = []
        for log in logs:
            mine = log.filter(early)
            held = mine["window"].n_unique()
            cells.append(f"{held} ({100 * held / windows:.0f} %) in {len(mine)}")
        lines.append([cc, name, str(windows), str(len(found)), *cells])
    return lines


def main() -> None:
    """Write the table."""
    heads = ["", "", "windows", "records, both ways", "held by records of ACKs", "by polls every 1 ms", "every 10 ms"]
    made = markdown.table(heads, [row for cc in ("cubic", "newreno", "cdg", "hldg", "bbr") for row in measured(cc)])
    PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), "loggers", made), "utf-8")
    print(made)


if __name__ == "__main__":
    main()
