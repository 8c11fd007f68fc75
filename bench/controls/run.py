#!/usr/bin/env python3
"""Runs congestion controls beside the kernel's own C in ns-2 and compares their sawtooth: one flow, one bottleneck.

    bench/controls/run.py                                  every control on every path, as docs/beside-ns-controls.md has it
    bench/controls/run.py --controls bic,yeah --paths slow
    bench/controls/run.py --page                           the same, into the page

Agent/TCP/Linux of ns-2 2.35 runs the modules of Linux 2.6.22 as they were; window and threshold are traced at every
change there, and sampled every 5 ms here.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import markdown

import sojourn as sj

PAGE = ROOT / "docs" / "beside-ns-controls.md"
MSS = 1448


@dataclass(frozen=True)
class Control:
    """One of ours and its counterpart, with the parameters of Linux 2.6.22."""

    ours: str
    theirs: str
    #: That kernel counts ACKs; where it allows for delayed ones, only with them it grows as by packets.
    delayed: bool = False


CONTROLS = {
    "newreno": Control("newreno", "reno"),
    "bic": Control("bic", "bic", delayed=True),
    # Version 2.1 left 819/1024 of the window.
    "cubic": Control("cubic(reference=linux, beta=0.8, slow_start=standard)", "cubic"),
    "highspeed": Control("highspeed", "highspeed"),
    # TCP_SCALABLE_AI_CNT was 50.
    "scalable": Control("scalable(reference=linux, growth=0.02)", "scalable"),
    # The paper's Δ with the thresholds that Linux has to this day; it divides by the base RTT only since 2.6.28.
    "vegas": Control("vegas(alpha=2, beta=4)", "vegas"),
    "westwood": Control("westwood", "westwood"),
    "yeah": Control("yeah", "yeah"),
    "illinois": Control("illinois", "illinois"),
    "compound": Control("compound", "compound"),
    "tcp_lp": Control("tcp_lp", "lp"),
}


@dataclass(frozen=True)
class Path_:
    """A bottleneck: rate in bit/s, base RTT in seconds, buffer in packets, probability of random loss."""

    says: str
    rate: float
    rtt: float
    buffer: int
    seconds: int
    warm: int
    loss: float = 0.0


PATHS = {
    "slow": Path_("10 Mbit/s, 40 ms, 1 BDP", 10e6, 0.04, 33, 300, 60),
    "deep": Path_("10 Mbit/s, 40 ms, 4 BDP", 10e6, 0.04, 133, 600, 100),
    "fast": Path_("100 Mbit/s, 80 ms, 0.5 BDP", 100e6, 0.08, 333, 600, 100),
    "lossy": Path_("100 Mbit/s, 80 ms, 1 BDP, 0.01 % random loss", 100e6, 0.08, 667, 600, 50, 1e-4),
}


@dataclass(frozen=True)
class Trace:
    """What a run gave: windows in packets as (time, window), reductions as (time, window before, threshold after)."""

    windows: list[tuple[float, float]]
    cuts: list[tuple[float, float, float]]
    utilisation: float
    queue: float


def theirs(control: Control, path: Path_, seed: int = 1) -> Trace:
    """The run in ns-2."""
    values = {"cc": control.theirs, "rate": path.rate, "rtt": path.rtt, "buf": path.buffer, "dur": path.seconds}
    values |= {"warm": path.warm, "delack": int(control.delayed), "loss": path.loss, "seed": seed}
    command = ["ns", str(Path(__file__).with_name("ns2.tcl")), *(f"{key}={value}" for key, value in values.items())]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    windows, cuts, threshold = [(0.0, 10.0)], [], 0.0
    for words in map(str.split, output.splitlines()):
        match words:
            case [at, *_, "cwnd_", value]:
                windows.append((float(at), float(value)))
            case [at, *_, "ncwndcuts_", value] if float(value) > 0:
                cuts.append((float(at), windows[-1][1], threshold))
            case [at, *_, "ssthresh_", value]:
                # Traced only where it changes, and after the reduction that it belongs to.
                threshold = float(value)
                if cuts and cuts[-1][0] == float(at):
                    cuts[-1] = (*cuts[-1][:2], threshold)
            case ["RESULT", *pairs]:
                figures = dict(pair.split("=") for pair in pairs)
    return Trace(windows, cuts, float(figures["util"]), float(figures["queue"]))


def ours(control: Control, path: Path_, seed: int = 1) -> Trace:
    """The run here."""
    line = f"{path.rate / 1e6:g}Mbit/s {path.rtt * 1e3:g}ms {path.buffer}p {path.loss * 100:g}% fifo: {control.ours}"
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
    climb: tuple[float, float, float] | None


def sawtooth(trace: Trace, path: Path_) -> Sawtooth:
    """The figures of a run, from the warm-up on."""
    times = [at for at, _ in trace.windows]

    def window(at: float) -> float:
        return trace.windows[max(bisect_right(times, at) - 1, 0)][1]

    steps = 20 * (path.seconds - path.warm)
    mean = statistics.fmean(window(path.warm + step / 20) for step in range(steps))
    cuts = [cut for cut in trace.cuts if cut[0] >= path.warm]
    climbs = [
        [(window(since + part * (at - since)) - trough) / (peak - trough) for part in (0.25, 0.5, 0.75)]
        for (since, _, trough), (at, peak, _) in zip(cuts, cuts[1:])
        if peak > trough and at - since > 4 * path.rtt
    ]
    return Sawtooth(
        trace.utilisation,
        trace.queue,
        mean,
        60 * len(cuts) / (path.seconds - path.warm),
        statistics.fmean(peak for _, peak, _ in cuts) if cuts else None,
        statistics.fmean(to / peak for _, peak, to in cuts) if cuts else None,
        tuple(map(statistics.fmean, zip(*climbs))) if climbs else None,
    )


def beside(control: str, path: str, seeds: Sequence[int] = (1,)) -> tuple[Sawtooth, Sawtooth]:
    """Ours and ns-2's, means over seeds where there are dice."""
    chosen, where = CONTROLS[control], PATHS[path]
    pairs = [[sawtooth(run(chosen, where, seed), where) for seed in seeds] for run in (ours, theirs)]
    return averaged(pairs[0]), averaged(pairs[1])
