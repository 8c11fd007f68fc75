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
mod tests;
