//! Prague: DCTCP made fit for the Internet. Its packets say that they want L4S treatment, they are paced, and flows of
//! short RTT grow as if theirs were 25 ms, so that they leave room for others.
//!
//! ```text
//! RTT_virt = max(srtt, 25 ms), after the first 500 rounds (until then, srtt)
//! once per RTT_virt:  α += (F − α)/16,  F the fraction of marked bytes; α = 1 at first
//! a mark:             cwnd = (1 − α/2)·cwnd, once per round
//! a loss:             cwnd / 2
//! avoidance:          cwnd += (srtt / RTT_virt)² packets a round, earned by unmarked data only
//! pacing:             cwnd / srtt; twice that in slow start
//! ```
//! The square: by as much less a round as rounds are shorter, and in as many more rounds.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-04, section 2.4, partly from memory; read beside it: Cloudflare's
//! quiche. The flow needs `ecn = true`, and a queue that marks early (`dualpi2`, or `codel` with `ce_threshold`).

use crate::filter::Ewma;
use crate::host::MarkedFraction;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Ecn, Evidence, Family, Flow, Reaction, Setup, Signal,
};
use units::{Duration, Instant};

params::params! {
    /// Defaults of the draft.
    pub struct Params {
        /// Weight of the newest fraction in α (g).
        gain: f64 = 0.0625, 0.001 => 1.0;
        /// Flows with a shorter RTT grow as if they had this one.
        virtual_rtt: Duration = Duration::from_millis(25), Duration::ZERO => Duration::from_secs(10);
        /// Rounds until then: short flows keep their speed.
        transition: u32 = 500, 0 => 1000000;
    }
}

/// State: α, what was marked, and how many rounds have passed.
#[derive(Debug)]
pub struct Prague {
    p: Params,
    alpha: Ewma,
    marks: MarkedFraction,
    updated: Instant,
    rounds: u32,
}

impl Algorithm for Prague {
    const ABOUT: About = About {
        name: "prague",
        title: "Prague",
        paper: "draft-briscoe-iccrg-prague-congestion-control-04",
        family: Family::Ecn,
        signal: "fraction of marked bytes (L4S)",
        evidence: Evidence::Equations,
        departures: &[
            "a loss halves, where the draft leaves the choice between Reno and CUBIC",
            "no detection of classic AQMs, which the draft leaves to future work",
            "the window moves in whole packets",
        ],
        ecn: Ecn::L4s,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        Prague {
            p: p.clone(),
            alpha: Ewma::starting_at(p.gain, 1.0),
            marks: MarkedFraction::default(),
            updated: setup.flow.now,
            rounds: 0,
        }
    }
}

impl Prague {
    fn virtual_rtt(&self, flow: &Flow) -> Duration {
        if self.rounds < self.p.transition { flow.srtt } else { flow.srtt.max(self.p.virtual_rtt) }
    }

    /// Packets a round in avoidance.
    fn growth(&self, flow: &Flow) -> f64 {
        let ratio = flow.srtt / self.virtual_rtt(flow);
        if flow.srtt.is_zero() { 1.0 } else { ratio * ratio }
    }
}

impl CongestionControl for Prague {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rounds = self.rounds.saturating_add(u32::from(ack.round.is_some()));
        // The end of the first round past RTT_virt.
        let over = ack.round.is_some() && flow.now.since(self.updated) + flow.srtt / 2 >= self.virtual_rtt(flow);
        if let Some(fraction) = self.marks.see(ack, over) {
            self.alpha.update(fraction);
            self.updated = flow.now;
        }
        if flow.may_grow() {
            let acked = if flow.in_slow_start() { flow.slow_start(ack.cumulative) } else { ack.cumulative };
            let unmarked = acked.saturating_sub(ack.ce);
            if !unmarked.is_zero() {
                flow.additive(flow.cwnd.mul_f64(1.0 / self.growth(flow)), unmarked);
            }
        }
        if !flow.srtt.is_zero() {
            let ahead = if flow.in_slow_start() { 2 } else { 1 };
            flow.pacing = Some((flow.cwnd.max(flow.mss) * ahead / flow.srtt).max(units::Rate::from_bps(1)));
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let alpha = self.alpha.get().unwrap_or(1.0);
        let part = if congestion.signal == Signal::Ecn { alpha / 2.0 } else { 0.5 };
        Reaction::Reduce(flow.cwnd.mul_f64(1.0 - part))
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha.get().unwrap_or(1.0));
        see("rounds", self.rounds as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, closing, congestion, flow, ms, packets};
    use units::{Rate, Rng};

    fn prague(f: &mut Flow, transition: u32) -> Prague {
        let p = Params { transition, ..Params::default() };
        Prague::new(&p, Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
    }

    #[test]
    fn a_short_rtt_grows_as_one_of_25_ms_once_the_flow_is_old() {
        // (10/25)² = 0.16 packets a round, so that a second brings 16 packets instead of 100; at 25 ms it brings 40.
        for (rtt, transition, growth) in [(10, 0, 0.16), (10, 500, 1.0), (50, 0, 1.0)] {
            let mut f = flow(20, rtt);
            assert!((prague(&mut f, transition).growth(&f) - growth).abs() < 1e-12);
        }
        let mut f = flow(20, 10);
        f.ssthresh = packets(2);
        let mut cc = prague(&mut f, 0);
        for n in 0..125 {
            assert_eq!(f.cwnd, packets(20), "packet {n}");
            cc.on_ack(&mut f, &ack(1, 10));
        }
        assert_eq!(f.cwnd, packets(21), "20 packets in 6.25 rounds");
        assert_eq!(f.pacing, Some(Rate::from_mbps(16.8)), "21 kB in 10 ms");
    }

    #[test]
    fn alpha_moves_once_in_a_virtual_rtt_and_a_mark_takes_half_of_it() {
        let mut f = flow(100, 10);
        let mut cc = prague(&mut f, 0);
        let mut seen = std::vec::Vec::new();
        for n in 1..=6u64 {
            f.now = Instant::ZERO + ms(10 * n);
            cc.on_ack(&mut f, &closing(10, 10));
            seen.push(cc.alpha.get().unwrap());
        }
        // At 20 ms the next round would end beyond 25; so at 50.
        assert_eq!(seen, [1.0, 0.9375, 0.9375, 0.87890625, 0.87890625, 0.823974609375]);
        f.cwnd = packets(1000);
        let c = congestion(Signal::Ecn, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        assert!(to.get().abs_diff(588_013) <= 1, "{to:?}");
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(500)));
    }

    #[test]
    fn marked_data_earns_no_growth() {
        let mut f = flow(10, 50);
        f.ssthresh = packets(2);
        let mut cc = prague(&mut f, 0);
        for _ in 0..10 {
            cc.on_ack(&mut f, &Ack { ce: packets(1), ..ack(1, 50) });
        }
        assert_eq!(f.cwnd, packets(10));
        (0..10).for_each(|_| cc.on_ack(&mut f, &ack(1, 50)));
        assert_eq!(f.cwnd, packets(11));
    }
}
