"""Swept keys and their values in words, for axes, legends and titles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from ..units import on_axis, quantity

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


def legible(name: str) -> str:
    """A name as legends take it: matplotlib leaves out one that begins with an underscore."""
    return f"\u200b{name}" if name.startswith("_") else name  # a space of no width


def called(key: str) -> str:
    """`flow.long.cc` as `congestion control of long`, `flow.a.cc.beta` as `beta of a`."""
    owner, _, rest = key.partition(".")
    name, _, what = rest.partition(".")
    if key in KEYS:
        return KEYS[key]
    if owner in ("flow", "link") and what:
        return f"{KEYS.get(what, re.sub('[._]', ' ', what.removeprefix('cc.')))} of {name}"
    return rest.replace("_", " ") if owner in ("path", "run") and rest else key


def short(key: str) -> str:
    """`path.rtt` as `rtt`, `flow.a.cc` as `a.cc`: how a column of its values is called."""
    return key.removeprefix("path.").removeprefix("flow.")


def values(case: Mapping[str, str], keys: Mapping[str, Sequence[str]]) -> str:
    """A case's values of these keys, such as `fifo, RTT 40 ms`; where two keys end alike, with whose each is.

    Each key has all its swept values with it, so that numbers are in one unit.
    """
    return next(of_all([case], keys))


def of_all(cases: Iterable[Mapping[str, str]], keys: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """`values` of each of many cases."""
    lasts = [_last(key) for key in keys]
    written = cache(lambda key: texts(keys[key]))
    for case in cases:
        own = ((key, str(case[key])) for key in keys if key in case)
        yield ", ".join(_value(key, value, written(key)[value], lasts.count(_last(key)) > 1) for key, value in own)


def _value(key: str, value: str, text: str, several: bool) -> str:
    if several and key.endswith(".cc"):
        return f"{key.split('.')[1]}: {text}"
    if several:
        return f"{called(key)} {text}"
    # A bare number needs its key; "hldg", "12 Mbit/s" and "pie" speak for themselves.
    given = quantity(text)
    bare = given is not None and given.unit in ("", "ms", "%", "s")
    switch = value in ("true", "false")
    return f"{_last(key)} {text}" if bare or switch else text


def texts(among: Sequence[str]) -> dict[str, str]:
    """Each of a key's swept values, numbers in the unit that the axis of all of them has, whatever each was typed in.

    >>> texts(["5%", "0.01"]), texts(["10 ms", "40ms"])
    ({'5%': '5 %', '0.01': '1 %'}, {'10 ms': '10 ms', '40ms': '40 ms'})
    """
    unit, bare = column(among)
    return {value: f"{text} {unit}".strip() for value, text in bare.items()}


def column(values: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The unit of a key's swept values, empty for words, and each of them as it stands in a column under that unit."""
    axis = on_axis(values)
    if axis is None:
        return "", {value: short_spec(value) for value in values}
    numbers, unit = axis
    texts = {value: f"{number:.12g}" for value, number in zip(values, numbers, strict=True)}
    return "packets" if unit in ("p", "packet") else unit, texts


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
