#!/usr/bin/env python3
"""Writes docs/beyond.md and its figure: the experiments beyond the thesis' list, measured.

.venv/bin/python docs/beyond.py           runs experiments/beyond/*.toml and writes the page (some minutes)
.venv/bin/python docs/beyond.py PART …    only these sections, such as rates or sensitivity; the others stay as they are
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import markdown

import sojourn
from sojourn import _engine
from sojourn.figures import value
from sojourn.result import Result
from sojourn.stats import number

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "experiments" / "beyond"
PAGE = ROOT / "docs" / "beyond.md"
PICTURE = ROOT / "docs" / "beyond-sensitivity.png"
CUBIC = "cubic(reference=linux, slow_start=hystart)"
SHORT = {
    CUBIC: "CUBIC",
    "hldg": "HLDG",
    "cdg": "CDG",
    "hldg(lpcc=true)": "LPCC",
    "newreno": "NewReno",
    "vegas": "Vegas",
}
Pick = Callable[[dict[str, Any]], float]


def values(path: str) -> Pick:
    """A figure of the summary by its path, as claims name it."""
    return lambda summary: value(summary, path)


UTILISATION = values("link.bottleneck.utilisation")
QUEUE = values("link.bottleneck.queue_ms.mean")
SHARE = values("flow.a.share")


def percent(x: float) -> str:
    """A fraction in per cent."""
    return f"{100 * x:.0f}"


def cells(result: Result, pick: Pick, rows: Sequence[str], columns: Sequence[str]) -> dict[tuple[str, ...], float]:
    """Medians over the repetitions by the values of the row's keys and the column's."""
    found: dict[tuple[str, ...], list[float]] = {}
    for outcome in result.outcomes:
        case = {key: str(value) for key, value in outcome.case.values.items()}
        found.setdefault(tuple(case[k] for k in (*rows, *columns)), []).append(pick(outcome.summary))
    return {key: median(xs) for key, xs in found.items()}


def grid(
    result: Result,
    head: str,
    rows: Sequence[str],
    columns: Sequence[str],
    show: Mapping[str, tuple[Pick, Callable[[float], str]]],
) -> str:
    """A table: a line per combination of `rows`, a column per combination of `columns` and figure."""
    grids = {name: (cells(result, pick, rows, columns), form) for name, (pick, form) in show.items()}
    first = next(iter(grids.values()))[0]
    left = list(dict.fromkeys(key[: len(rows)] for key in first))
    top = list(dict.fromkeys(key[len(rows) :] for key in first))
    titles = [
        ", ".join([*(SHORT.get(v, v) for v in t), *([name] if len(grids) > 1 else [])]) for t in top for name in grids
    ]
    lines = []
    for key in left:
        figures = [form(found[key + t]) if key + t in found else "" for t in top for found, form in grids.values()]
        lines.append([", ".join(SHORT.get(v, v) for v in key), *figures])
    return markdown.table([head, *titles], lines, "lr") + "\n"


def run(name: str, **options: Any) -> Result:
    """Runs one of the experiments."""
    print(name, file=sys.stderr)
    return sojourn.run(FOLDER / f"{name}.toml", **options)


def rates() -> str:
    """0.5 to 100 Mbit/s alone."""
    result = run("rates")
    return "One flow, buffer of 340 ms; utilisation in per cent, then mean queueing delay in ms.\n\n" + grid(
        result, "", ["path.rate", "path.rtt"], ["flow.a.cc"], {"%": (UTILISATION, percent), "ms": (QUEUE, number)}
    )


def rates_cubic() -> str:
    """0.5 to 100 Mbit/s against CUBIC."""
    result = run("rates-cubic")
    return "Share of HLDG against CUBIC in per cent, buffer of 340 ms.\n\n" + grid(
        result, "", ["path.rate"], ["path.rtt"], {"": (SHARE, percent)}
    )


def parking_lot() -> str:
    """Three bottlenecks in a row."""
    result = run("parking-lot")
    heads = ("all flows are", "long flow, Mbit/s", "cross flows, Mbit/s", "utilisation, %", "queue of a link, ms")
    lines = []
    for cc in dict.fromkeys(str(o.case.values["flow.long.cc"]) for o in result.outcomes):
        runs = [o.summary for o in result.outcomes if str(o.case.values["flow.long.cc"]) == cc]

        def mid(paths: Sequence[str], runs: list[dict[str, Any]] = runs) -> float:
            return median(sum(values(p)(s) for p in paths) / len(paths) for s in runs)

        links = ("one", "two", "three")
        figures = [
            number(mid(["flow.long.throughput_mbps"])),
            number(mid([f"flow.{f}.throughput_mbps" for f in ("first", "second", "third")])),
            percent(mid([f"link.{x}.utilisation" for x in links])),
            number(mid([f"link.{x}.queue_ms.mean" for x in links])),
        ]
        lines.append([SHORT.get(cc, cc), *figures])
    return (
        "A long flow through three links of 12 Mbit/s, each with a flow of its own; even shares are 6 Mbit/s.\n\n"
        + markdown.table(heads, lines, "lr")
        + "\n"
    )


def starting_orders() -> str:
    """Who comes first."""
    result = run("starting-orders")
    order = {("0 s", "10 s"): "HLDG first", ("0 s", "0 s"): "together", ("10 s", "0 s"): "CUBIC first"}
    text = grid(result, "", ["path.rate", "path.rtt"], ["flow.a.start", "flow.b.start"], {"": (SHARE, percent)})
    for (a, b), words in order.items():
        text = text.replace(f"| {a}, {b} |", f"| {words} |", 1).replace(f" {a}, {b} |", f" {words} |", 1)
    return (
        "Share of HLDG against CUBIC in per cent by who starts first (10 s before the other), buffer of 340 ms.\n\n"
        + text
    )


def mice_elephants() -> str:
    """Background traffic."""
    result = run("mice-elephants")
    show = {
        "Mbit/s": (values("flow.a.throughput_mbps"), number),
        "ms": (QUEUE, number),
        "page s": (values("group.mice.completion_s"), number),
    }
    text = grid(result, "elephant, web users", ["flow.elephant.start", "flow.mice.count"], ["flow.a.cc"], show)
    text = text.replace("| 10 s, ", "| CUBIC, ").replace("| 109 s, ", "| none, ")
    return (
        "One flow beside web users (pages of 20 kB, one second of thought), without and with a CUBIC elephant, on "
        "12 Mbit/s, 40 ms and 340 ms of buffer: its throughput, the mean queueing delay, and how long a page takes.\n\n"
        + text
    )


def pacing() -> str:
    """Pacing on HLDG."""
    result = run("pacing")
    show = {"%": (UTILISATION, percent), "ms": (QUEUE, number), "Jain": (values("fairness.jain"), lambda x: f"{x:.3f}")}
    text = grid(result, "flows, path", ["flow.a.count", "path.rate", "path.rtt"], ["flow.a.pacing"], show)
    text = text.replace("false, ", "bursts, ").replace("true, ", "paced, ")
    return "HLDG as it is and paced at 1.2 times its window: utilisation, mean queueing delay, fairness.\n\n" + text


def uplinks() -> str:
    """Asymmetric lines."""
    result = run("uplinks")
    show = {"%": (UTILISATION, percent), "ms": (QUEUE, number)}
    text = grid(result, "upload, line", ["flow.upload.start", "path.rate", "path.up", "path.rtt"], ["flow.a.cc"], show)
    text = text.replace("| 79 s, ", "| none, ").replace("| 10 s, ", "| CUBIC, ")
    return (
        "The lines of Table 3.1 (down, up, base RTT), without and with an upload by CUBIC: utilisation and queue of "
        "the download.\n\n" + text + "\n"
        "The upload's queue makes ACKs late. Where HLDG's slow start into loss mode overflows the buffer and the "
        "repair ends in a timeout, duplicates still come, and FreeBSD's host begins a repair with what it then has for "
        "a window, one segment: a hole a round trip, for minutes. Four of the five runs at 50 Mbit/s and 40 ms do so "
        "to their end (`--events` shows `timeout`, then `loss_backoff`); NewReno in its place has 35 Mbit/s in each.\n"
    )


def queues() -> str:
    """Every queue."""
    result = run("queues")
    show = {"%": (UTILISATION, percent), "share": (SHARE, percent), "ms": (QUEUE, number)}
    text = grid(result, "queue", ["path.queue"], ["flow.a.cc", "flow.b.start"], show)
    text = text.replace(", 109 s", " alone").replace(", 10 s", " against CUBIC")
    return (
        "12 Mbit/s, 40 ms, 340 packets: utilisation and share in per cent, mean queueing delay in ms.\n\n" + text + "\n"
        "Alone HLDG hardly meets a queue's target. Against CUBIC the FIFO keeps it in loss mode, BLUE for a tenth of "
        "the time, no other queue at all. It has half the link where flows have sub-queues of their own, nearly half "
        "where drops leave CUBIC little of the only queue, and less the more delay that queue leaves. Low-priority "
        "HLDG gives way only where there is delay.\n"
    )


@dataclass(frozen=True)
class Map:
    """One heat map: a parameter's values down, paths across."""

    name: str
    rows: tuple[str, ...]
    figures: tuple[tuple[float, ...], ...]
    default: int


# What halving and doubling the default would not show, or could not.
VALUES: dict[str, list[Any]] = {
    "lambda": ["auto", 0.7, 0.85, 1],
    "beta_delay": [0.5, 0.7, 0.9],
    "base_probe": [0.5, 0.8, 0.95],
    "beta_cubic": [0.5, 0.7, 0.85],
    "base_hold": [0, 1, 3],
    "window": [2, 4, 8],
    "train": [4, 6, 8, 9, 16],
    "g": [1, 3, 10, 30],
}


def spread(field: dict[str, Any]) -> list[Any]:
    """Values of a parameter: every choice, or half the default, the default and twice it."""
    if field["name"] in VALUES:
        return VALUES[field["name"]]
    default = str(field["default"])
    if field["choices"]:
        return [default, *(c for c in field["choices"] if c != default)]
    if default in ("true", "false"):
        return [default == "true", default != "true"]
    match = re.fullmatch(r"([\d.]+)(\D*)", default)
    if match is None:
        return []
    x, unit = float(match[1]), match[2]
    if x == 0:
        return []
    whole = "whole" in field["kind"]
    steps = [float(v // 1 if whole else v) for v in (x / 2, x, 2 * x)]
    return [f"{v:g}{unit}" if unit else int(v) if whole else v for v in steps]


def sensitivity_maps() -> tuple[list[Map], list[str]]:
    """A heat map per parameter, and the names of the columns."""
    fields = next(a for a in _engine.table("algorithms") if a["name"] == "hldg")["fields"]
    maps, columns = [], []
    for field in fields:
        name, given = field["name"], spread(field)
        if not given:
            continue
        key = f"flow.a.cc.{name}"
        # Fewer gradients than the weighted average has weights are for the plain mean only.
        cc = "hldg(wwma=false)" if name == "window" else "hldg"
        alone = run("sensitivity-alone", set={"flow.a.cc": cc, f"sweep.{key}": given})
        cubic = run("sensitivity-cubic", set={"flow.a.cc": cc, f"sweep.{key}": given})
        paths = ["path.rate", "path.rtt"], ["path.rtt", "path.buffer"]
        grids = [
            cells(alone, UTILISATION, [key], paths[0]),
            cells(alone, QUEUE, [key], paths[0]),
            cells(cubic, SHARE, [key], paths[1]),
        ]
        rows = list(dict.fromkeys(k[0] for k in grids[0]))
        tops = [list(dict.fromkeys(k[1:] for k in grid)) for grid in grids]
        units = ("utilisation", "queue, ms", "share")
        columns = [f"{unit}: {', '.join(t)}" for unit, top in zip(units, tops, strict=True) for t in top]
        figures = tuple(
            tuple(grid[(row, *t)] for grid, top in zip(grids, tops, strict=True) for t in top) for row in rows
        )
        same = [i for i, row in enumerate(rows) if row.replace(" ", "") == str(field["default"]).replace(" ", "")]
        maps.append(Map(name, tuple(rows), figures, same[0] if same else 0))
    return maps, columns


def sensitivity() -> str:
    """Every parameter, one heat map each, and a table of how far each moves the figures."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    maps, columns = sensitivity_maps()
    across = 3
    down = -(-len(maps) // across)
    fig, axes = plt.subplots(down, across, figsize=(6.2 * across, 1.45 * down), layout="constrained")
    for ax, m in zip(axes.flat, maps, strict=False):
        data = np.array(m.figures)
        ratio = np.log2(np.maximum(data, 1e-4) / np.maximum(data[m.default], 1e-4))
        ax.imshow(ratio, cmap="RdBu_r", vmin=-1.5, vmax=1.5, aspect="auto")
        ax.set_title(m.name, fontsize=8, loc="left", pad=2)
        ax.set_yticks(range(len(m.rows)), m.rows, fontsize=6)
        ax.set_xticks([3.5, 7.5], [])
        ax.set_xlim(-0.5, data.shape[1] - 0.5)
        for (i, j), x in np.ndenumerate(data):
            text = f"{100 * x:.0f}" if columns[j].startswith(("util", "share")) else f"{x:.3g}"
            colour = "white" if abs(ratio[i, j]) > 0.9 else "black"
            ax.text(j, i, text, ha="center", va="center", fontsize=5.5, color=colour)
    for ax in list(axes.flat)[len(maps) :]:
        ax.axis("off")
    for ax in axes[-1]:
        ax.set_xlabel("utilisation % (4 paths) | queue ms (4 paths) | share % against CUBIC (5 paths)", fontsize=6)
    fig.savefig(PICTURE, dpi=110, metadata={"Software": None})
    lines = []
    for m in maps:
        data, base = np.array(m.figures), np.array(m.figures[m.default])
        kind = [c.split(":")[0] for c in columns]
        points = {k: 100 * np.abs(data - base)[:, [x == k for x in kind]].max() for k in ("utilisation", "share")}
        part = data[:, [x == "queue, ms" for x in kind]] / base[[x == "queue, ms" for x in kind]]
        factor = max(float(part.max()), 1 / float(part.min()))
        moved = [f"{points['utilisation']:.1f}", f"× {factor:.2f}", f"{points['share']:.1f}"]
        lines.append([f"`{m.name}`", ", ".join(m.rows), *moved])
    alone = ", ".join(c.split(": ")[1].replace(", ", " ") for c in columns[:4])
    shared = ", ".join(c.split(": ")[1].replace(", ", " and ") for c in columns[8:])
    return (
        "Every parameter of HLDG, one at a time: half and twice the default, or what it may be. Utilisation and queue "
        f"of one flow on {alone}; share against CUBIC on 12 Mbit/s with {shared} of buffer. The figure has a heat map "
        "each (red: more than with the default, blue: less); the table how far the figures move at the most.\n\n"
        "![A heat map of utilisation, queue and share per parameter of HLDG](beyond-sensitivity.png)\n\n"
        + markdown.table(["parameter", "values", "utilisation, points", "queue", "share, points"], lines, "llr")
        + "\n"
    )


PARTS: dict[str, Callable[[], str]] = {
    "rates": rates,
    "rates-cubic": rates_cubic,
    "parking-lot": parking_lot,
    "starting-orders": starting_orders,
    "mice-elephants": mice_elephants,
    "pacing": pacing,
    "uplinks": uplinks,
    "queues": queues,
    "sensitivity": sensitivity,
}


def main() -> int:
    """The command line."""
    wanted = sys.argv[1:] or list(PARTS)
    for part in wanted:
        file = "sensitivity-alone" if part == "sensitivity" else part
        source = f"[`{file}.toml`](../experiments/beyond/{file}.toml)"
        made = f"{PARTS[part]()}\n`.venv/bin/python docs/beyond.py {part}` ({source})"
        PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), part, made), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
