"""Rates and base RTTs over time, as the file has them: constant, with scheduled changes, or a trace's opportunities."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from .data import Shown
from .histogram import Floats
from .units import SCALES, number

#: Bits that one line of a mahimahi trace delivers.
OPPORTUNITY = 1500 * 8
#: A trace file larger than this is left alone: a picture is not worth the wait.
MOST_BYTES = 64 << 20

#: Seconds in rising order, and the Mbit/s (of a base RTT ms) from each of them on.
Steps: TypeAlias = "tuple[Floats, Floats]"


def steps(case: Shown, link: int, span: tuple[float, float], width: float) -> Steps | None:
    """The rate within `span`, its last entry at the end; of a trace the means over bins of `width` seconds.

    None where there is none, or none to be known: no rate, a trace that is no longer where it was.
    """
    info = case.links[link]
    first = info.get("rate_mbps")
    if not first:
        return None
    if info.get("trace"):
        return _trace(case, link, float(first), span, width)
    table, prefix, key = _table(case, str(info["name"]))
    changes = _changes(case, table, prefix, key) if info.get("changes") else []
    return None if changes is None else _within(float(first), [(at, rate / 1e6) for at, rate in changes], span)


def base_rtt(case: Shown, flow: int, span: tuple[float, float]) -> Steps | None:
    """A flow's base RTT in ms within `span`, its last entry at the end; None where it has none."""
    info = case.flows[flow]
    if not info.get("base_rtt_ms"):
        return None
    way = [*(info.get("route") or ()), *(info.get("back") or ())]
    moves: list[tuple[float, float]] = []  # when, and by how much it becomes longer
    for link in case.links:
        if not link.get("changes") or link["name"] not in way:
            continue
        table, prefix, _ = _table(case, str(link["name"]))
        key, part = ("rtt", 0.5) if prefix == "path" else ("delay", 1.0)
        before = float(link.get("delay_ms") or 0.0)
        for at, seconds in _changes(case, table, prefix, key) or ():
            moves.append((at, way.count(link["name"]) * (1e3 * part * seconds - before)))
            before = 1e3 * part * seconds
    base, changes = float(info["base_rtt_ms"]), dict[float, float]()
    for at, longer in sorted(moves):
        base += longer
        changes[at] = base
    return _within(float(info["base_rtt_ms"]), list(changes.items()), span)


def _within(first: float, changes: Sequence[tuple[float, float]], span: tuple[float, float]) -> Steps:
    """What begins with `first` and changes at these times, between two times."""
    t, value = np.array([-np.inf, *(at for at, _ in changes)]), np.array([first, *(new for _, new in changes)])
    at_start = int(np.searchsorted(t, span[0], side="right")) - 1
    later = (t > span[0]) & (t < span[1])
    within = np.concatenate([[value[at_start]], value[later]])
    return np.concatenate([[span[0]], t[later], [span[1]]]), np.append(within, within[-1])


def narrowest(case: Shown, flow: int, span: tuple[float, float]) -> Steps | None:
    """The least rate on a flow's way out over time; a trace counts with its mean."""
    route = {str(name) for name in case.flows[flow].get("route") or ()}
    found: list[Steps] = []
    for i, info in enumerate(case.links):
        if str(info["name"]) in route and info.get("rate_mbps"):
            mean = np.array([float(info["rate_mbps"])] * 2)
            one = (np.array(span), mean) if info.get("trace") else steps(case, i, span, np.inf)
            if one is None:
                return None
            found.append(one)
    if not found:
        return None
    t = np.unique(np.concatenate([one[0] for one in found]))
    return t, np.min([at(one, t) for one in found], axis=0)


def at(steps: Steps, times: Floats) -> Floats:
    """What holds from each of these times on."""
    return steps[1][np.maximum(np.searchsorted(steps[0], times, side="right") - 1, 0)]


def before(rate: Steps, times: Floats) -> Floats:
    """The rate that held just before each of these times: that of the step which ends there."""
    t, mbps = rate
    return mbps[np.maximum(np.searchsorted(t, times, side="left") - 1, 0)]


def _file(case: Shown) -> Mapping[str, Any]:
    """The experiment's file."""
    return tomllib.loads(case.result.plan.toml)


def _table(case: Shown, name: str) -> tuple[Mapping[str, Any], str, str]:
    """The file's table of a link, the name it is swept by, its key of the rate, which is a change's, too."""
    whole = _file(case)
    for table in whole.get("link", ()):
        if table.get("name") == name:
            return table, f"link.{name}", "rate"
    return whole.get("path", {}), "path", "up" if name == "return" else "rate"


def _value(case: Shown, table: Mapping[str, Any], prefix: str, key: str) -> Any:
    """A key's value in this case: the swept one, which is text, or the file's."""
    for swept, text in case.values.items():
        if fnmatchcase(f"{prefix}.{key}", swept):
            try:
                return tomllib.loads(f"value = {text}")["value"]
            except tomllib.TOMLDecodeError:  # "12 Mbit/s" stands there without its quotes
                return text
    return table.get(key)


def _changes(case: Shown, table: Mapping[str, Any], prefix: str, key: str) -> list[tuple[float, float]] | None:
    """Seconds and new values, in bit/s or seconds, of a table's scheduled changes of one key; None if unreadable."""
    found: list[tuple[float, float]] = []
    listed = _value(case, table, prefix, "changes")
    if not isinstance(listed, list):
        return None
    for change in listed:
        if key not in change:
            continue
        at, new = number(str(change.get("at"))), number(str(change[key]))
        if at is None or new is None:
            return None
        found.append((at[0] * SCALES[at[1].lower()], new[0] * SCALES[new[1].lower()]))
    return sorted(found, key=lambda change: change[0])


def _trace(case: Shown, link: int, mean: float, span: tuple[float, float], width: float) -> Steps | None:
    table, prefix, key = _table(case, str(case.links[link]["name"]))
    match = re.fullmatch(r"\s*trace\((.*)\)\s*", str(_value(case, table, prefix, key)))
    if match is None:
        return None
    path = Path(case.result.experiment.file).parent / match[1].strip().strip("\"'")
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        lines = (line.strip() for line in path.read_text("utf-8").splitlines())
        times = np.array([int(line) for line in lines if line and not line.startswith("#")]) / 1e3
    except (OSError, ValueError):
        return None
    # Another file of that name by now would have another mean.
    if not len(times) or times[-1] <= 0 or abs(len(times) * OPPORTUNITY / times[-1] / 1e6 / mean - 1) > 1e-6:
        return None
    bins = max(1, round((span[1] - span[0]) / width))
    edges: Floats = np.linspace(*span, bins + 1)
    rounds, rest = np.divmod(edges, times[-1])
    passed = rounds * len(times) + np.searchsorted(times, rest + 1e-9, side="right")
    mbps = np.diff(passed) * OPPORTUNITY / np.diff(edges) / 1e6
    return edges, np.append(mbps, mbps[-1])
