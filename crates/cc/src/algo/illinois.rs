//! Illinois: loss decides when to turn back, delay how fast to grow and how far to fall.
//!
//! ```text
//! once a round:  d_a = mean RTT − base,  d_m = largest RTT − base
//! α(d_a) = α_max                                           d_a ≤ d₁ = 0.01·d_m
//!          κ₁ / (κ₂ + d_a)                                 beyond;  κ₁ = (d_m − d₁)·α_min·α_max / (α_max − α_min)
//!                                                                   κ₂ = (d_m − d₁)·α_min / (α_max − α_min) − d₁
//! β(d_a) = β_min up to 0.1·d_m, β_max from 0.8·d_m, a straight line between
//! avoidance:  cwnd += α per round;   loss: cwnd −= β·cwnd;   α = 1, β = ½ below 15 packets
//! ```
//! Having left the lowest delays, α waits for five rounds below d₁ before it is α_max again.
//!
//! Source: Liu, Başar and Srikant, Performance Evaluation 65(6–7), 2008; θ and the small window from Linux 6.1.

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup, Signal,
};
use params::ParamError;
use units::Duration;

params::params! {
    /// Values of the paper, section 4, but `theta` and `window_threshold` (Linux).
    pub struct Params {
        /// Packets gained per round without queue.
        alpha_max: f64 = 10.0, 1.0 => 100.0;
        /// Packets gained per round with the queue full.
        alpha_min: f64 = 0.3, 0.01 => 1.0;
        /// Part of the window a loss takes without queue.
        beta_min: f64 = 0.125, 0.01 => 0.9;
        /// Part of the window a loss takes with the queue full.
        beta_max: f64 = 0.5, 0.01 => 0.9;
        /// Rounds at low delay before α is α_max again (θ).
        theta: u64 = 5, 0 => 1000;
        /// Below so many packets it is Reno (the thesis: 20 KiB).
        window_threshold: f64 = 15.0, 0.0 => 10_000.0;
    }
    check |p| {
        if p.alpha_min < p.alpha_max && p.beta_min <= p.beta_max { Ok(()) } else { Err(ParamError::Conflict("illinois: alpha_min must be below alpha_max (0.3 and 10), beta_min not above beta_max (0.125 and 0.5)".into())) }
    }
}

/// State: α and β, the round's RTTs, and how long the delay has been low.
#[derive(Debug)]
pub struct Illinois {
    p: Params,
    alpha: f64,
    beta: f64,
    sum: Duration,
    count: u64,
    low_rounds: u64,
    was_above: bool,
}

/// The parts of d_m between which β rises, and that of d₁ (the paper's η₂, η₃ and η₁).
const BETA_FROM: f64 = 0.1;
const BETA_TO: f64 = 0.8;
const LOW: f64 = 0.01;

impl Algorithm for Illinois {
    const ABOUT: About = About {
        name: "illinois",
        title: "Illinois",
        paper: "Liu, Başar and Srikant, TCP-Illinois, Performance Evaluation 65(6-7), 2008",
        family: Family::DualSignal,
        signal: "loss, mean RTT per round",
        evidence: Evidence::Equations,
        departures: &[
            "in floating point, where Linux has α in 128ths and β in 64ths",
            "α is α_max again after θ low rounds in a row, as the paper says; Linux counts low rounds across others",
            "the handshake's RTT counts for the base, where Linux begins after it: by data's alone it cuts 18.3 times a minute for the 16.3 of \
             the kernel's code in ns-2",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, _: Setup<'_>) -> Self {
        let p = p.clone();
        Illinois { p, alpha: 1.0, beta: 0.5, sum: Duration::ZERO, count: 0, low_rounds: 0, was_above: false }
    }
}

impl Illinois {
    /// α at a delay beyond d₁.
    fn curve(&self, d_a: f64, d_m: f64) -> f64 {
        let d_1 = LOW * d_m;
        let span = self.p.alpha_max - self.p.alpha_min;
        let k_1 = (d_m - d_1) * self.p.alpha_min * self.p.alpha_max / span;
        let k_2 = (d_m - d_1) * self.p.alpha_min / span - d_1;
        k_1 / (k_2 + d_a)
    }

    fn update_alpha(&mut self, d_a: f64, d_m: f64) {
        if d_a > LOW * d_m {
            (self.was_above, self.low_rounds) = (true, 0);
            self.alpha = self.curve(d_a, d_m);
        } else if !self.was_above {
            self.alpha = self.p.alpha_max;
        } else {
            self.low_rounds += 1;
            if self.low_rounds >= self.p.theta {
                (self.was_above, self.low_rounds, self.alpha) = (false, 0, self.p.alpha_max);
            }
        }
    }

    fn beta(&self, d_a: f64, d_m: f64) -> f64 {
        let way = ((d_a - BETA_FROM * d_m) / ((BETA_TO - BETA_FROM) * d_m)).clamp(0.0, 1.0);
        self.p.beta_min + (self.p.beta_max - self.p.beta_min) * way
    }

    fn end_of_round(&mut self, flow: &Flow) {
        if flow.cwnd.packets(flow.mss) < self.p.window_threshold {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else if self.count > 0 {
            let d_a = (self.sum / self.count).saturating_sub(flow.min_rtt).as_secs_f64();
            let d_m = flow.max_rtt.saturating_sub(flow.min_rtt).as_secs_f64();
            self.update_alpha(d_a, d_m);
            self.beta = if d_m > 0.0 { self.beta(d_a, d_m) } else { self.p.beta_min };
        }
        (self.sum, self.count) = (Duration::ZERO, 0);
    }

    /// Linux, at every timeout.
    fn reset(&mut self) {
        (self.alpha, self.beta, self.low_rounds, self.was_above) = (1.0, 0.5, 0, false);
        (self.sum, self.count) = (Duration::ZERO, 0);
    }
}

impl CongestionControl for Illinois {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sum += rtt;
            self.count += 1;
        }
        if ack.round.is_some() {
            self.end_of_round(flow);
        }
        flow.grow(ack.cumulative, |flow| flow.cwnd.mul_f64(1.0 / self.alpha));
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let to = flow.cwnd.mul_f64(1.0 - self.beta);
        if congestion.signal == Signal::Timeout {
            self.reset();
        }
        Reaction::Reduce(to)
    }

    fn on_event(&mut self, _: &mut Flow, event: Event) {
        if event == Event::Timeout {
            self.reset();
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("alpha", self.alpha);
        see("beta", self.beta);
    }
}

#[cfg(test)]
mod tests;
