//! Westwood, the first: the rate of every ACK, filtered, tells what the path carries, and that is what a loss leaves.
//!
//! ```text
//! every ACK:  b = acknowledged / time since the ACK before       (a duplicate ACK counts one segment)
//! estimate:   BE = α·BE + (1 − α)·(b + b_before)/2,  α = (2τ − Δ)/(2τ + Δ); silence counts as b = 0 every τ/2
//! loss:       ssthresh = BE·RTT_min, and the window if it is larger
//! timeout:    ssthresh = BE·RTT_min, the window one packet;  growth as Reno
//! ```
//! Source: Mascolo, Casetti, Gerla, Sanadidi and Wang, MobiCom 2001. ACKs that arrive in bunches look like bandwidth to
//! it, which is what Westwood+ (`westwood`), CRB and ABSE mend.

use super::westwood::{carried, down_to, weighed};
use crate::host::{AckRate, DataRtt};
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};
use units::{Bytes, Duration};

params::params! {
    /// One constant of the paper.
    pub struct Params {
        /// Memory of the filter (τ; the paper's cut-off).
        tau: Duration = Duration::from_millis(500), Duration::from_millis(10) => Duration::from_secs(60);
    }
}

/// State: the estimate and RTT_min.
#[derive(Debug)]
pub struct WestwoodBe {
    be: AckRate,
    rtts: DataRtt,
}

impl Algorithm for WestwoodBe {
    const ABOUT: About = About {
        name: "westwood_be",
        title: "Westwood",
        paper: "Mascolo, Casetti, Gerla, Sanadidi and Wang, TCP Westwood: bandwidth estimation for enhanced transport over \
                wireless links, MobiCom 2001",
        family: Family::DelaySensitive,
        signal: "loss, rate of every ACK",
        evidence: Evidence::Equations,
        departures: &[
            "what an ACK acknowledges is told by the host's scoreboard, not by counting duplicate ACKs",
            "ACKs that arrive at one instant are one sample with the next",
            "the paper has no least silence; that of 10 ms after whole steps is the authors' code's",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        WestwoodBe { be: AckRate::new(p.tau), rtts: DataRtt::of(setup.flow) }
    }
}

impl CongestionControl for WestwoodBe {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        self.be.see(flow.now, ack.delivered);
        flow.grow_as_reno(ack.cumulative);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        down_to(carried(self.be.get(), self.rtts.base(), flow), flow, congestion.signal)
    }

    fn weighed(&self, _: &Flow) -> [Bytes; 2] {
        weighed(self.be.get(), self.rtts.base())
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("be_mbps", self.be.get().unwrap_or(0.0) * 8e-6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::testing::{ack, congestion, flow, packets};
    use units::{Instant, Rng};

    /// A packet every ms: 1 MB/s, 100 packets in 100 ms.
    fn after_a_second(f: &mut Flow) -> WestwoodBe {
        let mut cc = WestwoodBe::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true });
        for n in 0..1000 {
            f.now = Instant::from_millis(n);
            f.cwnd = packets(150);
            cc.on_ack(f, &ack(1, 120));
        }
        f.cwnd = packets(150);
        cc
    }

    #[test]
    fn a_loss_leaves_the_bandwidth_delay_product_and_a_smaller_window_alone() {
        let mut f = flow(150, 100);
        let mut cc = after_a_second(&mut f);
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
        assert!(to.get().abs_diff(100_000) <= 1, "{to:?}");
        f.cwnd = packets(60);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(60)));
        let c = congestion(Signal::Timeout, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(to));
    }

    #[test]
    fn before_the_first_sample_a_loss_halves() {
        let mut f = flow(20, 100);
        let mut cc =
            WestwoodBe::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(10)));
    }
}
