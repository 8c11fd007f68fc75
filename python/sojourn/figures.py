"""Figures of a summary by their paths, such as `flow.a.rtt_ms.p95`: their values, and how they are called.

Every table, picture and comparison looks figures up here, so that one path means one thing everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .errors import SpecError

#: What a path begins with, and where the summary has it.
HEADS = {"flow": "flows", "group": "groups", "link": "links"}


def figure(entry: Mapping[str, Any], metric: str) -> float:
    """Look up `rtt_ms.mean` and the like in one flow, group or link of a summary; NaN when it has none."""
    node: Any = entry
    for key in metric.split("."):
        node = node.get(key) if isinstance(node, Mapping) else None
    return float(node) if isinstance(node, (int, float)) else math.nan


def below(entry: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The paths of all numbers in one flow, group or link of a summary."""
    names: list[str] = []
    for key, node in entry.items():
        if isinstance(node, Mapping):
            names += below(node, f"{prefix}{key}.")
        elif isinstance(node, (int, float)) and not isinstance(node, bool):
            names.append(prefix + key)
    return names


def value(summary: Mapping[str, Any], path: str, link: str = "bottleneck") -> float:
    """A figure of a summary by its path, such as `link.bottleneck.queue_ms.mean` or `flow.a.share`.

    A flow or group may be left out when it is the first, a link when it is `link`, or the first where none is called
    so: `utilisation`, `queue_ms.mean`, `throughput_mbps`.
    Raises `SpecError` with what there is when the path leads nowhere; NaN where the figure has no value.
    """
    parts = path.split(".")
    node: Any = summary
    walked: list[str] = []
    if parts[0] in HEADS or parts[0] in HEADS.values():
        word = HEADS.get(parts[0], parts[0])
        node = _named(summary[word], parts[1] if len(parts) > 1 else "", path, word)
        walked, parts = parts[:2], parts[2:]
    elif parts[0] not in summary:
        for word in ("links", "groups", "flows"):
            entries = summary[word]
            if entries and parts[0] in entries[0]:
                here = (one for one in entries if word == "links" and one.get("name") == link)
                node = next(here, entries[0])
                break
        else:
            raise SpecError(_nowhere(summary, path))
    entry: Any = summary
    for part in parts:
        if node is None:  # an unlimited link has no queue, a flow that never ended slow start no exit
            return math.nan
        if not isinstance(node, Mapping) or part not in node:
            have = ", ".join(sorted(map(str, node))) if isinstance(node, Mapping) else "nothing below it"
            raise SpecError(f"no figure {path!r}: after {'.'.join(walked) or 'the summary'!r} there is {have}")
        entry, node = node, node[part]
        walked.append(part)
    # Datagrams have no RTT: what is a distribution elsewhere is no number here, either.
    node = _elsewhere(summary, walked) if node is None else node
    if node is None:
        return math.nan
    if isinstance(node, bool | int | float):
        return float(node)
    raise SpecError(f"{path!r} is not a number{_instead(node, entry)}")


def _named(entries: Sequence[Mapping[str, Any]], name: str, path: str, word: str) -> Mapping[str, Any]:
    for entry in entries:
        if entry.get("name") == name:
            return entry
    if name.isdigit() and int(name) < len(entries):
        return entries[int(name)]
    have = ", ".join(str(e.get("name")) for e in entries) or "none"
    raise SpecError(f"no figure {path!r}: {word} are {have}")


def _elsewhere(summary: Mapping[str, Any], walked: Sequence[str]) -> Mapping[str, Any] | None:
    """The distribution that another flow or link has under the last of these words."""
    entries = (entry for part in HEADS.values() for entry in summary[part])
    return next((entry[walked[-1]] for entry in entries if isinstance(entry.get(walked[-1]), Mapping)), None)


def _instead(node: Any, entry: Any) -> str:
    """What to write instead of what is no number: what is below it, or stands beside it."""
    if isinstance(node, Mapping) and node:
        return f"; go on with {', '.join(map(str, node))}"
    what = f"a word ({node})" if isinstance(node, str) else "a list" if isinstance(node, list) else "empty"
    beside = [str(key) for key, one in entry.items() if one != {} and isinstance(one, (int, float, Mapping))]
    return f" but {what}; beside it there are {', '.join(beside)}"


def _nowhere(summary: Mapping[str, Any], path: str) -> str:
    """What there is where a path's first word leads nowhere."""
    from difflib import get_close_matches

    words = ("name", "cc", "flows", "stack", "completions")
    link, group = ([k for k in next(iter(summary[part]), {}) if k not in words] for part in ("links", "groups"))
    near = get_close_matches(path.split(".")[0], [*link, *group, "flow", "group", "link", "fairness"], n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return (
        f"no figure {path!r}{hint}; of the bottleneck there are {', '.join(link)}; "
        f"of the first group {', '.join(group)}; of others link.NAME.…, group.NAME.…, flow.NAME.…; and fairness.jain"
    )


class Quantity(NamedTuple):
    """How a figure is called, its unit on an axis, and the factor from the summary's unit to that one."""

    name: str
    unit: str
    scale: float


#: Words of a path with what they are called; the first that a path has decides.
QUANTITIES: dict[str, Quantity] = {
    "utilisation": Quantity("utilisation", "%", 100.0),
    "load": Quantity("load", "%", 100.0),
    "queue_ms": Quantity("queue delay", "ms", 1.0),
    "rtt_ms": Quantity("RTT", "ms", 1.0),
    "owd_ms": Quantity("one-way delay", "ms", 1.0),
    "jitter_ms": Quantity("jitter", "ms", 1.0),
    "throughput_mbps": Quantity("throughput", "Mbit/s", 1.0),
    "goodput_mbps": Quantity("goodput", "Mbit/s", 1.0),
    "window_rate_mbps": Quantity("bandwidth by window / RTT", "Mbit/s", 1.0),
    "ack_rate_mbps": Quantity("bandwidth by ACK rate", "Mbit/s", 1.0),
    "share": Quantity("share", "%", 100.0),
    "jain": Quantity("Jain index", "", 1.0),
    "max_min": Quantity("max–min fairness", "", 1.0),
    "loss_pct": Quantity("loss", "%", 1.0),
    "drop_pct": Quantity("drops", "%", 1.0),
    "queue_packets": Quantity("queue length", "packets", 1.0),
    "completion_s": Quantity("completion time", "s", 1.0),
    "unfinished": Quantity("unfinished transfers", "", 1.0),
    "repair_s": Quantity("time in repair", "s", 1.0),
    "bdp_ratio": Quantity("slow-start exit / BDP", "", 1.0),
    "at_s": Quantity("end of slow start", "s", 1.0),
    "ssthresh_bytes": Quantity("ssthresh at the slow-start exit", "bytes", 1.0),
    "backoffs": Quantity("back-offs", "", 1.0),
    "losses": Quantity("losses", "", 1.0),
    "duration_ms": Quantity("duration of connections", "ms", 1.0),
    "connections": Quantity("connections", "", 1.0),
    "sent": Quantity("packets sent", "", 1.0),
    "lost": Quantity("packets lost", "", 1.0),
    "retransmits": Quantity("retransmissions", "", 1.0),
    "mode_s": Quantity("time in mode", "s", 1.0),
    "arrived_mb": Quantity("data that arrived", "MB", 1.0),
    "departed_mb": Quantity("data that departed", "MB", 1.0),
    "arrived": Quantity("packets that arrived", "", 1.0),
    "dropped": Quantity("packets dropped", "", 1.0),
    "dropped_overflow": Quantity("packets dropped by overflow", "", 1.0),
    "dropped_law": Quantity("packets dropped by the law", "", 1.0),
    "dropped_random": Quantity("packets dropped at random", "", 1.0),
    "marked": Quantity("packets marked", "", 1.0),
}
#: What a distribution is summed up by.
STATISTICS = {
    "mean": "mean",
    "median": "median",
    "sd": "standard deviation of",
    "p5": "5th percentile",
    "p50": "50th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "min": "smallest",
    "max": "largest",
}
#: Kinds that are called otherwise than by their word, and what is no count.
CALLED: dict[tuple[str, ...], Quantity] = {
    ("backoffs", "ecn"): Quantity("ECN back-offs", "", 1.0),
    ("backoffs", "below_bdp"): Quantity("back-offs below the BDP", "", 1.0),
    ("backoffs", "to_bytes"): Quantity("mean window that delay back-offs left", "bytes", 1.0),
}
#: Quantities that are counted by kinds, such as `backoffs.delay`, or as a part of all, `backoffs.unused_pct`.
KINDS = ("backoffs", "losses")


def quantity(path: str) -> Quantity:
    """How a metric's axis is called, its unit, and the factor from the summary's unit to that one."""
    owner, inner = _split(path)
    word = next((word for word in QUANTITIES if word in inner), None)
    if word is None:
        return Quantity(path.replace("_", " "), "", 1.0)
    called, unit, scale = QUANTITIES[word]
    rest = inner[inner.index(word) + 1 :]
    last = " ".join(rest).replace("_", " ")
    if (word, *rest) in CALLED:
        called, unit, scale = CALLED[word, *rest]
    elif word in KINDS and rest:
        called = f"{last.removesuffix(' pct')} {called}"
        unit = "%" if last.endswith(" pct") else unit
    elif rest == ["samples"]:  # a number of them, whatever they measure
        called, unit, scale = f"number of {called} samples", "", 1.0
    elif len(rest) == 1 and rest[0] in STATISTICS:
        called = f"{STATISTICS[rest[0]]} {called}"
    elif rest:
        called = f"{called} ({last})"
    # Of every group's figure, `*`, each is named in the picture.
    return Quantity(f"{called} of {owner}" if owner not in ("", "*") else called, unit, scale)


#: Of which more is better, and of which less is; of all else neither is said.
MORE = frozenset({"utilisation", "throughput_mbps", "goodput_mbps", "share", "jain", "max_min"})
LESS = frozenset({"queue_ms", "rtt_ms", "owd_ms", "jitter_ms", "loss_pct", "drop_pct", "completion_s", "unfinished"})


def better(path: str) -> int:
    """1 where more of a metric is better, -1 where less is, 0 where neither can be said.

    >>> better("flow.a.goodput_mbps"), better("queue_ms.p95"), better("backoffs.loss"), better("rtt_ms.samples")
    (1, -1, 0, 0)
    """
    _, inner = _split(path)
    word = next((word for word in QUANTITIES if word in inner), "")
    if inner[-1] == "samples":
        return 0
    return 1 if word in MORE else -1 if word in LESS else 0


def bounds(path: str) -> tuple[float, float]:
    """Smallest and largest possible value of a metric, in the axis' unit."""
    _, inner = _split(path)
    known = any(word in inner for word in QUANTITIES)
    # More may be offered to a link than it can carry.
    share = quantity(path).unit == "%" and "load" not in inner
    return (0.0 if known else -math.inf), 1.0 if {"jain", "max_min"} & set(inner) else 100.0 if share else math.inf


def _split(path: str) -> tuple[str, list[str]]:
    """The flow or group that a path names, and its words from there on: a flow may be called `share`."""
    parts = path.split(".")
    if len(parts) < 3 or not (parts[0] in HEADS or parts[0] in HEADS.values()):
        return "", parts
    return "" if parts[0] in ("link", "links") else parts[1], parts[2:]
