"""Experiments over the kernel's TCP, and the simulator beside it."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import SOJOURN, Tries, timely

from sojourn.held import load

EXPERIMENTS = Path(__file__).parent.parent.parent / "experiments" / "verify"


def sojourn(*arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([SOJOURN, *arguments], capture_output=True, text=True, timeout=150, check=False)
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done


def test_an_experiment_runs_on_the_kernel_in_the_simulators_words(tmp_path: Path) -> None:
    line = "10Mbit/s 40ms 2BDP fifo: cubic, newreno@2s-5s, voip"
    common = ("--set", "run.duration=7s", "--series", "10ms", "--events")
    ours = json.loads(sojourn("run", line, *common, "--json", "-o", str(tmp_path / "sim")).stdout)
    for attempt in Tries():
        folder = str(tmp_path / f"linux{attempt.number}")
        with attempt:
            done = sojourn("run", line, *common, "--on", "linux", "--diftr", "--json", "-o", folder)
            in_the_simulators_words(json.loads(done.stdout), ours)
    # NewReno's window ends with it, and what stands for the RTT is each one as it was measured, not a mean of them.
    series = load(Path(folder)).series.flows.filter(flow=1)
    late = series.filter(pl.col("t_s") > 6.5)
    assert late.height > 10 and not late["cwnd_bytes"].is_finite().any() and not late["rtt_ms"].is_finite().any()
    live = series.filter(pl.col("rtt_ms").is_finite())
    assert live.height > 100 and np.std(live["rtt_ms"].to_numpy()) > np.std(live["srtt_ms"].to_numpy())
    # The same figures can be drawn, and another host's runs are not mixed in.
    sojourn("plot", "time", folder, "-o", str(tmp_path / "time.png"))
    assert (tmp_path / "time.png").stat().st_size > 10_000
    mixed = sojourn("run", line, "--set", "run.duration=7s", "-o", folder, code=2)
    assert "holds runs on linux, these are on sim" in mixed.stderr
    # What the kernel's packets met can be played again, drop for drop.
    assert "identical" in sojourn("verify", folder).stdout


def in_the_simulators_words(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    def shape(value: Any) -> Any:
        return {k: shape(v) for k, v in value.items()} if isinstance(value, dict) else None

    for part in ("flows", "links", "groups"):
        for one, other in zip(ours[part], theirs[part], strict=True):
            assert shape(one) == shape(other)
    assert theirs["on"] == "linux"
    cubic, _, voip = theirs["flows"]
    assert cubic["backoffs"]["loss"] >= 1 and voip["cc"] == "none"
    # What nobody tells of the kernel's own algorithms is no zero.
    assert cubic["backoffs"]["below_bdp"] is None and set(cubic["losses"].values()) == {None}
    rates = [flow["throughput_mbps"] for flow in theirs["flows"]]
    about = f"{rates} Mbit/s, {cubic['rtt_ms']}, {theirs['links'][0]}, {theirs['validity']}"
    timely(theirs["links"][0]["utilisation"] > 0.9 and rates[0] > 3 and rates[1] > 0.3, about)
    # 80 kbit/s, less what the drop-tail queue took.
    timely(0.07 < rates[2] <= 0.0805, about)
    # Of 200 bytes 28 are headers.
    assert voip["goodput_mbps"] == pytest.approx(rates[2] * 172 / 200, rel=0.02)
    # The path's 40 ms, and a queue of at most 80 ms.
    assert cubic["rtt_ms"]["min"] >= 40
    timely(cubic["rtt_ms"]["min"] < 45 and 60 < cubic["rtt_ms"]["max"] < 160, about)


@pytest.mark.untimed
@pytest.mark.parametrize("queue", ["pie", "fq_codel", "red"])
def test_what_programs_sent_meets_the_same_drops_in_the_simulator(tmp_path: Path, queue: str) -> None:
    folder = tmp_path / "run"
    sojourn(
        *("emulate", "--rate", "8Mbit/s", "--rtt", "20ms", "--buffer", "60p", "--queue", queue, "--loss", "1%"),
        *("--change", "2s rate=3Mbit/s", "--record", "-o", str(folder), "--serve", "iperf3 -s", "--", "sh", "-c"),
        # iperf3 gives up if the datagram that opens a test is among the hundredth lost.
        "try() { iperf3 -c $SOJOURN_SERVER -t 2 $*; }; "
        "for how in '-P 3' '-R -C cubic' '-u -b 9M'; do try $how || try $how; done",
    )
    (played,) = json.loads(sojourn("verify", str(folder), "--json").stdout)
    assert played["same"] and played["dropped"] == played["dropped_again"] > 20, played


@pytest.mark.untimed
def test_a_capture_is_read_by_others(tmp_path: Path) -> None:
    file = tmp_path / "run.pcapng"
    sojourn(
        "emulate",
        "--rate",
        "5Mbit/s",
        "--rtt",
        "10ms",
        "--pcap",
        str(file),
        "--",
        "ping",
        "-c",
        "5",
        "-i",
        "0.2",
        "10.201.0.1",
    )
    import dpkt

    with file.open("rb") as handle:
        packets = [bytes(data) for _, data in dpkt.pcapng.Reader(handle)]
    echoes = [p for p in packets if dpkt.ip.IP(p).p == dpkt.ip.IP_PROTO_ICMP]
    # Ten packets, each seen where it is sent, on its link and where it arrives.
    assert len(echoes) == 30


@pytest.mark.untimed
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("10Mbit/s 40ms 2BDP fifo: vegas", "this kernel has no 'vegas'"),
        ("10Mbit/s 40ms 2BDP fifo: cubic(beta=0.8)", "beta=0.8 is not to be had"),
        ("10Mbit/s 40ms 2BDP fifo freebsd-11: newreno", "stack freebsd-11 cannot be had on linux; on linux can be"),
        ("10Mbit/s 40ms 2BDP fifo: onoff", "its traffic, onoff, cannot be had"),
    ],
)
def test_what_the_kernel_cannot_do_is_refused_with_what_it_can(line: str, said: str) -> None:
    done = sojourn("run", line, "--on", "linux", code=2)
    assert said in done.stderr and done.stdout == ""


def test_a_receiver_holds_the_kernels_sender_back_as_the_simulators(tmp_path: Path) -> None:
    """One that reads slowly, and one with a small buffer, on two links at the same time."""

    def flow(on: str, folder: str, key: str, value: str, _: float) -> dict[str, Any]:
        line = "12Mbit/s 40ms 1BDP fifo: cubic(reference=linux, slow_start=hystart)"
        settings = (f"flow.cubic.{key}={value}", "run.duration=4s", 'run.measure=["2s", "4s"]')
        common = (word for setting in settings for word in ("--set", setting))
        kept = ("--series", "10ms", "--json", "-o", str(tmp_path / key / folder))
        done = sojourn("run", line, *common, "--on", on, *kept)
        (one,) = json.loads(done.stdout)["flows"]
        return one

    cases = (("read_rate", "1Mbit/s", 1.0), ("receive_window", "32 KiB", 6.06))
    ours = [flow("sim", "sim", *case) for case in cases]
    for attempt in Tries():
        with attempt, ThreadPoolExecutor(len(cases)) as links:
            running = [links.submit(flow, "linux", str(attempt.number), *case) for case in cases]
            theirs = [one.result() for one in running]
            # From the first round trip on, but for what lets a receiver's window grow there (docs/linux.md).
            flying = load(tmp_path / "receive_window" / str(attempt.number)).series.flows["in_flight_bytes"].to_numpy()
            assert 0 < np.nanmax(flying) <= 32_768 + 2 * 1448, np.nanmax(flying)
            for (_, _, goodput), sim, linux in zip(cases, ours, theirs, strict=True):
                assert sim["goodput_mbps"] == pytest.approx(goodput, rel=0.01)
                assert linux["lost"] == linux["retransmits"] == 0
                goodputs = sim["goodput_mbps"], linux["goodput_mbps"]
                timely(goodputs[1] == pytest.approx(goodputs[0], rel=0.02), f"goodputs {goodputs}")
                rtts = sim["rtt_ms"]["mean"], linux["rtt_ms"]["mean"]
                timely(abs(rtts[0] - rtts[1]) < 2.0, f"RTTs {rtts}")


@pytest.mark.parametrize(("names", "end"), [(("reno", "cubic"), "15s"), (("bbr",), "20s")], ids=["reno, cubic", "bbr"])
def test_simulator_and_kernel_agree(tmp_path: Path, names: tuple[str, ...], end: str) -> None:
    """One repetition here, NewReno and CUBIC at the same time; `sojourn verify` of the files has three and more time.

    A single pause of 6 ms is enough for BBR to part: it makes one sample of the bandwidth 2 % too large, and the queue
    grows to 40 ms over the ten rounds in which that counts (docs/linux.md).
    """

    def verified(name: str, folder: str) -> dict[str, Any]:
        window = f'run.measure=["5s", "{end}"]'
        arguments = ("--set", f"run.duration={end}", "--set", window, "--repeat", "1", "--json")
        done = sojourn("verify", str(EXPERIMENTS / f"{name}.toml"), *arguments, "-o", folder, code=None)
        report: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (0 if report["agrees"] else 1)
        return report

    for attempt in Tries(2):
        with attempt, ThreadPoolExecutor(len(names)) as links:
            running = [links.submit(verified, name, str(tmp_path / f"{name}-{attempt.number}")) for name in names]
            reports = [one.result() for one in running]
            for name, report in zip(names, reports, strict=True):
                decided = [row for case in report["cases"] for row in case["rows"] if row["decides"]]
                assert {row["figure"] for row in decided} == {"utilisation", "mean queue"}
                rows = [(r["figure"], r["sim"], r["linux"], r["where"]) for r in decided]
                timely(report["agrees"], f"{name}: {rows}, {report['suspect']}", held_up=bool(report["suspect"]))
