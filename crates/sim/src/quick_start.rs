//! A router that agrees to Quick-Start (RFC 4782): it grants what its link has to spare and remembers what it granted.
//!
//! The algorithm is that of the RFC's appendix C in its plainest form: of a share of the link's rate, what was sent in the
//! last interval and what was granted lately is taken; the rest can be granted.

use crate::packet::{Packet, Way};
use cc::quick_start::{code, rate};
use tcp::Flags;
use units::{Bytes, Duration, Instant, Rate};

/// The load is that of the last whole interval of this length.
const INTERVAL: Duration = Duration::from_millis(100);
/// A grant is part of the load by then.
const REMEMBERED: Duration = Duration::from_millis(500);

/// What it may grant, and what it knows of the load.
#[derive(Debug)]
pub struct Router {
    share: f64,
    began: Instant,
    bytes: Bytes,
    load: Rate,
    granted: Vec<(Instant, Rate)>,
}

impl Router {
    /// One that grants up to this share of the link's rate.
    pub fn new(share: f64) -> Self {
        Router { share, began: Instant::ZERO, bytes: Bytes::ZERO, load: Rate::ZERO, granted: Vec::new() }
    }

    /// A packet comes to a link of that rate: counts it, and answers a request.
    pub fn pass(&mut self, now: Instant, packet: &mut Packet, link: Rate) {
        let age = now.since(self.began);
        if age >= INTERVAL {
            self.load = self.bytes / age;
            (self.began, self.bytes) = (now, Bytes::ZERO);
        }
        self.bytes += Bytes::new(packet.size as u64);
        let s = &mut packet.segment;
        let Some(asked) = rate(s.ce_bytes as u8).filter(|_| packet.way == Way::Out && s.flags.has(Flags::SYN)) else {
            return;
        };
        self.granted.retain(|(at, _)| now.since(*at) < REMEMBERED);
        let taken = self.load.as_bps() + self.granted.iter().map(|g| g.1.as_bps()).sum::<u64>();
        let spare = Rate::from_bps(link.mul_f64(self.share).as_bps().saturating_sub(taken));
        let granted = code(asked.min(spare));
        s.ce_bytes = granted as u32;
        self.granted.extend(rate(granted).map(|rate| (now, rate)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tcp::Segment;

    fn packet(size: u32, request: u32) -> Packet {
        let flags = if request > 0 { Flags::SYN } else { Flags::ACK };
        let segment = Segment { flags, ce_bytes: request, ..Segment::default() };
        Packet { segment, born: Instant::ZERO, flow: 0, size, hop: 0, way: Way::Out, copy: false }
    }

    #[test]
    fn what_is_spare_is_granted_once() {
        let (mut router, link) = (Router::new(0.9), Rate::from_mbps(100.0));
        let mut ask = |ms, n| {
            let mut p = packet(52, n);
            router.pass(Instant::from_millis(ms), &mut p, link);
            rate(p.segment.ce_bytes as u8).map(Rate::as_mbps)
        };
        // 90 Mbit/s to give: of 163.84 asked for, 81.92; then 8 are left.
        assert_eq!([ask(0, 12), ask(1, 12), ask(2, 12)], [Some(81.92), Some(5.12), Some(2.56)]);
        assert_eq!(ask(700, 10), Some(40.96), "half a second later the grants are forgotten");
    }

    #[test]
    fn load_is_taken_off() {
        let (mut router, link) = (Router::new(1.0), Rate::from_mbps(10.0));
        // 1500 bytes each 2 ms: 6 Mbit/s.
        for n in 0..200 {
            router.pass(Instant::from_millis(2 * n), &mut packet(1500, 0), link);
        }
        let mut syn = packet(52, 9);
        router.pass(Instant::from_millis(400), &mut syn, link);
        assert_eq!(rate(syn.segment.ce_bytes as u8), Some(Rate::from_bps(2_560_000)), "4 of 10 are spare");
    }
}
