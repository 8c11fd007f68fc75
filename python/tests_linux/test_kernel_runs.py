"""Our algorithms in the running kernel: what they do to a queue, what they tell, what is left of them."""

from __future__ import annotations

import json
import math
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SOJOURN, Listener, Tries, answers, beside_cubic, bpf_objects, carry, gone, held, run, timely, used

from sojourn.held import Outcome, load
from sojourn.linux import build, kernel, lent
from sojourn.linux.ring import Ring

Loaded = Callable[..., str]


@pytest.fixture(autouse=True)
def traceless() -> Iterator[None]:
    """No BPF object may be left behind."""
    before = bpf_objects()
    yield
    gone(before)
    assert {path.name for path in lent.LOCKS.glob("*")} <= held()


def sojourn(*arguments: str) -> str:
    done = subprocess.run([SOJOURN, *arguments], capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_hldg_keeps_queues_short_and_its_part_of_the_link(loaded: Loaded, tmp_path: Path) -> None:
    """HLDG and CUBIC alone over 1000 packets, and beside each other over 340 ms: three links at the same time."""
    path = ("--rate", "10Mbit/s", "--rtt", "100ms", "--buffer", "1000p")
    loaded("hldg")
    for attempt in Tries():
        with attempt:
            with ThreadPoolExecutor(3) as links:
                ours = links.submit(carry, "hldg", 17, *path)
                theirs = links.submit(carry, "cubic", 17, *path)
                both = links.submit(beside_cubic, 20, 0.5, 5, tmp_path)
                hldg, cubic, (share, _) = ours.result(), theirs.result(), both.result()
            filled, queue = used(hldg, 10), hldg.link("up")["queue_ms"]["mean"]
            long = cubic.link("up")["queue_ms"]["mean"]
            about = f"HLDG: {filled:.1%} used, {queue:.2f} ms of queue; CUBIC: {used(cubic, 10):.1%}, {long:.0f} ms; "
            about += f"beside each other HLDG has {share:.1%}; {hldg.about()}"
            timely(filled > 0.93 and queue < 5.0 and long > 200.0 and share > 0.25, about)


def test_the_kernel_answers_as_the_c_and_the_rust_do(loaded: Loaded, tmp_path: Path) -> None:
    """All four on one link, with losses: each records its calls, which the others then get."""
    ports = {name: 5201 + i for i, name in enumerate(build.NAMES)}
    serve = [word for port in ports.values() for word in ("--serve", f"iperf3 -s -1 -p {port}")]
    flows = "".join(f"iperf3 -c $SOJOURN_SERVER -p {port} -C {name} -t 5 >/dev/null & " for name, port in ports.items())
    with ExitStack() as open_:
        heard = {name: open_.enter_context(Listener(loaded(name, record=True))) for name in ports}
        path = ("--rate", "40Mbit/s", "--rtt", "20ms", "--buffer", "40p", "--up-loss", "0.2%")
        ran = run(*path, *serve, "--", "sh", "-c", f"{flows}wait")
        assert ran.code == 0, ran.err
    for name, one in heard.items():
        print(answers(name, one, tmp_path / name))


def test_an_experiment_brings_its_algorithms_with_their_parameters(loaded: Loaded, tmp_path: Path) -> None:
    # What somebody has loaded is neither used nor touched.
    loaded("cdg(g=9)")
    # CDG is alone for 2.5 s: where CUBIC's slow start takes nearly all, it hardly backs off any more.
    line = "10Mbit/s 40ms 4BDP fifo: cdg(g=2), cdg(g=20)@0.5s, cubic@3s"
    record = ("--series", "10ms", "--events", "--acks", "--diftr")
    for attempt in Tries():
        folder = str(tmp_path / f"run{attempt.number}")
        with attempt:
            text = sojourn("run", line, "--set", "run.duration=7s", "--on", "linux", *record, "--json", "-o", folder)
            assert [row.spec for row in kernel.loaded()] == ["cdg(g=9)"]
            (outcome,) = load(folder)
            as_its_algorithms_say(outcome, json.loads(text))
    # Plots and loggers work on it as on a simulated run.
    sojourn("plot", "time", folder, "--why", "--from", "2", "--to", "4", "-o", str(tmp_path / "why.png"))
    assert (tmp_path / "why.png").stat().st_size > 10_000
    (outcome,) = load(folder)
    acks = outcome.frame("acks")
    assert acks is not None
    for options, kinds in (((), "i"), (("--with", "direction=io"), "io")):
        log = str(tmp_path / "run.ttp")
        sojourn("export", folder, "--format", "ttprobe", "--flow", "cdg", *options, "-o", log)
        rows = Path(log).read_text().splitlines()
        assert {row[0] for row in rows} == set(kinds)
        assert sum(row[0] == "i" for row in rows) == acks.filter(flow=0).height


def as_its_algorithms_say(outcome: Outcome, summary: dict[str, Any]) -> None:
    """The record of a run of `cdg(g=2)`, of `cdg(g=20)` and of the kernel's own CUBIC."""
    validity = summary["validity"]
    timely(validity["untold"] == 0, validity)
    events, acks, series = (outcome.frame(name) for name in ("events", "acks", "flows"))
    assert events is not None and acks is not None and series is not None
    for f, scale_ms in ((0, 2.0), (1, 20.0)):
        mine = events.filter(flow=f)
        backoffs = mine.filter(cause="delay_backoff")
        assert summary["flows"][f]["backoffs"]["delay"] == backoffs.height
        assert summary["flows"][f]["slow_start_exit"]["ssthresh_bytes"] > 0
        # The parameter is in force: P = 1 - exp(-g/G) of one of the gradients (Hayes and Armitage, 2011).
        for row in backoffs.iter_rows(named=True):
            by = [1 - math.exp(-max(row[v], 0) * 1e-6 / scale_ms) for v in ("v0", "v1", "v2", "v3")]
            assert min(abs(row["v4"] * 1e-9 - p) for p in by) < 0.01, row
            assert row["v5"] <= row["v4"]
    timely(summary["flows"][0]["backoffs"]["delay"] >= 5, summary["flows"][0], validity)
    # CUBIC is the kernel's: samples of it, and no ACKs.
    assert set(acks["flow"].unique()) == {0, 1}
    sampled = series.filter((pl.col("flow") == 2) & pl.col("cwnd_bytes").is_finite())
    timely(acks.filter(flow=0).height > 300 and sampled.height > 300, acks, sampled, validity)
    # What an ACK left is what TCP_INFO shows until the next; a sample is 10 ms old at most when it is written down.
    told = acks.filter(flow=0, phase=0).select("time_s", after=pl.col("cwnd_after") // 1448)
    shown = series.filter((pl.col("flow") == 0) & pl.col("cwnd_bytes").is_finite()).select("t_s", "cwnd_bytes")
    joined = shown.join_asof(told, left_on="t_s", right_on="time_s", strategy="backward").drop_nulls()
    apart = (joined["cwnd_bytes"] / 1448 - joined["after"]).abs()
    timely((apart <= 1).mean() > 0.9, joined, validity)


def test_a_window_keeps_so_many_packets_as_its_parameter_says(tmp_path: Path) -> None:
    # A back-off to a twentieth asks for less than any of them keeps. FreeBSD's CDG has no least but a byte.
    specs = {
        "hldg(bdp=false, beta_delay=0.05)": (1448, 1448),
        "hldg(bdp=false, beta_delay=0.05, least=2)": (2896, 2896),
        "cdg(beta_delay=0.05)": (1, 1447),
        "cdg(beta_delay=0.05, keep_two=true)": (2896, 2896),
    }
    folder = str(tmp_path / "run")
    line = f"10Mbit/s 20ms 40packets fifo: {', '.join(specs)}"
    sojourn("run", line, "--set", "run.duration=4s", "--on", "linux", "--events", "-o", folder)
    (outcome,) = load(folder)
    events = outcome.frame("events")
    assert events is not None
    for f, (spec, (low, high)) in enumerate(specs.items()):
        kept = events.filter(pl.col("cause").is_in(["loss_backoff", "delay_backoff"]), flow=f)["cwnd_after"]
        assert low <= min(kept, default=0) <= high, (spec, kept.to_list())


def test_every_timeout_of_an_outage_is_told(tmp_path: Path) -> None:
    outage = 'path.changes=[{at="1 s", loss="100 %"}, {at="4 s", loss="0 %"}]'
    line = "10Mbit/s 40ms 2BDP fifo: hldg"
    for attempt in Tries():
        folder = str(tmp_path / str(attempt.number))
        with attempt:
            length = ("--set", "run.duration=6s", "--set", outage)
            sojourn("run", line, *length, "--on", "linux", "--events", "-o", folder)
            (outcome,) = load(folder)
            events = outcome.frame("events")
            assert events is not None
            told = events.filter(cause="timeout")
            # Three seconds have room for waits of a quarter of a second, of twice and of four times that.
            timely(told.height >= 3, told)
            assert told["v1"].to_list() == list(range(1, told.height + 1)), told
            waits = told["time_s"].diff().drop_nulls().to_list()
            for rto, wait in zip(told["v2"].to_list()[1:], waits, strict=True):
                timely(abs(rto * 1e-9 / wait - 1) < 0.2, told)


def test_the_ack_that_fills_a_hole_grows_the_window_by_what_is_new(tmp_path: Path) -> None:
    """It covers a window of which one packet is new; the kernel's own algorithms count that one."""
    folder = str(tmp_path / "run")
    line = "10Mbit/s 40ms 2BDP 5% fifo: hd"
    sojourn("run", line, "--set", "run.duration=6s", "--on", "linux", "--acks", "--events", "-o", folder)
    (outcome,) = load(folder)
    acks, events = outcome.frame("acks"), outcome.frame("events")
    assert acks is not None and events is not None
    assert events.filter(cause="loss_backoff").height >= 5
    # Within repairs (phase 2) windows do not grow, and algorithms hear how far the ACK moved, as in the simulator.
    growing = acks.filter((acks["phase"] != 2) & (acks["acked"] > 0))
    assert growing.height > 100 and (growing["acked"] == growing["delivered"]).all()


def test_what_a_killed_run_leaves_is_cleaned_up_by_the_next_start(tmp_path: Path) -> None:
    line = "10Mbit/s 40ms 4BDP fifo: hldg(g=2), hd"
    out = ("-o", str(tmp_path / "out"))
    arguments = [SOJOURN, "run", line, "--set", "run.duration=60s", "--on", "linux", *out]
    before = held()
    with subprocess.Popen(arguments, stderr=subprocess.DEVNULL) as running:
        mine: set[str] = set()
        while running.poll() is None and not (len(mine) == 2 and mine <= set(kernel.registered())):
            time.sleep(0.1)
            mine = held() - before
        time.sleep(1)
        running.send_signal(signal.SIGKILL)
    assert len(mine) == 2 and mine <= set(kernel.registered())
    sojourn("kernel", "list")
    assert not mine & set(kernel.registered())


def test_one_that_a_socket_keeps_alive_is_not_taken_for_its_successor(loaded: Loaded) -> None:
    """The ring that is read, and what is unloaded, are the loaded one's."""

    def connected(port: int) -> socket.socket:
        made = socket.socket()
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"hldg")
        made.connect(("127.0.0.1", port))
        return made

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        loaded("hldg", record=True)
        with connected(port):
            (left,) = kernel.unload("hldg", wait=0.2)
            assert "stay until the last socket" in left
            assert kernel.loaded() == []
            loaded("hldg(g=4)", record=True)
            ring = Ring("hldg")
            with connected(port):
                time.sleep(0.1)
            assert len(ring.read()) > 0
            kernel.unload("hldg", wait=0)
