#!/usr/bin/env python3
"""Writes the tables of docs/linux.md from runs on both sides: no figure of them is typed.

sudo .venv/bin/python docs/linux.py              all of them: three quarters of an hour of real time, on an idle machine
sudo .venv/bin/python docs/linux.py verify acks  some

Results lie in runs/linux/, from which a second call goes on. Runs on Linux that say of themselves that they were held
up do not count, and over each table stands how many did.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import markdown
import polars as pl

import sojourn as sj
from sojourn._engine import version
from sojourn.stats import number

HERE = Path(__file__).parent
PAGE = HERE / "linux.md"
RUNS = HERE.parent / "runs" / "linux"
SOJOURN = Path(sys.executable).with_name("sojourn")
Settings = Mapping[str, str]


def called(command: str, source: str, settings: Settings, *options: str) -> str:
    """What the command prints."""
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    done = subprocess.run([SOJOURN, command, source, *sets, *options], stdout=subprocess.PIPE, text=True, check=False)
    # 1: the two part, which the table shall say.
    if done.returncode > 1 or not done.stdout.strip():
        sys.exit(f"sojourn {command} {source}: exit status {done.returncode}")
    return done.stdout


#: Of each result on Linux that a table has, how many runs there are, and how many of them count.
counted: dict[Path | None, tuple[int, int]] = {}


def sound(result: sj.Result, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of runs that do not say of themselves that they were held up."""
    runs = [(o.case.index, o.repetition) for o in result.outcomes if o.summary.get("validity", {}).get("valid", True)]
    if any("validity" in o.summary for o in result.outcomes):
        counted[result.path] = len(result.outcomes), len(runs)
    if not runs:
        sys.exit(f"{result.title}: every run was held up; try again on an idle machine")
    good = pl.DataFrame(runs, schema={"case": pl.UInt32, "repetition": pl.UInt32}, orient="row")
    return frame.join(good, on=["case", "repetition"], how="semi")


def both(name: str, source: str, settings: Settings, times: int, sim: Settings | None = None) -> list[sj.Result]:
    """The kernel's result, and the simulator's with settings of its own."""
    results = []
    for on in ("linux", "sim"):
        repeat = [] if on == "sim" and sim else ["--repeat", str(times)]
        folder, changes = RUNS / name / on, {**settings, **(sim or {})} if on == "sim" else settings
        called("run", source, changes, "--on", on, "--acks", "--json", "-o", str(folder), *repeat)
        results.append(sj.load(folder))
    return results


def spread(values: Iterable[float]) -> str:
    """Mean and standard deviation."""
    seen = list(values)
    return number(statistics.mean(seen)) + (f" ± {number(statistics.stdev(seen))}" if len(seen) > 1 else "")


def verified(name: str, file: str, settings: Settings, times: int) -> tuple[dict[str, object], sj.Result, sj.Result]:
    """The verdicts on an experiment file, and both results."""
    folder, path = RUNS / "verify" / name, HERE.parent / "experiments" / "verify" / file
    said = called("verify", str(path), settings, "--repeat", str(times), "--json", "-o", str(folder))
    return json.loads(said), sj.load(folder / "sim"), sj.load(folder / "linux")


def verify() -> str:
    """Utilisation and queue of the files that are compared."""
    rows = []
    for cc in ("reno", "cubic", "hldg", "cdg", "bbr", "bbr at 40 ms"):
        file = f"{cc.partition(' ')[0]}.toml"
        said, *sides = verified(cc.replace(" ", "-"), file, {"path.rtt": "40 ms"} if " " in cc else {}, 4)
        name = f"the same at 40 ms (`verify/{file} --set path.rtt=40ms`)" if " " in cc else f"`verify/{file}`"
        links = [sound(side, side.links) for side in sides]
        cells = [f"{number(100 * link['utilisation'].mean())} %" for link in links]
        cells += [f"{number(link['queue_ms.mean'].mean())} ms" for link in links]
        rows.append([name, *cells, "agree" if said["agrees"] else "part"])
    return markdown.table(["", "utilisation, sim", "kernel", "mean queue, sim", "kernel", ""], rows, "lr")


def repairs() -> str:
    """Goodput with random losses."""
    losses = {"hd": 5, "newreno": 5, "cubic(reference=linux)": 1, "hldg": 1, "cdg": 1}
    rows = []
    for cc, loss in losses.items():
        line = f"10Mbit/s 40ms 2BDP {loss}% fifo: {cc}"
        noise = {"run.vary": "start", "run.repeat": "10"}
        name = f"repairs/{cc.partition('(')[0]}"
        results = both(name, line, {"run.duration": "30s"}, 8, noise)
        rows.append(
            [f"`{cc}`", f"{loss} %", *(spread(sound(result, result.flows)["goodput_mbps"]) for result in results)]
        )
    return markdown.table(["", "losses", "kernel", "simulator"], rows, "lr")


#: Paths of the table on ACKs: the line and how long a flow runs.
OPENING = (
    "10Mbit/s 40ms 10packets fifo: hldg",
    "12Mbit/s 10ms 100packets fifo: hd",
    "20Mbit/s 100ms 2BDP fifo: hd",
    "4Mbit/s 40ms 2BDP fifo: cdg",
)


def acks() -> str:
    """ACKs a segment, at first and later."""
    rows = []
    for n, line in enumerate(OPENING):
        results = both(f"acks/{n}", line, {"run.duration": "6s"}, 3)
        cells = []
        for seconds in (pl.col("time_s") < 1, pl.col("time_s") >= 3):
            for result in results:
                seen = sound(result, result.acks).filter(seconds)
                cells.append(number(len(seen) / (seen["delivered"].sum() / 1448)))
        rows.append([f"`{line}`", *cells])
    heads = ["path", "first second: kernel", "simulator", "from 3 s on: kernel", "simulator"]
    return markdown.table(heads, rows, "lr")


def losses() -> str:
    """CUBIC where one packet in a hundred is lost: paths of Figure 5.33."""
    measured = {"run.duration": "60s", "run.measure": '["10 s", "60 s"]'}
    rows = []
    for n, (path, up) in enumerate(
        (("4Mbit/s 40ms 14packets", 1), ("4Mbit/s 180ms 60packets", 1), ("1.5Mbit/s 10ms 2packets", 0.5))
    ):
        line = f"{path} fifo 1%: cubic(reference=linux)"
        results = both(f"losses/{n}", line, {"path.up": f"{up} Mbit/s", **measured}, 5 if n == 0 else 3)
        links = [sound(result, result.links).filter(pl.col("link") == 0) for result in results]
        used = [spread(100 * link["utilisation"]) for link in links]
        rows.append([f"`{path}`", f"{up} Mbit/s", *used])
    return markdown.table(["path", "`path.up`", "kernel, %", "simulator, %"], rows, "lr")


def game() -> str:
    """Figure 2.15: a game beside CUBIC and beside CDG."""
    said, *sides = verified("game", "figure-2.15.toml", {}, 3)
    rows = {
        "the game's one-way delay, mean": ("flows", "game", "owd_ms.mean", "ms"),
        "p95": ("flows", "game", "owd_ms.p95", "ms"),
        "largest": ("flows", "game", "owd_ms.max", "ms"),
        "the game's packets lost": ("flows", "game", "loss_pct", "%"),
        "queue, mean": ("links", "bottleneck", "queue_ms.mean", "ms"),
        "packets dropped": ("links", "bottleneck", "dropped", ""),
        "the transfer": ("flows", "bulk", "throughput_mbps", "Mbit/s"),
    }
    lines = []
    for title, (of, name, column, unit) in rows.items():
        cells = []
        for case in (0, 1):
            for side in sides:
                found = sound(side, getattr(side, of)).filter((pl.col("case") == case) & (pl.col("name") == name))
                cells.append(f"{number(found[column].mean())} {unit}".rstrip())
        lines.append([title, *cells])
    cases = said["cases"]
    assert isinstance(cases, list)
    figures = [row for case in cases for row in case["rows"]]
    good = sum(row["agrees"] for row in figures)
    made = markdown.table(["", "beside CUBIC, sim", "kernel", "beside CDG, sim", "kernel"], lines, "lr")
    return f"{made}\n\n`verify` finds {good} of {len(figures)} figures within their limits."


TABLES = {"verify": verify, "repairs": repairs, "acks": acks, "losses": losses, "game": game}


def main() -> None:
    """Write the tables named, or all."""
    wanted = sys.argv[1:] or list(TABLES)
    if unknown := set(wanted) - set(TABLES):
        sys.exit(f"docs/linux.py: no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    told = f"Kernel {'.'.join(platform.release().split('.')[:2])}, model {version().model}"
    for name in wanted:
        counted.clear()
        table = TABLES[name]()
        there, count = (sum(numbers) for numbers in zip(*counted.values(), strict=True))
        made = f"{told}, {count} of {there} runs of the kernel's count:\n\n{table}"
        PAGE.write_text(markdown.filled(PAGE.read_text("utf-8"), f"linux {name}", made), "utf-8")
        print(made)


if __name__ == "__main__":
    main()
