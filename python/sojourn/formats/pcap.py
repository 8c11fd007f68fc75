"""Packet captures as arrays: classic pcap (either byte order, µs or ns) and pcapng.

A file may end in the middle of a record, as one does whose tcpdump was killed: what is whole is read and `cut` says so.
Anything else that is wrong is a `SpecError` with the byte where it is.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import SpecError
from ..reading import content
from ..stats import counted

Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]

#: Readers may look so far behind the end of the file; what they find there is zero.
MARGIN = 4096
# libpcap refuses longer packets (MAXIMUM_SNAPLEN); a larger figure means that the file is damaged.
LONGEST = 262_144
#: Seconds that classic pcap can say. Differences of such times, and differences of these, fit 64 bits of nanoseconds.
LATEST_S = 2**32

# Magic number -> byte order, nanoseconds per tick of the fraction.
CLASSIC = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
SECTION, INTERFACE, OLD_PACKET, SIMPLE_PACKET, PACKET = 0x0A0D0D0A, 1, 2, 3, 6
ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}

SOURCES = "captures come from `tcpdump -w`, Wireshark or `sojourn export --format pcapng`"


@dataclass(frozen=True)
class Interface:
    """Where packets were captured: name (may be empty), link type, and what its time stamps count."""

    name: str
    link: int
    resolution: int = 6
    offset_s: int = 0


@dataclass(frozen=True)
class Capture:
    """Every packet of a file, in the order of the file; times in nanoseconds."""

    path: Path
    data: Bytes = field(repr=False)
    time: Ints = field(repr=False)
    at: Ints = field(repr=False)
    """Where a packet's bytes begin in `data`."""
    captured: Ints = field(repr=False)
    length: Ints = field(repr=False)
    interface: Ints = field(repr=False)
    interfaces: tuple[Interface, ...] = ()
    cut: bool = False

    def __len__(self) -> int:
        return len(self.time)

    def at_interface(self, name: str) -> Capture:
        """Only what was captured at the interface of this name (or number)."""
        wanted = [i for i, one in enumerate(self.interfaces) if one.name == name or str(i) == name]
        if not wanted:
            have = ", ".join(one.name or str(i) for i, one in enumerate(self.interfaces)) or "none"
            raise SpecError(f"{self.path}: no interface {name!r}; there are {have}")
        return self._only(np.isin(self.interface, wanted))

    def used(self) -> list[str]:
        """Names (or numbers) of the interfaces at which something was captured."""
        return [self.interfaces[i].name or str(i) for i in np.unique(self.interface)]

    def _only(self, kept: NDArray[np.bool_]) -> Capture:
        parts = (self.time[kept], self.at[kept], self.captured[kept], self.length[kept], self.interface[kept])
        return Capture(self.path, self.data, *parts, self.interfaces, self.cut)


def read(source: str | Path) -> Capture:
    """Read a capture; `FILE#NAME` reads one interface of it."""
    path, name = Path(source), ""
    if "#" in str(source) and not path.exists():
        text, _, name = str(source).rpartition("#")
        path = Path(text)
    try:
        raw = content(path, pipe=True)
    except SpecError:
        raise
    except FileNotFoundError:
        raise SpecError(f"{path}: no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise SpecError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None
    capture = parse(raw, path)
    return capture.at_interface(name) if name else capture


def parse(raw: bytes, path: Path) -> Capture:
    """Read a capture that is in memory; `path` is for messages."""
    if raw[:4] in CLASSIC:
        return _classic(raw, path)
    if raw[:4] == SECTION.to_bytes(4, "big"):
        return _pcapng(raw, path)
    what = (
        "an empty file" if not raw else "gzip; gunzip it first" if raw[:2] == b"\x1f\x8b" else "neither pcap nor pcapng"
    )
    raise SpecError(f"{path}: {what}; {SOURCES}")


def _data(raw: bytes) -> Bytes:
    return np.frombuffer(raw + bytes(MARGIN), np.uint8)


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def _classic(raw: bytes, path: Path) -> Capture:
    order, tick = CLASSIC[raw[:4]]
    if len(raw) < 24:
        raise SpecError(f"{path}: ends within the header of a pcap file, after {len(raw)} bytes")
    link = struct.unpack_from(order + "I", raw, 20)[0] & 0xFFFF  # above: length of a frame check sequence
    header = struct.Struct(order + "IIII")
    at, end = 24, len(raw)
    starts: list[int] = []
    while at + 16 <= end:
        captured = header.unpack_from(raw, at)[2]
        if captured > LONGEST:
            raise SpecError(f"{path}: packet {len(starts) + 1} at byte {at} says that it is {captured} bytes: damaged")
        if at + 16 + captured > end:
            break
        starts.append(at)
        at += 16 + captured
    data, at_header = _data(raw), _ints(starts)
    seconds, fraction, captured_, length = (_u32(data, at_header + 4 * i, order) for i in range(4))
    time = seconds * 1_000_000_000 + fraction * tick
    one = (Interface("", link),)
    return Capture(path, data, time, at_header + 16, captured_, length, np.zeros_like(time), one, at != end)


def _pcapng(raw: bytes, path: Path) -> Capture:
    at, end, order = 0, len(raw), "<"
    interfaces: list[Interface] = []
    parts: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
    starts: list[int] = []
    old: list[int] = []
    first = simple = 0  # of this section's interfaces; of all sections' packets
    data, cut = _data(raw), False
    head = struct.Struct("<II")
    while at + 12 <= end:
        kind, size = head.unpack_from(raw, at)
        if kind == SECTION:
            parts += _packets(data, starts, old, order, interfaces, first, path)
            starts, old, first = [], [], len(interfaces)
            mark = raw[at + 8 : at + 12]
            if mark not in ORDERS:
                raise SpecError(f"{path}: the section at byte {at} has no byte-order magic: damaged")
            order = ORDERS[mark]
            head = struct.Struct(order + "II")
            kind, size = head.unpack_from(raw, at)
        if size < 12 or size % 4:
            raise SpecError(f"{path}: the block at byte {at} says that it is {size} bytes: damaged")
        if at + size > end:
            cut = True
            break
        if struct.unpack_from(order + "I", raw, at + size - 4)[0] != size:
            raise SpecError(f"{path}: the block at byte {at} does not end as it begins: damaged")
        if kind == PACKET and size >= 32:
            starts.append(at)
        elif kind == INTERFACE and size >= 20:
            interfaces.append(_interface(raw, at, size, order))
        elif kind == OLD_PACKET and size >= 32:
            old.append(at)
        elif kind == SIMPLE_PACKET:
            simple += 1
        at += size
    if simple:
        what = f"{counted(simple, 'packet')} in Simple Packet Blocks, which have no time stamps"
        raise SpecError(f"{path}: {what}; {SOURCES}")
    cut |= at != end
    parts += _packets(data, starts, old, order, interfaces, first, path)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] or [np.zeros(0, np.int64)] * 5
    time, place, captured, length, interface = columns
    return Capture(path, data, time, place, captured, length, interface, tuple(interfaces), cut)


def _packets(
    data: Bytes, starts: list[int], old: list[int], order: str, interfaces: list[Interface], first: int, path: Path
) -> list[tuple[Ints, Ints, Ints, Ints, Ints]]:
    """The packet blocks of a section as columns, in the order of the file."""
    blocks = np.sort(np.concatenate([_ints(starts), _ints(old)]))
    if not len(blocks):
        return []
    interface = _u32(data, blocks + 8, order)
    is_old = np.isin(blocks, _ints(old))
    if is_old.any():  # there the field is 16 bits, and drops follow it
        interface[is_old] = _u16(data, blocks[is_old] + 8, order)
    interface += first
    high, low, captured, length = (_u32(data, blocks + 12 + 4 * i, order) for i in range(4))
    if (interface >= len(interfaces)).any():
        bad = int(np.argmax(interface >= len(interfaces)))
        where = f"the packet at byte {blocks[bad]} is of interface {interface[bad] - first}"
        raise SpecError(f"{path}: {where}, of which there is no description: damaged")
    long = captured > np.minimum(_u32(data, blocks + 4, order) - 32, LONGEST)
    if long.any():
        bad = int(np.argmax(long))
        raise SpecError(f"{path}: the packet at byte {blocks[bad]} says that it is {captured[bad]} bytes: damaged")
    time = np.zeros(len(blocks), np.int64)
    for i in np.unique(interface):
        of = interface == i
        time[of] = _nanos(high[of].astype(np.uint64) << np.uint64(32) | low[of].astype(np.uint64), interfaces[i], path)
    return [(time, blocks + 28, captured, length, interface)]


def _nanos(ticks: NDArray[np.uint64], interface: Interface, path: Path) -> Ints:
    digits, base = interface.resolution & 0x7F, 2 if interface.resolution & 0x80 else 10
    if digits > (63 if base == 2 else 28):
        raise SpecError(f"{path}: time stamps of {base}^-{digits} s cannot be read")
    # As floats, which are near enough to tell and do not wrap.
    told = ticks.astype(np.float64) / float(base) ** digits + interface.offset_s
    wrong = (told < 0) | (told >= LATEST_S)
    if wrong.any() or abs(interface.offset_s) >= LATEST_S:
        raise SpecError(
            f"{path}: a packet at {told[int(np.argmax(wrong))]:.9g} s, in time stamps of {base}^-{digits} s with an "
            f"offset of {interface.offset_s} s; allowed is 0 to {LATEST_S} s: damaged, or if_tsresol is wrong"
        )
    if base == 2:
        seconds = (ticks >> np.uint64(digits)).astype(np.int64)
        part = (ticks & np.uint64((1 << digits) - 1)).astype(np.float64) / 2.0**digits
        nanos = seconds * 1_000_000_000 + np.rint(part * 1e9).astype(np.int64)
    elif digits <= 9:
        nanos = ticks.astype(np.int64) * 10 ** (9 - digits)
    else:
        nanos = (ticks // np.uint64(10 ** (digits - 9))).astype(np.int64)
    return nanos + interface.offset_s * 1_000_000_000


def _interface(raw: bytes, at: int, size: int, order: str) -> Interface:
    link = struct.unpack_from(order + "H", raw, at + 8)[0]
    name, resolution, offset = "", 6, 0
    place, end = at + 16, at + size - 4
    while place + 4 <= end:
        code, length = struct.unpack_from(order + "HH", raw, place)
        value = raw[place + 4 : min(place + 4 + length, end)]
        if code == 0:
            break
        if code == 2:
            name = value.decode("utf-8", "replace").rstrip("\0")
        elif code == 9 and len(value) == 1:
            resolution = value[0]
        elif code == 14 and len(value) == 8:
            offset = struct.unpack(order + "q", value)[0]
        place += 4 + (length + 3) // 4 * 4
    return Interface(name, link, resolution, offset)


def _u32(data: Bytes, at: Ints, order: str = ">") -> Ints:
    shifts = (24, 16, 8, 0) if order == ">" else (0, 8, 16, 24)
    value = np.zeros(len(at), np.int64)
    for i, shift in enumerate(shifts):
        value |= data[at + i].astype(np.int64) << shift
    return value


def _u16(data: Bytes, at: Ints, order: str = ">") -> Ints:
    high, low = (0, 1) if order == ">" else (1, 0)
    return data[at + high].astype(np.int64) << 8 | data[at + low].astype(np.int64)


u16, u32 = _u16, _u32
