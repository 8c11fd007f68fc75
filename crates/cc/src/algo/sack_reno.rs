//! SACK Reno: Reno's window with the repair of selective acknowledgements, so that any number of losses in a window is one
//! congestion and one recovery.
//!
//! ```text
//! slow start, avoidance, loss:  as Reno: +MSS per ACK; +MSS per cwnd; ssthresh = cwnd / 2
//! recovery (the host's):        pipe = what is outstanding and neither SACKed nor lost; send while pipe < cwnd:
//!                               first the holes with three SACKed segments above, then new data
//! ```
//! Source: Fall and Floyd, Simulation-based comparisons of Tahoe, Reno, and SACK TCP, CCR 26(3), 1996; RFC 5681 and RFC 6675.
//! It repairs as RFC 6675 does, without RACK, tail probes or proportional rate reduction; on `freebsd-11` as FreeBSD's SACK
//! sender, which keeps no pipe. `newreno` is the same window with the stack's own.

use super::reno::{self, Reno};
use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Flow, Reaction, Recovery, Setup};

/// State: Reno's.
#[derive(Debug)]
pub struct SackReno(Reno);

impl Algorithm for SackReno {
    const ABOUT: About = About {
        name: "sack_reno",
        title: "SACK Reno",
        paper: "Fall and Floyd, Simulation-based comparisons of Tahoe, Reno, and SACK TCP, CCR 26(3), 1996; RFC 6675",
        recovery: Some(Recovery::Sack),
        ..Reno::ABOUT
    };
    type Params = reno::Params;

    fn new(p: &reno::Params, setup: Setup<'_>) -> Self {
        SackReno(Reno::new(p, setup))
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
    use crate::testing::{ack, congestion, flow, packets};
    use crate::{Setup, Signal};
    use units::{Bytes, Rng};

    #[test]
    fn it_is_reno_but_for_the_repair() {
        assert_eq!(Reno::ABOUT.recovery, Some(Recovery::Reno));
        assert_eq!(SackReno::ABOUT.recovery, Some(Recovery::Sack));
        let mut f = flow(15, 100);
        f.ssthresh = packets(5);
        let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
        let mut cc = SackReno::new(&reno::Params::default(), setup);
        (0..8).for_each(|_| cc.on_ack(&mut f, &ack(2, 100)));
        assert_eq!(f.cwnd, packets(16));
        let c = congestion(Signal::Loss, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(Bytes::new(8_000)));
    }

    #[test]
    fn loss_mark_and_timeout_halve() {
        for (signal, window, left) in [(Signal::Loss, 100, 50), (Signal::Timeout, 20, 10), (Signal::Ecn, 40, 20)] {
            let mut f = flow(window, 100);
            let setup = Setup { flow: &mut f, rng: Rng::new(1, 0, 0), own_start: true };
            let mut cc = SackReno::new(&reno::Params::default(), setup);
            let c = congestion(signal, &f);
            assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(left)), "{signal:?}");
        }
    }
}
