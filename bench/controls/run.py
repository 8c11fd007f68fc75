"""Runs congestion controls beside those of ns-2 and ns-3 and compares their sawtooth: one flow, one bottleneck.

    .venv/bin/python bench/controls/run.py                     every control on every path: a quarter of an hour
    .venv/bin/python bench/controls/run.py --controls bic,yeah --paths slow
    .venv/bin/python bench/controls/run.py --write             writes the tables of docs/beside-ns-controls.md, too

Agent/TCP/Linux of ns-2 2.35 runs the modules of Linux 2.6.22 as they were; ns-3's are its own. Window and threshold are
traced at every change there, and sampled every 5 ms here. `make bench/bin/ns3-controls` builds what ns-3 needs; a
simulator that is not here is left out.
"""

import argparse
import importlib
import shutil
import statistics
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import sojourn as sj

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "docs"))
markdown = importlib.import_module("markdown")

PAGE = ROOT / "docs" / "beside-ns-controls.md"
MSS = 1448


@dataclass(frozen=True)
class Control:
    """One of ours and its counterpart, with the parameters that one has."""

    ours: str
    theirs: str
    #: Linux 2.6.22 counts ACKs; where it allows for delayed ones, only with them it grows as by packets.
    delayed: bool = False


CONTROLS = {
    "ns-2": {
        "newreno": Control("newreno", "reno"),
        "bic": Control("bic", "bic", delayed=True),
        # Version 2.1 left 819/1024 of the window.
        "cubic": Control("cubic(reference=linux, beta=0.8, slow_start=standard)", "cubic"),
        "highspeed": Control("highspeed", "highspeed"),
        # TCP_SCALABLE_AI_CNT was 50.
        "scalable": Control("scalable(reference=linux, growth=0.02)", "scalable"),
        # The paper's Δ, with the thresholds that Linux has to this day.
        "vegas": Control("vegas(alpha=2, beta=4)", "vegas"),
        "westwood": Control("westwood", "westwood"),
        "yeah": Control("yeah", "yeah"),
        "illinois": Control("illinois", "illinois"),
        "compound": Control("compound", "compound"),
        "tcp_lp": Control("tcp_lp", "lp"),
        "veno": Control("veno", "veno"),
        "hybla": Control("hybla", "hybla"),
        "htcp": Control("htcp", "htcp"),
    },
    "ns-3": {
        "newreno": Control("newreno", "LinuxReno"),
        "cubic": Control("cubic(reference=linux, slow_start=standard)", "Cubic"),
        "highspeed": Control("highspeed", "HighSpeed"),
        "westwood": Control("westwood", "Westwood"),
        "yeah": Control("yeah", "Yeah"),
    },
}
COMMANDS = {
    "ns-2": ["ns", str(HERE / "ns2.tcl")],
    "ns-3": [str(HERE.parent / "bin" / "ns3-controls")],
}


@dataclass(frozen=True)
class Way:
    """A bottleneck: rate in bit/s, base RTT in seconds, buffer in packets, loss by chance or every so many packets."""

    says: str
    rate: float
    rtt: float
    buffer: int
    seconds: int
    warm: int
    loss: float = 0.0
    every: int = 0


PATHS = {
    "slow": Way("10 Mbit/s, 40 ms, 1 BDP", 10e6, 0.04, 33, 300, 60),
    "deep": Way("10 Mbit/s, 40 ms, 4 BDP", 10e6, 0.04, 133, 600, 100),
    "fast": Way("100 Mbit/s, 80 ms, 0.5 BDP", 100e6, 0.08, 333, 600, 100),
    # ns-2 repairs what its first slow start lost until 55 s.
    "lossy": Way("100 Mbit/s, 80 ms, 1 BDP, 0.01 % random loss", 100e6, 0.08, 667, 600, 100, 1e-4),
    # Without dice, on request: where a curve is flat CUBIC and BIC keep any of several rhythms.
    "periodic": Way("100 Mbit/s, 80 ms, 1 BDP, every 10,000th packet lost", 100e6, 0.08, 667, 600, 100, every=10_000),
    "often": Way("100 Mbit/s, 80 ms, 1 BDP, every 2,000th packet lost", 100e6, 0.08, 667, 600, 100, every=2000),
}


@dataclass(frozen=True)
class Trace:
    """What a run gave: windows in packets as (time, window), reductions as (time, window before, threshold after)."""

    windows: list[tuple[float, float]]
    cuts: list[tuple[float, float, float]]
    utilisation: float
    queue: float


def theirs(simulator: str, control: Control, path: Way, seed: int = 1) -> Trace:
    """The run in the other simulator."""
    values = {"cc": control.theirs, "rate": path.rate, "rtt": path.rtt, "buf": path.buffer, "dur": path.seconds}
    values |= {"warm": path.warm, "delack": int(control.delayed), "loss": path.loss, "seed": seed}
    values |= {"every": path.every} if path.every else {}
    command = [*COMMANDS[simulator], *(f"{key}={value}" for key, value in values.items())]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    windows, cuts, threshold = [(0.0, 10.0)], [], 0.0
    figures: dict[str, str] = {}
    for words in map(str.split, output.splitlines()):
        match words:
            case [at, *_, "cwnd_", value]:
                windows.append((float(at), float(value)))
            case [at, *_, "ncwndcuts_", value] if float(value) > 0:
                cuts.append((float(at), windows[-1][1], threshold))
            case [at, *_, "ssthresh_", value]:
                # Traced where it changes, and after the reduction that it belongs to.
                threshold = float(value)
                if cuts and cuts[-1][0] == float(at):
                    cuts[-1] = (*cuts[-1][:2], threshold)
            case ["RESULT", *pairs]:
                figures = dict(pair.split("=") for pair in pairs)
    if not figures:
        raise RuntimeError(f"{simulator} on {control.theirs}: {output.strip()[-300:]}")
    return Trace(windows, cuts, float(figures["util"]), float(figures["queue"]))


def ours(control: Control, path: Way, seed: int = 1) -> Trace:
    """The run here."""
    loss = f"periodic(every={path.every})" if path.every else f"{path.loss * 100:g}%"
    line = f"{path.rate / 1e6:g}Mbit/s {path.rtt * 1e3:g}ms {path.buffer}p {loss} fifo: {control.ours}"
    name = control.ours.split("(")[0]
    changes = {"run.duration": f"{path.seconds} s", "run.measure": [f"{path.warm} s", f"{path.seconds} s"]}
    changes |= {"run.vary": "none", "run.seed": seed, f"flow.{name}.delayed_ack": control.delayed}
    result = sj.run(line, set=changes, series="5ms", events=True)
    series, events = result.table("flows"), result.events
    windows = list(zip(series["t_s"], (series["cwnd_bytes"] / MSS), strict=True))
    kept = events.filter(events["cause"].is_in(["loss_backoff", "timeout"]))
    columns = (kept["time_s"], kept["cwnd_before"] / MSS, kept["ssthresh_after"] / MSS)
    link = result.links.row(0, named=True)
    return Trace(windows, list(zip(*columns, strict=True)), link["utilisation"], link["queue_packets.mean"])


@dataclass(frozen=True)
class Sawtooth:
    """Means over a run's measured part; where there are no two reductions, the teeth are None."""

    utilisation: float
    queue: float
    window: float
    cuts_a_minute: float
    peak: float | None
    #: What a reduction leaves of the window.
    leaves: float | None
    #: How far the window has come from trough to peak after a quarter, a half and three quarters of the time between.
    climb: tuple[float, ...] | None


def sawtooth(trace: Trace, path: Way) -> Sawtooth:
    """The figures of a run, from the warm-up on."""
    times = [at for at, _ in trace.windows]

    def window(at: float) -> float:
        return trace.windows[max(bisect_right(times, at) - 1, 0)][1]

    steps = 20 * (path.seconds - path.warm)
    mean = statistics.fmean(window(path.warm + step / 20) for step in range(steps))
    cuts = [cut for cut in trace.cuts if cut[0] >= path.warm]
    climbs = [
        [(window(since + part * (at - since)) - trough) / (peak - trough) for part in (0.25, 0.5, 0.75)]
        for (since, _, trough), (at, peak, _) in pairwise(cuts)
        if peak > trough and at - since > 4 * path.rtt
    ]
    return Sawtooth(
        trace.utilisation,
        trace.queue,
        mean,
        60 * len(cuts) / (path.seconds - path.warm),
        statistics.fmean(peak for _, peak, _ in cuts) if cuts else None,
        statistics.fmean(to / peak for _, peak, to in cuts) if cuts else None,
        tuple(map(statistics.fmean, zip(*climbs, strict=True))) if climbs else None,
    )


def beside(simulator: str, control: str, path: str, seeds: Sequence[int] = (1,)) -> tuple[Sawtooth, Sawtooth]:
    """Ours and the other's, means over seeds where there are dice."""
    chosen, where = CONTROLS[simulator][control], PATHS[path]
    return (
        averaged([sawtooth(ours(chosen, where, seed), where) for seed in seeds]),
        averaged([sawtooth(theirs(simulator, chosen, where, seed), where) for seed in seeds]),
    )


def averaged(runs: Sequence[Sawtooth]) -> Sawtooth:
    """The mean of each figure; None where a run has none."""

    def mean(values: Sequence[Any]) -> Any:
        if any(value is None for value in values):
            return None
        return tuple(map(mean, zip(*values, strict=True))) if isinstance(values[0], tuple) else statistics.fmean(values)

    return Sawtooth(*(mean([getattr(run, field.name) for run in runs]) for field in fields(Sawtooth)))


@dataclass(frozen=True)
class Figure:
    """A column: how its numbers are written, and how far apart the two may be, absolute or in parts of the other's."""

    head: str
    digits: int
    absolute: float
    relative: float = 0.0
    factor: float = 1.0

    def text(self, value: float | tuple[float, ...] | None) -> str:
        """A figure of one of the two."""
        if value is None:
            return "–"
        return " ".join(
            f"{self.factor * one:.{self.digits}f}" for one in (value if isinstance(value, tuple) else (value,))
        )

    def agrees(self, a: float | tuple[float, ...] | None, b: float | tuple[float, ...] | None) -> bool:
        """Are they within the bounds?"""
        if a is None or b is None:
            return a is b
        if isinstance(a, tuple) and isinstance(b, tuple):
            return all(map(self.agrees, a, b))
        return abs(a - b) <= max(self.absolute, self.relative * abs(b))


#: Two packets are what a loss found one packet later, and the transmitter's own, are worth.
FIGURES = {
    "utilisation": Figure("utilisation, %", 1, 0.01, factor=100),
    "queue": Figure("queue, packets", 1, 2, 0.05),
    "window": Figure("window, packets", 1, 2, 0.05),
    "cuts_a_minute": Figure("reductions a minute", 2, 0, 0.1),
    "peak": Figure("peak, packets", 1, 2, 0.03),
    "leaves": Figure("leaves", 3, 0.015),
    "climb": Figure("climb at ¼, ½, ¾", 2, 0.08),
}
#: Of random losses both have their own; so many a run are a tenth apart by chance.
DICE = 0.15
SEEDS = 12


def differences(a: Sawtooth, b: Sawtooth, dice: bool = False) -> list[str]:
    """The figures that are out of bounds."""
    figures = {name: replace(f, relative=max(f.relative, DICE)) if dice else f for name, f in FIGURES.items()}
    return [name for name, figure in figures.items() if not figure.agrees(getattr(a, name), getattr(b, name))]


def section(simulator: str, path: str, controls: Sequence[str]) -> str:
    """The table of a path: ours, the other's; what is out of bounds is bold."""
    dice = PATHS[path].loss > 0
    rows = []
    for control in controls:
        print(f"controls: {simulator} {path} {control}", file=sys.stderr, flush=True)
        a, b = beside(simulator, control, path, range(1, SEEDS + 1) if dice else (1,))
        apart = differences(a, b, dice)
        cells = [
            f"**{text}**" if name in apart else text
            for name, figure in FIGURES.items()
            for text in [f"{figure.text(getattr(a, name))} / {figure.text(getattr(b, name))}"]
        ]
        rows.append([f"`{CONTROLS[simulator][control].ours}`", *cells])
    heads = [f"ours / {simulator}", *(figure.head for figure in FIGURES.values())]
    return f"{PATHS[path].says}:\n\n{markdown.table(heads, rows, 'l' + 'r' * len(FIGURES))}"


def chosen(text: str | None, known: Sequence[str], what: str) -> list[str]:
    """Names of a list with commas; all without one."""
    names = text.split(",") if text else list(known)
    if unknown := [name for name in names if name not in known]:
        sys.exit(f'controls: no {what} "{unknown[0]}" (known: {", ".join(known)})')
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", help=f"of {','.join(CONTROLS)}")
    parser.add_argument("--controls", help=f"of {','.join(CONTROLS['ns-2'])}")
    parser.add_argument("--paths", help=f"of {','.join(PATHS)}")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args()
    if asked.write and (asked.beside or asked.controls or asked.paths):
        sys.exit("controls: --write is for all tables: leave --beside, --controls and --paths out")
    controls, paths = (
        chosen(asked.controls, list(CONTROLS["ns-2"]), "control"),
        chosen(asked.paths, list(PATHS), "path") if asked.paths else [name for name in PATHS if not PATHS[name].every],
    )
    here = [name for name in chosen(asked.beside, list(CONTROLS), "simulator") if shutil.which(COMMANDS[name][0])]
    if not here or (asked.write and len(here) < len(CONTROLS)):
        sys.exit("controls: ns-2 or ns-3 is not here (bench/README.md)")
    page = PAGE.read_text("utf-8")
    for simulator in here:
        known = [control for control in controls if control in CONTROLS[simulator]]
        # A path of 100 Mbit/s takes ns-3 minutes for each.
        for path in [path for path in paths if known and (simulator == "ns-2" or PATHS[path].rate < 50e6)]:
            table = section(simulator, path, known)
            print(f"{table}\n", flush=True)
            page = markdown.filled(page, path if simulator == "ns-2" else f"{path}, {simulator}", table)
    if asked.write:
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
