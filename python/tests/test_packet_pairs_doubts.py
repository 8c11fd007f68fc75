"""Synthetic packet pairs where little of what was captured matches, and what is said then."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn.formats import packets, pcap

MAGIC = b"\x4d\x3c\xb2\xa1"


def classic(path: Path, rows: list[tuple[int, bytes, int]]) -> Path:
    """A capture of raw IP: nanoseconds, what was captured, the true length."""
    out = [MAGIC + struct.pack("<HHiIII", 2, 4, 0, 0, 65_535, 101)]
    for time, data, length in rows:
        out += [struct.pack("<IIII", time // 10**9, time % 10**9, len(data), length), data]
    path.write_bytes(b"".join(out))
    return path


def seen(path: Path, capture: pcap.Capture, most: int = 1, share: float = 1.0, missing: int = 0) -> Path:
    """The capture as offload leaves it: up to so many segments in one, of this share of the data; or without some."""
    found = packets.packets(capture)
    rows: list[tuple[int, bytes, int]] = []
    last: dict[tuple[int, int], tuple[int, int, int]] = {}  # way -> row, where the next segment begins, segments
    for i in range(len(found)):
        way = int(found.source[i]), int(found.from_port[i])
        at, payload, seq = int(capture.at[i]), int(found.payload[i]), int(found.seq[i])
        data, length = capture.data[at : at + int(capture.captured[i])].tobytes(), int(capture.length[i])
        row, begins, count = last.get(way, (0, -1, 0))
        if missing and payload and i % 10 < missing:
            continue
        if payload and begins == seq and 0 < count < most:
            time, before, whole = rows[row]
            whole += payload
            rows[row] = (time, before[:2] + struct.pack(">H", whole) + before[4:], whole)
            last[way] = (row, seq + payload, count + 1)
            continue
        merges = payload and i < share * len(found)
        last[way] = (len(rows), seq + payload, 1) if merges else (0, -1, 0)
        rows.append((int(capture.time[i]), data, length))
    return classic(path, rows)


#: How A and B were captured, what is said of each connection's data (of none where empty).
CAPTURES = [
    ({}, {}, ""),
    ({"missing": 1}, {}, ""),
    ({"most": 10}, {}, "offload put segments together at A (up to 14480 bytes, elsewhere 1448)"),
    ({}, {"most": 10}, "offload put segments together at B (up to 14480 bytes, elsewhere 1448)"),
    # Few of them, so that nearly all match: still no accident.
    ({"most": 10, "share": 0.2}, {}, "offload put segments together at A (up to"),
    ({}, {"missing": 7}, "one capture began later or missed the others, or offload put segments together"),
]


@pytest.mark.parametrize(("a", "b", "said"), CAPTURES)
def test_data_without_a_match_are_told_with_the_cause(captured, tmp_path, a, b, said):
    files = [
        seen(tmp_path / f"{name}.pcap", pcap.read(f"{captured}#{name}"), **how)
        for name, how in (("sender", a), ("receiver", b))
    ]
    pairs = sj.spp(*files)
    assert len(pairs.trips) == 2 and all(len(trip.rtt) for trip in pairs.trips)
    if not said:
        assert pairs.doubts == ()
        return
    assert sorted(doubt.name for doubt in pairs.doubts) == [f"tcp 10.0.0.{n}:40000 > 10.128.0.{n}:5001" for n in (1, 2)]
    for doubt in pairs.doubts:
        assert said in str(doubt) and "ethtool -K DEV gro off tso off gso off" in str(doubt)
        assert f"{doubt.matched} of {doubt.data} packets with payload matched" in str(doubt)


def test_the_command_tells_of_offload(captured, sojourn, tmp_path):
    seen(tmp_path / "a.pcap", pcap.read(f"{captured}#sender"), most=10)
    seen(tmp_path / "b.pcap", pcap.read(f"{captured}#receiver"))
    for option in ((), ("--csv",), ("--json",)):
        told = sojourn("spp", "a.pcap", "b.pcap", *option)
        assert told.returncode == 0 and told.stderr.count("offload put segments together at A") == 2, told.stderr


#: Bytes captured of a datagram's payload, whether TCP headers are beside, how many of 20 pairs are left if one is lost.
SNAPPED = [(8, False, 19), (8, True, 19), (0, True, 0)]


@pytest.mark.parametrize(("known", "tcp", "left"), SNAPPED)
def test_datagrams_are_told_apart_by_what_was_captured_of_them(tmp_path, known, tcp, left):
    """A call over IPv6, which has no identification, with a connection beside it whose headers alone were captured."""
    a, b = bytes.fromhex("20010db8" + "0" * 23 + "1"), bytes.fromhex("20010db8" + "0" * 23 + "2")

    def packet(protocol: int, source: bytes, header: bytes, payload: int) -> tuple[bytes, int]:
        ip = struct.pack(">IHBB", 6 << 28, payload, protocol, 64) + source + (b if source == a else a)
        return ip + header, payload + 40

    def rows(there: int, back: int, lost: int | None) -> list[tuple[int, bytes, int]]:
        """Twenty questions and answers, at so many ms after a tenth of a second; one question may be lost."""
        found = []
        for i in range(20):
            for source, late, ports in ((a, there, (1000, 2000)), (b, back, (2000, 1000))):
                time = (100 * i + late) * 10**6
                datagram = struct.pack(">HHHH", *ports, 180, 0) + struct.pack(">Q", i)[8 - known :]
                if (i, source) != (lost, a):
                    found.append((time, *packet(17, source, datagram, 180)))
                if tcp:
                    header = struct.pack(">HHIIBBHHH", *ports, 1000 * i, 1000 * i, 5 << 4, 16, 500, 0, 0)
                    found.append((time, *packet(6, source, header, 1020)))
        return sorted(found)

    here = classic(tmp_path / "a", rows(0, 55, None))
    for lost, pairs in ((None, 20), (3, left)):
        found = sj.spp(here, classic(tmp_path / "b", rows(30, 35, lost))).trips
        assert {trip.name[:3]: len(trip.rtt) for trip in found if len(trip.rtt)} == {
            kind: n for kind, n in (("udp", pairs), ("tcp", 20 if tcp else 0)) if n
        }
        assert all(np.allclose(trip.rtt / 1e6, 50) for trip in found)
