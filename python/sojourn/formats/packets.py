"""What the TCP and UDP packets of a capture say, as arrays: who to whom, sequence numbers, flags, options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import SpecError
from .pcap import Bytes, Capture, Ints, u16, u32

Words: TypeAlias = NDArray[np.uint64]

IPV4, IPV6, TCP, UDP = 0x0800, 0x86DD, 6, 17
VLAN = (0x8100, 0x88A8, 0x9100)
# Headers of IPv6 between the fixed one and TCP: hop by hop, routing, fragment, destination options.
EXTENSIONS = (0, 43, 44, 60)
# Link type -> bytes before the network layer, where the EtherType is (None: the version of IP tells).
LINKS: dict[int, tuple[int, int | None]] = {
    0: (4, None),  # BSD loopback
    108: (4, None),  # OpenBSD loopback
    1: (14, 12),  # Ethernet
    12: (0, None),  # raw IP, as BSD numbers it
    14: (0, None),
    101: (0, None),
    228: (0, None),  # IPv4
    229: (0, None),  # IPv6
    113: (16, 14),  # Linux cooked
    276: (20, 0),  # Linux cooked, version 2
}


@dataclass(frozen=True)
class Packets:
    """TCP and UDP packets; other packets of the capture are left out."""

    time: Ints
    length: Ints
    """Bytes at the IP layer."""
    payload: Ints
    version: Ints
    protocol: Ints
    id: Ints
    """Identification of IPv4."""
    source: Ints
    destination: Ints
    """Numbers of `hosts`."""
    from_port: Ints
    to_port: Ints
    seq: Ints
    ack: Ints
    flags: Ints
    window: Ints
    ts_val: Ints
    """Time stamps; -1 where there are none."""
    ts_ecr: Ints
    depth: Ints
    """Bytes of payload that were captured."""
    whole: NDArray[np.bool_]
    """All options of the header were captured."""
    at_payload: Ints
    at_options: Ints
    data: Bytes = field(repr=False)
    hosts: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.time)

    def only(self, kept: NDArray[np.bool_] | Ints) -> Packets:
        """These packets alone."""
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name in ("data", "hosts")}
        return Packets(**{f.name: getattr(self, f.name)[kept] for f in fields(self) if f.name not in rest}, **rest)

    def sacks(self, packet: int) -> list[tuple[int, int]]:
        """The ranges that a packet acknowledges selectively, in sequence numbers."""
        at, end = int(self.at_options[packet]), int(self.at_payload[packet])
        while at + 1 < end and self.data[at] != 0:
            kind, size = int(self.data[at]), int(self.data[at + 1])
            if kind == 1:
                at += 1
                continue
            if kind == 5:
                words = u32(self.data, at + 2 + 4 * np.arange(max(size - 2, 0) // 8 * 2))
                return [(int(a), int(b)) for a, b in words.reshape(-1, 2)]
            at += max(size, 2)
        return []


def packets(capture: Capture) -> Packets:
    """Decode a capture. Packets cut short by the snap length count as far as their TCP or UDP header was captured."""
    unknown = sorted({capture.interfaces[i].link for i in np.unique(capture.interface)} - set(LINKS))
    if unknown:
        raise SpecError(
            f"{capture.path}: link type {unknown[0]} cannot be read; Ethernet, Linux cooked, loopback and raw IP can"
        )
    data, end = capture.data, capture.at + capture.captured
    network = np.zeros_like(capture.at)
    is_ip = np.zeros(len(capture), bool)
    for i, interface in enumerate(capture.interfaces):
        of = np.flatnonzero(capture.interface == i)
        if len(of):
            network[of], is_ip[of] = _network(data, capture.at[of], interface.link)
    version = np.where(is_ip & (network < end), data[network] >> 4, 0).astype(np.int64)
    four, six = version == 4, version == 6
    header = np.where(four, (data[network] & 15).astype(np.int64) * 4, 40)
    protocol = np.where(four, data[network + 9], data[network + 6]).astype(np.int64)
    size = np.where(four, u16(data, network + 2), u16(data, network + 4) + 40)
    # Segmentation offload leaves zero where a length does not fit.
    zero = (four & (size == 0)) | (six & (size == 40))
    size = np.where(zero, capture.length - (network - capture.at), size)
    whole_header = np.where(four, (header >= 20) & (network + header <= end), six & (network + 40 <= end))
    first = np.where(four, u16(data, network + 6) & 0x1FFF == 0, True)
    transport = network + header
    for _ in range(4):
        more = six & np.isin(protocol, EXTENSIONS) & (transport + 8 <= end)
        first &= ~(more & (protocol == 44) & (u16(data, np.where(more, transport, 0) + 2) >> 3 != 0))
        step = np.where(protocol == 44, 8, (data[np.where(more, transport + 1, 0)].astype(np.int64) + 1) * 8)
        protocol = np.where(more, data[np.where(more, transport, 0)], protocol)
        transport = np.where(more, transport + step, transport)
    tcp, udp = protocol == TCP, protocol == UDP
    enough = (tcp & (transport + 20 <= end)) | (udp & (transport + 8 <= end))
    kept = np.flatnonzero((four | six) & whole_header & first & enough)
    return _decoded(capture, kept, network[kept], transport[kept], size[kept], protocol[kept], version[kept])


def _network(data: Bytes, at: Ints, link: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Where the network layer begins, and whether it is IP."""
    before, place = LINKS[link]
    if place is None:
        return at + before, np.ones(len(at), bool)
    start, kind = at + before, u16(data, at + place)
    for _ in range(2):
        tagged = np.isin(kind, VLAN)
        kind = np.where(tagged, u16(data, np.where(tagged, start + 2, 0)), kind)
        start = np.where(tagged, start + 4, start)
    return start, np.isin(kind, (IPV4, IPV6))


def _decoded(
    capture: Capture, kept: Ints, network: Ints, transport: Ints, size: Ints, protocol: Ints, version: Ints
) -> Packets:
    data, end = capture.data, (capture.at + capture.captured)[kept]
    tcp, four = protocol == TCP, version == 4
    options_end = transport + np.where(tcp, np.maximum((data[transport + 12] >> 4).astype(np.int64) * 4, 20), 8)
    payload = np.maximum(network + size - options_end, 0)
    ts_val, ts_ecr = _timestamps(data, transport + 20, np.minimum(options_end, end), tcp)
    source, destination, hosts = _hosts(data, network, four)
    zero = np.zeros_like(kept)
    return Packets(
        time=capture.time[kept],
        length=size,
        payload=payload,
        version=version,
        protocol=protocol,
        id=np.where(four, u16(data, network + 4), 0),
        source=source,
        destination=destination,
        from_port=u16(data, transport),
        to_port=u16(data, transport + 2),
        seq=np.where(tcp, u32(data, transport + 4), zero),
        ack=np.where(tcp, u32(data, transport + 8), zero),
        flags=np.where(tcp, data[transport + 13].astype(np.int64), zero),
        window=np.where(tcp, u16(data, transport + 14), zero),
        ts_val=ts_val,
        ts_ecr=ts_ecr,
        depth=np.clip(end - options_end, 0, payload),
        whole=options_end <= end,
        at_payload=np.minimum(options_end, end),
        at_options=np.where(tcp, transport + 20, options_end),
        data=data,
        hosts=hosts,
    )


def _timestamps(data: Bytes, at: Ints, end: Ints, tcp: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The time-stamp option of each packet: all packets walk their options side by side."""
    value, echo = np.full(len(at), -1, np.int64), np.full(len(at), -1, np.int64)
    at = at.copy()
    walking = np.flatnonzero(tcp & (at < end))
    while len(walking):
        here = at[walking]
        kind = data[here]
        size = np.where(kind == 1, 1, np.maximum(data[here + 1].astype(np.int64), 2))
        found = (kind == 8) & (size == 10) & (here + 10 <= end[walking])
        of = walking[found]
        value[of], echo[of] = u32(data, at[of] + 2), u32(data, at[of] + 6)
        at[walking] += size
        walking = walking[(kind != 0) & ~found & (at[walking] < end[walking])]
    return value, echo


def _hosts(data: Bytes, network: Ints, four: NDArray[np.bool_]) -> tuple[Ints, Ints, tuple[str, ...]]:
    """Numbers for addresses, and what they stand for; IPv4 addresses as mapped ones."""
    ends = []
    for v4, v6 in ((12, 8), (16, 24)):
        address = data[network[:, None] + np.arange(v6, v6 + 16)]
        address[four, :10] = 0
        address[four, 10:12] = 255
        address[four, 12:] = data[network[four][:, None] + np.arange(v4, v4 + 4)]
        ends.append(address)
    # Each half of an address numbered, then the pairs of numbers: sorting whole rows takes ten times as long.
    halves = np.concatenate(ends).view(">u8").reshape(-1, 2)
    low, high = (np.unique(halves[:, i], return_inverse=True) for i in (1, 0))
    _, first, which = np.unique(high[1] * len(low[0]) + low[1], return_index=True, return_inverse=True)
    hosts = []
    for i in first:
        ip = ip_address(halves[i].tobytes())
        hosts.append(str(getattr(ip, "ipv4_mapped", None) or ip))
    return which[: len(network)], which[len(network) :], tuple(hosts)


def fingerprints(of: Packets, payload: Mapping[int, int], options: bool) -> Words:
    """A number for each packet from what stays the same on its way: not the checksum, hop limit or traffic class.

    So many bytes of the payload take part by protocol, as far as there are so many; `options`: time stamps do.
    """
    columns = [of.version, of.protocol, of.id, of.length, of.from_port, of.to_port, of.seq, of.ack, of.flags, of.window]
    if options:
        columns += [of.ts_val, of.ts_ecr]
    hosts = np.array([_word(host) for host in of.hosts] or [0], np.uint64)
    words = [hosts[of.source], hosts[of.destination], *(column.astype(np.uint64) for column in columns)]
    most = np.zeros(256, np.int64)
    most[list(payload)] = list(payload.values())
    depth = np.minimum(of.depth, most[of.protocol])
    for i in range(max(payload.values())):
        there = depth > i
        words.append(np.where(there, of.data[np.where(there, of.at_payload + i, 0)], 256).astype(np.uint64))
    state = np.full(len(of), 0x9E3779B97F4A7C15, np.uint64)
    for word in words:
        state = (state ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        state ^= state >> np.uint64(29)
    return state


def _word(host: str) -> int:
    from hashlib import blake2b

    return int.from_bytes(blake2b(host.encode(), digest_size=8).digest(), "little")
