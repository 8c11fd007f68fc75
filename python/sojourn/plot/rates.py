"""A link's rate over time, as the file has it: constant, with scheduled changes, or the opportunities of a trace."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
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

#: Seconds in rising order, and the Mbit/s from each of them on.
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
    changes = _rates(case, str(info["name"])) if info.get("changes") else []
    if changes is None:
        return None
    t, mbps = np.array([-np.inf, *(at for at, _ in changes)]), np.array([first, *(rate for _, rate in changes)])
    at_start = int(np.searchsorted(t, span[0], side="right")) - 1
    later = (t > span[0]) & (t < span[1])
    within = np.concatenate([[mbps[at_start]], mbps[later]])
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
    t = np.unique(np.concatenate([at for at, _ in found]))
    return t, np.min([mbps[np.searchsorted(at, t, side="right") - 1] for at, mbps in found], axis=0)


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


def _rates(case: Shown, name: str) -> list[tuple[float, float]] | None:
    """Seconds and new rates in Mbit/s of a link's scheduled changes; None when they cannot be read."""
    table, prefix, key = _table(case, name)
    found: list[tuple[float, float]] = []
    listed = _value(case, table, prefix, "changes")
    if not isinstance(listed, list):
        return None
    for change in listed:
        if key not in change:
            continue
        at, rate = number(str(change.get("at"))), number(str(change[key]))
        if at is None or rate is None:
            return None
        found.append((at[0] * SCALES[at[1].lower()], rate[0] * SCALES[rate[1].lower()] / 1e6))
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
