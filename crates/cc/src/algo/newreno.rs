//! NewReno: double every round until congestion, then one packet more per round, half on congestion.
//!
//! ```text
//! slow start (cwnd < ssthresh):  cwnd += min(acked, L·MSS)
//! avoidance:                     cwnd += MSS per cwnd acknowledged
//! congestion:                    ssthresh = beta·cwnd
//! ```
//! Source: RFC 5681 and RFC 6582. Partial ACKs and the end of recovery are the host's (`tcp`). The references differ in
//! L: 1 in RFC 5681 (delayed ACKs then grow by half a window per round), without limit in Linux, 2 in FreeBSD (RFC 3465;
//! 1 while what a timeout found lost is sent again). FreeBSD also takes `cwnd == ssthresh` for slow start and cuts to whole
//! segments, two at least; a repair may leave it one.
//!
//! `abe` (RFC 8511): a mark comes from a short queue that a smaller cut does not empty, so it leaves `beta_ecn·cwnd`.

use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup, Signal};
use units::Bytes;

params::choice! {
    /// Whose slow start and rounding.
    pub enum Reference {
        /// RFC 5681.
        Rfc = "rfc",
        /// Linux 6.1.
        Linux = "linux",
        /// FreeBSD 11.
        FreeBsd = "freebsd",
    }
}

params::params! {
    /// RFC 5681 has no constants to set but the factor of decrease.
    pub struct Params {
        /// Whose slow start and rounding.
        reference: Reference = Reference::Linux;
        /// What congestion leaves of the window.
        beta: f64 = 0.5, 0.1 => 0.95;
        /// Alternative back-off with ECN: a mark leaves `beta_ecn` of the window instead of `beta`.
        abe: bool = false;
        /// What a mark leaves of the window with `abe` (RFC 8511, section 3.1: 0.8 for Reno; 0.7 to 0.85 were studied).
        beta_ecn: f64 = 0.8, 0.1 => 0.99;
    }
    check |p| { p.need(&Params::default(), &["beta_ecn"], p.abe, "abe=true") }
}

/// State: none beyond the window.
#[derive(Debug)]
pub struct NewReno {
    p: Params,
}

impl Algorithm for NewReno {
    const ABOUT: About = About {
        name: "newreno",
        title: "NewReno",
        paper: "RFC 5681, RFC 6582; ABE: RFC 8511",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &[
            "halves the window, as Linux and FreeBSD do, where the RFC halves what is in flight",
            "grows by whole segments: fractions are kept until they make one",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        if p.reference == Reference::FreeBsd {
            setup.flow.follow_freebsd();
        }
        NewReno { p: p.clone() }
    }
}

impl NewReno {
    fn ssthresh(&self, flow: &Flow, signal: Signal) -> Bytes {
        let marked = signal == Signal::Ecn && self.p.abe;
        let to = flow.cwnd.mul_f64(if marked { self.p.beta_ecn } else { self.p.beta });
        if self.p.reference == Reference::Rfc {
            return to;
        }
        flow.segments(to)
    }
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        // L is 1 here; FreeBSD's is the flow's.
        let limited = self.p.reference == Reference::Rfc && flow.in_slow_start();
        flow.grow_as_reno(if limited { ack.cumulative.min(flow.mss) } else { ack.cumulative });
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        Reaction::Reduce(self.ssthresh(flow, congestion.signal))
    }
}

#[cfg(test)]
mod tests;
