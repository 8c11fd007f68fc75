"""The ring in which a loaded algorithm tells what it does: events, and every ACK if it was loaded with `--record-acks`.

The kernel's BPF ring buffer, read without a library: one page with our position, one with the kernel's, and the data,
mapped twice in a row so that no record is cut. One reader at a time.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import platform
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .. import _core
from ..errors import SetupError
from . import kernel

SYSCALL = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "s390x": 351, "ppc64le": 361}
GET_FD_BY_ID, GET_INFO_BY_FD = 14, 15
BUSY, DISCARD = 1 << 31, 1 << 30
#: `struct law_event` of bpf/law/events.h, and the size of `struct law_tape` of bpf/law/tape.h.
EVENT = struct.Struct("<HHI5Q8q")
TAPE_WORDS = 35
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
    return {row["number"]: (row["name"], [v["name"] for v in row["values"]]) for row in json.loads(_core.causes())}


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
    """Records of a loaded algorithm, oldest first; with `fresh` what is there already is passed over."""

    def __init__(self, name: str, fresh: bool = True) -> None:
        kernel.root(f"reading the events of {name}")
        fd = _bpf(GET_FD_BY_ID, struct.pack("<III", kernel.events_map(name), 0, 0))
        try:
            info = ctypes.create_string_buffer(88)
            _bpf(GET_INFO_BY_FD, struct.pack("<IIQ", fd, len(info), ctypes.addressof(info)))
            self._size = struct.unpack_from("<5I", info)[4]
            page = mmap.PAGESIZE
            self._position = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
            self._data = mmap.mmap(fd, page + 2 * self._size, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)
        finally:
            os.close(fd)
        if fresh:
            self._release(self._produced())

    def __enter__(self) -> Ring:
        return self

    def __exit__(self, *_: object) -> None:
        self._position.close()
        self._data.close()

    def _produced(self) -> int:
        position: int = struct.unpack_from("<Q", self._data)[0]
        return position

    def _release(self, position: int) -> None:
        struct.pack_into("<Q", self._position, 0, position)

    def read(self) -> Iterator[bytes]:
        """What has been written since; returns when there is no more."""
        at: int = struct.unpack_from("<Q", self._position)[0]
        while at < self._produced():
            start = mmap.PAGESIZE + at % self._size
            length: int = struct.unpack_from("<I", self._data, start)[0]
            if length & BUSY:
                return
            size = length & ~DISCARD
            record = self._data[start + 8 : start + 8 + size]
            at += (size + 8 + 7) // 8 * 8
            self._release(at)
            if not length & DISCARD:
                yield record

    def follow(self, seconds: float | None = None, step: float = 0.01) -> Iterator[bytes]:
        """The same, waiting for more until the time is over."""
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


def _bpf(command: int, attributes: bytes) -> int:
    number = SYSCALL.get(platform.machine())
    if number is None:
        raise SetupError(f"no BPF system call known for {platform.machine()}")
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, max(len(attributes), 120))
    result: int = libc.syscall(number, command, buffer, len(buffer))
    if result < 0:
        raise SetupError(f"bpf: {os.strerror(ctypes.get_errno())}")
    return result
