//! Adaptive start (Astart): the threshold is the eligible rate's, raised whenever the estimate rises, so that the window
//! climbs in a staircase: slow start below the threshold, the algorithm's own growth at it.
//!
//! ```text
//! ERE: ABSE's estimate.     each round but the first:  ssthresh < ERE·RTT_min → ssthresh = ERE·RTT_min
//! ```
//! Source: Wang, Pau, Yamada, Sanadidi and Gerla, TCP startup performance in large bandwidth delay networks, Infocom 2004,
//! partly from memory. Cheng and Lin's scheme of the same name (2008), which tapers growth near the BDP, is another one.

use crate::host::EligibleRate;
use crate::{Ack, Congestion, Flow, Reaction, SlowStart, causes, start::Start};
use units::{Bytes, Rate, Rng};

params::params! {
    /// Where the staircase begins.
    pub struct Params {
        /// Threshold in packets until the estimate is there (the paper's initial ssthresh).
        initial: u32 = 32, 2 => 100000;
    }
}

/// State: the estimate; over after the first congestion, unless that was none.
#[derive(Debug)]
pub struct Adaptive {
    initial: u32,
    ere: EligibleRate,
    over: bool,
    was_over: bool,
}

/// Raises the threshold to what that rate, in bytes per second, fills without a queue.
pub(crate) fn raise(flow: &mut Flow, rate: f64) {
    let to = Bytes::from_f64(rate * flow.min_rtt.as_secs_f64()).max(flow.floor);
    let before = flow.windows();
    if to > flow.ssthresh {
        flow.ssthresh = to;
        let (bandwidth, base_rtt) = (Rate::from_bps_f64(rate * 8.0).as_bps() as i64, flow.min_rtt.as_nanos() as i64);
        flow.because(causes::SlowStartCap { bandwidth, base_rtt, bdp: to.get() as i64 }, before);
    }
}

impl Start for Adaptive {
    const NAME: &'static str = "adaptive";
    const PAPER: &'static str =
        "Wang et al., TCP startup performance in large bandwidth delay networks, Infocom 2004; partly from memory";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, _: Rng) -> Self {
        Adaptive { initial: p.initial, ere: EligibleRate::new(), over: false, was_over: false }
    }
}

impl SlowStart for Adaptive {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if self.over {
            return;
        }
        self.ere.see(flow, ack);
        if flow.ssthresh == Bytes::MAX {
            let before = flow.windows();
            flow.ssthresh = (flow.mss * self.initial as u64).max(flow.cwnd);
            let base_rtt = flow.min_rtt.as_nanos() as i64;
            flow.because(causes::SlowStartCap { bandwidth: 0, base_rtt, bdp: flow.ssthresh.get() as i64 }, before);
        }
        // The first round's ACKs come as fast as the sender sent.
        if let (Some(rate), Some(round)) = (self.ere.get(), &ack.round)
            && round.number > 1
        {
            raise(flow, rate);
        }
    }

    fn watches(&self) -> bool {
        !self.over
    }

    fn answer(&mut self, _: &mut Flow, _: &Congestion, reaction: Reaction) -> Reaction {
        self.was_over = core::mem::replace(&mut self.over, true);
        reaction
    }

    fn on_undo(&mut self, _: &mut Flow) {
        self.over = self.was_over;
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("adaptive_ere_mbps", self.ere.get().unwrap_or(0.0) * 8e-6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, flow, packets};
    use crate::{Round, Signal};
    use units::Instant;

    #[test]
    fn the_threshold_rises_with_the_estimate_and_never_falls() {
        let mut f = flow(10, 100);
        let mut start = Adaptive::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        start.on_ack(&mut f, &ack(1, 100));
        assert_eq!(f.ssthresh, packets(32));
        let mut seen = std::vec::Vec::new();
        // A packet each ms for two seconds, then one each 4 ms.
        for n in 1..=4000 {
            f.now = Instant::from_millis(n);
            let round = (n % 100 == 0).then(|| Round { number: 2 + n / 100, ..Round::default() });
            if n <= 2000 || n % 4 == 0 {
                start.on_ack(&mut f, &Ack { round, ..ack(1, 100) });
            }
            seen.push(f.ssthresh);
        }
        assert!(seen.windows(2).all(|w| w[1] >= w[0]));
        assert!((98_000..=104_000).contains(&f.ssthresh.get()), "{:?}", f.ssthresh);
        start.on_reset(&mut f);
        assert!(start.watches(), "silence is no congestion");
        let c = congestion(Signal::Loss, &f);
        start.on_reset(&mut f);
        assert_eq!(start.answer(&mut f, &c, Reaction::Own), Reaction::Own);
        assert!(!start.watches(), "over after congestion");
        start.on_undo(&mut f);
        assert!(start.watches(), "which was none");
        start.answer(&mut f, &c, Reaction::Own);
        start.answer(&mut f, &c, Reaction::Own);
        start.on_undo(&mut f);
        assert!(!start.watches(), "the first one stands");
    }
}
