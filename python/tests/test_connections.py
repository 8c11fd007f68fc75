"""Connections that come and go (tmix) belong to their flow by name, in captures, logs and pictures."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import dpkt
import numpy as np
import polars as pl
import pytest

import sojourn as sj
from sojourn import plot
from sojourn.errors import NotRecorded, SpecError
from sojourn.formats import export, logs
from sojourn.plot import data, series, style
from sojourn.plot.traffic import lost

TWO = """
format = 1
[path]
rate = "10 Mbit/s"
rtt = "30 ms"
buffer = "60p"
[run]
duration = "10 s"
[[flow]]
name = "c"
cc = "cubic"
start = "4 s"
[[flow]]
name = "tm"
cc = "cubic"
traffic = "tmix(load=0.3)"
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tmix") / "two.toml"
    path.write_text(TWO, "utf-8")
    return path


@pytest.fixture(scope="module")
def result(file: Path) -> sj.Result:
    return sj.run(file, series="10ms", events=True, diftr=True)


@pytest.fixture
def run(file: Path) -> export.Run:
    return export.Run.of(sj.api.prepare(file))


def figures(result: sj.Result, flow: int) -> dict[str, Any]:
    found: dict[str, Any] = result.outcomes[0].summary["flows"][flow]
    return found


def test_no_two_connections_of_a_capture_are_alike(result: sj.Result, run: export.Run, tmp_path: Path) -> None:
    path = tmp_path / "tm.pcapng"
    assert export.pcapng(run, path, points=["receiver"], flows=["tm"]) > 5000
    with path.open("rb") as file:
        seen = [dpkt.ip.IP(bytes(packet)) for _, packet in dpkt.pcapng.Reader(file)]
    assert {ip.src for ip in seen} == {bytes([10, 0, 0, 2]), bytes([10, 128, 0, 2])}
    assert b"tm.sender\0" in path.read_bytes() and b"c.sender\0" not in path.read_bytes()
    asked = [ip.data for ip in seen if ip.data.flags == dpkt.tcp.TH_SYN]
    assert {syn.dport for syn in asked} == {5001}
    starts = {(syn.sport, syn.seq) for syn in asked}
    opened = figures(result, 1)["connections"]["opened"]
    assert len({port for port, _ in starts}) == len(starts) == len({seq for _, seq in starts}) == opened


def test_what_is_dropped_at_queues_has_the_flows_name(result: sj.Result, run: export.Run, tmp_path: Path) -> None:
    drops = result.drops
    assert set(drops["flow_name"]) == {"c", "tm"}
    assert len(drops.filter(pl.col("flow_name") == "tm", pl.col("link") == 0)) == figures(result, 1)["lost"] > 100
    export.diftr(run, tmp_path / "diftr.log")
    lines = {(row["flow"], row["link"]): row for row in logs.summary(logs.read(tmp_path / "diftr.log"))}
    for i, name in enumerate(("c", "tm")):
        assert lines[name, "bottleneck"]["dropped"] == figures(result, i)["lost"]
    assert set(result.diftr["flow_name"]) == {"c", "tm"}


def test_flent_has_the_goodput_of_connections(result: sj.Result, run: export.Run, tmp_path: Path) -> None:
    path = tmp_path / "run.flent.gz"
    export.flent(run, path, flows=["tm"])
    written = json.loads(gzip.decompress(path.read_bytes()))
    rates = written["results"]["TCP download::1"]
    assert np.mean(rates) == pytest.approx(figures(result, 1)["goodput_mbps"])
    assert written["results"]["TCP download avg"] == rates
    assert written["metadata"]["NOTE"] == "1: tm (cubic, window and RTT are means of its connections)"


@pytest.mark.parametrize("name", ["qlog", "siftr", "ttprobe", "web10g", "tcp_probe"])
def test_a_log_of_connections_states_says_whose_it_has_not(run: export.Run, tmp_path: Path, name: str) -> None:
    def written(out: Path, **how: Any) -> None:
        if name == "qlog":
            export.qlog(run, out, **how)
        else:
            export.log(run, out, name, options={}, **how)

    told: list[str] = []
    written(tmp_path / "both", tell=told.append)
    assert len(told) == 1 and told[0].startswith("left out: tm (tmix: connections come and go, and the state of none")
    told.clear()
    written(tmp_path / "one", flows=["c"], tell=told.append)
    assert not told
    with pytest.raises(SpecError, match=r"left out: tm \(tmix: .* --format pcapng has their packets"):
        written(tmp_path / "none", flows=["tm"])
    assert not (tmp_path / "none").exists()


def test_the_command_notes_what_it_leaves_out(sojourn: Any, file: Path, tmp_path: Path) -> None:
    done = sojourn("export", file, "--format", "siftr", "-o", tmp_path / "siftr.log")
    assert done.returncode == 0 and "note: left out: tm (tmix:" in done.stderr


def test_datagrams_are_left_out_as_what_they_are(tmp_path: Path) -> None:
    run = export.Run.of(sj.api.prepare("10Mbit/s 20ms 1BDP fifo: cubic, cbr(rate=1Mbit/s)", {"run.duration": "1s"}))
    told: list[str] = []
    export.qlog(run, tmp_path / "run.qlog", tell=told.append)
    assert told[0].endswith("(datagrams: no TCP)") and "cubic" not in told[0]


def test_loss_of_connections_is_their_flows(result: sj.Result) -> None:
    case = data.shown(result)[0]
    _, pct = lost(case, 1, data.table(case, "flows"), data.table(case, "drops"), (0.0, 10.0), 10.0)
    assert pct[0] == pytest.approx(figures(result, 1)["loss_pct"], rel=0.02)


def test_goodput_of_connections_over_time_adds_up_to_what_arrived(result: sj.Result) -> None:
    case = data.shown(result)[0]
    mine = data.table(case, "flows").filter(pl.col("flow") == 1)
    mbps = data.column(mine, "goodput_mbps")
    assert np.isfinite(mbps).all() and (mbps >= 0).all()
    assert mbps.sum() * 0.01 / 10 == pytest.approx(figures(result, 1)["goodput_mbps"])
    # No step has more of it than the packets that arrived in it and those that waited for a hole to fill.
    through = data.column(mine, "throughput_mbps")
    assert (mbps.cumsum() <= through.cumsum()).all()
    with style.styled():
        fig = plot.make("time", [case], panels="goodput,ackseq")
    assert all(len(ax.lines) == 2 for ax in fig.axes)


def test_goodput_that_an_older_result_lacks_is_not_drawn_as_none(
    result: sj.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = data.table

    def older(case: data.Shown, name: str, run: int = 0) -> pl.DataFrame:
        frame = full(case, name, run)
        lacks = pl.when(pl.col("flow") == 1).then(float("nan")).otherwise("goodput_mbps")
        return frame.with_columns(goodput_mbps=lacks) if name == "flows" else frame

    monkeypatch.setattr(series, "table", older)
    with pytest.raises(NotRecorded, match=r"older result .* of tm, .* --fresh"):
        plot.svg("time", result, panels="ackseq")
    plot.svg("time", result, panels="ackseq", flows="c")


def test_drops_of_an_older_result_are_not_drawn_as_none(result: sj.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    full = data.table

    def older(case: data.Shown, name: str, run: int = 0) -> pl.DataFrame:
        frame = full(case, name, run)
        mine = pl.col("flow") == 1
        return frame.with_columns(flow=pl.when(mine).then(7).otherwise("flow")) if name == "drops" else frame

    monkeypatch.setattr(series, "table", older)
    with pytest.raises(NotRecorded, match=r"older result .* of connections .* --fresh"):
        plot.svg("time", result, panels="loss")
    assert "Lost" in plot.svg("time", result, panels="loss", flows="c")
