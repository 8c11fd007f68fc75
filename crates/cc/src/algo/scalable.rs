//! Scalable TCP: grow and shrink in proportion to the window, so that recovering from a loss takes the same number of
//! rounds at any speed.
//!
//! ```text
//! avoidance:    cwnd += a·acked                 a = 0.01: one per cent more a round
//! congestion:   cwnd −= b·cwnd                  b = 1/8
//! cwnd ≤ lwnd:  as Reno, +1 a round and half on congestion        lwnd = 16 packets
//! ```
//! Source: Kelly, CCR 33(2), 2003 (`paper`); at lwnd the response curve meets Reno's. Linux 6.1 (`linux`) has no lwnd:
//! it grows by the larger of the two rules, and always gives up an eighth, of whole segments.

use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};
use units::Bytes;

params::choice! {
    /// Whose rule for small windows.
    pub enum Reference {
        /// Kelly's: Reno up to the legacy window.
        Paper = "paper",
        /// Linux 6.1: Reno's growth while it is faster.
        Linux = "linux",
    }
}

params::params! {
    /// a, b and lwnd as published.
    pub struct Params {
        /// Whose rule for small windows.
        reference: Reference = Reference::Paper;
        /// Growth for each acknowledged packet, in packets (a; Linux up to 5.x had 0.02 to offset delayed ACKs).
        growth: f64 = 0.01, 0.0001 => 1.0;
        /// What part of the window congestion takes (b).
        cut: f64 = 0.125, 0.01 => 0.9;
        /// Up to so many packets it is Reno (lwnd; the paper's).
        legacy_window: f64 = 16.0, 0.0 => 10_000.0;
    }
    check |p| { p.need(&Params::default(), &["legacy_window"], p.reference == Reference::Paper, "reference=paper") }
}

/// State: none beyond the window.
#[derive(Debug)]
pub struct Scalable {
    p: Params,
}

impl Algorithm for Scalable {
    const ABOUT: About = About {
        name: "scalable",
        title: "Scalable TCP",
        paper: "Kelly, Scalable TCP, ACM CCR 33(2), 2003",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &["grows by acknowledged packets, where the paper counts ACKs: delayed ACKs do not halve its pace"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Scalable { p: p.clone() }
    }
}

impl Scalable {
    fn is_legacy(&self, flow: &Flow) -> bool {
        self.p.reference == Reference::Paper && flow.cwnd.packets(flow.mss) <= self.p.legacy_window
    }

    /// How much must be acknowledged for one segment more.
    fn per_segment(&self, flow: &Flow) -> Bytes {
        let proportional = flow.mss.mul_f64(1.0 / self.p.growth);
        match self.p.reference {
            Reference::Linux => flow.cwnd.min(proportional),
            Reference::Paper if self.is_legacy(flow) => flow.cwnd,
            Reference::Paper => proportional,
        }
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        flow.grow(ack.cumulative, |flow| self.per_segment(flow));
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        let cut = if self.is_legacy(flow) { flow.cwnd / 2 } else { flow.cwnd.mul_f64(self.p.cut) };
        Reaction::Reduce(match self.p.reference {
            Reference::Paper => flow.cwnd - cut,
            Reference::Linux => flow.cwnd - flow.mss * (cut.get() / flow.mss.get()),
        })
    }
}

#[cfg(test)]
mod tests;
