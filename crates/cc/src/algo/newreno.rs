//! NewReno: double every round until congestion, then one packet more per round, half on congestion.
//!
//! ```text
//! slow start (cwnd < ssthresh):  cwnd += acked
//! avoidance:                     cwnd += MSS per cwnd acknowledged
//! congestion:                    ssthresh = cwnd / 2
//! ```
//! Source: RFC 5681 and RFC 6582; partial-ACK repair is the host's (`tcp`).

use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};

params::params! {
    /// RFC 5681 has no constants to set but the factor of decrease.
    pub struct Params {
        /// What congestion leaves of the window.
        beta: f64 = 0.5, 0.1 => 0.95;
    }
}

/// State: none beyond the window.
#[derive(Debug)]
pub struct NewReno {
    beta: f64,
}

impl Algorithm for NewReno {
    const ABOUT: About = About {
        name: "newreno",
        title: "NewReno",
        paper: "RFC 5681, RFC 6582",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &["halves the window as Linux does, where the RFC halves what is in flight"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        NewReno { beta: p.beta }
    }
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if !flow.cwnd_limited || flow.phase == crate::Phase::Recovery {
            return;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        if !acked.is_zero() {
            flow.additive(flow.cwnd, acked);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd.mul_f64(self.beta))
    }
}
