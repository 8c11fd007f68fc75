"""What a file schedules for its links: rates and delays that change, and the base RTTs that come of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._types import Case
from .units import quantity

Floats: TypeAlias = "NDArray[np.float64]"
#: Seconds in rising order, and what holds from each of them on.
Steps: TypeAlias = "tuple[Floats, Floats]"


def base_rtt(toml: str, case: Case, flow: int, span: tuple[float, float]) -> Steps | None:
    """A flow's base RTT in ms within `span`, its last entry at the end; None where it has none."""
    info = case.flows[flow]
    if not info.get("base_rtt_ms"):
        return None
    way = [*(info.get("route") or ()), *(info.get("back") or ())]
    moves: list[tuple[float, float]] = []  # when, and by how much it becomes longer
    for link in case.links:
        if not link.get("changes") or link["name"] not in way:
            continue
        listed, prefix, _ = table(toml, str(link["name"]))
        key, part = ("rtt", 0.5) if prefix == "path" else ("delay", 1.0)
        before = float(link.get("delay_ms") or 0.0)
        for at, seconds in changes(case, listed, prefix, key) or ():
            moves.append((at, way.count(link["name"]) * (1e3 * part * seconds - before)))
            before = 1e3 * part * seconds
    base, moved = float(info["base_rtt_ms"]), dict[float, float]()
    for at, longer in sorted(moves):
        base += longer
        moved[at] = base
    return within(float(info["base_rtt_ms"]), list(moved.items()), span)


def within(first: float, changes: Sequence[tuple[float, float]], span: tuple[float, float]) -> Steps:
    """What begins with `first` and changes at these times, between two times."""
    t, held = np.array([-np.inf, *(at for at, _ in changes)]), np.array([first, *(new for _, new in changes)])
    at_start = int(np.searchsorted(t, span[0], side="right")) - 1
    later = (t > span[0]) & (t < span[1])
    inside = np.concatenate([[held[at_start]], held[later]])
    return np.concatenate([[span[0]], t[later], [span[1]]]), np.append(inside, inside[-1])


def table(toml: str, name: str) -> tuple[Mapping[str, Any], str, str]:
    """The file's table of a link, the name it is swept by, its key of the rate, which is a change's, too."""
    whole = tomllib.loads(toml)
    for one in whole.get("link", ()):
        if one.get("name") == name:
            return one, f"link.{name}", "rate"
    return whole.get("path", {}), "path", "up" if name == "return" else "rate"


def value(case: Case, table: Mapping[str, Any], prefix: str, key: str) -> Any:
    """A key's value in this case: the swept one, which is text, or the file's."""
    for swept, text in case.values.items():
        if fnmatchcase(f"{prefix}.{key}", swept):
            try:
                return tomllib.loads(f"value = {text}")["value"]
            except tomllib.TOMLDecodeError:  # "12 Mbit/s" stands there without its quotes
                return text
    return table.get(key)


def changes(case: Case, table: Mapping[str, Any], prefix: str, key: str) -> list[tuple[float, float]] | None:
    """Seconds and new values, in bit/s or seconds, of a table's scheduled changes of one key; None if unreadable."""
    found: list[tuple[float, float]] = []
    listed = value(case, table, prefix, "changes")
    if not isinstance(listed, list):
        return None
    for change in listed:
        if key not in change:
            continue
        at, new = quantity(str(change.get("at"))), quantity(str(change[key]))
        if at is None or new is None:
            return None
        found.append((at.amount, new.amount))
    return sorted(found, key=lambda change: change[0])


def at(steps: Steps, times: Floats) -> Floats:
    """What holds from each of these times on."""
    return steps[1][np.maximum(np.searchsorted(steps[0], times, side="right") - 1, 0)]


def before(steps: Steps, times: Floats) -> Floats:
    """What held just before each of these times: samples are of the step that ends there."""
    return steps[1][np.maximum(np.searchsorted(steps[0], times, side="left") - 1, 0)]
