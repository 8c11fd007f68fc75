#!/usr/bin/env python3
"""Writes into docs/tcpeval.md what the evaluation suite's own parameters say of its traces, beside two synthetic mixes.

.venv/bin/python docs/mix.py

With --check it writes nothing; exit code 1 if the table is out of date.

The traces are not to be had, but the suite stretches one and the same set of them for all of its scenarios, and prints
by how much (`Scale` in its `tcl_base_setup` files) until its own estimate of the load is 60, 85 or 110 %. Its estimate
(`shuffle_traces.tcl`) lets a connection send at C/n, n = 9 · 500/scale · maxRTT, and counts what it has sent by then.
So load · C · scale is the traces' rate as far as their connections come to send it, and tells how much of it is in long
ones. The prefill's interval (`Prefill_si`) is what those connections bring that would last beyond half of the prefill.
"""

from __future__ import annotations

import math
import statistics
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import markdown
import numpy as np

from sojourn import _engine
from sojourn.suite.pieces import settings_of
from sojourn.units import quantity

PAGE = Path(__file__).parent / "tcpeval.md"
FILE = PAGE.parents[1] / "experiments" / "tcpeval" / "access-link.toml"
#: Text of the nine traces, and of a connection of the same campus in ns-2's example (tcl/ex/tmix, 340 of 2005).
TEXT_BYTES, CONNECTION_BYTES, MINUTES = 625e6, 143, 56
#: Headers of a full segment over its payload.
HEADERS = 1.0 + 40.0 / 1460.0
#: σ of small replies (`tmix::mix`).
SIGMA = 1.1


@dataclass(frozen=True, slots=True)
class Setup:
    """A scenario at a load, as the suite's code has it: bit/s, seconds."""

    name: str
    rate: float
    load: float
    scale: float
    warmup: float
    test: float
    prefill: float
    prefill_si: float
    si_scale: float
    max_rtt: float

    def pace(self) -> float:
        """Bytes a second of one connection, in the suite's estimate."""
        return self.rate / 8.0 / max(1.0, 9 * 500.0 / self.scale * self.max_rtt)


SETUPS = (
    Setup("data centre, 60 %", 1e9, 0.60, 0.4864, 63, 69, 7.956, 4.151, 1.0, 0.0884),
    Setup("85 %", 1e9, 0.85, 0.3707, 19, 328, 11.271, 5.143, 0.85, 0.0884),
    Setup("110 %", 1e9, 1.10, 0.3030, 8, 663, 14.586, 6.925, 1.0, 0.0884),
    Setup("access link, 60 %", 1e8, 0.60, 5.276, 84, 479, 36.72, 19.445, 1.0, 0.408),
    Setup("85 %", 1e8, 0.85, 3.812, 179, 829, 52.02, 30.745, 1.0, 0.408),
    Setup("110 %", 1e8, 1.10, 2.947, 34, 1423, 67.32, 38.078, 1.0, 0.408),
    Setup("transoceanic, 60 %", 1e9, 0.60, 0.5179, 140, 82, 89.1, 30.451, 0.65, 0.99),
    Setup("85 %", 1e9, 0.85, 0.3091, 64, 252, 126.22, 69.93, 0.9, 0.99),
    Setup("110 %", 1e9, 1.10, 0.2, 82, 326, 163.35, 130.56, 1.0, 0.99),
)


class Mix:
    """Sizes of what connections bring back, in bytes, and the probability of each."""

    def __init__(self, p: Mapping[str, float]) -> None:
        middles = (np.arange(4000) + 0.5) / 4000
        normal = statistics.NormalDist()
        small = p["reply"] * np.exp(SIGMA * np.array([normal.inv_cdf(q) for q in middles]))
        edges = np.geomspace(p["least"], p["most"], 3001)
        below = (1.0 - (p["least"] / edges) ** p["alpha"]) / (1.0 - (p["least"] / p["most"]) ** p["alpha"])
        self.sizes = np.concatenate([small, np.sqrt(edges[1:] * edges[:-1])])
        self.weights = np.concatenate([np.full(4000, (1.0 - p["large"]) / 4000), p["large"] * np.diff(below)])

    def mean(self) -> float:
        """Of all connections."""
        return float((self.sizes * self.weights).sum())

    def counted(self, s: Setup) -> float:
        """Bytes of a connection that the suite counts, on average over the last two thirds of its run."""
        end = min(s.prefill + s.warmup + s.test, 3000.0 * s.scale)
        begin = s.prefill + (end - s.prefill) / 3.0
        return float((self.weights * (self._sent(s, end) - self._sent(s, begin))).sum()) / (end - begin)

    def _sent(self, s: Setup, until: float) -> np.ndarray:
        """The integral over time of what a connection has sent."""
        size, pace = self.sizes * HEADERS, s.pace()
        full = size / pace
        return np.where(full >= until, pace * until**2 / 2.0, pace * full**2 / 2.0 + size * (until - full))

    def prefilled(self, s: Setup) -> float:
        """Prefill_si over Prefill_t: bursts that would last beyond half of it, less what they send before its end."""
        start = (np.arange(400) + 0.5) / 400 * s.prefill
        size, left = (self.sizes * HEADERS)[:, None], s.pace() * (s.prefill - start)[None, :]
        end = start[None, :] + size / s.pace()
        counts = np.where(end > s.prefill, size - left, np.where(end > s.prefill / 2.0, size, 0.0))
        return float((self.weights[:, None] * counts).sum()) / 400 / self.counted(s)


def mixes() -> dict[str, Mix]:
    """The mix that `tmix` has by itself, and the one of the suite's files."""
    (tmix,) = [one for one in _engine.table("traffic") if one["name"] == "tmix"]
    names = ("large", "least", "most", "alpha", "reply")
    usual = {f["name"]: _number(f["default"]) for f in tmix["fields"] if f["name"] in names}
    text = tomllib.loads(FILE.read_text("utf-8"))["flow"][0]["traffic"]
    given = (part.partition("=") for part in settings_of(text))
    ours = {key: _number(value) for key, _, value in given if key in names}
    return {"`tmix`": Mix(usual), "the suite's": Mix({**usual, **ours})}


def _number(text: str) -> float:
    found = quantity(text)
    return found.amount if found else math.nan


def section() -> str:
    """The table, and what the mixes are on the whole."""
    made = mixes()
    printed = np.array([s.load * s.rate * s.scale / 1e6 for s in SETUPS])
    rates, columns = {}, {}
    for name, mix in made.items():
        counted = np.array([mix.counted(s) for s in SETUPS])
        # Connections a second of the unstretched traces: what makes the rates those of print in the geometric mean.
        rates[name] = math.exp(float(np.mean(np.log(printed * 1e6 / 8.0 / counted))))
        columns[name] = rates[name] * counted * 8.0 / 1e6
    rows = []
    for i, s in enumerate(SETUPS):
        part = s.prefill_si / s.si_scale / s.prefill
        of_mixes = [(f"{columns[name][i]:.0f}", f"{mix.prefilled(s):.2f}") for name, mix in made.items()]
        rows.append([s.name, f"{printed[i]:.0f}", *(r for r, _ in of_mixes), f"{part:.2f}", *(f for _, f in of_mixes)])
    heads = ["", "Mbit/s, print", *made, "prefill, print", *made]
    connections = TEXT_BYTES / CONNECTION_BYTES / (MINUTES * 60.0)
    lines = [
        f"{name}: {mix.weights[mix.sizes < 4380].sum() * 100:.0f} % below 4380 bytes, {mix.mean() / 1e3:.1f} kB on "
        f"average, so {rates[name]:.0f} connections a second"
        for name, mix in made.items()
    ]
    return f"{'; '.join(lines)}; the traces' text has {connections:.0f}.\n\n" + markdown.table(heads, rows, "lr")


def main() -> int:
    """Replace what stands between the marks, or tell whether it is as written."""
    return markdown.settle(PAGE, markdown.filled(PAGE.read_text("utf-8"), "mix", section()))


if __name__ == "__main__":
    sys.exit(main())
