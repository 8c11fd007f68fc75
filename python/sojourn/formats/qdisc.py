"""What a router's queue is given, in the words of `tc` and `ipfw`, as settings of ours."""

from __future__ import annotations

import re

from .._engine import table

#: What a word of theirs is called here, and what kind of value follows it.
WORDS = {
    "target": ("target", "time"),
    "interval": ("interval", "time"),
    "tupdate": ("tupdate", "time"),
    "max_burst": ("burst", "time"),
    "ce_threshold": ("ce_threshold", "time"),
    "flows": ("flows", "count"),
    "quantum": ("quantum", "bytes"),
    "ecn": ("ecn", "true"),
    "noecn": ("ecn", "false"),
}
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(us|ms|s)(?:ecs?)?")
_NUMBER = r"[0-9]*\.?[0-9]+(?:e-?[0-9]+)?"
#: w_q/min_th/max_th/max_p (ipfw(8)).
_RED = re.compile(rf"({_NUMBER})/({_NUMBER})/({_NUMBER})/({_NUMBER})")


def settings(queue: str, given: str, in_bytes: bool) -> tuple[dict[str, str], list[str]]:
    """Settings of a queue of ours, and the words given that are none; `in_bytes`: its buffer is counted so."""
    known = {str(field["name"]) for one in table("queues") if one["name"] == queue for field in one["fields"]}
    made: dict[str, str] = {}
    left: list[str] = []
    words = given.split()
    while words:
        word = words.pop(0)
        if queue == "red" and (red := _RED.fullmatch(word)) and not in_bytes:
            # No other system writes it so. Where the buffer is in bytes, so are its thresholds, and ours are packets.
            made |= dict(zip(("weight", "min", "max", "max_p"), red.groups(), strict=True)) | {"reference": "dummynet"}
            continue
        value = words.pop(0) if words and re.match(r"\.?[0-9]", words[0]) and "/" not in words[0] else ""
        name, kind = WORDS.get(word, ("", ""))
        written = _written(kind, value)
        if name in known and written:
            made[name] = written
            if name == "ce_threshold" and re.search("[1-9]", written):
                made["reference"] = "linux"  # nobody else has it, and it is refused without
        else:
            bare = kind == "time" and re.fullmatch(_NUMBER, value)
            why = " (a time without a unit: tc's are microseconds, ipfw's milliseconds)" if bare else ""
            left.append(f"{word} {value}".strip() + why)
    return made, left


def _written(kind: str, value: str) -> str:
    """A value as ours is written; empty where it is none of this kind."""
    if kind == "time":
        match = _TIME.fullmatch(value)
        return f"{match[1]}{match[2]}" if match else ""
    if kind in ("count", "bytes"):
        return value + ("B" if kind == "bytes" else "") if value.isdecimal() else ""
    return kind if not value else ""
