"""The state of a sending socket as each of its packets finds it: what ttprobe, tcp_probe and SIFTR see there.

A hook sits at the door: an arriving ACK finds the window as it was before it, a departing packet as the last ACK left
it. The state comes from the run's own record (ACKs as the algorithm saw them, causes), the packets from a capture at
the sender.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import _engine
from .._types import Case
from .qlog import ACK, FIN, SYN, Flow, unwrapped

if TYPE_CHECKING:
    import polars as pl

    from ..result import Outcome
    from .packets import Packets
    from .pcap import Ints

Floats = NDArray[np.float64]

#: Linux' numbers of TCP states (include/net/tcp_states.h).
ESTABLISHED, SYN_SENT, FIN_WAIT1, FIN_WAIT2 = 1, 2, 4, 5
#: Where the hosts of simulated runs are (crates/sim/src/capture/wire.rs), and those of runs on Linux.
PORTS = (40_000, 5_001)


@dataclass(frozen=True)
class Scales:
    """What a SYN said: window scale, SACK."""

    window: int = 0
    sack: bool = False


def states(flows: Sequence[Flow], numbers: Sequence[int]) -> pl.DataFrame:
    """One row per packet at the senders, in order of time: the socket's state as the packet found it."""
    import polars as pl

    made = [_states(flow, number) for flow, number in zip(flows, numbers, strict=True)]
    return pl.concat(made).sort("time_ns", maintain_order=True)


def _states(flow: Flow, number: int) -> pl.DataFrame:
    import polars as pl

    p = flow.packets
    out = p.source == flow.sender
    found, ssthresh, srtt = _windows(flow.info, flow.acks, flow.events, p.time, out)
    una, nxt = _numbers(p, out)
    ours, theirs = _scales(p, out), _scales(p, ~out)
    syn = p.flags & SYN > 0
    heard = _before(~out, np.where(syn, p.window, p.window << theirs.window), 0)
    told = _before(out, np.where(syn, p.window, p.window << ours.window), 0)
    rows = len(p)
    first = int(np.flatnonzero(out)[0])
    local, remote = p.hosts[int(p.source[first])], p.hosts[int(p.destination[first])]
    return pl.DataFrame(
        {
            "time_ns": p.time,
            "direction": np.where(out, "o", "i"),
            "flow": np.full(rows, number, np.int64),
            "source": np.full(rows, local),
            "sport": np.full(rows, int(p.from_port[first])),
            "destination": np.full(rows, remote),
            "dport": np.full(rows, int(p.to_port[first])),
            "mss": np.full(rows, int(flow.info["mss"])),
            "srtt_us": srtt * 1e3,
            "cwnd": found,
            "ssthresh": ssthresh,
            "snd_wnd": heard,
            "rcv_wnd": told,
            "state": _phases(p, out, una),
            "snd_una": una % 2**32,
            "snd_nxt": nxt % 2**32,
            # What the hooks have in hand begins with the TCP header.
            "length": np.maximum(p.length - np.where(p.version == 4, 20, 40), 0),
            "snd_scale": np.full(rows, theirs.window),
            "rcv_scale": np.full(rows, ours.window),
            "sack": np.full(rows, int(ours.sack and theirs.sack)),
        }
    )


def _windows(
    info: Mapping[str, Any], acks: pl.DataFrame, events: pl.DataFrame, times: Ints, out: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats]:
    """cwnd, ssthresh (NaN: unset) and smoothed RTT (ms) as each packet found them.

    What held between two observations is what the later one found: that includes what recovery did in between.
    """
    initial = float(info["mss"]) * float(info["initial_window"])
    of_acks = np.rint(_column(acks, "time_s") * 1e9)
    at = np.concatenate([of_acks, np.rint(_column(events, "time_s") * 1e9)])
    order = np.argsort(at, kind="stable")
    before = np.concatenate([_column(acks, "cwnd_before"), _column(events, "cwnd_before")])[order]
    after = np.concatenate([_column(acks, "cwnd_after"), _column(events, "cwnd_after")])[order]
    threshold = np.concatenate([_column(acks, "ssthresh_after"), _column(events, "ssthresh_after")])[order]
    at = at[order]
    known = np.isfinite(before) & np.isfinite(after)
    at, before, after, threshold = at[known], before[known], after[known], threshold[known]

    here = _place(at, times, out)
    cwnd = np.append(before, after[-1] if len(after) else initial)[here]
    ssthresh = np.insert(threshold, 0, np.nan)[here]
    srtt = np.insert(_column(acks, "srtt_ms"), 0, 0.0)[_place(of_acks, times, out)]
    return cwnd, ssthresh, srtt


def _column(frame: pl.DataFrame, name: str) -> Floats:
    nothing: Floats = np.empty(0)
    return nothing if frame.is_empty() else np.asarray(frame[name].cast(float).fill_null(np.nan).to_numpy())


def _place(seen: Floats, times: Ints, out: NDArray[np.bool_]) -> Ints:
    """How many of the observations a packet comes after: an ACK not its own, a departing packet all until then."""
    return np.where(out, np.searchsorted(seen, times, "right"), np.searchsorted(seen, times, "left"))


def _before(mine: NDArray[np.bool_], values: Ints, first: int) -> Ints:
    """The last of the values at `mine` before each row."""
    last = np.maximum.accumulate(np.where(mine, np.arange(len(mine)), -1))
    last = np.insert(last, 0, -1)[:-1]
    return np.where(last >= 0, values[last], first)


def _numbers(p: Packets, out: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """First unacknowledged and next sequence number before each packet, never wrapping."""
    start = unwrapped(p.seq[out])
    zero = int(start[0])
    span = p.payload[out] + (p.flags[out] & SYN > 0) + (p.flags[out] & FIN > 0)
    ends = np.full(len(p), zero, np.int64)
    ends[out] = start + span
    heard = ~out & (p.flags & ACK > 0)
    acked = np.full(len(p), zero, np.int64)
    acked[heard] = unwrapped(np.concatenate([[zero], p.ack[heard]]))[1:]
    una, nxt = (np.insert(np.maximum.accumulate(one), 0, zero)[:-1] for one in (acked, ends))
    return una, nxt


def _phases(p: Packets, out: NDArray[np.bool_], una: Ints) -> Ints:
    state = np.full(len(p), ESTABLISHED)
    opening, answer = np.flatnonzero(out & (p.flags & SYN > 0)), np.flatnonzero(~out & (p.flags & SYN > 0))
    if len(opening):
        state[: answer[0] + 1 if len(answer) else len(p)] = SYN_SENT
    closing = np.flatnonzero(out & (p.flags & FIN > 0))
    if len(closing):
        first = closing[0]
        state[first + 1 :] = FIN_WAIT1
        end = unwrapped(p.seq[out])[np.flatnonzero(out) == first][0] + int(p.payload[first]) + 1
        state[(np.arange(len(p)) > first) & (una >= end)] = FIN_WAIT2
    return state


def _scales(p: Packets, side: NDArray[np.bool_]) -> Scales:
    """Walk the options of a side's SYN."""
    opening = np.flatnonzero(side & (p.flags & SYN > 0))
    if not len(opening):
        return Scales()
    at, end = int(p.at_options[opening[0]]), int(p.at_payload[opening[0]])
    window, sack = 0, False
    while at + 1 < end and p.data[at] != 0:
        kind, size = int(p.data[at]), int(p.data[at + 1])
        if kind == 1:
            at += 1
            continue
        if kind == 3:
            window = min(int(p.data[at + 2]), 14)  # RFC 7323, section 2.3
        sack |= kind == 4
        at += max(size, 2)
    return Scales(window, sack)


def recorded(outcome: Outcome, case: Case, picked: Sequence[int]) -> pl.DataFrame:
    """The same rows of a run on Linux: each ACK of flows whose algorithm told of ACKs, of others the samples."""
    import polars as pl

    heard = _flows_of(outcome.frame("acks")) & set(picked)
    made = [_heard(outcome, case, i) for i in sorted(heard)]
    series = outcome.frame("flows")
    if series is not None and (rest := [i for i in picked if i not in heard]):
        made.append(polled(series, case, rest))
    return pl.concat(made, how="vertical_relaxed").sort("time_ns", maintain_order=True)


def telling(outcome: Outcome) -> set[int]:
    """The flows of a run on Linux that have such rows."""
    import polars as pl

    series = outcome.frame("flows")
    sampled = None if series is None else series.filter(pl.col("cwnd_bytes").is_finite())
    return _flows_of(outcome.frame("acks")) | _flows_of(sampled)


def _flows_of(frame: pl.DataFrame | None) -> set[int]:
    return set() if frame is None else set(frame["flow"].unique().to_list())


def _heard(outcome: Outcome, case: Case, i: int) -> pl.DataFrame:
    """A flow's rows from what its algorithm told; departures too, where the arrivals at the links are known.

    Sequence numbers are counted from what was acknowledged and what was in flight.
    """
    import polars as pl

    def own(name: str) -> pl.DataFrame:
        frame = outcome.frame(name)
        return pl.DataFrame() if frame is None else frame.filter(pl.col("flow") == i)

    acks, events, sent = own("acks"), own("events"), own("arrivals")
    if not sent.is_empty():
        sent = sent.filter(pl.col("way") == 0)
    of_acks = np.rint(_column(acks, "time_s") * 1e9)
    times = np.concatenate([of_acks, _column(sent, "time_ns")]).astype(np.int64)
    lengths = np.concatenate([np.zeros(len(of_acks)), _column(sent, "size") - 20]).astype(np.int64)
    order = np.argsort(times, kind="stable")
    out = (np.arange(len(times)) >= len(of_acks))[order]
    times, lengths = times[order], lengths[order]
    cwnd, ssthresh, srtt = _windows(case.flows[i], acks, events, times, out)
    here = _place(of_acks, times, out)
    una = np.insert(np.cumsum(_column(acks, "acked")), 0, 0.0)[here].astype(np.int64)
    flying = np.insert(_column(acks, "in_flight"), 0, 0.0)[here].astype(np.int64)
    told = {
        "time_ns": times, "direction": np.where(out, "o", "i"), "srtt_us": srtt * 1e3, "cwnd": cwnd,
        "ssthresh": ssthresh, "snd_una": una % 2**32, "snd_nxt": (una + flying) % 2**32, "length": lengths,
    }  # fmt: skip
    return _addressed(pl.DataFrame(told).with_columns(flow=pl.lit(i, pl.Int64)), case)


def polled(series: pl.DataFrame, case: Case, picked: Sequence[int]) -> pl.DataFrame:
    """The same rows from a recorded series: one per step and flow, as a poller of TCP_INFO sees them.

    Sequence numbers are counted from the goodput; a poll is no packet and has no length, and windows are not in it.
    """
    import polars as pl

    # The first sample of a flow stands for a step, whenever it begins.
    widest = series["t_s"].unique().sort().diff().max() or series["t_s"].min()
    step = pl.col("t_s").diff().over("flow").fill_null(pl.min_horizontal("t_s", pl.lit(widest)))
    told = pl.col("goodput_mbps").fill_nan(0).fill_null(0)
    una = (told * 1e6 / 8 * step).cum_sum().over("flow").cast(pl.Int64)
    flying = pl.col("in_flight_bytes").fill_nan(0).fill_null(0).cast(pl.Int64)
    rows = series.filter(pl.col("flow").is_in(list(picked)) & pl.col("cwnd_bytes").is_finite()).sort("t_s", "flow")
    chosen = rows.select(
        time_ns=(pl.col("t_s") * 1e9).round().cast(pl.Int64),
        direction=pl.lit("i"),
        flow=pl.col("flow").cast(pl.Int64),
        srtt_us=pl.col("srtt_ms").fill_nan(0).fill_null(0) * 1e3,
        cwnd=pl.col("cwnd_bytes"),
        ssthresh=pl.col("ssthresh_bytes").cast(pl.Float64),
        snd_una=una % 2**32,
        snd_nxt=(una + flying) % 2**32,
        length=pl.lit(0, pl.Int64),
    )
    return _addressed(chosen, case)


def _addressed(rows: pl.DataFrame, case: Case) -> pl.DataFrame:
    """Adds what is the same for all rows of a flow on Linux."""
    import polars as pl

    mss: dict[int, Any] = {i: int(flow["mss"]) for i, flow in enumerate(case.flows)}
    senders, receivers = (dict(enumerate(hosts)) for hosts in _engine.addresses(len(case.flows)))
    flow = pl.col("flow")
    return rows.select(
        "time_ns",
        "direction",
        "flow",
        source=flow.replace_strict(senders, return_dtype=pl.String),
        sport=pl.lit(PORTS[0], pl.Int64),
        destination=flow.replace_strict(receivers, return_dtype=pl.String),
        dport=pl.lit(PORTS[1], pl.Int64),
        mss=flow.replace_strict(mss, return_dtype=pl.Int64),
        srtt_us="srtt_us",
        cwnd="cwnd",
        ssthresh="ssthresh",
        snd_wnd=pl.lit(0, pl.Int64),
        rcv_wnd=pl.lit(0, pl.Int64),
        state=pl.lit(ESTABLISHED, pl.Int64),
        snd_una="snd_una",
        snd_nxt="snd_nxt",
        length="length",
        snd_scale=pl.lit(0, pl.Int64),
        rcv_scale=pl.lit(0, pl.Int64),
        sack=pl.lit(1, pl.Int64),
    )
