//! HighSpeed TCP: the larger the window, the more it grows and the less it gives up; Reno up to 38 packets.
//!
//! ```text
//! avoidance:   cwnd += a(w) / w per packet acknowledged
//! congestion:  cwnd −= b(w)·cwnd
//! b(w) = ½ + (b_high − ½)·ln(w / w_low) / ln(w_high / w_low)         w_low = 38, w_high = 83000, b_high = 0.1
//! p(w) = 0.078 / w^1.2                                               the loss rate that allows this window
//! a(w) = 2·w²·p(w)·b(w) / (2 − b(w))                                 both Reno's, 1 and ½, up to w_low
//! ```
//! Source: RFC 3649, section 5. The RFC advises limited slow start with it: `slow_start=limited`.

use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup};
use units::math;

params::params! {
    /// Values of RFC 3649, section 5.
    pub struct Params {
        /// Up to so many packets it is Reno (Low_Window).
        low_window: f64 = 38.0, 2.0 => 1000.0;
        /// The window at which the cut is the smallest (High_Window).
        high_window: f64 = 83_000.0, 2_000.0 => 10_000_000.0;
        /// That smallest cut (High_Decrease).
        high_decrease: f64 = 0.1, 0.01 => 0.5;
    }
}

/// State: none beyond the window.
#[derive(Debug)]
pub struct HighSpeed {
    p: Params,
}

impl Algorithm for HighSpeed {
    const ABOUT: About = About {
        name: "highspeed",
        title: "HighSpeed TCP",
        paper: "RFC 3649",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &[
            "a(w) and b(w) are computed where the RFC's appendix and the kernels have a table of 72 steps: what they give \
             is at most one step apart",
            "grows by acknowledged packets; Linux adds at most one packet per ACK",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        HighSpeed { p: p.clone() }
    }
}

impl HighSpeed {
    /// What part of the window congestion takes.
    fn b(&self, w: f64) -> f64 {
        let Params { low_window, high_window, high_decrease } = self.p;
        if w <= low_window {
            return 0.5;
        }
        let way = (math::ln(w / low_window) / math::ln(high_window / low_window)).min(1.0);
        0.5 + (high_decrease - 0.5) * way
    }

    /// Packets gained in a round.
    fn a(&self, w: f64) -> f64 {
        if w <= self.p.low_window {
            return 1.0;
        }
        let (p, b) = (0.078 / math::pow(w, 1.2), self.b(w));
        (2.0 * w * w * p * b / (2.0 - b)).max(1.0)
    }
}

impl CongestionControl for HighSpeed {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if !flow.may_grow() {
            return;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        if !acked.is_zero() {
            flow.additive(flow.cwnd.mul_f64(1.0 / self.a(flow.cwnd.packets(flow.mss))), acked);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd.mul_f64(1.0 - self.b(flow.cwnd.packets(flow.mss))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::testing::{ack, congestion, flow, packets};
    use units::Rng;

    fn highspeed(f: &mut Flow) -> HighSpeed {
        HighSpeed::new(&Params::default(), Setup { flow: f, rng: Rng::new(1, 0, 0), own_start: true })
    }

    #[test]
    fn growth_and_cut_at_four_windows() {
        // Reference, section 1.6.
        let cc = highspeed(&mut flow(10, 100));
        for (w, a, b) in [
            (38.0, 1.0, 0.5),
            (118.0, 2.006, 0.441),
            (1058.0, 8.01, 0.327),
            (10_000.0, 29.02, 0.210),
            (83_000.0, 70.7, 0.1),
        ] {
            assert!((cc.a(w) / a - 1.0).abs() < 0.002, "a({w}) = {}", cc.a(w));
            assert!((cc.b(w) - b).abs() < 0.0005, "b({w}) = {}", cc.b(w));
        }
    }

    #[test]
    fn a_round_adds_a_and_a_loss_takes_b() {
        for (cwnd, grown, after) in [(30, 31, 15_000), (1000, 1007, 670_120)] {
            let mut f = flow(cwnd, 100);
            f.ssthresh = packets(2);
            let mut cc = highspeed(&mut f);
            let c = congestion(Signal::Loss, &f);
            let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
            assert!(to.get().abs_diff(after) < 10, "{to:?}");
            (0..cwnd).for_each(|_| cc.on_ack(&mut f, &ack(1, 100)));
            assert_eq!(f.cwnd, packets(grown));
        }
    }

    #[test]
    fn the_response_function_is_the_rfcs() {
        // RFC 3649, section 5: w = 0.12 / p^0.835, here with a loss every 1/p packets.
        for loss_every in [1_000u64, 10_000, 100_000] {
            let mut f = flow(100, 100);
            f.ssthresh = packets(2);
            let mut cc = highspeed(&mut f);
            let (mut sent, mut rounds) = (0, 0u64);
            for episode in 0..60 {
                while sent < loss_every {
                    let window = f.cwnd.get() / 1000;
                    cc.on_ack(&mut f, &ack(window, 100));
                    sent += window;
                    rounds += u64::from(episode >= 20);
                }
                sent -= loss_every;
                let c = congestion(Signal::Loss, &f);
                let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!() };
                f.cwnd = to;
                f.reset_credit();
            }
            let mean = (40 * loss_every) as f64 / rounds as f64;
            let expected = 0.12 * math::pow(loss_every as f64, 0.835);
            assert!((mean / expected - 1.0).abs() < 0.1, "1/{loss_every}: {mean} packets, {expected} expected");
        }
    }
}
