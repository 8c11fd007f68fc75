//! FAST: Vegas' goal of α packets in the queue, steered for by the distance to it instead of a packet a round.
//!
//! ```text
//! once a round:  w ← min(2·w, (1 − γ)·w + γ·(base/RTT·w + α))        at rest w·(1 − base/RTT) = α
//! RTT: moving average with gain min(3/w, 1/4) per sample;            loss: w / 2
//! ```
//! Far from its goal it doubles, so it needs no slow start of its own.
//!
//! α is queued whatever the link: on one whose buffer holds less than α packets (200) the goal is never reached, only losses
//! bring the window down, and the next round adds up to γ·α packets. Beside CUBIC on 10 Mbit/s, 20 ms and 2 BDP (33
//! packets), both from the start, its share from 20 to 80 s is 97 % with α = 200, 63 with 20, 26 with 8.
//!
//! Source: Wei, Jin, Low and Hegde, FAST TCP: motivation, architecture, algorithms, performance, ToN 14(6), 2006; Jin, Wei
//! and Low, INFOCOM 2004. Covered by patents (US 7,693,052 and others). Checked against Cui and Andrew's module for ns-2
//! (`tcp-fast.cc` 1.1.3): the same update with γ = ½, in every second round, on an RTT averaged with min(3/w, 1/256).

use crate::host::DataRtt;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup, StartRule, causes,
};
use units::Duration;

params::params! {
    /// γ and α of the papers, whose links carry 800 Mbit/s and more.
    pub struct Params {
        /// Packets to keep queued. On slower links than the papers' 200 are long: 16 ms at 150 Mbit/s, 200 ms at 12.
        alpha: f64 = 200.0, 1.0 => 10_000.0;
        /// What part of the way is taken in a round.
        gamma: f64 = 0.5, 0.01 => 1.0;
    }
}

/// State: the base RTT and the smoothed one.
#[derive(Debug)]
pub struct Fast {
    p: Params,
    own_start: bool,
    rtts: DataRtt,
    rtt_ms: f64,
}

impl Algorithm for Fast {
    const ABOUT: About = About {
        name: "fast",
        title: "FAST TCP",
        paper: "Wei, Jin, Low and Hegde, FAST TCP: motivation, architecture, algorithms, performance, ToN 14(6), 2006",
        family: Family::Delay,
        signal: "RTT, smoothed, paced",
        evidence: Evidence::Equations,
        departures: &[
            "the weight of an RTT sample, min(3/w, 1/4), is that of the ToN paper from memory; the authors' module for ns-2 has 1/256 for 1/4",
            "once a round, where the papers update every 20 ms and in effect once an RTT",
            "paced at 1.2 windows per RTT, twice in slow start, as Linux paces: the papers' burstiness control is not described",
        ],
        start: StartRule::Own("fast"),
        paces: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        if setup.own_start {
            setup.flow.ssthresh = setup.flow.cwnd;
        }
        Fast { p: p.clone(), own_start: setup.own_start, rtts: DataRtt::of(setup.flow), rtt_ms: 0.0 }
    }
}

impl Fast {
    /// The window after a round, in packets.
    fn update(&self, w: f64, base: f64, rtt: f64) -> f64 {
        let Params { alpha, gamma } = self.p;
        (2.0 * w).min((1.0 - gamma) * w + gamma * (base / rtt * w + alpha))
    }

    fn end_of_round(&self, flow: &mut Flow) {
        let base = self.rtts.base().as_millis_f64();
        if self.rtt_ms <= 0.0 || base <= 0.0 {
            return;
        }
        let to = flow.mss.mul_f64(self.update(flow.cwnd.packets(flow.mss), base, self.rtt_ms.max(base)));
        if to > flow.cwnd && flow.may_grow() {
            flow.cwnd = to;
        } else if to < flow.cwnd {
            let before = flow.windows();
            flow.cwnd = to.max(flow.floor).min(flow.cwnd);
            flow.ssthresh = flow.ssthresh.min(flow.cwnd);
            let queue = Duration::from_millis_f64((self.rtt_ms - base).max(0.0)).as_nanos() as i64;
            flow.because(causes::DelayBackoff { queue, ..Default::default() }, before);
        }
    }
}

impl CongestionControl for Fast {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.rtts.see(ack);
        if let Some(rtt) = ack.rtt {
            let gain = (3.0 / flow.cwnd.packets(flow.mss)).min(0.25);
            let rtt = rtt.as_millis_f64();
            self.rtt_ms = if self.rtt_ms > 0.0 { self.rtt_ms + gain * (rtt - self.rtt_ms) } else { rtt };
        }
        let slow_start = flow.in_slow_start() && !self.own_start;
        if slow_start && flow.may_grow() {
            flow.slow_start(ack.cumulative);
        } else if !slow_start && ack.round.is_some() && flow.phase.grows() {
            self.end_of_round(flow);
        }
        if !flow.srtt.is_zero() {
            let percent = if slow_start { 200 } else { 120 };
            flow.pacing = Some((flow.cwnd * percent / 100 / flow.srtt).max(units::Rate::from_bps(1)));
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("rtt_ms", self.rtt_ms);
    }
}

#[cfg(test)]
mod tests;
