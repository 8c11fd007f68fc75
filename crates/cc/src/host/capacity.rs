//! The capacity of the path from packet pairs: whatever queued added to the delay of one of the two, so believe the pair
//! whose delays sum to the least (CapProbe: Kapoor, Chen, Lao, Gerla and Sanadidi, SIGCOMM 2004).

use super::PacketPair;
use crate::{Ack, Flow};
use units::{Duration, Rate};

/// Two segments are back to back if they left within one part in so many of the time between their ACKs.
const BACK_TO_BACK: u64 = 10;

/// Watches ACKs for pairs and keeps the best.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapProbe {
    pairs: PacketPair,
    before: Duration,
    /// The smallest sum of RTTs, and what that pair says.
    best: Option<(Duration, Rate)>,
}

impl CapProbe {
    /// Takes an ACK. With delayed ACKs what arrived between two of them counts, so that a pair is of two packets each.
    pub fn see(&mut self, flow: &Flow, ack: &Ack) {
        let pair = self.pairs.see(flow, ack, Duration::MAX);
        let Some(rtt) = ack.rtt else { return };
        let sum = core::mem::replace(&mut self.before, rtt) + rtt;
        if let Some(pair) = pair.filter(|pair| pair.sent * BACK_TO_BACK <= pair.heard)
            && self.best.is_none_or(|(least, _)| sum < least)
        {
            self.best = Some((sum, pair.rate));
        }
    }

    /// The capacity, in payload, told by the pair that was delayed the least.
    pub fn get(&self) -> Option<Rate> {
        self.best.map(|b| b.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};
    use units::Instant;

    /// Takes an ACK of two packets of 1000 bytes, sent and come at these times in µs; the capacity in Mbit/s.
    fn see(probe: &mut CapProbe, sent: u64, came: u64) -> u64 {
        let at = |us: u64| Instant::from_nanos(us * 1000);
        let mut f = flow(10, 40);
        f.now = at(came);
        probe.see(&f, &Ack { sent_at: at(sent), rtt: Some(f.now.since(at(sent))), ..ack(2, 0) });
        probe.get().map_or(0, |rate| rate.as_bps() / 1_000_000)
    }

    #[test]
    fn the_pair_delayed_least_is_believed() {
        let mut p = CapProbe::default();
        // 16,000 bits in 1.6 ms: 10 Mbit/s; then cross traffic between a pair, and compression behind the link.
        let seen =
            [(0, 40_000), (0, 41_600), (100_000, 141_600), (100_000, 144_800), (200_000, 250_000), (200_000, 250_800)];
        assert_eq!(seen.map(|(sent, came)| see(&mut p, sent, came)), [0, 10, 10, 10, 10, 10]);
        assert_eq!([(300_000, 339_000), (300_000, 339_800)].map(|(s, c)| see(&mut p, s, c)), [10, 20], "less delayed");
    }

    #[test]
    fn what_was_sent_apart_is_no_pair() {
        let mut p = CapProbe::default();
        assert_eq!([(0, 40_000), (200, 41_600), (300, 43_200)].map(|(s, c)| see(&mut p, s, c)), [0, 0, 10]);
    }
}
