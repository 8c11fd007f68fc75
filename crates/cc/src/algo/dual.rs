//! DUAL: hold the RTT half-way between the smallest and the largest seen, giving up an eighth when it is above.
//!
//! ```text
//! th = RTT_min + δ·(RTT_max − RTT_min)                δ = 1/2
//! every second round:  RTT > th: cwnd = 7/8·cwnd
//! else:                cwnd += 1 a round, as Reno
//! timeout:             ssthresh = cwnd/2, cwnd = 1, and RTT_min and RTT_max are forgotten
//! ```
//! Source: Wang and Crowcroft, CCR 22(2), 1992, as the HLDG thesis tells it in section 2.4.1.1 (Eq 2.5). Every second
//! round, so that the effect of the last cut is seen first; the thesis writes "every other ACK", which at 7/8 each would
//! close the window within a round.

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, How, Reaction, Round, Setup,
    Signal, causes,
};
use units::Duration;

params::params! {
    /// Values of the paper.
    pub struct Params {
        /// Where between the smallest and the largest RTT the threshold lies (δ).
        delta: f64 = 0.5, 0.05 => 0.95;
        /// What a delay back-off leaves of the window.
        beta_delay: f64 = 0.875, 0.1 => 0.99;
    }
}

/// State: the extremes of the RTT since the last timeout, and which of two rounds this is.
#[derive(Debug)]
pub struct Dual {
    p: Params,
    extremes: Option<(Duration, Duration)>,
    judges: bool,
}

impl Algorithm for Dual {
    const ABOUT: About = About {
        name: "dual",
        title: "DUAL",
        paper: "Wang and Crowcroft, Eliminating periodic packet losses in the 4.3-Tahoe BSD TCP congestion control \
                algorithm, ACM CCR 22(2), 1992",
        family: Family::Delay,
        signal: "queueing delay every second round",
        evidence: Evidence::Equations,
        departures: &[
            "delay is judged in congestion avoidance only: in slow start each round's queue is the largest so far",
            "a loss found by ACKs halves the window; the paper's Tahoe waits for the timeout",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Dual { p: p.clone(), extremes: None, judges: false }
    }
}

impl Dual {
    fn threshold(&self) -> Option<Duration> {
        self.extremes.map(|(min, max)| min + (max - min).mul_f64(self.p.delta))
    }

    /// Returns whether the window was cut.
    fn end_of_round(&mut self, flow: &mut Flow, round: &Round) -> bool {
        self.judges = !self.judges;
        let rtt = if round.marked_rtt.is_zero() { round.min_rtt } else { round.marked_rtt };
        let over = self.threshold().is_some_and(|th| rtt > th);
        if !(self.judges && over && flow.may_grow() && !flow.in_slow_start()) {
            return false;
        }
        let queue = self.extremes.map_or(0, |(min, _)| rtt.saturating_sub(min).as_nanos() as i64);
        let cause = causes::DelayBackoff { queue, ..Default::default() };
        flow.reduce(flow.cwnd.mul_f64(self.p.beta_delay), How::AtOnce, cause);
        true
    }
}

impl CongestionControl for Dual {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.extremes = Some(self.extremes.map_or((rtt, rtt), |(min, max)| (min.min(rtt), max.max(rtt))));
        }
        let cut = ack.round.as_ref().is_some_and(|round| self.end_of_round(flow, round));
        if !cut && flow.may_grow() {
            flow.grow_as_reno(ack.cumulative);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        if congestion.signal == Signal::Timeout {
            self.extremes = None;
        }
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn on_event(&mut self, _: &mut Flow, event: Event) {
        if event == Event::Timeout {
            self.extremes = None;
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("threshold_ms", self.threshold().map_or(0.0, Duration::as_millis_f64));
    }
}

#[cfg(test)]
mod tests;
