"""What `sojourn export` writes for other tools, read back with a parser of somebody else, and RTTs from captures."""

from __future__ import annotations

import io
import json
import random
import struct
from pathlib import Path

import dpkt
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sojourn as sj
from sojourn.formats import export, pcap
from sojourn.formats.packets import packets
from sojourn.packet_pairs import csv

LINE = "12Mbit/s 40ms 20p fifo: cubic, newreno@500ms"
SETTINGS = {"run.duration": "4 s"}


def run_of(line: str = LINE, **changes: str) -> export.Run:
    experiment = sj.api.prepare(line, {**SETTINGS, **changes})
    return export.Run.of(experiment)


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("capture") / "run.pcapng"
    export.pcapng(run_of(), path, points=["all"])
    return path


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
    other = sojourn("export", tmp_path / "r", "--format", "pcapng", "-o", out)
    assert other.returncode == 1 and "went otherwise" in other.stderr


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


# -- synthetic packet pairs --------------------------------------------------------------------------------------------


def rewritten(path: Path, source: pcap.Capture, *, magic: bytes = b"\xd4\xc3\xb2\xa1", shift: int = 0, snap: int = 9999,
              link: int = 101, before: bytes = b"", kept: set[int] | None = None) -> Path:  # fmt: skip
    """A capture as classic pcap: another clock, snap length, link layer, or only some of its packets."""
    order, tick = pcap.CLASSIC[magic]
    out = io.BytesIO()
    out.write(magic[:4] + struct.pack(order + "HHiIII", 2, 4, 0, 0, 65_535, link))
    for i in range(len(source)):
        if kept is not None and i not in kept:
            continue
        at, size = int(source.at[i]), min(int(source.captured[i]) + len(before), snap)
        data = (before + source.data[at : at + int(source.captured[i])].tobytes())[:size]
        time = int(source.time[i]) + shift
        out.write(
            struct.pack(order + "IIII", time // 10**9, time % 10**9 // tick, size, source.length[i] + len(before))
        )
        out.write(data)
    path.write_bytes(out.getvalue())
    return path


def test_spp_draws_the_pairs_it_found(captured, tmp_path):
    from sojourn.plot.pairs import draw

    trips = sj.spp(f"{captured}#sender", f"{captured}#receiver").trips
    picture = draw(trips, tmp_path / "spp.svg").read_text("utf-8")
    assert picture.startswith("<?xml") and all(trip.name.split(" > ")[0] in picture for trip in trips)


def test_spp_is_the_rtt_that_the_sender_measured(captured):
    """Where the receiver answered at once, a pair is the RTT of the ACK that came back at that moment."""
    pairs = sj.spp(f"{captured}#sender", f"{captured}#receiver")
    acks = sj.run(LINE, set=SETTINGS, acks=True).acks
    assert len(pairs.trips) == 2 and pairs.ambiguous == 0
    for flow in range(2):
        (trip,) = (t for t in pairs.trips if t.name.startswith(f"tcp 10.0.0.{flow + 1}:40000 > "))
        own = acks.filter((acks["flow"] == flow) & acks["rtt_ms"].is_not_nan())
        told = {round(t * 1e9): rtt for t, rtt in zip(own["time_s"], own["rtt_ms"], strict=True)}
        both = [(rtt / 1e6, told[t]) for t, rtt, beyond in zip(trip.time.tolist(), trip.rtt.tolist(),
                trip.beyond.tolist(), strict=True) if t in told and beyond == 0]  # fmt: skip
        assert len(both) > 400
        ours, theirs = np.array(both).T
        assert np.allclose(ours, theirs, rtol=0, atol=1e-6), "to the nanosecond"
        assert trip.rtt.min() / 1e6 >= 40.0


def test_spp_sees_the_delay_that_dummynet_adds(tmp_path):
    """Figure B.3 of the HLDG thesis: 42 ms and steps of two on a path of 40 ms; with the fixes 1 ms of packet more."""
    smallest = []
    for case, step in ((0, 2.0), (1, 1.0)):
        file = Path(__file__).parents[2] / "experiments" / "thesis" / "appendix-b-excess-delay.toml"
        run = export.Run.of(sj.api.prepare(file, {"run.duration": "8 s"}), case)
        export.pcapng(run, tmp_path / "b3.pcapng", points=["sender", "receiver"])
        trip = sj.spp(f"{tmp_path}/b3.pcapng#sender", f"{tmp_path}/b3.pcapng#receiver").trips[0]
        rtt = np.round(trip.rtt[trip.time > 3e9] / 1e6, 1)
        smallest.append(rtt.min())
        assert np.allclose(np.diff(np.unique(rtt)), step, atol=0.11)
    assert smallest == pytest.approx([42, 41], abs=0.1)


def test_clocks_need_not_agree(captured, tmp_path):
    right = sj.spp(f"{captured}#sender", f"{captured}#receiver")
    there = pcap.read(f"{captured}#receiver")
    for shift in (3_600 * 10**9, 37):
        moved = rewritten(tmp_path / "moved.pcap", there, magic=b"\x4d\x3c\xb2\xa1", shift=shift)
        other = sj.spp(f"{captured}#sender", moved)
        assert [t.rtt.tolist() for t in other.trips] == [t.rtt.tolist() for t in right.trips]
        assert [t.name for t in other.trips] == [t.name for t in right.trips]


def test_the_monitor_may_be_the_reference(captured):
    """Seen from the receiver an RTT includes the sender's wait, not its own."""
    back = sj.spp(f"{captured}#receiver", f"{captured}#sender")
    assert all(np.median(trip.rtt) >= 40e6 for trip in back.trips)
    assert back.trips[0].name.startswith("tcp 10.128.")


@pytest.mark.parametrize("magic", sorted(pcap.CLASSIC))
@pytest.mark.parametrize(
    ("link", "before"),
    [
        (101, b""),
        (12, b""),
        (0, b"\x02\x00\x00\x00"),
        (1, bytes(12) + b"\x08\x00"),
        (1, bytes(12) + b"\x81\x00\x00\x07\x08\x00"),
        (113, bytes(14) + b"\x08\x00"),
        (276, b"\x08\x00" + bytes(18)),
    ],
)
def test_spp_reads_what_captures_come_as(captured, tmp_path, magic, link, before):
    right = sj.spp(f"{captured}#sender", f"{captured}#receiver")
    a, b = (
        rewritten(tmp_path / name, pcap.read(f"{captured}#{name}"), magic=magic, link=link, before=before,
                  kept=set(range(1500)))
        for name in ("sender", "receiver")
    )  # fmt: skip
    trip = sj.spp(a, b).trips[0]
    tick = pcap.CLASSIC[magic][1]
    known = {t // tick: rtt for t, rtt in zip(right.trips[0].time.tolist(), right.trips[0].rtt.tolist(), strict=True)}
    assert len(trip.rtt) > 100
    for t, rtt in zip(trip.time.tolist(), trip.rtt.tolist(), strict=True):
        assert rtt == pytest.approx(known[t // tick], abs=2 * tick)


def test_a_short_snap_length_will_do(captured, tmp_path):
    """Forty bytes: no options of TCP, so no time stamps; packets are told apart by the rest."""
    right = sj.spp(f"{captured}#sender", f"{captured}#receiver")
    a = rewritten(tmp_path / "a", pcap.read(f"{captured}#sender"), snap=40, magic=b"\x4d\x3c\xb2\xa1")
    b = rewritten(tmp_path / "b", pcap.read(f"{captured}#receiver"), magic=b"\x4d\x3c\xb2\xa1")
    short = sj.spp(a, b)
    assert short.matched > 0.99 * right.matched
    known = dict(zip(right.trips[0].time.tolist(), right.trips[0].rtt.tolist(), strict=True))
    same = [
        known.get(t) == rtt for t, rtt in zip(short.trips[0].time.tolist(), short.trips[0].rtt.tolist(), strict=True)
    ]
    assert np.mean(same) > 0.98


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), missing=st.floats(0.0, 0.5))
def test_packets_that_a_capture_missed_make_no_wrong_rtt(captured, tmp_path, seed, missing):
    dice = random.Random(seed)
    files = []
    for name in ("sender", "receiver"):
        capture = pcap.read(f"{captured}#{name}")
        kept = {i for i in range(len(capture)) if dice.random() >= missing}
        files.append(rewritten(tmp_path / name, capture, magic=b"\x4d\x3c\xb2\xa1", kept=kept))
    try:
        trips = sj.spp(*files).trips
    except sj.SpecError:
        assert missing > 0.4
        return
    # Every pair is a way there and a way back of one flow: never under the path's, never over a full buffer's twice.
    for trip in trips:
        assert trip.rtt.min() >= 40e6 and trip.rtt.max() <= 40e6 + 2 * 21e6


def test_copies_and_retransmissions_that_look_alike_are_left_out(captured, tmp_path):
    here, there = (pcap.read(f"{captured}#{name}") for name in ("sender", "receiver"))
    once = rewritten(tmp_path / "once", there, magic=b"\x4d\x3c\xb2\xa1")
    data = once.read_bytes()
    size = 16 + int(there.captured[0])
    (tmp_path / "twice").write_bytes(data[: 24 + size] + data[24:])
    pairs = sj.spp(rewritten(tmp_path / "a", here, magic=b"\x4d\x3c\xb2\xa1"), tmp_path / "twice")
    assert pairs.ambiguous == 1


def test_ipv6_and_its_extension_headers(tmp_path):
    """Two hosts that exchange UDP over IPv6 with a hop-by-hop header; 30 ms there, 20 ms back, 5 ms between."""
    a, b = bytes.fromhex("20010db8" + "0" * 23 + "1"), bytes.fromhex("20010db8" + "0" * 23 + "2")

    def packet(source: bytes, destination: bytes, number: int) -> bytes:
        ports = (1000, 2000) if source < destination else (2000, 1000)
        udp = struct.pack(">HHHHQ", *ports, 16, 0, number)
        hop = struct.pack(">BBBBI", 17, 0, 1, 4, 0)
        return struct.pack(">IHBB", 6 << 28, len(hop) + len(udp), 0, 64) + source + destination + hop + udp

    def file(name: str, rows: list[tuple[int, bytes]]) -> Path:
        out = io.BytesIO()
        writer = dpkt.pcap.Writer(out, linktype=101, nano=True)
        for ms, data in sorted(rows):
            writer.writepkt(data, ms / 1e3)
        (tmp_path / name).write_bytes(out.getvalue())
        return tmp_path / name

    ask, answer = [packet(a, b, i) for i in range(10)], [packet(b, a, 100 + i) for i in range(10)]
    here = file("a", [(100 * i, ask[i]) for i in range(10)] + [(100 * i + 55, answer[i]) for i in range(10)])
    there = file("b", [(100 * i + 30, ask[i]) for i in range(10)] + [(100 * i + 35, answer[i]) for i in range(10)])
    (trip,) = sj.spp(here, there).trips
    assert trip.name == "udp [2001:db8::1]:1000 > [2001:db8::2]:2000"
    assert np.allclose(trip.rtt / 1e6, 50, atol=1e-3) and np.allclose(trip.beyond / 1e6, 5, atol=1e-3)


def test_spp_on_the_command_line(sojourn, captured):
    done = sojourn("spp", f"{captured}#sender", f"{captured}#receiver")
    assert done.returncode == 0 and "10.128.0.1:5001" in done.stdout and "matched" in done.stderr
    listed = sojourn("spp", f"{captured}#sender", f"{captured}#receiver", "--csv").stdout.splitlines()
    assert listed[0] == "connection,time_s,rtt_ms,beyond_ms"
    told = json.loads(sojourn("spp", f"{captured}#sender", f"{captured}#receiver", "--json").stdout)
    assert sum(row["pairs"] for row in told["connections"]) == len(listed) - 1
    assert csv(sj.spp(f"{captured}#sender", f"{captured}#receiver").trips).count("\n") == len(listed)
    for arguments, said in (
        ((captured, captured), "choose one"),
        ((f"{captured}#moon", captured), "no interface 'moon'"),
        (("missing.pcap", captured), "no such file"),
        ((f"{captured}#sender", f"{captured}#bottleneck-drops"), "one direction only"),
    ):
        wrong = sojourn("spp", *arguments)
        assert wrong.returncode == 2 and said in wrong.stderr


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
