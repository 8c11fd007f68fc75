"""What is told of a queue: figures of one run, and of all its runs with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..stats import Interval, mean_interval
from ..tables import figure
from .mix import Direction, Entry

NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Figure:
    """One column: its key in JSON and in `--weight`, its head, what it is."""

    key: str
    head: str
    unit: str
    meaning: str


LINK = (
    Figure("delay", "delay", "ms", "mean queue delay of all packets, in the worse of the loaded directions"),
    Figure("p95", "p95", "ms", "its 95th percentile"),
    Figure("loss", "loss", "%", "packets dropped of those that arrived, in the loaded directions"),
    Figure("utilisation", "used", "%", "share of the link's rate carried, mean of the loaded directions"),
    Figure("ping", "ping +", "ms", "what load adds to the round trip of 64-byte packets of a flow of their own"),
    Figure("rpm", "RPM", "/min", "round trips per minute under load"),
)
USES = (
    Figure("goodput", "bulk", "Mbit/s", "goodput of all bulk flows, both directions"),
    Figure(
        "web", "web", "ms", "mean time from a server's first byte to the browser's last, per object, over the whole run"
    ),
    Figure("voip", "voip", "ms", "mean one-way delay of calls, the worse direction"),
    Figure("jitter", "jitter", "ms", "their jitter (RFC 3550), the worse direction"),
    Figure("voip_loss", "voip lost", "%", "packets of calls lost, the worse direction"),
    Figure("game", "game", "ms", "mean one-way delay of games, the worse direction"),
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


def rpm(loaded_rtt_ms: float) -> float:
    """Round trips per minute at this RTT.

    >>> rpm(100.0)
    600.0
    """
    return 60_000.0 / loaded_rtt_ms if loaded_rtt_ms > 0 else NAN


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
    base_rtt_ms: float,
) -> dict[str, float]:
    """Read one run's summary."""
    links = {"down": _called(summary["links"], "bottleneck"), "up": _called(summary["links"], "return")}
    ways = [links[direction] for direction in loaded(entry for entry, _ in named.values())]
    groups = {group["name"]: group for group in summary["groups"]}

    def some(kind: str) -> list[Mapping[str, Any]]:
        return [groups[name] for name, (entry, _) in named.items() if entry.name == kind]

    bulk = [groups[name] for name, (entry, _) in named.items() if entry.bulk]
    arrived = sum(figure(way, "arrived") for way in ways)
    ping = figure(groups["probe"], "owd_ms.mean") + figure(groups["probe-up"], "owd_ms.mean")
    # The probe is a stranger to the load; a bulk flow's own RTT is what a request behind it sees: half of each.
    own = _mean([(figure(group, "rtt_ms.mean"), figure(group, "rtt_ms.samples")) for group in bulk])
    web = [(one["mean_s"] * 1e3, one["transfers"]) for group in some("web") for one in group["completions"]]
    return {
        "delay": _worst(ways, "queue_ms.mean"),
        "p95": _worst(ways, "queue_ms.p95"),
        "loss": 100.0 * sum(figure(way, "dropped") for way in ways) / arrived if arrived else NAN,
        "utilisation": 100.0 * sum(figure(way, "utilisation") for way in ways) / len(ways),
        "ping": ping - base_rtt_ms,
        "rpm": rpm(ping if math.isnan(own) else (ping + own) / 2.0),
        "goodput": sum(figure(group, "goodput_mbps") for group in bulk) if bulk else NAN,
        "web": _mean(web),
        "voip": _worst(some("voip"), "owd_ms.mean"),
        "jitter": _worst(some("voip"), "jitter_ms"),
        "voip_loss": _worst(some("voip"), "loss_pct"),
        "game": _worst(some("game"), "owd_ms.mean"),
    }


def _called(entries: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def _worst(entries: Iterable[Mapping[str, Any]], metric: str) -> float:
    return max((value for entry in entries if not math.isnan(value := figure(entry, metric))), default=NAN)


def _mean(weighted: Iterable[tuple[float, float]]) -> float:
    kept = [(value, weight) for value, weight in weighted if not math.isnan(value) and weight > 0]
    total = sum(weight for _, weight in kept)
    return sum(value * weight for value, weight in kept) / total if total else NAN
