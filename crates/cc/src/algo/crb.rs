//! TCPW CRB, combined rate and bandwidth estimation: what a loss leaves is the achieved rate where the window says that
//! a queue was built, and the ACKs' bandwidth where the loss looks random.
//!
//! ```text
//! RE = acknowledged in the last T / T          BE = Westwood's filtered rate of every ACK
//! at a loss:  cwnd / (RE·RTT_min) > θ          more in flight than the rate explains: congestion, take RE
//!             otherwise                        a random loss: take BE
//! ssthresh = the estimate·RTT_min, and the window if it is larger;  growth as Reno
//! ```
//! Source: Wang, Valla, Sanadidi, Ng and Gerla, Efficiency/friendliness tradeoffs in TCP Westwood, ISCC 2002, as section
//! 2.4.4.2 of the HLDG thesis tells it. The thesis prints the comparison the other way round ("smaller than a
//! threshold"), which would take the low estimate for random losses and the high one for a full queue.

use super::westwood::{carried, down_to, weighed};
use crate::host::{AckRate, DataRtt, RecentRate};
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};
use units::{Bytes, Duration};

params::params! {
    /// The threshold is the thesis' example; the two times are from memory.
    pub struct Params {
        /// A window larger than this many times what the achieved rate explains means congestion (θ).
        theta: f64 = 1.4, 1.0 => 10.0;
        /// The achieved rate is that of the last so long (T).
        span: Duration = Duration::from_millis(500), Duration::from_millis(10) => Duration::from_secs(60);
        /// Memory of the filter of ACK rates (τ).
        tau: Duration = Duration::from_millis(500), Duration::from_millis(10) => Duration::from_secs(60);
    }
}

/// State: both estimates and RTT_min.
#[derive(Debug)]
pub struct Crb {
    p: Params,
    be: AckRate,
    re: RecentRate,
    achieved: Option<f64>,
    rtts: DataRtt,
}

impl Algorithm for Crb {
    const ABOUT: About = About {
        name: "crb",
        title: "TCPW CRB",
        paper: "Wang, Valla, Sanadidi, Ng and Gerla, Efficiency/friendliness tradeoffs in TCP Westwood, ISCC 2002",
        family: Family::DelaySensitive,
        signal: "loss, rate of every ACK and of a fixed time",
        evidence: Evidence::Memory,
        departures: &[
            "read from the thesis' summary, with the comparison at a loss turned round (see above)",
            "the lengths of T and of the filter are from memory: the summary gives none",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let rtts = DataRtt::of(setup.flow);
        Crb { p: p.clone(), be: AckRate::new(p.tau), re: RecentRate::new(), achieved: None, rtts }
    }
}

impl Crb {
    /// The rate that a loss now would leave.
    fn chosen(&self, flow: &Flow) -> Option<f64> {
        let explained = carried(self.achieved, self.rtts.base(), flow);
        let congested = flow.cwnd.as_f64() > self.p.theta * explained.as_f64();
        if congested { self.achieved } else { self.be.get() }
    }
}

impl CongestionControl for Crb {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        self.be.see(flow.now, ack.delivered);
        self.re.see(flow.now, ack.delivered, self.p.span);
        self.achieved = self.re.over(flow.now, self.p.span);
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        down_to(carried(self.chosen(flow), self.rtts.base(), flow), flow, congestion.signal)
    }

    fn weighed(&self, flow: &Flow) -> [Bytes; 2] {
        weighed(self.chosen(flow), self.rtts.base())
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("be_mbps", self.be.get().unwrap_or(0.0) * 8e-6);
        see("re_mbps", self.achieved.unwrap_or(0.0) * 8e-6);
    }
}

#[cfg(test)]
mod tests;
