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
        /// Up to so many packets it is Reno (Low_Window), and b(w) falls from there on.
        low_window: f64 = 38.0, 2.0 => 1000.0;
        /// The window at which the cut is the smallest (High_Window). p(w) does not go by it.
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
            "a(w) and b(w) are computed where the RFC's appendix and the kernels have a table: what they give is at most one \
             step apart up to its end, 89,053 packets, and beyond it the kernels stay at the last step, where a(w) grows on",
            "p(w) is that of the RFC's values whatever low_window and high_window are; section 5 derives it from both ends",
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
        flow.grow(ack.cumulative, |flow| flow.cwnd.mul_f64(1.0 / self.a(flow.cwnd.packets(flow.mss))));
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd.mul_f64(1.0 - self.b(flow.cwnd.packets(flow.mss))))
    }
}

#[cfg(test)]
mod tests;
