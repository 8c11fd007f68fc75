//! A TCP segment as the endpoints see it: `Copy`, and no larger than a cache line.

use units::Bytes;

/// TCP header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// Synchronise.
    pub const SYN: Flags = Flags(1);
    /// Acknowledge.
    pub const ACK: Flags = Flags(2);
    /// No more data.
    pub const FIN: Flags = Flags(4);
    /// ECN echo.
    pub const ECE: Flags = Flags(16);
    /// Congestion window reduced.
    pub const CWR: Flags = Flags(32);
    /// Timestamps option present.
    pub const TIMESTAMP: Flags = Flags(64);
    /// The first SACK block reports a duplicate (RFC 2883).
    pub const DSACK: Flags = Flags(128);

    /// All of `other` set?
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both sets.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Up to three selective acknowledgement blocks (what fits beside timestamps), newest first.
/// Each is an offset from `ack` and a length. An offset is signed: a DSACK block lies below `ack`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// (start − ack, length), in bytes; length 0 in those not in use, which come last.
    pub blocks: [(i32, u32); 3],
}

impl SackBlocks {
    /// Those in use.
    #[inline]
    pub fn used(&self) -> &[(i32, u32)] {
        let count = self.blocks.iter().take_while(|(_, len)| *len > 0).count();
        &self.blocks[..count]
    }

    /// Is there none?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.blocks[0].1 == 0
    }
}

/// One TCP segment. Sequence numbers are 64-bit stream positions, so they never wrap; SYN and FIN take one each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Position of the first byte.
    pub seq: u64,
    /// Next byte expected from the other side.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Receive window in bytes, as the scaled 16-bit field would convey it.
    pub window: u32,
    /// Timestamp value in ticks of the sender's clock.
    pub ts_val: u32,
    /// Timestamp echoed.
    pub ts_ecr: u32,
    /// Bytes received with CE so far, modulo 2^32 (the accurate ECN option's counter); on a SYN a Quick-Start request.
    pub ce_bytes: u32,
    /// Header flags.
    pub flags: Flags,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
    /// The IP header's ECN field, two bits.
    pub ecn: u8,
}

impl Segment {
    /// Bytes of IPv4 and TCP header without options.
    pub const HEADER: u32 = 40;
    /// Bytes that time stamps add to it.
    pub const TIMESTAMPS: u32 = 12;
    /// Bytes that three ranges, the most there are, add to it (RFC 2018, section 3, with two of padding).
    pub const RANGES: u32 = 4 + 8 * 3;

    /// Size at the IP layer: headers, options and payload.
    #[inline]
    pub fn size(&self) -> Bytes {
        let timestamps = if self.flags.has(Flags::TIMESTAMP) { Self::TIMESTAMPS } else { 0 };
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.used().len() as u32 };
        Bytes::new((Self::HEADER + timestamps + sack + self.len) as u64)
    }

    /// Sequence space it takes: payload, SYN and FIN.
    #[inline]
    pub fn span(&self) -> u64 {
        self.len as u64 + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }
}
