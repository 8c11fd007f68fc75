"""qlog 0.3 (draft-ietf-quic-qlog-main-schema) of a simulated TCP flow, as its sender saw it, for qvis and its kin.

qlog's events are QUIC's, so every transmission gets a packet number, and an ACK names those it acknowledges for the
first time. What qlog has no word for, the causes of window changes, are events of their own: `sojourn:delay_backoff`.
"""

from __future__ import annotations

import json
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from ..explained import numbers

if TYPE_CHECKING:
    import polars as pl

    from .packets import Packets
    from .pcap import Ints

VERSION = "0.3"
FIN, SYN, ACK = 1, 2, 16
#: `cc::Phase` by number.
OPEN, REDUCED, RECOVERY, LOSS = range(4)

Event = tuple[float, str, dict[str, Any]]


@dataclass(frozen=True)
class Flow:
    """What was recorded of one flow: packets at its sender, ACKs as the algorithm saw them, causes."""

    info: Mapping[str, Any]
    packets: Packets
    sender: int
    """The sender's number among the hosts of `packets`."""
    acks: pl.DataFrame
    events: pl.DataFrame


def trace(flow: Flow) -> dict[str, Any]:
    """A flow as a trace."""
    ordered = sorted((*_opening(flow), *_packets(flow), *_metrics(flow), *_causes(flow)), key=lambda event: event[0])
    return {
        "title": str(flow.info["name"]),
        "description": f"{flow.info['cc']} on {flow.info['stack']}",
        "common_fields": {"time_format": "relative", "reference_time": 0, "protocol_type": ["TCP"]},
        "vantage_point": {"name": f"{flow.info['name']}.sender", "type": "client"},
        "events": [{"time": round(time, 6), "name": name, "data": data} for time, name, data in ordered],
    }


def write(out: TextIO, traces: Sequence[Mapping[str, Any]], title: str, sequence: bool) -> None:
    """One JSON object with all traces, or JSON text sequences (RFC 7464), which hold one trace."""
    head = {"qlog_version": VERSION, "qlog_format": "JSON-SEQ" if sequence else "JSON", "title": title}
    if not sequence:
        json.dump({**head, "traces": traces}, out, separators=(",", ":"), allow_nan=False)
        out.write("\n")
        return
    (only,) = traces
    first = {**head, "trace": {key: value for key, value in only.items() if key != "events"}}
    for record in (first, *only["events"]):
        out.write("\x1e" + json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n")


def _opening(flow: Flow) -> Iterator[Event]:
    mss, window = int(flow.info["mss"]), int(flow.info["initial_window"])
    at = float(flow.packets.time.min()) / 1e6 if len(flow.packets) else 0.0
    yield at, "recovery:parameters_set", {"max_datagram_size": mss, "initial_congestion_window": mss * window}


def unwrapped(values: Ints) -> Ints:
    """32-bit sequence numbers as positions that never wrap: each is next to the one before it."""
    if not len(values):
        return values
    steps = (np.diff(values) + 2**31) % 2**32 - 2**31
    positions: Ints = values[0] + np.concatenate([[0], np.cumsum(steps)])
    return positions


def _packets(flow: Flow) -> Iterator[Event]:
    """Sent, received and lost packets. A packet counts as lost when its bytes are sent again."""
    p = flow.packets
    out = p.source == flow.sender
    position = np.zeros(len(p), np.int64)
    position[out] = unwrapped(p.seq[out])
    if not out.any():
        return
    zero = int(position[out][0])
    # A SYN takes a position of its own, so that data begin at one; ns-2's hosts send none.
    opened = int(p.flags[out][0] & SYN > 0)
    heard = np.flatnonzero(~out & (p.flags & ACK > 0))
    # What is acknowledged first is the SYN, or without an opening the first data.
    acked = unwrapped(np.concatenate([[zero % 2**32], p.ack[heard]]))[1:] - zero + zero // 2**32 * 2**32
    position[heard] = acked
    position[out] -= zero
    timeouts = _timeouts(flow.events)
    sent: dict[int, tuple[int, int]] = {}  # position -> packet number, end
    starts: list[int] = []  # its keys, sorted
    number = received = 0
    for i in range(len(p)):
        at, start, length = float(p.time[i]) / 1e6, int(position[i]), int(p.payload[i])
        raw = {"length": int(p.length[i]), "payload_length": length}
        if out[i]:
            flags = int(p.flags[i])
            span = length + (flags & SYN > 0) + (flags & FIN > 0)
            if span and start in sent:
                late = _since_timeout(timeouts, at) < 1e-3
                trigger = "pto_expired" if late else "reordering_threshold"
                yield at, "recovery:packet_lost", {"header": _header(sent[start][0]), "trigger": trigger}
            elif span:
                insort(starts, start)
            if span:
                sent[start] = (number, start + span)
            fin = flags & FIN > 0
            frame = {"frame_type": "stream", "stream_id": 0, "offset": max(start - opened, 0), "length": length}
            frames: list[dict[str, Any]] = [{"frame_type": "ping" if span else "padding"}]
            if length or fin:
                frames = [frame | ({"fin": True} if fin else {})]
            yield at, "transport:packet_sent", {"header": _header(number), "raw": raw, "frames": frames}
            number += 1
        elif p.flags[i] & ACK:
            news = _acknowledged(starts, sent, start, [
                (start + _near(left, int(p.ack[i])), start + _near(right, int(p.ack[i])))
                for left, right in p.sacks(i)
            ])  # fmt: skip
            frames = [{"frame_type": "ack", "acked_ranges": _ranges(news)}] if news else [{"frame_type": "padding"}]
            yield at, "transport:packet_received", {"header": _header(received), "raw": raw, "frames": frames}
            received += 1


def _timeouts(events: pl.DataFrame) -> list[float]:
    if events.is_empty():
        return []
    import polars as pl

    return sorted((events.filter(pl.col("cause") == "timeout")["time_s"] * 1e3).to_list())


def _since_timeout(timeouts: Sequence[float], at: float) -> float:
    place = bisect_left(timeouts, at + 1e-6)
    return at - timeouts[place - 1] if place else float("inf")


def _header(number: int) -> dict[str, Any]:
    return {"packet_type": "1RTT", "packet_number": number}


def _near(value: int, base: int) -> int:
    """How far a 32-bit sequence number is from another, the short way round."""
    return (value - base + 2**31) % 2**32 - 2**31


def _acknowledged(
    starts: list[int], sent: dict[int, tuple[int, int]], upto: int, blocks: Sequence[tuple[int, int]]
) -> list[int]:
    """Numbers of the packets that an ACK is the first to acknowledge; they are forgotten."""
    news = []
    for left, right in ((-1, upto), *blocks):
        first = bisect_left(starts, left)
        last = first
        while last < len(starts) and sent[starts[last]][1] <= right:
            news.append(sent.pop(starts[last])[0])
            last += 1
        del starts[first:last]
    return news


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ranges


def _metrics(flow: Flow) -> Iterator[Event]:
    """`metrics_updated` with what changed, `congestion_state_updated` when the state did."""
    last: dict[str, Any] = {}
    state = ""
    for row in flow.acks.iter_rows(named=True):
        at = float(row["time_s"]) * 1e3
        now: dict[str, Any] = {
            "min_rtt": _rounded(row["min_rtt_ms"]),
            "smoothed_rtt": _rounded(row["srtt_ms"]),
            "latest_rtt": _rounded(row["rtt_ms"]),
            "congestion_window": _whole(row["cwnd_after"]),
            "bytes_in_flight": _whole(row["in_flight"]),
            "ssthresh": _whole(row["ssthresh_after"]),
            "pacing_rate": None if _missing(row["pacing_mbps"]) else round(row["pacing_mbps"] * 1e6),
        }
        changed = {key: value for key, value in now.items() if value is not None and last.get(key) != value}
        if changed:
            yield at, "recovery:metrics_updated", changed
        last.update(changed)
        new = _state(row, now)
        if new != state:
            yield at, "recovery:congestion_state_updated", {"new": new} | ({"old": state} if state else {})
            state = new


def _state(row: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if row["phase"] != OPEN:  # a mark begins a recovery, too (RFC 9002, section 7.3.2)
        return "recovery"
    under = now["ssthresh"] is None or (now["congestion_window"] or 0) < now["ssthresh"]
    return "slow_start" if under else "congestion_avoidance"


def _causes(flow: Flow) -> Iterator[Event]:
    """Every cause with its numbers and words, called as the columns of the table of events."""
    for row in flow.events.iter_rows(named=True):
        data: dict[str, Any] = {}
        for key in ("cwnd_before", "cwnd_after", "ssthresh_before", "ssthresh_after"):
            if row[key] is not None:
                data[key] = int(row[key])
        for value in numbers().get(int(row["kind"]), ()):
            data[value.column] = value.word(row) if value.words else value.number(row)
        yield float(row["time_s"]) * 1e3, f"sojourn:{row['cause']}", data


def _missing(value: float | None) -> bool:
    return value is None or value != value


def _rounded(value: float | None) -> float | None:
    return None if value is None or _missing(value) or value == 0 else round(value, 6)


def _whole(value: float | None) -> int | None:
    return None if value is None or _missing(value) else int(value)
