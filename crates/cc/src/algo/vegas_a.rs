//! Vegas-A: Vegas whose α and β move with its own rate, so that a competitor's queue, or a longer path, is worth standing in.
//!
//! ```text
//! Δ = cwnd·(RTT − base) / RTT,   Th = cwnd / RTT of this round, Th' of the one before;      α ≥ α₀, β ≥ β₀
//! α ≤ Δ ≤ β:   Th > Th':  cwnd, α and β += 1;                    otherwise nothing
//! Δ < α:       α > α₀ and Th < Th':  cwnd, α and β −= 1;         α = α₀ or Th > Th':  cwnd += 1
//! Δ > β:       cwnd −= 1, and α and β with it while α > α₀
//! slow start and loss: Vegas'
//! ```
//! Source: Srijith, Jacob and Ananda, TCP Vegas-A: improving the performance of TCP Vegas, Computer Communications 28(4),
//! 2005, as the HLDG thesis tells it in section 2.4.1.3. The thesis leaves α and β alone where Δ > β
//! (`follow_down=false`); then nothing but a falling rate below α brings them back.

use super::vegas::{self, Vegas};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup, StartRule,
    causes,
};
use core::cmp::Ordering;

params::params! {
    /// α₀ = 1 and β₀ = 3 as in Vegas' paper.
    pub struct Params {
        /// Least α, and the first.
        alpha: f64 = 1.0, 0.0 => 1000.0;
        /// β is this much above α.
        width: f64 = 2.0, 0.0 => 1000.0;
        /// α and β follow the window down where more than β packets are queued (original paper, from memory).
        follow_down: bool = true;
    }
}

/// State: Vegas', by how much α and β have risen, and the rate of the round before in packets per second.
#[derive(Debug)]
pub struct VegasA {
    vegas: Vegas,
    p: Params,
    risen: f64,
    delta: f64,
    rate: f64,
}

impl Algorithm for VegasA {
    const ABOUT: About = About {
        name: "vegas_a",
        title: "Vegas-A",
        paper: "Srijith, Jacob and Ananda, TCP Vegas-A: improving the performance of TCP Vegas, Computer Communications 28(4), 2005",
        family: Family::Delay,
        signal: "RTT and rate per round",
        evidence: Evidence::Memory,
        departures: &[
            "α and β fall with the window above β, which the thesis does not say: from memory of the paper",
            "slow start and losses are those of vegas here",
        ],
        start: StartRule::Own("vegas"),
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let vegas = Vegas::new(&vegas::Params::default(), setup);
        VegasA { vegas, p: p.clone(), risen: 0.0, delta: 0.0, rate: 0.0 }
    }
}

impl VegasA {
    /// What the round adds to the window, and to α and β, in packets.
    fn decide(&self, delta: f64, rate: f64) -> (f64, f64) {
        let alpha = self.p.alpha + self.risen;
        let (raised, trend) = (self.risen > 0.0, rate.total_cmp(&self.rate));
        if delta > alpha + self.p.width {
            return (-1.0, if raised && self.p.follow_down { -1.0 } else { 0.0 });
        }
        match (delta < alpha, raised, trend) {
            (true, false, _) | (true, true, Ordering::Greater) => (1.0, 0.0),
            (true, true, Ordering::Less) => (-1.0, -1.0),
            (false, _, Ordering::Greater) => (1.0, 1.0),
            _ => (0.0, 0.0),
        }
    }

    fn end_of_round(&mut self, flow: &mut Flow, round: &crate::Round) {
        let Some((delta, rtt)) = self.vegas.judge(flow, round) else { return };
        let window = if round.cwnd.is_zero() { flow.cwnd } else { round.cwnd };
        let rate = window.packets(flow.mss) / rtt.as_secs_f64();
        let (window, risen) = if self.rate > 0.0 { self.decide(delta, rate) } else { (0.0, 0.0) };
        (self.delta, self.rate) = (delta, rate);
        if window > 0.0 && flow.may_grow() {
            flow.cwnd += flow.mss;
            self.risen += risen;
        } else if window < 0.0 {
            let before = flow.windows();
            flow.cwnd = flow.cwnd.saturating_sub(flow.mss).max(flow.floor);
            flow.ssthresh = flow.ssthresh.min(flow.cwnd);
            self.risen = (self.risen + risen).max(0.0);
            let queue = rtt.saturating_sub(flow.min_rtt).as_nanos() as i64;
            flow.because(causes::DelayBackoff { queue, ..Default::default() }, before);
        }
    }
}

impl CongestionControl for VegasA {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if flow.in_slow_start() {
            return self.vegas.on_ack(flow, ack);
        }
        self.vegas.hear(ack);
        if let Some(round) = ack.round.filter(|_| flow.phase.grows()) {
            self.end_of_round(flow, &round);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.vegas.on_congestion(flow, congestion)
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        self.vegas.on_event(flow, event);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("delta", self.delta);
        see("alpha", self.p.alpha + self.risen);
        see("rate_packets_per_s", self.rate);
    }
}

#[cfg(test)]
mod tests;
