"""Swept keys and their values in words, for axes, legends and titles."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from ..units import quantity

#: How swept keys are called on an axis: those of the path, of a flow or link (with its name), of what is in them.
KEYS = {
    "path.rate": "bottleneck rate",
    "path.rtt": "base RTT",
    "path.buffer": "buffer",
    "path.loss": "random loss",
    "path.queue": "queue",
    "path.up": "reverse rate",
    "cc": "congestion control",
    "rtt": "base RTT",
    "extra_rtt": "extra RTT",
    "count": "number of flows",
    "stack": "TCP stack",
}


def called(key: str) -> str:
    """`flow.long.cc` as `congestion control of long`, `flow.a.cc.beta` as `beta of a`."""
    owner, _, rest = key.partition(".")
    name, _, what = rest.partition(".")
    if key in KEYS:
        return KEYS[key]
    if owner in ("flow", "link") and what:
        return f"{KEYS.get(what, re.sub('[._]', ' ', what.removeprefix('cc.')))} of {name}"
    return rest.replace("_", " ") if owner in ("path", "run") and rest else key


def values(case: Mapping[str, str], keys: Collection[str]) -> str:
    """A case's values of these swept keys, such as `fifo, RTT 40 ms`; where two keys end alike, with whose each is."""
    lasts = [_last(key) for key in keys]
    return ", ".join(_value(key, str(case[key]), lasts.count(_last(key)) > 1) for key in keys if key in case)


def _value(key: str, value: str, several: bool) -> str:
    if several and key.endswith(".cc"):
        return f"{key.split('.')[1]}: {short_spec(value)}"
    if several:
        return f"{called(key)} {short_spec(value)}"
    # A bare number needs its key; "hldg", "12 Mbit/s" and "pie" speak for themselves.
    given = quantity(value)
    bare = given is not None and given.unit in ("", "ms", "%", "s")
    switch = value in ("true", "false")
    return f"{_last(key)} {value}" if bare or switch else short_spec(value)


def _last(key: str) -> str:
    return re.sub(r"\brtt\b", "RTT", key.rsplit(".", 1)[-1].replace("_", " "))


def short_spec(spec: str) -> str:
    """`hldg(accumulate=false, beta=0.7)` as `hldg −accumulate beta=0.7`: shorter, and as clear, in a legend."""
    match = re.fullmatch(r"\s*([\w-]+)\((.*)\)\s*", str(spec))
    if match is None or "(" in match[2]:
        return str(spec)
    words = []
    for part in filter(None, (p.strip() for p in match[2].split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        words.append({"false": f"−{name}", "true": f"+{name}"}.get(value, part))
    return " ".join([match[1], *words])
