"""What a loaded algorithm tells: events, and every ACK if it was loaded with `--record-acks`.

crates/tun/src/ring.rs reads the kernel's ring buffer; here its records get their names. One reader at a time.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .. import _engine
from . import kernel

#: `struct law_event` of bpf/law/events.h.
EVENT = struct.Struct("<HHI5Q8q")
UNSET = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Event:
    """One event record with its names; windows in bytes, `ssthresh_*` None while unset, times in seconds."""

    time_s: float
    flow: int
    kind: str
    cwnd_before: int
    cwnd_after: int
    ssthresh_before: int | None
    ssthresh_after: int | None
    values: dict[str, int]

    @property
    def ports(self) -> tuple[int, int]:
        """The flow's ports here and there, of which its number is made."""
        return self.flow >> 16, self.flow & 0xFFFF


@cache
def _kinds() -> dict[int, tuple[str, list[str]]]:
    return {row["number"]: (row["name"], [v["name"] for v in row["values"]]) for row in _engine.table("causes")}


def event(record: bytes) -> Event:
    """A record by names; a kind of a newer version keeps its number."""
    _, kind, flow, at, cwnd, cwnd_after, ssthresh, ssthresh_after, *values = EVENT.unpack(record)
    name, names = _kinds().get(kind, (str(kind), []))
    return Event(
        at * 1e-9,
        flow,
        name,
        cwnd,
        cwnd_after,
        None if ssthresh == UNSET else ssthresh,
        None if ssthresh_after == UNSET else ssthresh_after,
        dict(zip(names, values, strict=False)),
    )


class Ring:
    """Records of a loaded algorithm from now on, oldest first."""

    def __init__(self, name: str) -> None:
        kernel.root(f"reading the events of {name}")
        self._ring = _engine.ring(*kernel.ring(name))

    def read(self) -> list[bytes]:
        """What has been written since."""
        return self._ring.read()

    def lost(self) -> int:
        """How many records found no room, because they were not read in time."""
        return self._ring.lost()

    def follow(self, seconds: float | None = None, step: float = 0.01) -> Iterator[bytes]:
        """What is written until the time is over."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            last = end is not None and time.monotonic() >= end
            yield from self.read()
            if last:
                return
            time.sleep(step)


def is_event(record: bytes) -> bool:
    """An event, not an ACK."""
    return len(record) == EVENT.size
