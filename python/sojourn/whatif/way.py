"""One direction of the link as commands need it, and what those for Linux and for FreeBSD share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .._engine import table
from ..commas import split
from ..units import milliseconds, quantity

Settings = Mapping[str, str]

#: Settings of laws and of schedulers that both systems' commands know.
CODEL = ("target", "interval", "ecn")
PIE = ("target", "tupdate", "alpha", "beta", "ecn", "rate_estimator")
RED = ("min", "max", "max_p", "ecn", "target_delay")
FAIR = ("flows", "quantum")

#: Bytes of a full packet.
MTU = 1500
#: References that are nobody's but the text's that published the law.
PUBLISHED = ("rfc", "paper")


@dataclass(frozen=True, slots=True)
class Way:
    """One direction: which interface sends it, how fast, how much waits."""

    direction: str
    device: str
    mbps: float
    packets: int
    settings: Settings
    #: What waits at most in bytes, where the run counted bytes.
    octets: int | None = None
    #: What RED's average is held against, in bytes.
    thresholds: tuple[int, int] = (0, 0)
    #: How much of that average an arrival is.
    weight: float = 0.0

    @property
    def rate(self) -> str:
        """The rate as tc and ipfw take it, but for `bit` and `bit/s`: in the largest unit that leaves it whole."""
        for unit, per_mbit in (("M", 1.0), ("K", 1e3)):
            if (self.mbps * per_mbit).is_integer():
                return f"{self.mbps * per_mbit:.0f}{unit}"
        return f"{self.mbps * 1e6:.0f}"


@dataclass(frozen=True, slots=True)
class Setup:
    """Commands, or why there are none; `notes` say what they leave out."""

    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()


def packets(buffer: str) -> int:
    """Turn a buffer as the plan has it, in bytes or in packets, into full packets.

    >>> packets("1000 packets"), packets("120kB")
    (1000, 80)
    """
    size = octets(buffer)
    return int(buffer.partition(" ")[0]) if size is None else max(1, round(size / MTU))


def octets(buffer: str) -> int | None:
    """Bytes of a buffer as the plan has it; none of one in packets.

    >>> octets("120kB"), octets("1000 packets")
    (120000, None)
    """
    found = quantity(buffer)
    return round(found.amount) if found and found.kind == "size" else None


def left_out(
    queue: str,
    settings: Settings,
    carried: tuple[str, ...],
    system: str,
    own: tuple[str, ...],
    fixed: Settings,
) -> list[str]:
    """Note settings that the user gave, and neither the command carries nor the system has of itself (`fixed`)."""
    text = queue.strip().removesuffix(")").partition("(")[2]
    fields = next(one["fields"] for one in table("queues") if one["name"] == name_of(queue))
    usual = {field["name"]: field["default"] for field in fields} | dict(fixed)
    named = [part.partition("=")[0].strip() for part in split(text)] if text.strip() else []
    given = [key for key in named if settings[key] != usual[key]]
    lost = [f"{key}={settings[key]}" for key in given if key not in carried and key != "reference"]
    notes = [f"the command leaves out {', '.join(lost)}, which the run had"] if lost else []
    reference = settings.get("reference", "")
    if "reference" in given and reference not in (*PUBLISHED, *own):
        notes.append(f"the run had reference={reference}, where {system} goes by rules of its own")
    return notes


def counts_packets(way: Way) -> tuple[str, ...]:
    """Mind a limit in packets where the run's was in bytes."""
    if way.octets is None:
        return ()
    return (
        f"limit counts packets: {way.packets} full ones for the run's {way.octets} B, which small ones reach sooner",
    )


def name_of(queue: str) -> str:
    """Drop the settings of a queue as the user wrote it."""
    return queue.partition("(")[0].strip()


def as_number(text: str) -> str:
    """`1514B` as tc and ipfw take it: a number; 0 is the link's MTU with its Ethernet header."""
    return str(octets(text) or 1514)


def ms(text: str) -> float:
    """Read a time of the settings."""
    value = milliseconds(text)
    if value is None:
        raise ValueError(f"{text!r} is no time")
    return value
