"""Round-trip times from two packet captures: synthetic packet pairs (Zander and Armitage, LCN 2013).

A packet that passes the reference point R at r1 and the monitor M at m1, and the next one the other way, which passes M
at m2 and R at r2, make a pair: RTT = (r2 − r1) − (m2 − m1), the time away from R less the time beyond M. Each
difference is of one clock, so that the clocks need not agree; a packet takes part in one pair only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import SpecError
from .fitting import Column, fitted
from .formats.packets import TCP, UDP, Packets, Words, fingerprints, packets
from .formats.pcap import Capture, Ints, read
from .stats import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

# So many bytes of payload tell packets apart whose headers do not (datagrams of one size); more only cost time.
PAYLOAD = 16
# Of fewer packets without a match losses may be the reason.
FEW = 10
OFF = "`ethtool -K DEV gro off tso off gso off` before capturing"


@dataclass(frozen=True)
class Trip:
    """The pairs of one connection, as seen from the reference point."""

    name: str
    time: Ints
    """When the answer came back to the reference point (its clock, ns)."""
    rtt: Ints
    """Nanoseconds."""
    beyond: Ints
    """Time between the two packets at the monitor (ns)."""


@dataclass(frozen=True)
class Doubt:
    """One way of a connection of whose packets with payload few are in both captures, or some in pieces."""

    name: str
    data: int
    """Packets with payload at the reference."""
    matched: int
    largest: tuple[int, int]
    """Bytes of payload at most in a packet of the reference, and of the monitor."""
    merged: bool
    """Bytes that one capture has in one segment are in several in the other."""

    def __str__(self) -> str:
        share = f"{self.name}: {self.matched} of {counted(self.data, 'packet')} with payload matched"
        if not self.merged:
            return f"{share}; one capture began later or missed the others, or offload put segments together ({OFF})"
        a, b = self.largest
        where, more, less = ("A", a, b) if a > b else ("B", b, a)
        return f"{share}; offload put segments together at {where} (up to {more} bytes, elsewhere {less}): {OFF}"


@dataclass(frozen=True)
class Pairs:
    """What two captures say: the connections in both, and how many packets were matched."""

    trips: tuple[Trip, ...]
    reference: int
    monitor: int
    matched: int
    ambiguous: int
    """Packets of the reference that look like others of which a copy was lost: they are left out."""
    cut: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    """Those with most unmatched packets first."""


def spp(reference: str | Path, monitor: str | Path) -> Pairs:
    """Pair the packets of two captures (pcap, pcapng; `FILE#interface` for one of several)."""
    captures = [_one(read(source)) for source in (reference, monitor)]
    here, there = (packets(capture) for capture in captures)
    cut = tuple(str(capture.path) for capture in captures if capture.cut)
    for capture, found in zip(captures, (here, there), strict=True):
        if not len(found):
            raise SpecError(f"{capture.path}: none of its {len(capture)} packets is TCP or UDP over IP")
    mine, theirs, ambiguous = match(here, there)
    if not len(mine):
        raise SpecError(
            f"no packet of {captures[0].path} is in {captures[1].path}: other traffic, translated addresses between "
            f"them, or segments put together by offload ({OFF})"
        )
    trips = tuple(_trips(here.only(mine), there.time[theirs]))
    if not any(len(trip.rtt) for trip in trips):
        raise SpecError(f"{captures[0].path} and {captures[1].path} have packets of one direction only in common")
    # Between two points a packet takes time, and two clocks never agree to the nanosecond.
    if np.array_equal(here.time[mine], there.time[theirs]):
        raise SpecError(
            f"A and B are the same capture point: every packet passed {reference} and {monitor} at the same instant; "
            "give captures of two points, such as run.pcapng#sender run.pcapng#receiver of `sojourn export --at all`"
        )
    doubts = tuple(_doubts(here, there, mine, theirs))
    return Pairs(trips, len(here), len(there), len(mine), ambiguous, cut, doubts)


def _one(capture: Capture) -> Capture:
    used = capture.used() if len(capture) else []
    if len(used) > 1:
        choice = ", ".join(f"{capture.path}#{name}" for name in used)
        raise SpecError(f"{capture.path} was captured at {len(used)} interfaces; choose one: {choice}")
    return capture


def match(here: Packets, there: Packets) -> tuple[Ints, Ints, int]:
    """Places of the packets that are in both captures, in order of the first; and how many could not be told apart.

    Packets that look alike (copies, retransmissions without anything new) match in their order, if none of them is
    missing on one side.
    """
    options = bool(here.whole.all() and there.whole.all())
    # A snap length that leaves the headers of TCP alone leaves bytes of datagrams, whose headers tell the least.
    depth = {protocol: min(_depth(side, protocol) for side in (here, there)) for protocol in (TCP, UDP)}
    a, b = (fingerprints(side, depth, options) for side in (here, there))
    order_a, order_b = (np.argsort(side.time, kind="stable") for side in (here, there))
    order_a, order_b = (_grouped(keys, order) for keys, order in ((a, order_a), (b, order_b)))
    keys_a, counts_a, starts_a = _groups(a[order_a])
    keys_b, counts_b, starts_b = _groups(b[order_b])
    _, in_a, in_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    equal = counts_a[in_a] == counts_b[in_b]
    ambiguous = int(counts_a[in_a[~equal]].sum())
    in_a, in_b = in_a[equal], in_b[equal]
    counts = counts_a[in_a]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    mine = order_a[np.repeat(starts_a[in_a], counts) + within]
    theirs = order_b[np.repeat(starts_b[in_b], counts) + within]
    by_time = np.argsort(here.time[mine], kind="stable")
    return mine[by_time], theirs[by_time], ambiguous


def _depth(of: Packets, protocol: int) -> int:
    """Bytes of payload that the snap length left of every packet of this protocol, as far as they are of use."""
    short = (of.protocol == protocol) & (of.depth < of.payload)
    return min(int(of.depth[short].min()), PAYLOAD) if short.any() else PAYLOAD


def _doubts(here: Packets, there: Packets, mine: Ints, theirs: Ints) -> list[Doubt]:
    """Ways with payload of which little matched. ACKs and SYNs match whatever becomes of the payload they answer."""
    ways = _ways(here, there)
    many = int(max(way.max() for way in ways)) + 1
    data = [side.payload > 0 for side in (here, there)]
    largest = [np.zeros(many, np.int64) for _ in ways]
    for most, way, side in zip(largest, ways, (here, there), strict=True):
        np.maximum.at(most, way, side.payload)
    sent = np.bincount(ways[0][data[0]], minlength=many)
    matched = np.bincount(ways[0][mine][data[0][mine]], minlength=many)
    # A large segment that was lost is in no pieces: its place in the stream tells.
    places = [way * 2**32 + side.seq for way, side in zip(ways, (here, there), strict=True)]
    merged = np.zeros(many, bool)
    for one, other, side, kept in ((0, 1, here, mine), (1, 0, there, theirs)):
        whole = data[one] & (side.protocol == TCP) & (side.payload > largest[other][ways[one]])
        whole[kept] = False
        if whole.any():
            in_pieces = np.isin(places[one][whole], places[other][data[other]])
            merged[ways[one][whole][in_pieces]] = True
    known = np.bincount(ways[1], minlength=many) > 0
    few = known & (2 * matched < sent) & (sent - matched >= FEW)
    found = np.flatnonzero((few | merged) & (sent > 0))
    _, first = np.unique(ways[0], return_index=True)
    names = dict(zip(ways[0][first].tolist(), first.tolist(), strict=True))
    return [
        Doubt(_name(here, names[way]), int(sent[way]), int(matched[way]),
              (int(largest[0][way]), int(largest[1][way])), bool(merged[way]))
        for way in found[np.argsort(matched[found] - sent[found], kind="stable")].tolist()
    ]  # fmt: skip


def _ways(here: Packets, there: Packets) -> list[Ints]:
    """A number for each way of each connection, the same in both captures."""
    hosts: dict[str, int] = {}
    for host in (*here.hosts, *there.hosts):
        hosts.setdefault(host, len(hosts))
    ends = []
    for side in (here, there):
        number = np.array([hosts[host] for host in side.hosts], np.int64)
        ends.append((number[side.source] * 65_536 + side.from_port, number[side.destination] * 65_536 + side.to_port))
    (_, source), (targets, target) = (
        np.unique(np.concatenate(end), return_inverse=True) for end in zip(*ends, strict=True)
    )
    protocol = np.concatenate([here.protocol, there.protocol])
    _, ways = np.unique((source * len(targets) + target) * 256 + protocol, return_inverse=True)
    return [ways[: len(here)], ways[len(here) :]]


def _grouped(keys: Words, order: NDArray[np.int64]) -> NDArray[np.int64]:
    return order[np.argsort(keys[order], kind="stable")]


def _groups(keys: Words) -> tuple[Words, Ints, Ints]:
    known, starts, counts = np.unique(keys, return_index=True, return_counts=True)
    return known, counts.astype(np.int64), starts.astype(np.int64)


def _trips(here: Packets, there: Ints) -> list[Trip]:
    """The pairs of every connection, those with most pairs first."""
    one_end = here.source * 65_536 + here.from_port
    other_end = here.destination * 65_536 + here.to_port
    low, high = np.minimum(one_end, other_end), np.maximum(one_end, other_end)
    (_, less), (more_ends, more) = (np.unique(end, return_inverse=True) for end in (low, high))
    pairs_of_ends = (less * len(more_ends) + more) * 256 + here.protocol
    which = np.unique(pairs_of_ends, return_inverse=True)[1]
    order = np.argsort(which, kind="stable")
    trips = []
    for of in np.split(order, np.flatnonzero(np.diff(which[order])) + 1):
        upward = one_end[of] == low[of]
        ways = [_paired(here.time[of], there[of], upward == way) for way in (True, False)]
        # Of the two directions one goes from reference to monitor: the other one's times would be negative.
        scores = [float(np.median(rtt)) if len(rtt) else -np.inf for _, rtt, _ in ways]
        best = int(np.argmax(scores))
        out = of[upward == (best == 0)]
        if len(out):
            trips.append(Trip(_name(here, int(out[0])), *ways[best]))
    return sorted(trips, key=lambda trip: -len(trip.rtt))


def _paired(reference: Ints, monitor: Ints, out: NDArray[np.bool_]) -> tuple[Ints, Ints, Ints]:
    """An answer belongs to the last packet that passed the monitor before it, if no other answer came between."""
    # At the same instant the packet comes before its answer: a simulated host needs no time to answer.
    order = np.lexsort((~out, monitor))
    first, then = order[:-1], order[1:]
    pair = out[first] & ~out[then]
    first, then = first[pair], then[pair]
    beyond = monitor[then] - monitor[first]
    rtt = reference[then] - reference[first] - beyond
    by_time = np.argsort(reference[then], kind="stable")
    return reference[then][by_time], rtt[by_time], beyond[by_time]


def _name(of: Packets, i: int) -> str:
    def end(host: int, port: int) -> str:
        name = of.hosts[host]
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    kind = {6: "tcp", 17: "udp"}[int(of.protocol[i])]
    source = end(int(of.source[i]), int(of.from_port[i]))
    return f"{kind} {source} > {end(int(of.destination[i]), int(of.to_port[i]))}"


def summary(pairs: Pairs) -> list[dict[str, Any]]:
    """Per connection with at least one pair: how many, and their RTT in ms."""
    rows = []
    for trip in pairs.trips:
        if len(trip.rtt):
            ms = trip.rtt / 1e6
            low, median, p95, high = np.percentile(ms, [0, 50, 95, 100])
            figures = {"min_ms": low, "median_ms": median, "mean_ms": ms.mean(), "p95_ms": p95, "max_ms": high}
            row: dict[str, Any] = {"connection": trip.name, "pairs": len(ms)}
            rows.append(row | {name: round(float(value), 6) for name, value in figures.items()})
    return rows


def table(pairs: Pairs, width: int = 160) -> RenderableType:
    """What `summary` says, for a terminal of this width."""
    from rich.text import Text

    heads = {"min_ms": "min ms", "median_ms": "median", "mean_ms": "mean", "p95_ms": "p95", "max_ms": "max"}
    columns = [Column("connection", words=True, key=True), Column("pairs"), *map(Column, heads.values())]
    rows = [
        [*map(Text, (row["connection"], str(row["pairs"]), *(f"{row[key]:.3f}" for key in heads)))]
        for row in summary(pairs)
    ]
    return fitted(columns, rows, width)


def csv(trips: Sequence[Trip]) -> str:
    """All pairs as CSV: connection, seconds (clock of the reference), RTT and time beyond the monitor in ms."""
    import polars as pl

    frames = [
        pl.DataFrame(
            {
                "connection": pl.Series([trip.name] * len(trip.rtt), dtype=pl.String),
                "time_s": trip.time / 1e9,
                "rtt_ms": trip.rtt / 1e6,
                "beyond_ms": trip.beyond / 1e6,
            }
        )
        for trip in trips
    ]
    return pl.concat(frames).write_csv()
