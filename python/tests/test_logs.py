"""Logs of TCP's state: they hold what the algorithm saw, are read back, and damage is one clear error."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn.formats import diftr, export, flent, loggers, logs, sockets, unpacking
from sojourn.formats.sockets import states
from sojourn.linux.scene import Scene

LINE = "12Mbit/s 40ms 20p codel: cubic, newreno@300ms"
SETTINGS = {"run.duration": "1.5 s"}
KINDS = ("ttprobe", "binary", "tcp_probe", "web10g", "siftr", "diftr", "flent")


@pytest.fixture(scope="module")
def result() -> sj.Result:
    return sj.run(LINE, set=SETTINGS, series="10ms", acks=True, events=True)


@pytest.fixture(scope="module")
def rows(result: sj.Result) -> pl.DataFrame:
    flows = export.recorded_flows(export.Run.of(result), [0, 1])
    return states(flows, [0, 1])


@pytest.fixture(scope="module")
def written(rows: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A log of each kind."""
    folder = tmp_path_factory.mktemp("logs")
    files = {kind: folder / f"run.{kind}" for kind in KINDS}
    for kind, logger in loggers.LOGGERS.items():
        files[kind].write_bytes(logger.of({}).write(rows, 1.5).data)
    files["binary"].write_bytes(loggers.Ttprobe.of({"omode": "1", "direction": "io"}).write(rows, 1.5).data)
    run = export.Run.of(sj.api.prepare(LINE, SETTINGS))
    assert export.diftr(run, files["diftr"]) > 1000
    assert export.flent(run, files["flent"], step_ms=100.0) == 15
    return files


def test_a_record_shows_the_window_that_the_packet_found(result, rows):
    acks = result.acks.filter(pl.col("flow") == 0).with_columns(time_ns=(pl.col("time_s") * 1e9).round().cast(pl.Int64))
    heard = rows.filter((pl.col("flow") == 0) & (pl.col("direction") == "i")).select("time_ns", "cwnd", "snd_una")
    both = acks.unique("time_ns", keep="first").join(heard.unique("time_ns", keep="first"), on="time_ns")
    assert len(both) > 0.9 * len(acks) > 300
    assert (both["cwnd"] == both["cwnd_before"]).all()
    # What is acknowledged between two ACKs is what the second finds.
    una = rows.filter(pl.col("flow") == 0)["snd_una"].to_numpy().astype(np.int64)
    assert (((np.diff(una) + 2**31) % 2**32 - 2**31) >= 0).all()
    first = rows.filter(pl.col("flow") == 0).row(0, named=True)
    assert first["direction"] == "o" and first["cwnd"] == 10 * 1448 and first["snd_una"] == first["snd_nxt"]
    assert rows["rcv_wnd"].max() == 64 << 20 and set(rows["state"]) == {1, 2}


@pytest.mark.parametrize("read", ["1e-7", "1e-6"])
def test_a_reader_that_comes_each_nanosecond_loses_nothing(rows, read):
    few = rows.unique(["time_ns", "direction"], keep="first", maintain_order=True)
    for flush in ("0", "1"):
        assert loggers.Ttprobe.of({"bufsize": "9", "read": read, "flush": flush}).write(few, 1.5).lost == 0


def test_binary_is_the_same_log_as_text(rows, written):
    text = loggers.Ttprobe.of({"direction": "2"}).write(rows, 1.5)
    assert logs.ttpb2ascii(written["binary"]) == (text.data.decode(), len(rows), False)
    assert len(written["binary"].read_bytes()) == 96 * len(rows)
    first = text.data.decode().split("\n")[0].split(",")
    assert (
        len(first) == 17 and first[0] == "o" and first[6:8] == ["0", "1448"] and first[9:11] == ["14480", "2147483647"]
    )


def test_ttprobes_parameters_choose(rows):
    def log(**given_: str) -> list[list[str]]:
        data = loggers.Ttprobe.of(given_).write(rows, 1.5).data.decode()
        return [line.split(",") for line in data.splitlines()]

    assert {line[0] for line in log(direction="o")} == {"o"} and {line[0] for line in log()} == {"i"}
    assert len(log(port="5001")) == len(log()) and log(port="80") == []
    changed = log(full="0", direction="io")
    for name in {line[2] for line in changed}:
        windows = [line[9] for line in changed if line[2] == name]
        assert len(windows) > 20 and all(a != b for a, b in pairwise(windows))
    assert max(float(line[1]) for line in log(finish="0.5")) <= 0.5
    # A buffer of five records that is read every 100 ms: five of each turn, and without a flush none of the last.
    small = loggers.Ttprobe.of({"bufsize": "5", "read": "100"}).write(rows, 1.45)
    whole = loggers.Ttprobe.of({}).write(rows, 1.45)
    assert small.records + small.lost == whole.records and 30 < small.records <= 15 * 5
    last = loggers.Ttprobe.of({"bufsize": "5", "read": "100", "flush": "0"}).write(rows, 1.45).data.decode()
    assert float(last.splitlines()[-1].split(",")[1]) < 1.4
    for wrong in ({"omode": "3"}, {"bufsiz": "5"}, {"direction": "x"}, {"port": "1.5"}, {"read": "nan"}):
        with pytest.raises(sj.SpecError, match=f"--with {next(iter(wrong))}="):
            loggers.Ttprobe.of(wrong)


def test_web10g_has_its_variables_where_teacup_looks_for_them(rows):
    """Columns from one: MSS 20, smoothed RTT 23, cwnd 26, ssthresh 27, window 29, state 76, sequence 108 and 109."""
    places = {"CurMSS": 20, "SmoothedRTT": 23, "CurCwnd": 26, "CurSsthresh": 27, "CurRwinSent": 29, "SampleRTT": 45,
              "State": 76, "SndUna": 108, "SndNxt": 109}  # fmt: skip
    assert {name: loggers.WEB10G_HEAD.index(name) + 1 for name in places} == places
    lines = loggers.Ttprobe.of({"omode": "2"}).write(rows, 1.5).data.decode().splitlines()
    assert lines[0].startswith("Timestamp,CID,LocalAddress") and all(line.count(",") == 122 for line in lines)
    polls = [
        line.split(",") for line in loggers.Web10g.of({"interval": "10"}).write(rows, 1.5).data.decode().splitlines()
    ]
    mine = [float(line[0]) for line in polls[1:] if line[2] == "10.0.0.1"]
    assert np.allclose(np.diff(mine), 0.01) and mine[-1] == 1.5


@pytest.mark.parametrize("kind", ["ttprobe", "binary", "tcp_probe", "siftr", "web10g"])
def test_what_is_written_is_read_back(kind, rows, written):
    read = logs.read(written[kind])
    assert not read.cut and len(read.frame) > 100 and set(read.frame["flow"]) == {0, 1}
    of = rows if kind in ("binary", "siftr") else rows.filter(pl.col("direction") == "i")
    if kind == "tcp_probe":  # by its nature: changes of established connections
        packets = pl.col("cwnd") // 1448
        of = of.filter(pl.col("state") == 1).filter(packets.ne_missing(packets.shift().over("flow")))
    if kind != "web10g":
        assert np.allclose(read.frame["t_s"], of["time_ns"] / 1e9, atol=1e-6)
        assert np.abs(read.frame["cwnd_bytes"].to_numpy() - of["cwnd"].to_numpy()).max() < (
            1 if kind == "siftr" else 1448
        )
        known = of["ssthresh"].is_finite().to_numpy()
        assert (read.frame["ssthresh_bytes"].is_not_null().to_numpy() == known).all() and known.any()
        assert np.allclose(read.frame["srtt_ms"], of["srtt_us"] / 1e3, atol=0.04)
        flying = (of["snd_nxt"] - of["snd_una"]).to_numpy() % 2**32
        assert (read.frame["in_flight_bytes"].to_numpy() == flying).all()
    first = logs.summary(read)[0]
    assert first["connection"].startswith("10.0.0.1:40000-") and first["window_changes"] > 20


def test_a_poller_counts_the_packets_that_have_come(rows):
    polled = loggers.polled_at(rows, 10, 1.5)
    for flow in (0, 1):
        mine = rows.filter(pl.col("flow") == flow)
        for poll in polled.filter(pl.col("flow") == flow).rows(named=True):
            by = mine.filter(pl.col("time_ns") <= poll["time_ns"])["direction"]
            assert (poll["segs_out"], poll["segs_in"]) == ((by == "o").sum(), (by == "i").sum()), poll["time_ns"]


def test_a_polled_flow_counts_from_its_start() -> None:
    """The second begins at 1.1 s, in the midst of a step, and its sequence numbers then."""
    late = sj.run("10Mbit/s 20ms 1BDP fifo: cubic, newreno@1100ms", set={"run.duration": "3 s"}, series="200ms")
    polled = sockets.polled(late.outcomes[0].frame("flows"), late.plan.cases[0], [0, 1])
    for flow in (0, 1):
        goodput = late.series.flows.filter(pl.col("flow") == flow)["goodput_mbps"].fill_nan(0).fill_null(0).sum()
        last = polled.filter(pl.col("flow") == flow)["snd_una"][-1]
        assert last == pytest.approx(goodput * 1e6 / 8 * 0.2, rel=0.02), flow


def test_a_ping_meets_the_queues_on_its_way_only(tmp_path):
    text = """
format = 1
link = [
  { name = "a", rate = "5 Mbit/s", delay = "10 ms", buffer = "50 packets" },
  { name = "b", rate = "5 Mbit/s", delay = "10 ms", buffer = "50 packets" },
  { name = "back", delay = "10 ms" },
]
flow = [
  { name = "x", cc = "cdg", route = ["a"], back = ["back"] },
  { name = "y", cc = "cubic", route = ["b"], back = ["back"] },
]
run = { duration = "4 s" }
"""
    (tmp_path / "two.toml").write_text(text)
    export.flent(export.Run.of(sj.api.prepare(tmp_path / "two.toml", {})), tmp_path / "out", step_ms=100.0)
    ping = flent.read(tmp_path / "out").frame["Ping (ms) ICMP"]
    assert ping.min() >= 20.0 and ping.median() < 60.0, "cdg keeps its own queue short; y's is 60 to 120 ms"


def test_the_ping_follows_the_path(tmp_path):
    changes = '[{at = "1 s", rtt = "120 ms"}, {at = "2 s", rtt = "20 ms"}]'
    made = sj.api.prepare("100Mbit/s 40ms 1BDP fifo: vegas", {"path.changes": changes, "run.duration": "3 s"})
    export.flent(export.Run.of(made), tmp_path / "out", step_ms=100.0)
    ping = flent.read(tmp_path / "out").frame
    for since, until, base in ((0.3, 1.0, 40), (1.1, 2.0, 120), (2.1, 3.0, 20)):
        some = ping.filter(pl.col("t_s").is_between(since, until))["Ping (ms) ICMP"]
        assert base <= some.min() < base + 10, (since, some)


def test_nobody_polls_a_connection_that_is_gone():
    made = sj.api.prepare("10Mbit/s 40ms 1BDP fifo: cubic@0s-2s, newreno", {"run.duration": "5 s"})
    rows = states(export.recorded_flows(export.Run.of(made), [0, 1]), [0, 1])
    polled = loggers.polled_at(rows, 10, 5.0)
    ends = polled.group_by("flow").agg(pl.col("time_ns").max() / 1e9).sort("flow")["time_ns"].to_list()
    assert ends == [pytest.approx(2.1, abs=0.3), 5.0]


def test_a_summary_of_diftr_counts_passages_and_one_of_flent_series(result, written):
    link = result.outcomes[0].summary["links"][0]
    lines = logs.summary(logs.read(written["diftr"]))
    assert [(line["flow"], line["link"]) for line in lines] == [("cubic", "bottleneck"), ("newreno", "bottleneck")]
    assert sum(line["dropped"] for line in lines) == link["dropped"] > 0
    assert lines[1]["from_s"] > 0.3 > lines[0]["from_s"]
    table = logs.read(written["diftr"]).frame
    for line in lines:
        out = table.filter((pl.col("flow_name") == line["flow"]) & (pl.col("event") == "dequeue"))
        assert (line["bytes"], line["sojourn_ms_max"]) == (out["size"].sum(), out["sojourn_ms"].max())
        assert line["sojourn_ms_mean"] == pytest.approx(out["sojourn_ms"].mean())
    lines = logs.summary(logs.read(written["flent"]))
    frame = logs.read(written["flent"]).frame
    assert [line["series"] for line in lines] == frame.columns[1:]
    late = next(line for line in lines if line["series"] == "TCP download::2")
    assert (
        late["values"] < 15 and late["from_s"] > 0.3 and late["mean"] == pytest.approx(frame["TCP download::2"].mean())
    )


def test_diftr_and_flent_come_back(result, written):
    table = sj.run(LINE, set=SETTINGS, diftr=True).diftr
    back = logs.read(written["diftr"]).frame
    for name in (
        "time_s",
        "event",
        "link",
        "size",
        "packets",
        "bytes",
        "sojourn_ms",
        "count",
        "link_name",
        "flow_name",
    ):
        assert back[name].cast(table[name].dtype).equals(table[name]), name
    one = flent.read(written["flent"])
    assert one.metadata["NAME"] == "tcp_ndown" and one.metadata["TEST_PARAMETERS"] == {"download_streams": "2"}
    # Their mean is the goodput of the whole; a ping meets the base RTT at least.
    total = result.flows["goodput_mbps"].sum()
    assert one.frame["TCP download sum"].mean() == pytest.approx(total, rel=0.02)
    assert one.frame["Ping (ms) ICMP"].min() >= 40.0 and one.frame["Ping (ms) ICMP"].max() > 45.0
    assert gzip.decompress(written["flent"].read_bytes()).startswith(b"{")


def test_a_run_on_linux_is_exported_from_what_it_recorded(result, tmp_path):
    was = result.outcomes[0]
    raw = json.dumps(was.summary | {"on": "linux"})

    def of(**tables):
        there = replace(was, raw=raw, tables=was.tables | tables)
        return export.Run.of(replace(result, outcomes=(there,)))

    # Where no algorithm told of its ACKs, the samples of TCP_INFO are what there is.
    none = {name: (kind, b"") for name, (kind, _) in was.tables["acks"].items()}
    run = of(acks=none)
    log = export.log(run, tmp_path / "log", "siftr", options={})
    back = logs.read(tmp_path / "log").frame
    series = result.series.flows.filter(pl.col("cwnd_bytes").is_finite()).sort("t_s", "flow")
    assert len(back) == log.records == len(series)
    assert (np.abs(back["cwnd_bytes"].to_numpy() - series["cwnd_bytes"].to_numpy()) < 1).all()
    # Where it did, each ACK finds the window as it was before it, and a departure as the last ACK left it.
    acks = result.acks
    sent = {
        "time_ns": ("u64", np.array([10**18], "<u8").tobytes()),
        "flow": ("u32", bytes(4)),
        "way": ("u16", bytes(2)),
        "size": ("u32", np.array([1500], "<u4").tobytes()),
        "ecn": ("u16", bytes(2)),
    }
    log = export.log(of(arrivals=sent), tmp_path / "log", "ttprobe", options={"direction": "io", "omode": "1"})
    back = logs.read(tmp_path / "log").frame
    heard, left = back.filter(direction="i"), back.filter(direction="o")
    assert len(heard) == acks.height > 100 and len(left) == 1 and left["length"][0] == 1480
    whole = (acks["cwnd_before"].to_numpy() // 1448) * 1448
    assert (heard["cwnd_bytes"].to_numpy() == whole).mean() > 0.99
    assert left["cwnd_bytes"][0] == acks.filter(flow=0)["cwnd_after"][-1] // 1448 * 1448
    with pytest.raises(sj.SpecError, match="on Linux and cannot be repeated"):
        export.pcapng(run, tmp_path / "x")
    with pytest.raises(sj.SpecError, match="--diftr"):
        export.diftr(run, tmp_path / "x")


def test_an_emulation_names_what_it_can_export(result, tmp_path):
    """What programs sent is nobody's flow: no TCP is known that could be logged, and nothing can be repeated."""
    scene = Scene("10Mbit/s", "20ms").experiment()
    was = result.outcomes[0]
    there = replace(was, case=sj.check(scene).cases[0], raw=json.dumps(was.summary | {"on": "linux"}), tables={})
    run = export.Run.of(replace(result, experiment=scene, plan=sj.check(scene), outcomes=(there,)))
    cure = r"tables \(--table links, drops, …\), --format diftr .*\(sojourn emulate --pcap\)"
    for refused in (
        lambda: export.pcapng(run, tmp_path / "x"),
        lambda: export.qlog(run, tmp_path / "x"),
        lambda: export.log(run, tmp_path / "x", "siftr", options={}),
    ):
        with pytest.raises(sj.SpecError, match=cure):
            refused()
    with pytest.raises(sj.SpecError, match=r"run again with sojourn emulate … --diftr"):
        export.diftr(run, tmp_path / "x")


def on_linux(result: sj.Result, **tables: object) -> export.Run:
    """Its run, as one on Linux with these tables in place of its own; None: it has none such."""
    was = result.outcomes[0]
    held = {name: table for name, table in {**was.tables, **tables}.items() if table is not None}
    there = replace(was, raw=json.dumps(was.summary | {"on": "linux"}), tables=held)
    return export.Run.of(replace(result, outcomes=(there,)))


def test_an_export_of_a_run_on_linux_says_whose_state_it_has_not(tmp_path):
    game = sj.run("12Mbit/s 40ms 20p codel: cubic, game", set=SETTINGS, series="10ms", acks=True, events=True)
    told: list[str] = []
    export.log(on_linux(game), tmp_path / "log", "siftr", options={}, tell=told.append)
    assert told == ["left out: game (datagrams: no TCP)"]
    with pytest.raises(sj.SpecError, match=r"left out: game \(datagrams: no TCP\)"):
        export.log(on_linux(game), tmp_path / "none", "siftr", options={}, flows=["game"])
    assert not (tmp_path / "none").exists()


def test_what_the_kernel_had_no_series_of_is_told(result, tmp_path):
    """One flow's algorithm told of its ACKs; of the kernel's beside it only a series would have told."""
    acks = result.outcomes[0].tables["acks"]

    def column(kind: str, data: bytes) -> np.ndarray:
        return np.frombuffer(data, f"<{kind[0]}{int(kind[1:]) // 8}")

    ours = column(*acks["flow"]) == 0
    acks = {name: (kind, column(kind, data)[ours].tobytes()) for name, (kind, data) in acks.items()}
    run = on_linux(result, acks=acks, flows=None, links=None, vars=None)
    told: list[str] = []
    log = export.log(run, tmp_path / "log", "siftr", options={}, tell=told.append)
    assert log.records == ours.sum() > 100
    (said,) = told
    assert said.startswith("left out: newreno (of the kernel's TCP only series tell") and "--series 10ms" in said
    with pytest.raises(sj.SpecError, match=r"left out: newreno .* --on linux --series 10ms"):
        export.log(run, tmp_path / "none", "siftr", options={}, flows=["newreno"])


def test_flent_has_the_step_that_a_run_on_linux_recorded(result, tmp_path):
    run = on_linux(result)
    assert export.flent(run, tmp_path / "out") == export.flent(run, tmp_path / "out", step_ms=10.0) > 140
    with pytest.raises(sj.SpecError, match=r"--with step=1000ms: .* recorded steps of 10 ms .* --series 1000ms"):
        export.flent(run, tmp_path / "none", step_ms=1000.0)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_log_is_what_is_inside(kind, written, tmp_path):
    """TEACUP keeps its logs so: x_siftr.log.gz; a Flent file is JSON inside, packed or not."""
    data = written[kind].read_bytes()
    (tmp_path / "log.gz").write_bytes(data if kind == "flent" else gzip.compress(data, 1))
    (tmp_path / "log").write_bytes(gzip.decompress(data) if kind == "flent" else data)
    packed, plain = logs.read(tmp_path / "log.gz"), logs.read(tmp_path / "log")
    assert packed.kind == plain.kind and packed.frame.equals(plain.frame) and len(packed.frame) > 10
    if kind == "binary":
        assert logs.ttpb2ascii(tmp_path / "log.gz") == logs.ttpb2ascii(tmp_path / "log")


def test_what_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(unpacking, "LARGEST", 1 << 20)
    (tmp_path / "log.gz").write_bytes(gzip.compress(bytes(2 << 20), 1))
    with pytest.raises(sj.SpecError, match=r"log\.gz: unpacks to more than 1 MiB"):
        logs.read(tmp_path / "log.gz")


def test_a_summary_prints_bytes_whole_and_times_as_they_are(sojourn, tmp_path):
    """Times of real logs are seconds since 1970, of which six digits are months."""
    lines = [
        f"i,{1685490000 + t}.123456,1.2.3.4,1,5.6.7.8,2,0,1448,40500,{cwnd},2147483647,1,1,1,1,1,1\n"
        for t, cwnd in ((0, 14480), (12, 2896123))
    ]
    (tmp_path / "log").write_text("".join(lines))
    done = sojourn("log", "log")
    assert done.returncode == 0 and "ttprobe, 2 records in 12 s" in done.stderr
    assert {"1685490000.123456", "1685490012.123456", "2896123", "40.5"} <= set(done.stdout.split())


FUZZ = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_or_refuse(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    try:
        logs.summary(logs.read(path))
    except sj.SpecError as error:
        assert str(path) in str(error)


@FUZZ
@given(data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_log_is_refused_or_read(kind, data, written, tmp_path):
    whole = written[kind].read_bytes()[:6000] if kind != "flent" else written[kind].read_bytes()
    if data.draw(st.booleans()):
        read_or_refuse(tmp_path / "log", whole[: data.draw(st.integers(0, len(whole)))])
        return
    at = data.draw(st.integers(0, min(len(whole), 1500)))
    read_or_refuse(
        tmp_path / "log", whole[:at] + data.draw(st.binary(max_size=40)) + whole[at + data.draw(st.integers(0, 40)) :]
    )


@FUZZ
@given(junk=st.binary(max_size=300), packed=st.booleans())
def test_junk_is_refused(junk, packed, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(junk, 1) if packed else junk)
    with pytest.raises(sj.SpecError, match=re.escape(str(path))):
        logs.read(path)


def test_what_else_is_exported_is_told_from_a_log(result, tmp_path):
    run = export.Run.of(result)
    for name in ("run.qlog", "run.sqlog"):
        export.qlog(run, tmp_path / name, flows=[result.flows["name"][0]])
        with pytest.raises(sj.SpecError, match=rf"{name}: qlog, which qvis .* --table events"):
            logs.read(tmp_path / name)
    export.pcapng(run, tmp_path / "run.pcapng")
    (tmp_path / "old.pcap").write_bytes(bytes.fromhex("d4c3b2a1") + bytes(20))
    for name in ("run.pcapng", "old.pcap"):
        with pytest.raises(sj.SpecError, match=rf"{name}: packets, .* `sojourn spp A B`"):
            logs.read(tmp_path / name)


def test_a_cut_log_gives_what_is_whole(written, tmp_path):
    for kind in ("ttprobe", "binary", "siftr", "diftr"):
        data = written[kind].read_bytes()[:5000]
        (tmp_path / kind).write_bytes(data)
        read = logs.read(tmp_path / kind)
        assert read.cut and 10 < len(read.frame) < 200, kind


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ('"a": [1, NaN]', "no JSON inside: NaN is no number of JSON"),
        ('"a": [1, -Infinity]', "no JSON inside: -Infinity is no number of JSON"),
        ('"a": [1, 1e999]', "series 'a' holds a number that is too large"),
        ('"a": [1, 2], "a": [3, 4]', "no JSON inside: the key 'a' is there more than once"),
        ('"\\ud800": [1, 2]', r"the name of series '.ud800' is no text"),
    ],
)
def test_a_flent_result_holds_numbers_under_names_of_their_own(results, says, tmp_path):
    path = tmp_path / "a.flent"
    path.write_text(f'{{"version": 3, "x_values": [0, 1], "results": {{{results}}}}}')
    with pytest.raises(sj.SpecError, match=says):
        logs.read(path)


@pytest.mark.parametrize("names", [("t_s", "t_s "), ("t_s ", "t_s"), ("a", "t_s")])
def test_no_series_of_flents_is_taken_for_another_or_for_the_times(names, tmp_path):
    path = tmp_path / "a.flent"
    series = {name: [n, n + 1] for n, name in enumerate(names, 5)}
    path.write_text(json.dumps({"version": 3, "x_values": [0, 1], "results": series}))
    frame = flent.read(path).frame
    assert frame["t_s"].to_list() == [0, 1] and frame.width == 3
    assert [frame[:, n].to_list() for n in (1, 2)] == list(series.values())


def test_a_diftr_log_has_its_columns_whatever_happened(written, tmp_path):
    head, first, *_ = written["diftr"].read_text().splitlines()
    path = tmp_path / "log"
    schemas = []
    for lines in ([first], []):
        path.write_text("\n".join([head, *lines, f"disable_time_secs=1.0\tnum_events={len(lines)}", ""]))
        schemas.append(logs.read(path).frame.schema)
    assert schemas[0] == schemas[1] and {"link_name", "flow_name"} <= set(schemas[0])
    fields = first.split(",")
    fields[head.partition("columns=")[2].split("\t")[0].split(",").index("size")] = str(2**64 - 1)
    path.write_text(f"{head}\n{','.join(fields)}\n")
    with pytest.raises(sj.SpecError, match=f"a packet of {2**64 - 1} bytes; allowed are up to {2**32 - 1}"):
        logs.read(path)


def test_columns_of_web10g_do_not_replace_each_other(written, tmp_path):
    (tmp_path / "log").write_text(written["web10g"].read_text().replace("SegsOut,", "CurCwnd,", 1))
    with pytest.raises(sj.SpecError, match="line 1: a log of web10g with CurCwnd more than once"):
        logs.read(tmp_path / "log")


def test_errors_say_where(tmp_path):
    path = tmp_path / "log"
    path.write_text(
        "i,0.1,1.2.3.4,1,5.6.7.8,2,0,1448,1,1,1,1,1,1,1,1,1\ni,0.2,1.2.3.4,x,5.6.7.8,2,0,1448,1,1,1,1,1,1,1,1,1\n"
    )
    with pytest.raises(sj.SpecError, match=r"line 2: no line of ttprobe: 'x' is no whole number"):
        logs.read(path)
    path.write_text("enable_time_secs=0\tdiftrver=2\n")
    with pytest.raises(sj.SpecError, match="version 1"):
        diftr.read(path, path.read_text())
    path.write_bytes(gzip.compress(json.dumps({"version": 9}).encode()))
    with pytest.raises(sj.SpecError, match="version 9"):
        flent.read(path)
    with pytest.raises(sj.SpecError, match="it begins with 'hello'"):
        path.write_text("hello")
        logs.read(path)
    with pytest.raises(sj.SpecError, match="log: an empty file"):
        path.write_text("")
        logs.read(path)
