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
        /// Up to so many packets it is Reno (lwnd; unused with reference=linux).
        legacy_window: f64 = 16.0, 0.0 => 10_000.0;
    }
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
        if !flow.may_grow() {
            return;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        if !acked.is_zero() {
            flow.additive(self.per_segment(flow), acked);
        }
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
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, flow, packets};
    use crate::{Signal, build};
    use std::boxed::Box;
    use units::Rng;

    fn scalable(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
        build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
    }

    /// The window in bytes after one loss.
    fn after_loss(spec: &str, cwnd: u64) -> u64 {
        let mut f = flow(cwnd, 100);
        let mut cc = scalable(spec, &mut f);
        let c = congestion(Signal::Loss, &f);
        match cc.on_congestion(&mut f, &c) {
            Reaction::Reduce(to) => to.get(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_loss_takes_an_eighth_and_half_of_a_legacy_window() {
        // Linux 100 → 88: the eighth, 12.5, in whole segments.
        for (spec, cwnd, to) in [
            ("scalable", 1000, 875_000),
            ("scalable", 100, 87_500),
            ("scalable", 16, 8_000),
            ("scalable(reference=linux)", 1000, 875_000),
            ("scalable(reference=linux)", 100, 88_000),
            ("scalable(reference=linux)", 16, 14_000),
        ] {
            assert_eq!(after_loss(spec, cwnd), to, "{spec} from {cwnd}");
        }
    }

    /// Packets gained in one round of avoidance.
    fn gained(spec: &str, cwnd: u64) -> u64 {
        let mut f = flow(cwnd, 100);
        f.ssthresh = packets(5);
        let mut cc = scalable(spec, &mut f);
        for _ in 0..cwnd {
            cc.on_ack(&mut f, &ack(1, 100));
        }
        f.cwnd.get() / 1000 - cwnd
    }

    #[test]
    fn a_round_adds_one_per_cent_and_one_packet_where_it_is_reno() {
        assert_eq!([16, 50, 1000].map(|w| gained("scalable", w)), [1, 0, 10]);
        assert_eq!([16, 50, 1000].map(|w| gained("scalable(reference=linux)", w)), [1, 1, 10]);
        assert_eq!(gained("scalable(growth=0.02)", 1000), 20);
    }

    #[test]
    fn recovery_takes_as_many_rounds_at_any_speed() {
        // ln(1/(1 − b)) / ln(1 + a): 13.4 rounds, at 1,000 packets as at 10,000.
        for cwnd in [1_000, 10_000] {
            let mut f = flow(cwnd, 100);
            let mut cc = scalable("scalable", &mut f);
            let c = congestion(Signal::Loss, &f);
            let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
            (f.cwnd, f.ssthresh) = (to, to);
            let mut rounds = 0;
            while f.cwnd < packets(cwnd) {
                for _ in 0..f.cwnd.get() / 1000 {
                    cc.on_ack(&mut f, &ack(1, 100));
                }
                rounds += 1;
            }
            assert_eq!(rounds, 14, "from {cwnd}");
        }
    }
}
