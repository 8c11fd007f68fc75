//! Cx-TCP, coexistent TCP: back off at random by the queueing delay, the likelier the longer it is, up to a threshold;
//! beyond that the less likely, since such a queue is a loss-based competitor's.
//!
//! ```text
//! on every packet, at most one hit per RTT, X uniform:   w = β·w if X < P(q), else + 1/w
//! P(q):   0                                    q ≤ q_min
//!         to p_max at q_th, a straight line    region A
//!         to p_end at q_max, a straight line   region B        q_max = RTT_max − RTT_min
//! loss:   w / 2
//! ```
//! A buffer that holds less than q_th knows no region B, and no coexistence. [HD](super::hd) is the case p_end = 0 without
//! the limit of one back-off per RTT.
//!
//! Source: Budzisz, Stanojević, Schlote, Shorten and Baker, On the fair coexistence of loss- and delay-based TCP, IWQoS 2009
//! and IEEE/ACM ToN 19(6), 2011, as the HLDG thesis tells it in section 2.4.2.4 and Figure 2.13.

use super::hd::{Backoff, Hd};
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup};
use params::ParamError;
use units::Duration;

params::params! {
    /// The thesis draws the curve without numbers. q_min, q_th and p_max are those of HD's experiments (CHD paper, section
    /// V), which continue this work; p_end is from memory.
    pub struct Params {
        /// No back-off at or below this queueing delay.
        q_min: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(10);
        /// Where region B begins.
        q_th: Duration = Duration::from_millis(30), Duration::from_millis(1) => Duration::from_secs(10);
        /// Probability of a back-off per packet at q_th.
        p_max: f64 = 0.02, 0.0 => 1.0;
        /// The probability left at the largest delay: "a very small value".
        p_end: f64 = 0.001, 0.0 => 1.0;
        /// What a delay back-off leaves of the window.
        beta_delay: f64 = 0.5, 0.1 => 0.99;
    }
    check |p| {
        p.backoff().check()?;
        if p.p_end <= p.p_max { Ok(()) } else { Err(ParamError::Conflict("cx_tcp: p_end must not exceed p_max (0.001 and 0.02)".into())) }
    }
}

impl Params {
    fn backoff(&self) -> Backoff {
        Backoff { q_min: self.q_min, q_th: self.q_th, p_max: self.p_max, p_end: self.p_end }
    }
}

/// State: HD's.
#[derive(Debug)]
pub struct CxTcp(Hd);

impl Algorithm for CxTcp {
    const ABOUT: About = About {
        name: "cx_tcp",
        title: "Cx-TCP",
        paper: "Budzisz et al., On the fair coexistence of loss- and delay-based TCP, IWQoS 2009; ToN 19(6), 2011",
        family: Family::DualMode,
        signal: "queueing delay per packet; loss",
        evidence: Evidence::Memory,
        departures: &[
            "at most one delay back-off per RTT, as FreeBSD's module of HD: the paper's rule was not at hand",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        CxTcp(Hd::once_per_rtt(p.backoff(), p.beta_delay, setup))
    }
}

impl CongestionControl for CxTcp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.0.on_ack(flow, ack);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.0.on_congestion(flow, congestion)
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        self.0.on_event(flow, event);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.0.vars(see);
    }
}

#[cfg(test)]
mod tests;
