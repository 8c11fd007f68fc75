//! HLDG's slow start: the first nine ACKs of a round tell the bandwidth and so the threshold, and a coin on the gradient of
//! the smallest RTT ends it where it is.
//!
//! ```text
//! ssthresh = bytes of 8 ACKs / their time · RTT_base, each round anew;  cwnd down to it if it is larger
//! g_min, the first one left out:  if that of γ packets or more, with P = 1 − e^(−g_min/G): ssthresh = cwnd
//! ```
//! Source: Al-Saadi, HLDG thesis, section 5.4, Algorithm 5.3. The state is HLDG's own; in HLDG it is built in, with the
//! base RTT it keeps itself. Here the base RTT is the smallest of the flow.

use crate::algo::hldg::decision::{network_bps, start_threshold};
use crate::algo::hldg::{self, slow_start::SlowStart as Search};
use crate::{Ack, Flow, Round, SlowStart, start::Start};
use units::{Bytes, Rate, Rng};

params::params! {
    /// The thesis' values.
    pub struct Params {
        /// ACKs that make an estimate of the bandwidth.
        train: u32 = 8, 2 => 1000;
        /// Scale G of the probability in ms.
        g: f64 = 3.0, 0.1 => 10000.0;
        /// Only gradients of at least γ packets (Eq 5.4) may end slow start; else any rise may.
        threshold: bool = true;
    }
}

/// State: HLDG's, dice, and what the threshold comes from.
#[derive(Debug)]
pub struct HldgStart {
    p: Params,
    rng: Rng,
    search: Search,
    rate: Rate,
    threshold: Bytes,
}

impl Start for HldgStart {
    const NAME: &'static str = "hldg";
    const PAPER: &'static str = "Al-Saadi, HLDG, PhD thesis, section 5.4";
    type Params = Params;

    fn new(p: &Params, _: &mut Flow, rng: Rng) -> Self {
        HldgStart { p: p.clone(), rng, search: Search::new(true, p.train), rate: Rate::ZERO, threshold: Bytes::ZERO }
    }
}

impl HldgStart {
    /// In ms.
    fn threshold(&self, flow: &Flow, round: &Round) -> f64 {
        let p = hldg::Params { threshold: self.p.threshold, ..Default::default() };
        let bandwidth = self.search.bandwidth(p.start_bandwidth, round.delivered / round.end.since(round.start));
        start_threshold(&p, network_bps(&p, bandwidth, flow.mss))
    }
}

impl SlowStart for HldgStart {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let base = flow.min_rtt;
        if !self.search.searching || base.is_zero() {
            return;
        }
        if let Some(round) = ack.round.as_ref().filter(|r| !r.min_rtt.is_zero())
            && let threshold = self.threshold(flow, round)
            && self.search.round(flow, round.min_rtt, base, (threshold, self.p.g), &mut self.rng)
        {
            return;
        }
        let before = flow.windows();
        if let Some(rate) = self.search.cap(flow, ack, base) {
            (self.rate, self.threshold) = (rate, flow.ssthresh);
            flow.because(super::cap_cause(rate, base, flow.ssthresh), before);
        }
        super::note_arrival(flow, ack, self.rate, self.threshold);
    }

    fn on_end(&mut self, _: &mut Flow) {
        self.search.searching = false;
    }

    fn on_reset(&mut self, _: &mut Flow) {
        self.search.again();
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("hldg_start_mbps", self.rate.as_mbps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, flow, ms, packets};

    #[test]
    fn nine_acks_at_eight_megabits_over_40_ms_are_40_packets() {
        let mut f = flow(100, 40);
        let mut start = HldgStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        for _ in 0..9 {
            assert!(f.in_slow_start());
            start.on_ack(&mut f, &ack(1, 40));
            f.now += ms(1);
        }
        assert_eq!((f.cwnd, f.ssthresh), (packets(40), packets(40)), "and a larger window comes down");
    }

    #[test]
    fn it_looks_until_slow_start_is_over_and_again_after_a_reset() {
        let capped = |prepare: fn(&mut HldgStart, &mut Flow)| {
            let mut f = flow(100, 40);
            let mut start = HldgStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            prepare(&mut start, &mut f);
            for _ in 0..9 {
                start.on_ack(&mut f, &ack(1, 40));
                f.now += ms(1);
            }
            f.ssthresh < packets(100)
        };
        assert!(capped(|_, _| ()));
        assert!(!capped(|start, f| start.on_end(f)));
        assert!(capped(|start, f| {
            start.on_end(f);
            start.on_reset(f);
        }));
        assert!(!capped(|_, f| f.min_rtt = units::Duration::ZERO), "no base RTT yet");
    }

    #[test]
    fn a_threshold_that_congestion_has_set_is_not_taken_for_the_bandwidths() {
        for (ssthresh, exits) in [(40, 1), (20, 0)] {
            let mut f = flow(10, 40);
            let mut start = HldgStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
            for _ in 0..9 {
                start.on_ack(&mut f, &ack(1, 40));
                f.now += ms(1);
            }
            assert_eq!((f.ssthresh, f.drain_events().count()), (packets(40), 1));
            start.on_reset(&mut f);
            (f.ssthresh, f.cwnd) = (packets(ssthresh), packets(ssthresh - 1));
            start.on_ack(&mut f, &ack(1, 40));
            assert_eq!(f.drain_events().count(), exits, "{ssthresh} packets");
        }
    }

    #[test]
    fn a_train_tells_the_bandwidth_of_the_threshold_until_a_reset() {
        let mut f = flow(10, 40);
        let mut start = HldgStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        // 10 packets in 100 ms are 0.8 Mbit/s and 1.2 at the network layer, below the 2 from which γ is not 0.
        let round = Round { delivered: packets(10), end: f.now + ms(100), start: f.now, ..Round::default() };
        assert_eq!(start.threshold(&f, &round), 0.0);
        for _ in 0..9 {
            start.on_ack(&mut f, &ack(1, 40));
            f.now += ms(1);
        }
        // 8 Mbit/s are 12 there: two packets of a millisecond.
        assert!((start.threshold(&f, &round) - 2.0).abs() < 1e-9, "{}", start.threshold(&f, &round));
        start.on_reset(&mut f);
        assert_eq!(start.threshold(&f, &round), 0.0);
    }

    #[test]
    fn the_second_gradient_ends_it_where_it_is() {
        let mut f = flow(10, 40);
        let mut start = HldgStart::new(&Params::default(), &mut f, Rng::new(1, 0, 0));
        for rtt in [40, 940, 1840] {
            start.on_ack(&mut f, &closing(1, rtt));
            assert!(f.in_slow_start(), "the first gradient is the initial window's, and takes its round with it");
        }
        start.on_ack(&mut f, &closing(1, 2740));
        assert_eq!((f.ssthresh, f.cwnd), (packets(10), packets(10)));
    }
}
