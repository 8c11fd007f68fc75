//! Hoe's start: the first packets measure the bottleneck, and slow start ends at what it carries in a round trip.
//!
//! ```text
//! B = data acknowledged / the smallest gap between ACKs of packets sent back to back, among the first few
//! ssthresh = B·RTT
//! ```
//! Source: J. C. Hoe, Improving the start-up behavior of a congestion control scheme for TCP, SIGCOMM 1996. Compressed ACKs
//! and cross traffic make it too high, delayed ACKs of single packets too low (HLDG thesis, section 2.5).

use crate::host::PacketPair;
use crate::{Ack, Flow, SlowStart, start::Start};
use units::{Duration, Rate, Rng};

params::params! {
    /// Hoe looks at the first few ACKs.
    pub struct Params {
        /// Gaps to look at before the threshold is set.
        gaps: u32 = 3, 1 => 1000;
        /// Two segments count as sent back to back if they left no further apart.
        within: Duration = Duration::from_micros(100), Duration::ZERO => Duration::from_millis(100);
    }
}

/// State: the pairs seen so far and the largest rate among them.
#[derive(Debug)]
pub struct Hoe {
    p: Params,
    pairs: PacketPair,
    seen: u32,
    rate: Rate,
}

impl Start for Hoe {
    const NAME: &'static str = "hoe";
    const PAPER: &'static str =
        "Hoe, Improving the start-up behavior of a congestion control scheme for TCP, SIGCOMM 1996";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, _: Rng) -> Self {
        Hoe { p: p.clone(), pairs: PacketPair::new(), seen: 0, rate: Rate::ZERO }
    }
}

impl SlowStart for Hoe {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.seen < self.p.gaps
            && let Some(pair) = self.pairs.see(flow, ack, self.p.within)
        {
            self.seen += 1;
            self.rate = self.rate.max(pair.rate);
            if self.seen == self.p.gaps {
                super::cap(flow, self.rate, flow.srtt);
            }
        }
        super::note_arrival(flow, ack, self.rate);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("hoe_mbps", self.rate.as_mbps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow, packets};
    use units::Bytes;

    #[test]
    fn gaps_of_1_2_ms_over_100_ms_are_83_packets() {
        // Reference, section 6.6: packets of 1000 bytes.
        let mut f = flow(10, 100);
        let mut start = Hoe::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        for gap in [1500, 1200, 1300] {
            start.on_ack(&mut f, &ack(1, 100));
            assert_eq!(f.ssthresh, Bytes::MAX);
            f.now += Duration::from_micros(gap);
        }
        start.on_ack(&mut f, &ack(1, 100));
        assert_eq!(f.ssthresh.get() / 1000, 83);
        f.now += Duration::from_micros(100);
        start.on_ack(&mut f, &ack(1, 100));
        assert_eq!(f.ssthresh.get() / 1000, 83, "only the first few");
        f.cwnd = packets(200);
        assert!(!f.in_slow_start());
    }
}
