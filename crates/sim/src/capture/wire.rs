//! A simulated packet as the bytes of its headers: IPv4 with TCP or UDP, checksums right for a payload of zeros.
//!
//! What the model does not have is made up so that it stays the same on every way through the network: addresses and
//! initial sequence numbers from the flow's and the connection's number, the identification from when and what was sent.

use crate::build;
use crate::packet::{Packet, Way};
use crate::sessions::Whose;
use core::ops::Range;
use experiment::{DATAGRAM_HEADER, FlowSpec, Run, Traffic};
use tcp::{Flags, Segment};
use units::Bytes;

/// Ports of the two hosts; iperf listens on the second.
const PORTS: [u16; 2] = [40_000, 5_001];
/// What Linux gives to clients (`ip_local_port_range`): of a flow of connections the receiver of the data is the client,
/// and each of its connections has the next port.
const CLIENTS: Range<u16> = 32_768..61_000;
/// 10.0.0.0/9 holds senders, 10.128.0.0/9 receivers.
const NETWORKS: [u32; 2] = [0x0a00_0000, 0x0a80_0000];
/// The number that a datagram carries at the start of its payload.
const NUMBER: u32 = 8;

/// What a connection's two hosts agreed upon while opening.
#[derive(Clone, Copy, Debug)]
pub struct Agreed {
    datagrams: bool,
    timestamps: bool,
    /// The option's value, which counts the options of a segment in (RFC 6691).
    mss: u16,
    /// Of the windows that packets tell, by [`Way`].
    scales: [u8; 2],
    sack: bool,
    /// Without an opening, no reader could learn of a window scale.
    handshake: bool,
}

impl Agreed {
    /// As the hosts of the flow with this number have it.
    pub fn of(spec: &FlowSpec, run: &Run, number: u64) -> Self {
        let [sending, receiving] = build::configs(spec, run, 0, number, None);
        let agreed = Agreed {
            datagrams: matches!(spec.traffic, Traffic::Cbr { .. }),
            timestamps: sending.timestamps,
            mss: 0,
            scales: [0; 2],
            sack: sending.sack(),
            handshake: sending.handshake,
        };
        agreed.with(spec.mss, [sending.window_scale(), receiving.window_scale()])
    }

    /// As one of a flow's connections has it, which has a largest payload and windows of its own.
    pub fn with(self, mss: Bytes, scales: [u8; 2]) -> Self {
        let options = if self.timestamps { Segment::TIMESTAMPS } else { 0 };
        Agreed { mss: (mss.get() + options as u64).min(u16::MAX as u64) as u16, scales, ..self }
    }
}

/// The address of a flow's sender (`Out`) or receiver (`Back`).
pub fn address(flow: u32, host: Way) -> [u8; 4] {
    (NETWORKS[host as usize] + ((flow + 1) & 0x7f_ffff)).to_be_bytes()
}

/// Writes a packet's headers into `bytes` and returns its length at the IP layer.
pub fn headers(packet: &Packet, whose: Whose, agreed: &Agreed, pushed: bool, bytes: &mut Vec<u8>) -> u32 {
    bytes.clear();
    bytes.resize(20, 0);
    let (length, protocol) = if agreed.datagrams {
        let header = DATAGRAM_HEADER.get() as u32;
        let payload = packet.size.saturating_sub(header);
        let [from, to] = ports(whose, packet.way);
        bytes.extend_from_slice(&from.to_be_bytes());
        bytes.extend_from_slice(&to.to_be_bytes());
        bytes.extend_from_slice(&((payload + 8) as u16).to_be_bytes());
        bytes.extend_from_slice(&[0; 2]);
        if payload >= NUMBER {
            bytes.extend_from_slice(&packet.segment.seq.to_be_bytes());
        }
        (header + payload, 17)
    } else {
        segment(packet, whose, agreed, pushed, bytes);
        (bytes.len() as u32 + packet.segment.len, 6)
    };
    let (source, destination) = (address(whose.flow, packet.way), address(whose.flow, other(packet.way)));
    let transport = length - 20;
    let pseudo = sum(&source) + sum(&destination) + protocol as u64 + transport as u64;
    let check = fold(pseudo + sum(&bytes[20..]));
    let at = if agreed.datagrams { 26 } else { 36 };
    // For UDP, zero would mean that there is no checksum (RFC 768).
    let check = if agreed.datagrams && check == 0 { u16::MAX } else { check };
    bytes[at..at + 2].copy_from_slice(&check.to_be_bytes());

    bytes[0] = 0x45;
    bytes[1] = packet.segment.ecn & 3;
    // What segmentation offload hands over can be longer than the field says: captures have zero there.
    bytes[2..4].copy_from_slice(&u16::try_from(length).unwrap_or(0).to_be_bytes());
    bytes[4..6].copy_from_slice(&identification(packet).to_be_bytes());
    bytes[6] = 0x40;
    bytes[8] = 64;
    bytes[9] = protocol;
    bytes[12..16].copy_from_slice(&source);
    bytes[16..20].copy_from_slice(&destination);
    let check = fold(sum(&bytes[..20]));
    bytes[10..12].copy_from_slice(&check.to_be_bytes());
    length
}

fn segment(packet: &Packet, whose: Whose, agreed: &Agreed, pushed: bool, bytes: &mut Vec<u8>) {
    let s = &packet.segment;
    let mut flags = if pushed { 0x08 } else { 0 };
    for (ours, wire) in
        [(Flags::FIN, 0x01), (Flags::SYN, 0x02), (Flags::ACK, 0x10), (Flags::ECE, 0x40), (Flags::CWR, 0x80)]
    {
        flags |= if s.flags.has(ours) { wire } else { 0 };
    }
    let seq = initial(whose, packet.way).wrapping_add(s.seq as u32);
    let ack = initial(whose, other(packet.way)).wrapping_add(s.ack as u32);
    let ack = if s.flags.has(Flags::ACK) { ack } else { 0 };
    let syn = s.flags.has(Flags::SYN);
    let scale = if syn || !agreed.handshake { 0 } else { agreed.scales[packet.way as usize] };
    let [from, to] = ports(whose, packet.way);
    bytes.extend_from_slice(&from.to_be_bytes());
    bytes.extend_from_slice(&to.to_be_bytes());
    bytes.extend_from_slice(&seq.to_be_bytes());
    bytes.extend_from_slice(&ack.to_be_bytes());
    bytes.extend_from_slice(&[0, flags]);
    bytes.extend_from_slice(&(s.window >> scale).min(65_535).to_be_bytes()[2..]);
    bytes.extend_from_slice(&[0; 4]);
    if syn {
        bytes.extend_from_slice(&[2, 4]);
        bytes.extend_from_slice(&agreed.mss.to_be_bytes());
        bytes.extend_from_slice(&[1, 3, 3, agreed.scales[packet.way as usize]]);
        if agreed.sack {
            bytes.extend_from_slice(&[1, 1, 4, 2]);
        }
    }
    if s.flags.has(Flags::TIMESTAMP) {
        bytes.extend_from_slice(&[1, 1, 8, 10]);
        bytes.extend_from_slice(&s.ts_val.to_be_bytes());
        bytes.extend_from_slice(&s.ts_ecr.to_be_bytes());
    }
    let blocks = s.sack.used();
    if !blocks.is_empty() {
        bytes.extend_from_slice(&[1, 1, 5, 2 + 8 * blocks.len() as u8]);
        for (offset, length) in blocks {
            let left = ack.wrapping_add_signed(*offset);
            bytes.extend_from_slice(&left.to_be_bytes());
            bytes.extend_from_slice(&left.wrapping_add(*length).to_be_bytes());
        }
    }
    // In words of four bytes, in the upper half.
    bytes[32] = ((bytes.len() - 20) * 4) as u8;
}

fn other(way: Way) -> Way {
    match way {
        Way::Out => Way::Back,
        Way::Back => Way::Out,
    }
}

fn ports(whose: Whose, way: Way) -> [u16; 2] {
    let ports = match whose.connection.checked_sub(1) {
        None => PORTS,
        Some(before) => [PORTS[1], CLIENTS.start + (before % CLIENTS.len() as u32) as u16],
    };
    [ports[way as usize], ports[other(way) as usize]]
}

/// Spread, so that readers meet sequence numbers that wrap, as in the wild.
fn initial(whose: Whose, way: Way) -> u32 {
    units::splitmix((whose.connection as u64) << 33 | (whose.flow as u64) << 1 | way as u64) as u32
}

/// The same wherever the packet is seen, another for what is sent again. A copy made on the way keeps it (RFC 6864
/// leaves the field of packets that may not be fragmented to the sender).
fn identification(packet: &Packet) -> u16 {
    let s = &packet.segment;
    units::splitmix(packet.born.as_nanos() ^ s.seq.rotate_left(20) ^ s.ack.rotate_left(40)) as u16
}

/// The sum of 16-bit words (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|word| (word[0] as u64) << 8 | word.get(1).copied().unwrap_or(0) as u64).sum()
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
