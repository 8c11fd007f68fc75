//! Tahoe: any loss sends the window back to one packet and the sender back to the first hole.
//!
//! ```text
//! slow start:   cwnd += MSS per ACK, up to ssthresh
//! avoidance:    cwnd += MSS per cwnd acknowledged
//! any loss:     ssthresh = cwnd / 2,  cwnd = MSS, and everything outstanding is sent again
//! ```
//! Source: Jacobson, SIGCOMM 1988, as 4.3BSD-Tahoe had it: fast retransmit on the third duplicate ACK, no fast recovery.
//! Growth is Reno's of RFC 5681; resending without SACK is the host's (`Recovery::Tahoe`).

use super::newreno::{self, NewReno};
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Ecn, Evidence, Family, Flow, Reaction, Recovery, Setup,
    Signal,
};

params::params! {
    /// The factor is the paper's; there is nothing else to set.
    pub struct Params {
        /// What part of the window `ssthresh` becomes.
        beta: f64 = 0.5, 0.1 => 0.95;
    }
}

/// State: Reno's, for growth.
#[derive(Debug)]
pub struct Tahoe {
    beta: f64,
    reno: NewReno,
}

impl Algorithm for Tahoe {
    const ABOUT: About = About {
        name: "tahoe",
        title: "Tahoe",
        paper: "Jacobson, Congestion Avoidance and Control, SIGCOMM 1988",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &["halves the window, where RFC 5681 halves what is in flight"],
        recovery: Some(Recovery::Tahoe),
        ecn: Ecn::Off,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let rfc = newreno::Params { reference: newreno::Reference::Rfc, ..Default::default() };
        Tahoe { beta: p.beta, reno: NewReno::new(&rfc, setup) }
    }
}

impl CongestionControl for Tahoe {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.reno.on_ack(flow, ack);
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let to = flow.cwnd.mul_f64(self.beta);
        if congestion.signal == Signal::Loss { Reaction::ResendAll(to) } else { Reaction::Reduce(to) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, flow, packets};
    use std::vec::Vec;
    use units::Rng;

    #[test]
    fn a_loss_starts_slowly_from_one_packet_to_half_the_window() {
        // Reference, section 1.1: from 20 packets ssthresh 10, then 1, 2, 4, 8, 10, 11, 12.
        let mut f = flow(20, 100);
        let mut cc = Tahoe::new(&Params::default(), Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::ResendAll(packets(10)));
        (f.ssthresh, f.cwnd) = (packets(10), packets(1));
        let mut round = |_| {
            let window = f.cwnd.get() / 1000;
            (0..window).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
            f.cwnd.get() / 1000
        };
        assert_eq!((0..6).map(&mut round).collect::<Vec<_>>(), [2, 4, 8, 10, 11, 12]);
    }

    #[test]
    fn a_timeout_resends_by_the_hosts_rule() {
        let mut f = flow(20, 100);
        let mut cc = Tahoe::new(&Params { beta: 0.7 }, Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true });
        let c = congestion(Signal::Timeout, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(14)));
    }
}
