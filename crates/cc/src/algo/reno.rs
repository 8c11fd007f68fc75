//! Reno: NewReno with the recovery of 1990, which ends on the first new ACK, so that each further loss of a window
//! halves it again or waits for the timer.
//!
//! ```text
//! slow start:   cwnd += MSS per ACK, up to ssthresh
//! avoidance:    cwnd += MSS per cwnd acknowledged
//! loss:         ssthresh = cwnd / 2
//! ```
//! Source: RFC 5681 (RFC 2581 before it). Recovery without SACK is the host's (`Recovery::Reno`); with it, see
//! `sack_reno`.

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
pub struct Reno(NewReno);

impl Algorithm for Reno {
    const ABOUT: About = About {
        name: "reno",
        title: "Reno",
        paper: "RFC 5681; Jacobson, Modified TCP congestion avoidance algorithm, 1990",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &["halves the window, where RFC 5681 halves what is in flight"],
        recovery: Some(Recovery::Reno),
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let rfc = newreno::Params { reference: newreno::Reference::Rfc, beta: p.beta, ..Default::default() };
        Reno(NewReno::new(&rfc, setup))
    }
}

impl CongestionControl for Reno {
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

    fn reno(f: &mut Flow) -> Reno {
        Reno::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
    }

    #[test]
    fn five_acks_of_two_make_ten_packets_eleven() {
        // Reference, section 1.2.
        let mut f = flow(10, 100);
        f.ssthresh = packets(5);
        let mut cc = reno(&mut f);
        (0..5).for_each(|_| cc.on_ack(&mut f, &ack(2, 100)));
        assert_eq!(f.cwnd, packets(11));
    }

    #[test]
    fn delayed_acks_grow_by_half_in_slow_start_and_a_loss_halves() {
        let mut f = flow(10, 100);
        let mut cc = reno(&mut f);
        (0..5).for_each(|_| cc.on_ack(&mut f, &ack(2, 100)));
        assert_eq!(f.cwnd, packets(15));
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(Bytes::new(7_500)));
    }
}
