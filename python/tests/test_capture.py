"""What `sojourn export` writes for other tools, read back with a parser of somebody else, and RTTs from captures."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import dpkt
import polars as pl
import pytest
from captures import LINE, SETTINGS, run_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn.explained import explained
from sojourn.formats import export, pcap, qlog
from sojourn.formats.packets import packets
from sojourn.plot.why import named_values


def by_dpkt(path: Path) -> list[tuple[float, dpkt.ip.IP]]:
    with path.open("rb") as file:
        return [(time, dpkt.ip.IP(bytes(data))) for time, data in dpkt.pcapng.Reader(file)]


def options(tcp: dpkt.tcp.TCP) -> dict[int, bytes]:
    return dict(dpkt.tcp.parse_opts(tcp.opts))


# -- pcapng ------------------------------------------------------------------------------------------------------------


def test_a_capture_tells_a_tcp_connection_to_another_parser(tmp_path):
    path = tmp_path / "sender.pcapng"
    written = export.pcapng(run_of(), path, points=["sender"], flows=["cubic"])
    seen = by_dpkt(path)
    assert len(seen) == written > 2000
    times = [time for time, _ in seen]
    assert times == sorted(times) and times[-1] <= 4.0

    syn, answer = seen[0][1].data, seen[1][1].data
    assert syn.flags == dpkt.tcp.TH_SYN and answer.flags == dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK
    for opening in (syn, answer):
        given_ = options(opening)
        assert struct.unpack(">H", given_[dpkt.tcp.TCP_OPT_MSS]) == (1460,)
        assert {dpkt.tcp.TCP_OPT_SACKOK, dpkt.tcp.TCP_OPT_TIMESTAMP, dpkt.tcp.TCP_OPT_WSCALE} <= set(given_)
    assert answer.ack == (syn.seq + 1) % 2**32

    # Everything the sender sends continues where it was, or was sent before; ACKs never go back.
    ours = seen[0][1].src
    ahead, heard, resent, sacked = syn.seq + 1, answer.seq + 1, 0, 0
    acked = syn.seq + 1
    for _, ip in seen[2:]:
        tcp, length = ip.data, ip.len - 20 - 4 * ip.data.off
        assert options(tcp).keys() >= {dpkt.tcp.TCP_OPT_TIMESTAMP}
        if ip.src == ours:
            step = (tcp.seq - ahead + 2**31) % 2**32 - 2**31
            assert step <= 0, "a gap in what was sent"
            resent += step < 0
            ahead = (ahead + max(step + length, 0)) % 2**32
            assert tcp.ack == heard % 2**32
        else:
            assert 0 <= (tcp.ack - acked) % 2**32 < 2**31
            acked = tcp.ack
            sacked += dpkt.tcp.TCP_OPT_SACK in options(tcp)
    assert resent > 0 and sacked > 0, "the buffer is small enough for losses"
    # The scaled window is the real one: more than 16 bits can say.
    assert tcp.win << options(answer)[dpkt.tcp.TCP_OPT_WSCALE][0] > 65_535


def test_checksums_are_right(captured):
    for _, ip in by_dpkt(captured)[:3000]:
        header = bytes(ip)[:20]
        assert dpkt.in_cksum(header) == 0
        segment = bytes(ip.data)[: 4 * ip.data.off] + bytes(ip.len - 20 - 4 * ip.data.off)
        pseudo = ip.src + ip.dst + struct.pack(">HH", 6, len(segment))
        assert dpkt.in_cksum(pseudo + segment) == 0


def test_datagrams_are_udp_with_a_number(tmp_path):
    path = tmp_path / "udp.pcapng"
    text = """
format = 1
[path]
rate = "2 Mbit/s"
rtt = "20 ms"
buffer = "20 packets"
[[flow]]
name = "voice"
traffic = "cbr(rate=1Mbit/s, size=500B)"
[run]
duration = "1 s"
"""
    file = tmp_path / "voice.toml"
    file.write_text(text)
    export.pcapng(export.Run.of(sj.api.prepare(file)), path, points=["receiver"])
    datagrams = [ip.data for _, ip in by_dpkt(path)]
    assert len(datagrams) > 200
    assert all(udp.ulen == 480 for udp in datagrams)
    numbers = [struct.unpack(">Q", bytes(udp.data)[:8])[0] for udp in datagrams]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_each_point_of_the_network_is_an_interface(captured):
    capture = pcap.read(captured)
    assert [interface.name for interface in capture.interfaces] == [
        "sender", "receiver", "bottleneck", "bottleneck-drops",
    ]  # fmt: skip
    # IPv4: libpcap up to 1.10 reads one interface of raw IP and refuses the next.
    assert {interface.link for interface in capture.interfaces} == {228}
    counts = {name: len(pcap.read(f"{captured}#{name}")) for name in capture.used()}
    result = sj.run(LINE, set=SETTINGS, events=True)
    assert counts["bottleneck-drops"] == result.drops.height > 0
    assert abs(counts["bottleneck"] - 4e6 * 12 / 12_000) < 300
    assert capture.at_interface("2").time.tolist() == capture.at_interface("bottleneck").time.tolist()


def test_our_reader_agrees_with_the_other(captured):
    ours, theirs = packets(pcap.read(captured)), by_dpkt(captured)
    assert len(ours) == len(theirs)
    for i in range(0, len(ours), 7):
        time, ip = theirs[i]
        tcp = ip.data
        assert ours.time[i] == pytest.approx(time * 1e9, abs=1e3)  # dpkt keeps times as floats
        assert (ours.seq[i], ours.ack[i], ours.flags[i], ours.window[i]) == (tcp.seq, tcp.ack, tcp.flags, tcp.win)
        assert (ours.length[i], ours.id[i]) == (ip.len, ip.id)
        assert ours.hosts[ours.source[i]] == ".".join(map(str, ip.src))
        stamps = struct.unpack(">II", options(tcp)[dpkt.tcp.TCP_OPT_TIMESTAMP])
        assert (ours.ts_val[i], ours.ts_ecr[i]) == stamps
        blocks = options(tcp).get(dpkt.tcp.TCP_OPT_SACK, b"")
        assert ours.sacks(i) == list(struct.iter_unpack(">II", blocks))


def test_an_export_is_the_run_in_the_results(sojourn, tmp_path):
    made = sojourn("run", LINE, "--set", "run.duration=2 s", "-o", tmp_path / "r")
    assert made.returncode == 0, made.stderr
    out = tmp_path / "run.pcapng"
    done = sojourn("export", tmp_path / "r", "--format", "pcapng", "-o", out)
    assert done.returncode == 0 and "packets" in done.stderr
    assert out.stat().st_size > 100_000
    lines = (tmp_path / "r" / "summary.jsonl").read_text()
    (tmp_path / "r" / "summary.jsonl").write_text(lines.replace(json.loads(lines)["digest"], "0" * 16))
    before = out.read_bytes()
    other = sojourn("export", tmp_path / "r", "--format", "pcapng", "--flow", "cubic", "-o", out)
    assert other.returncode == 1 and "went otherwise" in other.stderr
    assert out.read_bytes() == before, "the capture that was there is kept"
    assert list(tmp_path.glob(".sojourn-*")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--format", "pcapng", "--at", "router"), "sender, receiver, bottleneck"),
        (("--format", "pcapng", "--flow", "vegas"), "the flows are cubic, newreno"),
        (("--format", "pcapng", "--case", "3"), "cases 0 to 0"),
        (("--format", "pcapng", "--table", "flows"), "not a table"),
        (("--format", "qlog", "--at", "sender"), "what the sender saw"),
        (("--format", "qlog", "-o", "x.sqlog"), "holds one flow"),
        (("--format", "pcapng", "-o", "missing/run.pcapng"), "cannot be written"),
    ],
)
def test_export_refuses_what_it_cannot_do(sojourn, tmp_path, arguments, said):
    done = sojourn("export", LINE, "--set", "run.duration=1 s", *arguments)
    assert done.returncode == 2 and said in done.stderr
    assert not list(tmp_path.iterdir())


# -- qlog --------------------------------------------------------------------------------------------------------------

KNOWN = {
    "recovery:parameters_set": {"max_datagram_size": int, "initial_congestion_window": int},
    "recovery:metrics_updated": {
        "min_rtt": float, "smoothed_rtt": float, "latest_rtt": float, "congestion_window": int,
        "bytes_in_flight": int, "ssthresh": int, "pacing_rate": int,
    },
    "recovery:congestion_state_updated": {"old": str, "new": str},
    "recovery:packet_lost": {"header": dict, "trigger": str},
    "transport:packet_sent": {"header": dict, "raw": dict, "frames": list},
    "transport:packet_received": {"header": dict, "raw": dict, "frames": list},
}  # fmt: skip


def test_qlog_has_the_shape_of_its_schema_and_adds_up(tmp_path):
    out = tmp_path / "run.qlog"
    count = export.qlog(run_of("12Mbit/s 40ms 20p fifo: hldg, cubic"), out)
    log = json.loads(out.read_text())
    assert (log["qlog_version"], log["qlog_format"], len(log["traces"])) == ("0.3", "JSON", 2)
    assert sum(len(trace["events"]) for trace in log["traces"]) == count
    for trace in log["traces"]:
        assert trace["common_fields"]["time_format"] == "relative"
        assert trace["vantage_point"]["type"] in ("client", "server", "network", "unknown")
        events = trace["events"]
        assert [e["time"] for e in events] == sorted(e["time"] for e in events)
        sent, gone, lost = [], [], []
        for event in events:
            assert set(event) == {"time", "name", "data"}
            if event["name"] in KNOWN:
                kinds = KNOWN[event["name"]]
                assert set(event["data"]) <= set(kinds)
                assert all(isinstance(v, kinds[k] if kinds[k] is not float else float | int)
                           for k, v in event["data"].items())  # fmt: skip
            else:
                assert event["name"].removeprefix("sojourn:") in sj.list_causes()
                assert {"cwnd_before", "cwnd_after"} <= set(event["data"])
            match event["name"]:
                case "transport:packet_sent":
                    sent.append(event["data"]["header"]["packet_number"])
                case "recovery:packet_lost":
                    lost.append(event["data"]["header"]["packet_number"])
                case "transport:packet_received":
                    for low, high in event["data"]["frames"][0].get("acked_ranges", ()):
                        gone += range(low, high + 1)
        assert sent == list(range(len(sent)))
        assert len(gone) == len(set(gone)) and set(gone) <= set(sent), "a packet is acknowledged once"
        assert len(lost) > 0 and not set(lost) & set(gone)
        assert 0 <= len(sent) - len(gone) - len(lost) < 200, "what is left is in flight at the end"


@pytest.mark.parametrize("stack", ["linux", "ns-2"])
def test_a_qlogs_stream_has_no_gap_whether_or_not_a_syn_opens_it(tmp_path, stack):
    out = tmp_path / "run.qlog"
    settings = {"run.duration": "2s", "path.stack": stack, "flow.newreno.traffic": "bytes(size=14600B)"}
    export.qlog(run_of("10Mbit/s 40ms 1BDP fifo: newreno", **settings), out)
    events = json.loads(out.read_text())["traces"][0]["events"]
    frames = [e["data"]["frames"][0] for e in events if e["name"] == "transport:packet_sent"]
    end = 0
    for frame in frames:
        if frame["frame_type"] == "stream":
            assert frame["offset"] == end
            end += frame["length"]
    assert end == 14600


@pytest.mark.parametrize(
    ("traffic", "stop", "last"),
    [
        ("bytes(size=14600B)", None, {"offset": 14_480, "length": 120, "fin": True}),
        # A flow that stops has sent all it had when its FIN follows, which is no ping.
        ("bulk", "1 s", {"length": 0, "fin": True}),
        ("bulk", None, {"length": 1448}),
    ],
)
def test_the_frame_that_ends_a_qlogs_stream_says_so(tmp_path, traffic, stop, last):
    out = tmp_path / "run.qlog"
    settings = {"run.duration": "2s", "flow.newreno.traffic": traffic} | ({"flow.newreno.stop": stop} if stop else {})
    export.qlog(run_of("10Mbit/s 40ms 1BDP fifo: newreno", **settings), out)
    events = json.loads(out.read_text())["traces"][0]["events"]
    frames = [e["data"]["frames"][0] for e in events if e["name"] == "transport:packet_sent"]
    assert [frame["frame_type"] for frame in frames].count("ping") == 1, "the SYN"
    streams = [frame for frame in frames if frame["frame_type"] == "stream"]
    assert last.items() <= streams[-1].items() and ("fin" in last) == ("fin" in streams[-1])
    assert not any("fin" in frame for frame in streams[:-1])


def test_the_numbers_behind_a_cause_are_called_as_in_tables():
    row = {
        "time_s": 1.0,
        "kind": 9,
        "cause": "mode_switch",
        "cwnd_before": 1,
        "cwnd_after": 2,
        "ssthresh_before": None,
        "ssthresh_after": None,
        **{f"v{i}": number for i, number in enumerate((0, 2, 7_000_000, 5_000_000, 0, 0, 0, 0))},
    }
    events = pl.DataFrame([row])
    ((at, name, data),) = qlog._causes(qlog.Flow({}, None, 0, events, events))
    assert (at, name) == (1000.0, "sojourn:mode_switch")
    del data["cwnd_before"], data["cwnd_after"]
    assert data == {"from": "delay", "to": "probe", "queue_ms": 7.0, "bandwidth_mbps": 5.0}
    assert data == explained(events).select(list(data)).row(0, named=True)
    assert {one: text for one, _, text in named_values(row)} == {
        "from": "delay", "to": "probe", "queue": "7 ms", "bandwidth": "5 Mbit/s"
    }  # fmt: skip


def test_a_mark_begins_a_recovery_of_qlogs(tmp_path):
    out = tmp_path / "run.qlog"
    export.qlog(run_of("12Mbit/s 40ms 200p codel(ecn=true): cubic ecn", **{"run.duration": "6 s"}), out)
    (trace,) = json.loads(out.read_text())["traces"]
    marks = [e["time"] for e in trace["events"] if e["name"] == "sojourn:ecn_backoff"]
    states = [(e["time"], e["data"]["new"]) for e in trace["events"] if e["name"].endswith("state_updated")]
    assert len(marks) > 3 and "packet_lost" not in {e["name"].partition(":")[2] for e in trace["events"]}
    for at in marks:
        assert (at, "recovery") in [(pytest.approx(t), state) for t, state in states]


def test_a_sqlog_is_json_text_sequences(sojourn, tmp_path):
    out = tmp_path / "cubic.sqlog"
    done = sojourn("export", LINE, "--set", "run.duration=1 s", "--format", "qlog", "--flow", "cubic", "-o", out)
    assert done.returncode == 0, done.stderr
    records = out.read_text().split("\x1e")
    assert records[0] == ""
    head, *events = map(json.loads, records[1:])
    assert head["qlog_format"] == "JSON-SEQ" and head["trace"]["title"] == "cubic"
    assert events[0]["name"] == "recovery:parameters_set"
    assert {"recovery:metrics_updated", "transport:packet_sent"} <= {event["name"] for event in events}


def block(kind: int, body: bytes) -> bytes:
    size = 12 + len(body)
    return struct.pack("<II", kind, size) + body + struct.pack("<I", size)


def pcapng(*blocks: bytes) -> bytes:
    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    return section + block(1, struct.pack("<HHI", 101, 0, 65_535)) + b"".join(blocks)


SIMPLE = block(3, struct.pack("<I", 20) + b"\x45" + bytes(19))


# -- files that are no captures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "an empty file"),
        (b"hello, world", "neither pcap nor pcapng"),
        (b"\x1f\x8b\x08\x00", "gunzip"),
        (b"\xd4\xc3\xb2\xa1\x02\x00", "ends within the header"),
        (b"\x0a\x0d\x0d\x0a" + b"\x1c\x00\x00\x00" + b"abcd" + bytes(16), "no byte-order magic"),
        (b"\xd4\xc3\xb2\xa1" + bytes(20) + b"\xff" * 16, "damaged"),
        (pcapng(SIMPLE, SIMPLE), "2 packets in Simple Packet Blocks, which have no time stamps; .* `tcpdump -w`"),
        (pcapng(SIMPLE), "1 packet in Simple Packet Blocks"),
    ],
)
def test_other_files_are_refused_with_a_reason(tmp_path, data, said):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(sj.SpecError, match=said):
        packets(pcap.read(path))


def test_a_capture_cut_short_counts_as_far_as_it_goes(captured, tmp_path):
    whole = captured.read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-50])
    capture = pcap.read(tmp_path / "cut")
    assert capture.cut and not pcap.read(captured).cut
    assert len(capture) == len(pcap.read(captured)) - 1


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_file_crashes_the_reader(captured, tmp_path, data):
    """Bytes at random, and captures with bytes changed, cut out or put in: arrays or one error."""
    kind = data.draw(st.sampled_from(["random", "pcapng", "pcap"]))
    if kind == "random":
        head = data.draw(st.sampled_from([b"", *pcap.CLASSIC, b"\x0a\x0d\x0d\x0a"]))
        raw = bytearray(head + data.draw(st.binary(max_size=300)))
    else:
        raw = bytearray(captured.read_bytes()[:4000])
        if kind == "pcap":
            source = pcap.parse(bytes(raw), Path("x"))
            order, magic = data.draw(st.sampled_from([("<", b"\xd4\xc3\xb2\xa1"), (">", b"\xa1\xb2\xc3\xd4")]))
            raw = bytearray(magic + struct.pack(order + "HHiIII", 2, 4, 0, 0, 65_535, 101))
            for i in range(len(source)):
                size = int(source.captured[i])
                raw += struct.pack(order + "IIII", i, i, size, size)
                raw += source.data[int(source.at[i]) :][:size].tobytes()
        for place, value in data.draw(
            st.lists(st.tuples(st.integers(0, len(raw) - 1), st.integers(0, 255)), max_size=8)
        ):
            raw[place] = value
        for place in data.draw(st.lists(st.integers(0, len(raw) - 1), max_size=2)):
            del raw[place : place + data.draw(st.integers(1, 40))]
    try:
        capture = pcap.parse(bytes(raw), Path("x"))
        found = packets(capture)
    except sj.SpecError as error:
        assert "\n" not in str(error)
        return
    for i in range(len(found)):
        assert all(0 <= word < 2**32 for block in found.sacks(i) for word in block)
    (tmp_path / "any").write_bytes(raw)
    for pair in ((tmp_path / "any", f"{captured}#receiver"), (tmp_path / "any", tmp_path / "any")):
        try:
            assert sj.spp(*pair).matched > 0
        except sj.SpecError as error:
            assert "\n" not in str(error)
