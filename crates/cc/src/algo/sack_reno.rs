//! SACK Reno: Reno's window with the repair of selective acknowledgements, so that any number of losses in a window is one
//! congestion and one recovery.
//!
//! ```text
//! slow start, avoidance, loss:  as Reno: +MSS per ACK; +MSS per cwnd; ssthresh = cwnd / 2
//! recovery (the host's):        pipe = what is outstanding and neither SACKed nor lost; send while pipe < cwnd:
//!                               first the holes with three SACKed segments above, then new data
//! ```
//! Source: Fall and Floyd, Simulation-based comparisons of Tahoe, Reno, and SACK TCP, CCR 26(3), 1996; RFC 5681 and RFC 6675.
//! On every stack it repairs as RFC 6675 does, without RACK, tail probes or proportional rate reduction: `newreno` is the
//! same window with the stack's own.

use super::newreno::{self, NewReno};
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Recovery, Setup};

params::params! {
    /// The factor is RFC 5681's; there is nothing else to set.
    pub struct Params {
        /// What congestion leaves of the window.
        beta: f64 = 0.5, 0.1 => 0.95;
    }
}

/// State: NewReno's.
#[derive(Debug)]
pub struct SackReno(NewReno);

impl Algorithm for SackReno {
    const ABOUT: About = About {
        name: "sack_reno",
        title: "SACK Reno",
        paper: "Fall and Floyd, Simulation-based comparisons of Tahoe, Reno, and SACK TCP, CCR 26(3), 1996; RFC 6675",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &["halves the window, where RFC 5681 halves what is in flight"],
        recovery: Some(Recovery::Sack),
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let rfc = newreno::Params { reference: newreno::Reference::Rfc, beta: p.beta, ..Default::default() };
        SackReno(NewReno::new(&rfc, setup))
    }
}

impl CongestionControl for SackReno {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.0.on_ack(flow, ack);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        self.0.on_congestion(flow, congestion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::testing::{ack, congestion, flow, packets};
    use units::{Bytes, Rng};

    fn sack_reno(f: &mut Flow) -> SackReno {
        SackReno::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
    }

    #[test]
    fn five_acks_of_two_make_ten_packets_eleven_and_fifteen_in_slow_start() {
        // Reference, section 1.2.
        for (ssthresh, grown) in [(5, 11), (100, 15)] {
            let mut f = flow(10, 100);
            f.ssthresh = packets(ssthresh);
            let mut cc = sack_reno(&mut f);
            (0..5).for_each(|_| cc.on_ack(&mut f, &ack(2, 100)));
            assert_eq!(f.cwnd, packets(grown));
        }
    }

    #[test]
    fn a_loss_leaves_half() {
        let mut f = flow(15, 100);
        let c = congestion(Signal::Loss, &f);
        assert_eq!(sack_reno(&mut f).on_congestion(&mut f, &c), Reaction::Reduce(Bytes::new(7_500)));
    }
}
