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

impl CongestionControl for Cubic {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Curve::FreeBsd(curve) = &mut self.curve {
            return curve.on_ack(flow, ack);
        }
        if let (Curve::Linux(curve), Some(rtt)) = (&mut self.curve, ack.rtt) {
            curve.sample(flow.now, rtt);
        }
        if !flow.may_grow() {
            if let (Curve::Rfc(curve), Phase::Open) = (&mut self.curve, flow.phase) {
                curve.pause(flow.now);
            }
            return;
        }
        let mut acked = ack.cumulative;
        if flow.in_slow_start() {
            acked = flow.slow_start(acked);
        }
        if acked.is_zero() {
            return;
        }
        match &mut self.curve {
            Curve::Rfc(curve) => curve.avoidance(flow, acked),
            Curve::Linux(curve) => curve.avoidance(flow, acked),
            Curve::FreeBsd(_) => {}
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
            Curve::Linux(curve) if idle => curve.shift(flow.now.since(self.last_sent), flow.now),
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
        if let (Event::Timeout, Curve::Linux(curve)) = (event, &mut self.curve) {
            curve.reset();
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
mod tests {
    use crate::testing::{ack, congestion, flow, ms, packets};
    use crate::{CongestionControl, Flow, Reaction, Signal, build};
    use std::boxed::Box;
    use std::vec::Vec;
    use units::Rng;

    fn cubic(spec: &str, f: &mut Flow) -> Box<dyn CongestionControl> {
        build(&spec.parse().unwrap(), f, Rng::new(1, 0, 0)).unwrap()
    }

    /// Windows at the end of each second after a loss at `cwnd`, with an RTT of 100 ms.
    fn seconds_after_loss(spec: &str, cwnd: u64, seconds: usize) -> Vec<u64> {
        let mut f = flow(cwnd, 100);
        let mut cc = cubic(spec, &mut f);
        let c = congestion(Signal::Loss, &f);
        let Reaction::Reduce(to) = cc.on_congestion(&mut f, &c) else { panic!("cubic lets the host reduce") };
        (f.cwnd, f.ssthresh) = (to, to);
        let mut seen = Vec::new();
        for _ in 0..seconds {
            for _ in 0..10 {
                let window = f.cwnd.get() / f.mss.get();
                for _ in 0..window {
                    f.now += ms(100) / window;
                    cc.on_ack(&mut f, &ack(1, 100));
                }
            }
            seen.push(f.cwnd.get() / f.mss.get());
        }
        seen
    }

    #[test]
    fn both_references_follow_the_cubic_curve() {
        // W_cubic one RTT ahead of 1 … 6 s, from 70 with W_max 100: 87.9, 96.2, 99.4, 100.0, 100.3, 102.7.
        assert_eq!(seconds_after_loss("cubic", 100, 6), [87, 96, 100, 100, 101, 103]);
        // Linux rounds the distance to W_max down: above the curve before K, below it after.
        assert_eq!(seconds_after_loss("cubic(reference=linux)", 100, 6), [87, 97, 100, 100, 100, 102]);
    }

    #[test]
    fn small_windows_grow_as_reno_would() {
        // α = 0.53 packets per RTT from 7 until W_est reaches 10, then 1; Linux keeps 1/1.875.
        assert_eq!(seconds_after_loss("cubic(c=0.01)", 10, 3), [14, 24, 34]);
        assert_eq!(seconds_after_loss("cubic(c=0.01, reference=linux)", 10, 3), [12, 17, 22]);
        let slow = seconds_after_loss("cubic(c=0.01, friendliness=false)", 10, 3);
        assert!(slow[2] <= 10, "{slow:?}");
    }

    #[test]
    fn an_ecn_mark_is_like_a_loss_and_a_spurious_one_is_undone() {
        let mut f = flow(100, 100);
        let mut cc = cubic("cubic", &mut f);
        let before = vars(&*cc);
        let c = congestion(Signal::Ecn, &f);
        assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(70)));
        assert_eq!(vars(&*cc)[0], ("w_max", 100.0));
        cc.on_undo(&mut f);
        assert_eq!(vars(&*cc), before);
    }

    #[test]
    fn with_abe_a_mark_leaves_85_per_cent_and_the_curve_starts_there() {
        for (spec, signal, to) in [
            ("cubic(abe=true)", Signal::Ecn, 85),
            ("cubic(abe=true, reference=linux)", Signal::Ecn, 85),
            ("cubic(abe=true)", Signal::Loss, 70),
            ("cubic(beta=0.8)", Signal::Ecn, 80),
        ] {
            let mut f = flow(100, 100);
            let mut cc = cubic(spec, &mut f);
            let c = congestion(signal, &f);
            assert_eq!(cc.on_congestion(&mut f, &c), Reaction::Reduce(packets(to)), "{spec} {signal:?}");
        }
        let mut f = flow(100, 100);
        let mut cc = cubic("cubic(abe=true)", &mut f);
        let c = congestion(Signal::Ecn, &f);
        cc.on_congestion(&mut f, &c);
        (f.cwnd, f.ssthresh) = (packets(85), packets(85));
        cc.on_ack(&mut f, &ack(1, 100));
        // cbrt(15 / 0.4)
        assert!((vars(&*cc)[1].1 - 3.3472).abs() < 5e-5, "{:?}", vars(&*cc));
    }

    #[test]
    fn a_new_segment_size_changes_the_packets_not_the_bytes() {
        for spec in ["cubic", "cubic(reference=linux)"] {
            let mut f = flow(100, 100);
            let mut cc = cubic(spec, &mut f);
            let c = congestion(Signal::Loss, &f);
            cc.on_congestion(&mut f, &c);
            f.mss = packets(2);
            cc.on_event(&mut f, crate::Event::MssChanged);
            assert_eq!(vars(&*cc)[0], ("w_max", 50.0), "{spec}");
        }
    }

    fn vars(cc: &dyn CongestionControl) -> Vec<(&'static str, f64)> {
        let mut seen = Vec::new();
        cc.vars(&mut |name, value| seen.push((name, value)));
        seen
    }
}
