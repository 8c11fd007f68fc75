//! CARD: feel for the knee, where a larger window begins to cost delay, by the sign of one ratio.
//!
//! ```text
//! NDG = (D_i − D_{i−1})/(D_i + D_{i−1}) · (W_i + W_{i−1})/(W_i − W_{i−1})
//! every second round:  NDG > 0: W = 7/8·W;   else W += 1       D: a round's delay, W: the window that caused it
//! ```
//! Below the knee delay does not change and NDG is zero; far above it delay is in proportion to the window and NDG is
//! one. The window stays for two rounds, so that a delay belongs to one window only. Where RTTs are noisy half of the
//! gradients are positive, and one packet more and an eighth less are in balance at a window of eight. Delayed ACKs are noise
//! enough: they let packets go in twos and threes, anew each round, and one transmission more or less is a gradient. Up to 16
//! packets two steps up and one or two cuts of whole packets are even, so that it stays where it was left: on 10 Mbit/s, 40 ms
//! at 15 packets (41 %), after a timeout there at 7 (18 %), with an ACK for every packet at 88 %. (The paper's scheme is, it
//! says, for networks of constant service times.)
//!
//! Source: Jain, A delay-based approach for congestion avoidance in interconnected heterogeneous computer networks,
//! CCR 19(5), 1989. The factors are those in Hayes and Armitage's list of 2010; that zero means growth, the perturbation
//! of an unchanged window and the answer to loss are from memory or ours.

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, How, Reaction, Round, Setup, causes,
};
use units::{Bytes, Duration};

params::params! {
    /// Jain's additive increase and multiplicative decrease.
    pub struct Params {
        /// A normalised delay gradient above this is congestion (0 in the paper; more of it rides out noisy RTTs).
        knee: f64 = 0.0, 0.0 => 1.0;
        /// What a decrease leaves of the window.
        decrease: f64 = 0.875, 0.1 => 0.99;
        /// How many packets an increase adds.
        increase: f64 = 1.0, 0.1 => 10.0;
    }
}

/// State: delay and window of the last decision, and which of two rounds this is.
#[derive(Debug)]
pub struct Card {
    p: Params,
    last: Option<(Duration, Bytes)>,
    judges: bool,
    gradient: f64,
}

/// NDG; `None` if the windows are equal.
fn gradient((d0, w0): (Duration, Bytes), (d1, w1): (Duration, Bytes)) -> Option<f64> {
    let delay = d1.diff_millis(d0) / (d1 + d0).as_millis_f64();
    (w0 != w1).then(|| delay * ((w1 + w0).as_f64() / (w1.as_f64() - w0.as_f64())))
}

impl Algorithm for Card {
    const ABOUT: About = About {
        name: "card",
        title: "CARD",
        paper: "Jain, A delay-based approach for congestion avoidance in interconnected heterogeneous computer \
                networks, ACM CCR 19(5), 1989",
        family: Family::Delay,
        signal: "normalised delay gradient every second round",
        evidence: Evidence::Memory,
        departures: &[
            "slow start comes first and ends with the first positive gradient; the paper starts from a small window",
            "loss halves the window: the paper has no losses",
            "counts whole packets, as its window does",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        Card { p: p.clone(), last: None, judges: false, gradient: 0.0 }
    }
}

impl Card {
    fn end_of_round(&mut self, flow: &mut Flow, round: &Round) {
        let delay = if round.marked_rtt.is_zero() { round.min_rtt } else { round.marked_rtt };
        self.judges = !self.judges;
        if delay.is_zero() || !self.judges {
            return;
        }
        let now = (delay, flow.cwnd);
        let Some(last) = self.last.replace(now) else { return };
        // A window that could not change tells nothing: move it, and see.
        self.gradient = gradient(last, now).unwrap_or(0.0);
        if self.gradient > self.p.knee {
            let to = flow.mss * (flow.cwnd.mul_f64(self.p.decrease).get() / flow.mss.get());
            let queue = delay.saturating_sub(flow.min_rtt).as_nanos() as i64;
            flow.reduce(to, How::AtOnce, causes::DelayBackoff { queue, ..Default::default() });
        } else if !flow.in_slow_start() && flow.cwnd_limited {
            flow.cwnd += flow.mss.mul_f64(self.p.increase);
        }
    }
}

impl CongestionControl for Card {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if !flow.phase.grows() {
            return;
        }
        if let Some(round) = &ack.round {
            self.end_of_round(flow, round);
        }
        if flow.in_slow_start() && flow.may_grow() {
            flow.slow_start(ack.cumulative);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        (self.last, self.judges) = (None, false);
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("gradient", self.gradient);
    }
}

#[cfg(test)]
mod tests;
