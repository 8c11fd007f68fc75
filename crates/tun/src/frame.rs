//! IP packets as bytes: what a queue must know of them, and the mark it leaves.
//!
//! A packet comes from the kernel or from a raw socket, so nothing in it can be trusted: whatever does not hold together
//! is refused, and nothing is read beyond what is there.

use aqm::Ecn;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Why a packet is not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// Too short for its own headers, or of another length than they say.
    Malformed,
    /// Neither IPv4 nor IPv6.
    Unknown,
    /// Sent to a group: there is nobody behind the link to join one.
    Multicast,
}

/// Who talks to whom: packets with equal keys are one flow, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Source and destination; IPv4 in the first four bytes.
    pub addresses: [[u8; 16]; 2],
    /// Ports; zero where there are none, and in fragments.
    pub ports: [u16; 2],
    /// The protocol, IPv4's numbers.
    pub protocol: u8,
    /// 4 or 6.
    pub version: u8,
}

/// A TCP header's bookkeeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// First byte.
    pub seq: u32,
    /// Next byte expected.
    pub ack: u32,
    /// Payload bytes, SYN and FIN counted.
    pub span: u32,
    /// `ack` means something.
    pub acks: bool,
    /// It opens a connection: SYN.
    pub opens: bool,
}

/// What was read of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its flow.
    pub key: Key,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Of TCP, where the header is there.
    pub sequence: Option<Sequence>,
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Frame {
    /// Reads a whole packet.
    pub fn parse(bytes: &[u8]) -> Result<Frame, Bad> {
        match bytes.first().ok_or(Bad::Malformed)? >> 4 {
            4 => Self::v4(bytes),
            6 => Self::v6(bytes),
            _ => Err(Bad::Unknown),
        }
    }

    fn v4(bytes: &[u8]) -> Result<Frame, Bad> {
        let header = (bytes[0] & 15) as usize * 4;
        let length = be16(bytes, 2).ok_or(Bad::Malformed)? as usize;
        if header < 20 || bytes.len() < header || length != bytes.len() {
            return Err(Bad::Malformed);
        }
        if bytes[16] >> 4 == 0xe {
            return Err(Bad::Multicast);
        }
        let mut addresses = [[0; 16]; 2];
        addresses[0][..4].copy_from_slice(&bytes[12..16]);
        addresses[1][..4].copy_from_slice(&bytes[16..20]);
        // Flags and offset: anything but "do not fragment" alone. The first fragment has ports, but those of its
        // followers are unknown, and all must be of one flow.
        let fragment = be16(bytes, 6).ok_or(Bad::Malformed)? & 0x3fff != 0;
        Ok(Self::with(4, addresses, Ecn::from_bits(bytes[1]), bytes[9], fragment, &bytes[header..]))
    }

    fn v6(bytes: &[u8]) -> Result<Frame, Bad> {
        if bytes.len() < 40 || be16(bytes, 4).ok_or(Bad::Malformed)? as usize + 40 != bytes.len() {
            return Err(Bad::Malformed);
        }
        if bytes[24] == 0xff {
            return Err(Bad::Multicast);
        }
        let mut addresses = [[0; 16]; 2];
        addresses[0].copy_from_slice(&bytes[8..24]);
        addresses[1].copy_from_slice(&bytes[24..40]);
        let marks = Ecn::from_bits(bytes[1] >> 4);
        // Extension headers (RFC 8200, section 4): hop by hop, routing, fragment, destination; each but the fragment's
        // says its length in units of eight bytes beyond the first eight. A chain that runs out leaves no transport.
        let (mut next, mut at, mut fragment) = (bytes[6], 40, false);
        while matches!(next, 0 | 43 | 44 | 60) {
            let Some(head) = bytes.get(at..at + 8) else {
                return Ok(Self::with(6, addresses, marks, next, true, &[]));
            };
            fragment |= next == 44;
            at += if next == 44 { 8 } else { (head[1] as usize + 1) * 8 };
            next = head[0];
        }
        Ok(Self::with(6, addresses, marks, next, fragment, bytes.get(at..).unwrap_or_default()))
    }

    fn with(version: u8, addresses: [[u8; 16]; 2], ecn: Ecn, protocol: u8, fragment: bool, body: &[u8]) -> Frame {
        let mut key = Key { addresses, ports: [0; 2], protocol, version };
        let mut sequence = None;
        if !fragment
            && (protocol == TCP || protocol == UDP)
            && let (Some(from), Some(to)) = (be16(body, 0), be16(body, 2))
        {
            key.ports = [from, to];
            if protocol == TCP {
                sequence = Self::sequence(body);
            }
        }
        Frame { key, ecn, sequence }
    }

    fn sequence(body: &[u8]) -> Option<Sequence> {
        let (offset, flags) = (*body.get(12)?, *body.get(13)?);
        let header = (offset >> 4) as usize * 4;
        let payload = body.len().checked_sub(header.max(20))? as u32;
        let span = payload + u32::from(flags & 2 != 0) + u32::from(flags & 1 != 0);
        Some(Sequence { seq: be32(body, 4)?, ack: be32(body, 8)?, span, acks: flags & 16 != 0, opens: flags & 2 != 0 })
    }
}

/// Sets CE in a packet that [`Frame::parse`] has read; the checksum of IPv4 follows (RFC 1624, equation 3).
pub fn mark(bytes: &mut [u8]) {
    match bytes.first().map(|b| b >> 4) {
        Some(4) if bytes.len() >= 20 => {
            let old = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] |= 3;
            let new = u16::from_be_bytes([bytes[0], bytes[1]]);
            let check = u16::from_be_bytes([bytes[10], bytes[11]]);
            let mut sum = u32::from(!check) + u32::from(!old) + u32::from(new);
            sum = (sum & 0xffff) + (sum >> 16);
            sum = (sum & 0xffff) + (sum >> 16);
            bytes[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        }
        Some(6) if bytes.len() >= 40 => bytes[1] |= 0x30,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The ones' complement sum that a receiver makes: 0xffff if the header is intact (RFC 1071).
    fn sum(header: &[u8]) -> u16 {
        let all: u32 = header.chunks(2).map(|c| u32::from(c[0]) << 8 | u32::from(*c.get(1).unwrap_or(&0))).sum();
        let all = (all & 0xffff) + (all >> 16);
        ((all & 0xffff) + (all >> 16)) as u16
    }

    fn v4(ecn: u8, body: &[u8], protocol: u8, flags: u16) -> Vec<u8> {
        let mut p = vec![0x45, ecn, 0, 0, 0x12, 0x34, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        p[6..8].copy_from_slice(&flags.to_be_bytes());
        let length = (20 + body.len()) as u16;
        p[2..4].copy_from_slice(&length.to_be_bytes());
        let check = !sum(&p);
        p[10..12].copy_from_slice(&check.to_be_bytes());
        p.extend_from_slice(body);
        p
    }

    fn segment(seq: u32, payload: usize) -> Vec<u8> {
        let mut tcp = vec![0; 20 + payload];
        tcp[..4].copy_from_slice(&[0x9c, 0x40, 0x14, 0x51]);
        tcp[4..8].copy_from_slice(&seq.to_be_bytes());
        (tcp[12], tcp[13]) = (0x50, 0x10);
        tcp
    }

    #[test]
    fn a_segment_tells_its_flow_and_its_place() {
        let frame = Frame::parse(&v4(2, &segment(7, 100), TCP, 0x4000)).unwrap();
        assert_eq!((frame.key.ports, frame.ecn, frame.key.version), ([40_000, 5_201], Ecn::Ect0, 4));
        assert_eq!(frame.sequence.unwrap(), Sequence { seq: 7, ack: 0, span: 100, acks: true, opens: false });
    }

    #[test]
    fn fragments_of_one_datagram_are_one_flow() {
        let (first, later) = (v4(0, &segment(7, 100), TCP, 0x2000), v4(0, &[9; 64], TCP, 13));
        let (first, later) = (Frame::parse(&first).unwrap(), Frame::parse(&later).unwrap());
        assert_eq!(first.key, later.key);
        assert_eq!((first.key.ports, first.sequence), ([0, 0], None));
    }

    #[test]
    fn ipv6_is_read_through_its_extension_headers() {
        let mut p = vec![0x60, 0x10, 0, 0, 0, 0, 0, 64];
        p.extend([1; 16]);
        p.extend([2; 16]);
        p.extend([UDP, 0, 0, 0, 0, 0, 0, 0]);
        p.extend([0x13, 0x89, 0x14, 0x51, 0, 8, 0, 0]);
        p[4..6].copy_from_slice(&16_u16.to_be_bytes());
        let frame = Frame::parse(&p).unwrap();
        assert_eq!((frame.key.ports, frame.key.protocol, frame.ecn), ([5_001, 5_201], UDP, Ecn::Ect1));
        mark(&mut p);
        assert_eq!(Frame::parse(&p).unwrap().ecn, Ecn::Ce);
    }

    #[test]
    fn what_does_not_hold_together_is_refused() {
        let good = v4(0, &segment(1, 10), TCP, 0);
        assert_eq!(Frame::parse(&good[..good.len() - 1]), Err(Bad::Malformed));
        assert_eq!(Frame::parse(&[]), Err(Bad::Malformed));
        assert_eq!(Frame::parse(&[0x10; 40]), Err(Bad::Unknown));
        let mut group = good;
        group[16] = 224;
        assert_eq!(Frame::parse(&group), Err(Bad::Multicast));
    }

    proptest! {
        #[test]
        fn a_mark_keeps_the_checksum_right(ecn in 1_u8..3, dscp in 0_u8..64, body in proptest::collection::vec(any::<u8>(), 0..60)) {
            let mut p = v4(dscp << 2 | ecn, &body, UDP, 0);
            mark(&mut p);
            prop_assert_eq!(sum(&p[..20]), 0xffff);
            prop_assert_eq!((p[1] & 3, p[1] >> 2), (3, dscp));
        }

        #[test]
        fn no_bytes_bring_the_parser_down(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), version in 0_u8..16) {
            if let Some(first) = bytes.first_mut() {
                *first = *first & 15 | version << 4;
            }
            let _ = Frame::parse(&bytes);
            mark(&mut bytes);
        }

        /// A sound packet with one byte turned, cut short or drawn out: the lengths that a header claims are the trap.
        #[test]
        fn nor_does_a_packet_that_was_tampered_with(at in 0_usize..120, value in any::<u8>(), cut in 0_usize..160, six in any::<bool>()) {
            let mut p = if six {
                let mut p = vec![0x60, 0, 0, 0, 0, 80, 44, 64];
                p.resize(120, 44);
                p
            } else {
                v4(2, &segment(9, 80), TCP, 0)
            };
            if let Some(byte) = p.get_mut(at) { *byte = value; }
            p.resize(cut, 0);
            let _ = Frame::parse(&p);
            let length = p.len() as u16;
            if p.len() >= 6 {
                let (at, says) = if six { (4, length.saturating_sub(40)) } else { (2, length) };
                p[at..at + 2].copy_from_slice(&says.to_be_bytes());
            }
            let _ = Frame::parse(&p);
            mark(&mut p);
        }
    }
}
