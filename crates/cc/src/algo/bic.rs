//! BIC: a binary search for the window between the one that lost and the one that did not.
//!
//! ```text
//! loss:        W_max = cwnd, or cwnd·(1 + β)/2 if cwnd < the last W_max (fast convergence);   cwnd = β·cwnd
//! a round of avoidance adds, with d = ⌊(W_max − cwnd)/B⌋:
//!   S_max                       d > S_max                        additive increase
//!   d                           1 < d ≤ S_max                    binary search
//!   B/s                         d ≤ 1, and up to B beyond W_max  smooth at the top
//!   (cwnd − W_max)/(B − 1)      up to S_max·(B − 1) beyond it    max probing, slow at first
//!   S_max                       further on
//! cwnd ≤ low_window:  Reno's +1
//! no W_max yet:       as beyond a W_max of 0, cwnd/(B − 1) up to S_max, and at least 1/20 of the window
//! ```
//! The kernel divides whole packets (`bictcp_update`), so it is smooth from W_max − 2B on, where its comment says W_max − B.
//!
//! Source: Xu, Harfoush and Rhee, INFOCOM 2004, in the form and with the constants of Linux 6.1, whose default it was from
//! 2.6.8 to 2.6.18. The paper's own are `bic(divisor=2, s_max=32, beta=0.875)`.

use crate::{About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup};
use units::{Bytes, math};

params::params! {
    /// Values of Linux 6.1's module.
    pub struct Params {
        /// Up to so many packets it is Reno.
        low_window: f64 = 14.0, 2.0 => 1000.0;
        /// Most that a round adds, in packets (S_max; 32 in the paper).
        s_max: f64 = 16.0, 1.0 => 1000.0;
        /// A round adds one part in this many of the distance to W_max (B; the paper's middle is 2).
        divisor: f64 = 4.0, 2.0 => 64.0;
        /// Rounds that the last B packets up to W_max take (smooth_part).
        smooth: f64 = 20.0, 1.0 => 1000.0;
        /// What congestion leaves of the window (819/1024; 0.875 in the paper).
        beta: f64 = 0.8, 0.1 => 0.95;
        /// Give way faster when the window no longer reaches the last maximum.
        fast_convergence: bool = true;
    }
}

/// Without a W_max the window grows by at least this part of itself in a round (Linux).
const INITIAL_GROWTH: f64 = 1.0 / 20.0;

/// State: the window of the last loss, in packets; 0 before the first and after a timeout.
#[derive(Debug)]
pub struct Bic {
    p: Params,
    w_max: f64,
    /// Before the last reduction, should it prove spurious.
    saved: f64,
    mss: Bytes,
}

impl Algorithm for Bic {
    const ABOUT: About = About {
        name: "bic",
        title: "BIC",
        paper: "Xu, Harfoush and Rhee, Binary increase congestion control for fast long-distance networks, INFOCOM 2004",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &[
            "in floating point, but for the distance to W_max, and on every ACK; Linux keeps a growth for 31 ms while the window stands still",
            "no doubling of pace for delayed ACKs: what is counted is packets",
            "a reduction found spurious gives back W_max, too; Linux keeps the new one",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        Bic { p: p.clone(), w_max: 0.0, saved: 0.0, mss: setup.flow.mss }
    }
}

impl Bic {
    /// Packets that a round adds.
    fn growth(&self, w: f64) -> f64 {
        let Params { low_window, s_max, divisor: b, smooth, .. } = self.p;
        if w <= low_window {
            return 1.0;
        }
        let (below, beyond) = (math::floor((self.w_max - w) / b), w - self.w_max);
        let growth = if below > 1.0 {
            below.min(s_max)
        } else if beyond < b {
            b / smooth
        } else if beyond < s_max * (b - 1.0) {
            beyond / (b - 1.0)
        } else {
            s_max
        };
        if self.w_max == 0.0 { growth.max(w * INITIAL_GROWTH) } else { growth }
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        flow.grow(ack.cumulative, |flow| {
            // Linux' count of ACKs for a packet is at least one.
            let w = flow.cwnd.packets(flow.mss);
            flow.cwnd.mul_f64(1.0 / self.growth(w).min(w))
        });
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let w = flow.cwnd.packets(flow.mss);
        self.saved = self.w_max;
        let gives_way = self.p.fast_convergence && w < self.w_max;
        self.w_max = if gives_way { w * (1.0 + self.p.beta) / 2.0 } else { w };
        if congestion.signal == crate::Signal::Timeout {
            self.w_max = 0.0;
        }
        Reaction::Reduce(flow.cwnd.mul_f64(if w <= self.p.low_window { 0.5 } else { self.p.beta }))
    }

    fn on_undo(&mut self, _: &mut Flow) {
        self.w_max = self.saved;
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::Timeout {
            self.w_max = 0.0;
        }
        if event == Event::MssChanged {
            let factor = self.mss.packets(flow.mss);
            (self.w_max, self.saved, self.mss) = (self.w_max * factor, self.saved * factor, flow.mss);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("w_max", self.w_max);
    }
}

#[cfg(test)]
mod tests;
