//! A packet on its way.

use aqm::Ecn;
use tcp::Segment;
use units::{Bytes, Instant};

/// Which way along a flow's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Way {
    /// From the data sender to the receiver.
    Out = 0,
    /// Back.
    Back = 1,
}

/// One packet: small and by value, so that queues and delay lines are rings without allocation.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The TCP segment, or for datagrams its number in `seq`.
    pub segment: Segment,
    /// When the host handed it over.
    pub born: Instant,
    /// Its flow.
    pub flow: u32,
    /// Bytes at the IP layer.
    pub size: u32,
    /// The step of its route it is on: an index into the network's hops.
    pub hop: u32,
    /// Its direction.
    pub way: Way,
    /// A link's doing ([`duplicate`](experiment::Link::duplicate)): no packet that its sender sent.
    pub copy: bool,
}

impl aqm::Packet for Packet {
    #[inline]
    fn size(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }
    fn flow(&self) -> u64 {
        // Spread over 64 bits as a header hash would be: queues take it modulo their number of buckets.
        (((self.flow as u64) << 1 | self.way as u64) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.segment.ecn)
    }
    fn mark(&mut self) -> bool {
        let markable = self.ecn() != Ecn::NotEct;
        if markable {
            self.segment.ecn = Ecn::Ce as u8;
        }
        markable
    }
}
