"""What is told of a queue: figures of one run, and of all its runs with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..figures import figure
from ..stats import Interval, mean_interval
from .mix import Direction, Entry

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Figure:
    """One column: its key in JSON and in `--weight`, its head, what it is."""

    key: str
    head: str
    unit: str
    meaning: str
    #: What happened in a run that has no such figure.
    missing: str = ""

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Where it cannot go beyond, and so no interval of it: a percentage's."""
        return (0.0, 100.0) if self.unit == "%" else None


_STUCK = "no packet left the queue"
_UNHEARD = "none of its packets arrived in one of the directions"

LINK = (
    Figure("delay", "delay", "ms", "mean queue delay of all packets, in the worse of the loaded directions", _STUCK),
    Figure("p95", "p95", "ms", "its 95th percentile", _STUCK),
    Figure("loss", "loss", "%", "packets dropped of those dropped or sent on, in the loaded directions", _STUCK),
    Figure("utilisation", "used", "%", "share of the link's rate carried, mean of the loaded directions"),
    Figure(
        "ping", "ping +", "ms", "what load adds to the round trip of 64-byte packets of a flow of their own", _UNHEARD
    ),
    Figure("rpm", "RPM", "/min", "round trips per minute under load", _UNHEARD),
)
USES = (
    Figure("throughput", "bulk", "Mbit/s", "what arrives of all bulk flows, both directions, with headers and repeats"),
    Figure(
        "web",
        "web",
        "ms",
        "mean time from a server's first byte to the browser's last, per object, over the whole run",
        "no object finished",
    ),
    Figure("voip", "voip", "ms", "mean one-way delay of calls, the worse direction", _UNHEARD),
    Figure("jitter", "jitter", "ms", "their jitter (RFC 3550), the worse direction", _UNHEARD),
    Figure(
        "voip_loss",
        "voip lost",
        "%",
        "packets of calls lost of those lost or arrived, the worse direction",
        "all still waited",
    ),
    Figure("game", "game", "ms", "mean one-way delay of games, the worse direction", _UNHEARD),
)
ALL = (*LINK, *USES)

#: Added round trip in ms below which each grade ends: DSLReports' bufferbloat grades (dslreports.com/faq/17930).
GRADES = ((5.0, "A+"), (30.0, "A"), (60.0, "B"), (200.0, "C"), (400.0, "D"), (math.inf, "F"))


def grade(added_ms: float) -> str:
    """Grade bufferbloat by what load adds to the round trip.

    >>> grade(4.9), grade(5.0), grade(400.0)
    ('A+', 'A', 'F')
    """
    return "–" if math.isnan(added_ms) else next(letter for end, letter in GRADES if added_ms < end)


def rpm(*loaded_rtt_ms: float) -> float:
    """Round trips per minute: the mean of those at each RTT there is (draft-ietf-ippm-responsiveness-09, 5.3.1.1).

    >>> rpm(100.0), rpm(20.0, 200.0), rpm(100.0, NAN)
    (600.0, 1650.0, 600.0)
    """
    rates = [60_000.0 / rtt for rtt in loaded_rtt_ms if rtt > 0]
    return sum(rates) / len(rates) if rates else NAN


@dataclass(frozen=True, slots=True)
class Measured:
    """A queue's figures, by repetition: the same repetition of two queues has the same seed."""

    queue: str
    runs: tuple[Mapping[str, float], ...]

    def values(self, key: str) -> list[float]:
        """One figure over the repetitions."""
        return [run[key] for run in self.runs]

    def __getitem__(self, key: str) -> Interval:
        return mean_interval(self.values(key))

    @property
    def grade(self) -> str:
        """Its bufferbloat grade."""
        return grade(self["ping"].mean)


def loaded(entries: Iterable[Entry]) -> tuple[Direction, ...]:
    """Directions that the mix loads: those with bulk flows; without any, those with TCP data, or with any data."""
    entries = list(entries)
    for some in ([e for e in entries if e.bulk], [e for e in entries if e.tcp], entries):
        if some:
            there = {direction for entry in some for direction in entry.directions}
            return tuple(direction for direction in ("down", "up") if direction in there)
    return ()


def of(
    summary: Mapping[str, Any],
    named: Mapping[str, tuple[Entry, Direction]],
    unloaded_ms: float,
) -> dict[str, float]:
    """Read one run's summary; `unloaded_ms` is the probe's round trip without load."""
    links = {"down": _called(summary["links"], "bottleneck"), "up": _called(summary["links"], "return")}
    ways = [links[direction] for direction in loaded(entry for entry, _ in named.values())]
    groups = {group["name"]: group for group in summary["groups"]}

    def some(kind: str) -> list[Mapping[str, Any]]:
        return [groups[name] for name, (entry, _) in named.items() if entry.name == kind]

    bulk = [groups[name] for name, (entry, _) in named.items() if entry.bulk]
    calls = [one for one in some("voip") if _count(one, "owd_ms.samples")]
    ping = figure(groups["probe"], "owd_ms.mean") + figure(groups["probe-up"], "owd_ms.mean")
    # The probe is a stranger to the load; a bulk flow's own RTT is what a request behind it sees.
    own = _mean([(figure(group, "rtt_ms.mean"), figure(group, "rtt_ms.samples")) for group in bulk])
    web = [(one["mean_s"] * 1e3, one["transfers"]) for group in some("web") for one in group["completions"]]
    return {
        "delay": _worst(ways, "queue_ms.mean"),
        "p95": _worst(ways, "queue_ms.p95"),
        "loss": _lost(
            sum(_count(way, "dropped") for way in ways), sum(_count(way, "queue_ms.samples") for way in ways)
        ),
        "utilisation": 100.0 * sum(figure(way, "utilisation") for way in ways) / len(ways),
        # To the µs: of a link without load the rounding of two delays is left. Never -0.
        "ping": round(ping - unloaded_ms, 3) + 0.0,
        "rpm": NAN if math.isnan(ping) else rpm(ping, own),
        # Not goodput, which moves when a hole is filled: what waited behind it may have come before the window, and
        # then a flow seems to have more than the link carries.
        "throughput": sum(figure(group, "throughput_mbps") for group in bulk) if bulk else NAN,
        "web": _mean(web),
        "voip": _worst(some("voip"), "owd_ms.mean"),
        "jitter": _worst(calls, "jitter_ms") if len(calls) == len(some("voip")) else NAN,
        "voip_loss": _most([_lost(figure(one, "lost"), _count(one, "owd_ms.samples")) for one in some("voip")]),
        "game": _worst(some("game"), "owd_ms.mean"),
    }


def _called(entries: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _count(entry: Mapping[str, Any], metric: str) -> float:
    """How many there are: where nothing came there are no samples to have a figure of."""
    value = figure(entry, metric)
    return 0.0 if math.isnan(value) else value


def _lost(lost: float, passed: float) -> float:
    """Lose so many percent of those whose fate the window saw; what was sent in it may wait, or have been sent before.

    >>> _lost(353.0, 47.0)
    88.25
    """
    return 100.0 * lost / (lost + passed) if lost + passed else NAN


def _worst(entries: Iterable[Mapping[str, Any]], metric: str) -> float:
    return _most([figure(entry, metric) for entry in entries])


def _most(values: Sequence[float]) -> float:
    """The largest; where one is missing, as of a direction through which nothing came, there is no worst to tell."""
    return NAN if any(map(math.isnan, values)) else max(values, default=NAN)


def _mean(weighted: Iterable[tuple[float, float]]) -> float:
    kept = [(value, weight) for value, weight in weighted if not math.isnan(value) and weight > 0]
    total = sum(weight for _, weight in kept)
    return sum(value * weight for value, weight in kept) / total if total else NAN
