//! Compound TCP: Reno's window plus a second one that grows while no queue is seen and goes as the queue comes.
//!
//! ```text
//! win = cwnd + dwnd                      cwnd as Reno's, +1 per win acknowledged; dwnd in avoidance only
//! Δ   = win·(1 − base / RTT)             packets queued
//! each round:  Δ < γ: dwnd += max(α·win^k − 1, 0);   Δ ≥ γ: dwnd = max(dwnd − ζ·Δ, 0)
//! loss:        cwnd = cwnd / 2;  dwnd = max((1 − β)·win − cwnd, 0);   timeout: dwnd = 0
//! tuning:      γ = (1 − λ)·γ + λ·¾·Δ of cwnd alone at a loss, within 5 and γ
//! ```
//! α, β and k make its response that of HighSpeed TCP; below some forty packets it is Reno.
//!
//! Source: Tan, Song, Zhang and Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02. The HLDG thesis gives ζ as 30, which
//! is γ's value.

use crate::host::DataRtt;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Round, Setup,
    Signal, causes,
};
use units::{Bytes, math};

params::params! {
    /// Values of the draft, section 3; λ and the bounds of γ from the published Linux module.
    pub struct Params {
        /// Growth of the delay window (α).
        alpha: f64 = 0.125, 0.001 => 1.0;
        /// What a loss takes of the whole window (β).
        beta: f64 = 0.5, 0.05 => 0.9;
        /// Exponent of its growth (k; the response of HighSpeed TCP would need 0.8).
        k: f64 = 0.75, 0.1 => 0.99;
        /// More packets queued than this make the delay window shrink (γ).
        gamma: f64 = 30.0, 5.0 => 1000.0;
        /// How many packets it gives up for each one queued (ζ).
        zeta: f64 = 1.0, 0.1 => 10.0;
        /// Below so many packets the delay window does not grow.
        low_window: f64 = 41.0, 2.0 => 1000.0;
        /// Lower γ where buffers are short, by what Reno's part had queued at each loss.
        tuning: bool = false;
    }
}

/// Weight of the newest loss in γ, and what part of Reno's queue it takes (λ and 3/4).
const LAMBDA: f64 = 0.5;
const TUNED_TO: f64 = 0.75;
/// γ is not tuned below this.
const GAMMA_MIN: f64 = 5.0;

/// State: the delay window (Reno's is the rest), the base RTT and γ.
#[derive(Debug)]
pub struct Compound {
    p: Params,
    rtts: DataRtt,
    dwnd: Bytes,
    gamma: f64,
    /// Both before the last loss, should it prove none.
    saved: (Bytes, f64),
}

impl Algorithm for Compound {
    const ABOUT: About = About {
        name: "compound",
        title: "Compound TCP",
        paper: "Tan et al., A Compound TCP Approach for High-Speed and Long Distance Networks, INFOCOM 2006; \
                draft-sridharan-tcpm-ctcp-02",
        family: Family::DualSignal,
        signal: "loss, RTT per round",
        evidence: Evidence::Equations,
        departures: &["the RTT compared with the base is the host's smoothed one, at the end of a round"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        Compound {
            p: p.clone(),
            rtts: DataRtt::of(setup.flow),
            dwnd: Bytes::ZERO,
            gamma: p.gamma,
            saved: (Bytes::ZERO, p.gamma),
        }
    }
}

impl Compound {
    /// Packets of a window that wait in the queue.
    fn queued(&self, window: f64, flow: &Flow) -> f64 {
        if flow.srtt.is_zero() { 0.0 } else { window * (self.rtts.queue(flow.srtt) / flow.srtt) }
    }

    /// What a round without queue adds to the delay window.
    fn growth(&self, win: f64) -> f64 {
        if win < self.p.low_window { 0.0 } else { (self.p.alpha * math::pow(win, self.p.k) - 1.0).max(0.0) }
    }

    fn end_of_round(&mut self, flow: &mut Flow, _: &Round) {
        let win = flow.cwnd.packets(flow.mss);
        let delta = self.queued(win, flow);
        if delta < self.gamma {
            let grown = flow.mss.mul_f64(self.growth(win));
            self.dwnd += grown;
            flow.cwnd += grown;
            return;
        }
        let before = flow.windows();
        let given_up = flow.mss.mul_f64(self.p.zeta * delta).min(self.dwnd).min(flow.cwnd.saturating_sub(flow.floor));
        if !given_up.is_zero() {
            self.dwnd -= given_up;
            flow.cwnd -= given_up;
            flow.ssthresh = flow.ssthresh.min(flow.cwnd);
            let queue = self.rtts.queue(flow.srtt).as_nanos() as i64;
            flow.because(causes::DelayBackoff { queue, ..Default::default() }, before);
        }
    }

    fn tune(&mut self, flow: &Flow, reno: Bytes) {
        let g = TUNED_TO * self.queued(reno.packets(flow.mss), flow);
        self.gamma = ((1.0 - LAMBDA) * self.gamma + LAMBDA * g).clamp(GAMMA_MIN, self.p.gamma);
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        if !flow.may_grow() {
            return;
        }
        if self.dwnd > flow.cwnd {
            // Others cut the window: the whole of it is Reno's then, as in the Linux module.
            self.dwnd = Bytes::ZERO;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        } else if let Some(round) = &ack.round {
            self.end_of_round(flow, round);
        }
        if !acked.is_zero() {
            flow.additive(flow.cwnd, acked);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let reno = flow.cwnd.saturating_sub(self.dwnd);
        self.saved = (self.dwnd, self.gamma);
        if self.p.tuning {
            self.tune(flow, reno);
        }
        let (reno, total) = (reno / 2, flow.cwnd.mul_f64(1.0 - self.p.beta));
        self.dwnd = if congestion.signal == Signal::Timeout { Bytes::ZERO } else { total.saturating_sub(reno) };
        Reaction::Reduce(total.max(reno))
    }

    fn on_undo(&mut self, _: &mut Flow) {
        (self.dwnd, self.gamma) = self.saved;
    }

    fn on_event(&mut self, _: &mut Flow, event: Event) {
        // Silence ends it in the Linux module (`tcp_compound_init`).
        if matches!(event, Event::Timeout | Event::Restart) {
            self.dwnd = Bytes::ZERO;
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dwnd_bytes", self.dwnd.as_f64());
        see("gamma", self.gamma);
    }
}

#[cfg(test)]
mod tests;
