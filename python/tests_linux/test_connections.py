"""Suites on real packets: connections that come and go over the kernel's TCP."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from conftest import SOJOURN, Tries, timely

MIX = """format = 1
[path]
rate = "10 Mbit/s"
up = "10 Mbit/s"
rtt = "40 ms"
buffer = "2 BDP"
[[flow]]
name = "t"
cc = "newreno"
traffic = "tmix(load=0.7, prefill=5s, whole=true)"
[run]
duration = "10 s"
measure = ["3 s", "10 s"]
vary = "none"
"""


def sojourn(*arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([SOJOURN, *arguments], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_the_mix_is_played_as_the_simulator_plays_it(tmp_path: Path) -> None:
    file = tmp_path / "mix.toml"
    file.write_text(MIX)
    for attempt in Tries():
        with attempt:
            as_simulated(file, tmp_path / str(attempt.number))


def as_simulated(file: Path, folder: Path) -> None:
    ran: dict[str, Any] = {}
    for on in ("sim", "linux"):
        ran[on] = json.loads(sojourn("run", str(file), "--on", on, "--json", "-o", str(folder / on)).stdout)
    sim, linux = (ran[on]["flows"][0]["connections"] for on in ("sim", "linux"))
    about = f"{ran['linux']['validity']['reasons']}, {ran['linux']['validity']['hosts_us']}"
    assert linux["opened"] == linux["closed"] + linux["open"] and sim["opened"] > 1000
    # One that is due in the last moment may not have been opened by then.
    timely(0 <= sim["opened"] - linux["opened"] <= 3, sim["opened"], linux["opened"], about)
    # Those that are open at the end are the ones that think.
    timely(abs(linux["open"] - sim["open"]) < 0.1 * sim["open"], linux["open"], sim["open"], about)
    slower = linux["duration_ms"]["p50"] / sim["duration_ms"]["p50"]
    timely(0.8 < slower < 1.3, "durations", slower, about)
    ours, theirs = (ran[on]["links"][0]["utilisation"] for on in ("sim", "linux"))
    timely(abs(theirs - ours) < 0.05, "utilisation", theirs, ours, about)
    bins = (ran[on]["groups"][0]["completions"] for on in ("sim", "linux"))
    one, other = (next(b for b in of if b["up_to_bytes"] == 4380) for of in bins)
    timely(abs(one["transfers"] - other["transfers"]) < 0.02 * one["transfers"], one, other, about)
    timely(0.8 < other["median_s"] / one["median_s"] < 1.3, one, other, about)


def test_a_suite_runs_what_the_machine_carries_and_names_the_rest(tmp_path: Path) -> None:
    cut = ("--scenario", "wireless", "--scenario", "data-centre", "--aqm", "codel")
    # The suite's own cubic has a beta that the kernel's has not.
    ccs = ("--cc", "cubic(reference=linux), ledbat")
    less = ("--set", "run.duration=8s", "--set", 'run.measure=["3 s", "8 s"]', "--set", "flow.*.traffic.prefill=5s")
    one = ("--set", "sweep.flow.*.traffic.load=[0.6]")
    for attempt in Tries():
        folder = tmp_path / str(attempt.number)
        with attempt:
            done = sojourn("suite", "tcpeval", "--on", "linux", *cut, *ccs, *less, *one, "--json", "-o", str(folder))
            answer = json.loads(done.stdout)
            (scenario,) = answer["scenarios"]
            (row,) = scenario["rows"]
            assert answer["on"] == "linux" and scenario["name"] == "wireless" and row["cc"] == "cubic(reference=linux)"
            # Half of what is offered arrives even in five seconds of it; the link's queue is CoDel's.
            timely(30 < row["load"] < 110 and 0 < row["delay"] < 60 and row["active"] > 1, row)
    why = {one["scenario"]: one["why"] for one in answer["refused"]}
    assert "no 'ledbat'" in why["wireless"] and "newreno (its reno)" in why["wireless"]
    assert "up to 200 Mbit/s" in why["data-centre"]
    assert "1 run in real time" in done.stderr
    page = (folder / "wireless+data-centre.html").read_text("utf-8")
    assert "real packets" in page and "What was not run" in page
