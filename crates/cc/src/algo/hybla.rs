//! Hybla: a window that grows with time as that of a Reno flow with a reference RTT would, and carries as much per second.
//!
//! ```text
//! ρ = max(SRTT / RTT₀, 1)                     RTT₀ = 25 ms
//! begin:        cwnd = ρ
//! slow start:   cwnd += 2^ρ − 1 per ACK       ρ·2^(t/RTT₀): doubles each RTT₀ and not each RTT
//! avoidance:    cwnd += ρ²/cwnd per ACK       ρ² packets a round: ρ in the time of one RTT₀
//! congestion:   cwnd / 2
//! ```
//! Source: Caini and Firrincieli, Int. J. Satellite Communications and Networking 22(5), 2004, in the integers of Linux 6.1
//! (`tcp_hybla.c`): ρ of the smallest SRTT so far, the handshake's first; ACKs counted, however much they cover (`gain.rs`);
//! windows no wider than 65,535 packets; Reno while a timeout is repaired.
//!
//! The paper's packet spacing and estimates of a first threshold are not in the module: at 200 ms its first round multiplies
//! the window by 256. `slow_start=` puts another in its place, from the stack's initial window.

mod gain;

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Phase, Reaction, Sent, Setup,
    StartRule, causes,
};
use gain::Gain;
use units::Duration;

params::params! {
    /// What the kernel's module takes.
    pub struct Params {
        /// The RTT of the Reno flow to keep up with (paper, section 3; the module's rtt0).
        rtt0: Duration = Duration::from_millis(25), Duration::from_millis(1) => Duration::from_secs(10);
    }
}

/// `snd_cwnd_clamp`.
const WIDEST: u64 = 65_535;

/// State: ρ, what it gains, and the SRTT it comes from.
#[derive(Debug)]
pub struct Hybla {
    rtt0: Duration,
    own_start: bool,
    /// Data has been sent.
    begun: bool,
    gain: Gain,
    smallest: Option<Duration>,
}

impl Algorithm for Hybla {
    const ABOUT: About = About {
        name: "hybla",
        title: "Hybla",
        paper: "Caini and Firrincieli, TCP Hybla: a TCP enhancement for heterogeneous networks, International Journal of \
                Satellite Communications and Networking 22(5), 2004",
        family: Family::Loss,
        signal: "loss; the RTT sets the pace of growth",
        evidence: Evidence::Equations,
        departures: &[
            "Linux's part of the paper: no packet spacing, no estimate of a first threshold",
            "without a handshake's RTT the first of data sets ρ, and the initial window is the stack's; the kernel's ρ \
             would be 1 for ever",
            "Linux is Reno between a first duplicate ACK and what comes of it, too (state Disorder)",
        ],
        floor: 1.0,
        start: StartRule::Own("hybla"),
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        Hybla { rtt0: p.rtt0, own_start: setup.own_start, begun: false, gain: Gain::default(), smallest: None }
    }
}

impl Hybla {
    /// `hybla_recalc_param`, where the smoothed RTT is the smallest so far.
    fn learn(&mut self, flow: &Flow) {
        if !flow.srtt.is_zero() && self.smallest.is_none_or(|smallest| flow.srtt < smallest) {
            self.gain.set_rho(8 * flow.srtt.as_nanos() / self.rtt0.as_nanos());
            self.smallest = Some(flow.srtt);
        }
    }
}

impl CongestionControl for Hybla {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if !ack.cumulative.is_zero() && flow.phase.grows() {
            self.learn(flow);
        }
        if ack.cumulative.is_zero() || !flow.may_grow() {
            return;
        }
        let (cwnd, widest) = (flow.cwnd.get() / flow.mss.get(), flow.mss * WIDEST);
        let (packets, most) = if flow.phase != Phase::Open || flow.in_slow_start() && !self.own_start {
            return flow.grow_as_reno(ack.cumulative);
        } else if flow.in_slow_start() {
            (self.gain.slow_start(cwnd), flow.ssthresh.min(widest))
        } else {
            (self.gain.avoidance(cwnd), widest)
        };
        flow.cwnd = (flow.cwnd + flow.mss * packets).min(most).max(flow.cwnd);
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        self.gain.idle = 0;
        Reaction::Reduce(flow.segments(flow.cwnd / 2))
    }

    fn on_sent(&mut self, flow: &mut Flow, _: &Sent) {
        if core::mem::replace(&mut self.begun, true) {
            return;
        }
        self.learn(flow);
        // `hybla_init`: as many packets as ρ is, wherever the stack would begin.
        if let (true, Some(rtt)) = (self.own_start, self.smallest) {
            let before = flow.windows();
            flow.cwnd = flow.mss * (self.gain.rho / 8).min(WIDEST);
            let (rtt, base_rtt) = (rtt.as_nanos() as i64, self.rtt0.as_nanos() as i64);
            flow.because(causes::SlowStartPace { divisor: 1, rtt, base_rtt }, before);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rho", self.gain.rho as f64 / 8.0);
    }
}

#[cfg(test)]
mod tests;
