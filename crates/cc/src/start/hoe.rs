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
use units::{Bytes, Duration, Rate, Rng};

params::params! {
    /// Hoe looks at the first few ACKs.
    pub struct Params {
        /// Gaps to look at before the threshold is set.
        gaps: u32 = 3, 1 => 1000;
        /// Two segments count as sent back to back if they left no further apart.
        within: Duration = Duration::from_micros(100), Duration::ZERO => Duration::from_millis(100);
    }
}

/// State: the pairs seen so far, the largest rate among them and the threshold it became.
#[derive(Debug)]
pub struct Hoe {
    p: Params,
    pairs: PacketPair,
    seen: u32,
    rate: Rate,
    threshold: Bytes,
}

impl Start for Hoe {
    const NAME: &'static str = "hoe";
    const PAPER: &'static str =
        "Hoe, Improving the start-up behavior of a congestion control scheme for TCP, SIGCOMM 1996";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, _: Rng) -> Self {
        Hoe { p: p.clone(), pairs: PacketPair::new(), seen: 0, rate: Rate::ZERO, threshold: Bytes::ZERO }
    }
}

impl SlowStart for Hoe {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        // Only while no threshold is known, this one or congestion's.
        if flow.ssthresh == Bytes::MAX
            && let Some(pair) = self.pairs.see(flow, ack, self.p.within)
        {
            self.seen += 1;
            self.rate = self.rate.max(pair.rate);
            if self.seen >= self.p.gaps {
                super::cap(flow, self.rate, flow.srtt);
                self.threshold = flow.ssthresh;
            }
        }
        super::note_arrival(flow, ack, self.rate, self.threshold);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("hoe_mbps", self.rate.as_mbps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow, packets};

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

    /// The threshold after a loss that leaves one of 20 packets, and how many exits are told on the way up to it.
    fn after_a_loss(pairs_before: u64, undone: bool) -> (Bytes, usize) {
        let mut f = flow(10, 100);
        let mut start = Hoe::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        let acks = |f: &mut Flow, start: &mut Hoe, n| {
            for _ in 0..n {
                start.on_ack(f, &ack(1, 100));
                f.now += Duration::from_micros(1200);
            }
        };
        acks(&mut f, &mut start, pairs_before + 1);
        let before = f.ssthresh;
        f.ssthresh = packets(20);
        start.on_reset(&mut f);
        if undone {
            f.ssthresh = before;
        }
        f.cwnd = packets(10);
        acks(&mut f, &mut start, 5);
        f.drain_events().for_each(drop);
        f.cwnd = f.ssthresh - packets(1);
        acks(&mut f, &mut start, 1);
        (f.ssthresh, f.drain_events().count())
    }

    #[test]
    fn a_threshold_that_congestion_has_set_is_neither_replaced_nor_taken_for_the_bandwidths() {
        assert_eq!([after_a_loss(3, false), after_a_loss(1, false)], [(packets(20), 0); 2]);
        // Unless it was none.
        assert_eq!([after_a_loss(3, true), after_a_loss(1, true)], [(Bytes::new(83_333), 1); 2]);
    }
}
