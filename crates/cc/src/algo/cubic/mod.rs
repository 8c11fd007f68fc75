//! CUBIC: after congestion the window is a cubic function of time, flat around the window that was too much.
//!
//! ```text
//! congestion:   W_max = cwnd, or cwnd·(1 + β)/2 if cwnd < the last W_max (fast convergence);  ssthresh = β·cwnd
//! K           = cbrt((W_max − cwnd_epoch) / C)
//! W_cubic(t)  = C·(t − K)³ + W_max
//! avoidance:    cwnd += (W_cubic(t + RTT) − cwnd) / cwnd per segment acknowledged, at most to 1.5·cwnd per RTT
//! Reno-friendly: W_est += α·acked/cwnd, α = 3(1 − β)/(1 + β);  cwnd = W_est where that is more
//! ```
//! Source: RFC 9438 (`rfc.rs`); Linux 6.1 and FreeBSD 11, whose fixed-point arithmetic and older rules are in `linux.rs` and
//! `freebsd.rs`. Windows are in packets and time in seconds, as in the first two. The slow start that goes with it in practice is
//! `slow_start=hystart` (Linux) or `hystart_pp` (the RFC's advice). With `abe` (RFC 8511) a mark leaves `beta_ecn·cwnd`.

mod freebsd;
mod linux;
pub(crate) mod rfc;

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Phase, Reaction, Sent, Setup,
    Signal,
};
use params::Auto;
use units::{Bytes, Instant};

/// What congestion leaves of the window (RFC 9438, section 4.6; Linux's 717/1024).
const BETA: f64 = 0.7;

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// RFC 9438, in floating point.
        Rfc = "rfc",
        /// Linux 6.1, in its fixed point.
        Linux = "linux",
        /// FreeBSD 11, in its fixed point.
        FreeBsd = "freebsd",
    }
}

params::params! {
    /// Constants of RFC 9438, sections 4.1 and 4.6.
    pub struct Params {
        /// Whose rules.
        reference: Reference = Reference::Rfc;
        /// What congestion leaves of the window; auto is 0.7, with freebsd 0.8. Ha, Rhee and Xu's β counts what is lost: 0.2.
        beta: Auto = Auto::AUTO, Auto::of(0.1) => Auto::of(0.95);
        /// Alternative back-off with ECN: a mark leaves `beta_ecn` of the window instead of `beta`.
        abe: bool = false;
        /// What a mark leaves of the window with `abe` (RFC 8511, section 3.1: 0.85 for CUBIC).
        beta_ecn: f64 = 0.85, 0.1 => 0.99;
        /// How fast the cubic function rises, in packets per second cubed.
        c: f64 = 0.4, 0.01 => 100.0;
        /// Give way faster when the window no longer reaches the last maximum.
        fast_convergence: bool = true;
        /// Be no slower than Reno would be.
        friendliness: bool = true;
        /// freebsd: what Reno would have in 64 bits, where FreeBSD's 32 wrap.
        wide_reno: bool = false;
    }
    check |p| {
        p.need(&Params::default(), &["beta_ecn"], p.abe, "abe=true")?;
        p.need(&Params::default(), &["wide_reno"], p.reference == Reference::FreeBsd, "reference=freebsd")
    }
}

/// State: the curve, when data was last sent, and the size of the curve's packets.
#[derive(Debug)]
pub struct Cubic {
    curve: Curve,
    /// With alternative back-off.
    beta_ecn: Option<f64>,
    last_sent: Instant,
    mss: Bytes,
}

#[derive(Debug)]
enum Curve {
    Rfc(rfc::Curve),
    Linux(linux::Curve),
    FreeBsd(freebsd::Curve),
}

impl Algorithm for Cubic {
    const ABOUT: About = About {
        name: "cubic",
        title: "CUBIC",
        paper: "RFC 9438; Ha, Rhee and Xu, CUBIC, SIGOPS OSR 42 (2008); ABE: RFC 8511",
        family: Family::Loss,
        signal: "loss",
        evidence: Evidence::Equations,
        departures: &[
            "reduces from the window, as RFC 9438 allows and Linux does, not from what is in flight",
            "grows by whole segments: fractions are kept until they make one, so that the window may be up to one \
             segment ahead of the curve",
            "reference=linux: jiffies are 1 ms; the kernel's table for the first guess of the cube root is computed, \
             which moves K by at most 0.11 %",
            "reference=freebsd: a curve below nothing is an empty window, where the kernel's wraps to a huge one",
        ],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        let curve = match p.reference {
            Reference::Rfc => Curve::Rfc(rfc::Curve::new(p)),
            Reference::Linux => Curve::Linux(linux::Curve::new(p)),
            Reference::FreeBsd => Curve::FreeBsd(freebsd::Curve::new(p, setup.flow)),
        };
        Cubic { curve, beta_ecn: p.abe.then_some(p.beta_ecn), last_sent: setup.flow.now, mss: setup.flow.mss }
    }
}

/// What an ACK leaves to congestion avoidance, if anything.
fn beyond_slow_start(flow: &mut Flow, ack: &Ack) -> Option<Bytes> {
    if !flow.may_grow() {
        return None;
    }
    let acked = if flow.in_slow_start() { flow.slow_start(ack.cumulative) } else { ack.cumulative };
    (!acked.is_zero()).then_some(acked)
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        match &mut self.curve {
            Curve::Rfc(curve) => {
                if !flow.may_grow() && flow.phase == Phase::Open {
                    curve.pause(flow.now);
                }
                if let Some(acked) = beyond_slow_start(flow, ack) {
                    curve.avoidance(flow, acked);
                }
            }
            Curve::Linux(curve) => {
                if let Some(rtt) = ack.rtt {
                    curve.sample(flow.now, rtt);
                }
                if let Some(acked) = beyond_slow_start(flow, ack) {
                    curve.avoidance(flow, acked);
                }
            }
            Curve::FreeBsd(curve) => curve.on_ack(flow, ack),
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        let timeout = congestion.signal == Signal::Timeout;
        let to = match &mut self.curve {
            Curve::Rfc(curve) => curve.reduce(flow, timeout),
            Curve::Linux(curve) => curve.reduce(flow, timeout),
            Curve::FreeBsd(curve) => curve.reduce(flow, congestion),
        };
        let marked = self.beta_ecn.filter(|_| congestion.signal == Signal::Ecn);
        Reaction::Reduce(marked.map_or(to, |beta| flow.cwnd.mul_f64(beta)))
    }

    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        let idle = sent.in_flight <= sent.size;
        match &mut self.curve {
            Curve::Rfc(curve) if idle => curve.pause(self.last_sent),
            Curve::Linux(curve) if idle => curve.shift(self.last_sent, flow.now),
            _ => {}
        }
        self.last_sent = flow.now;
    }

    fn on_undo(&mut self, _: &mut Flow) {
        if let Curve::Rfc(curve) = &mut self.curve {
            curve.undo();
        }
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::Timeout {
            match &mut self.curve {
                Curve::Rfc(curve) => curve.forget(),
                Curve::Linux(curve) => curve.reset(),
                Curve::FreeBsd(_) => {}
            }
        }
        if let (Event::RecoveryEnd, Curve::FreeBsd(curve)) = (event, &mut self.curve) {
            curve.recovered(flow);
        }
        if event == Event::MssChanged {
            let factor = self.mss.packets(flow.mss);
            match &mut self.curve {
                Curve::Rfc(curve) => curve.rescale(factor),
                Curve::Linux(curve) => curve.rescale(factor),
                Curve::FreeBsd(_) => {}
            }
            self.mss = flow.mss;
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let (w_max, k, w_est) = match &self.curve {
            Curve::Rfc(curve) => curve.vars(),
            Curve::Linux(curve) => curve.vars(),
            Curve::FreeBsd(curve) => curve.vars(self.mss),
        };
        see("w_max", w_max);
        see("k", k);
        see("w_est", w_est);
    }
}

#[cfg(test)]
mod tests;
