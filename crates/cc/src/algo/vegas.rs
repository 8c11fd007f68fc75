//! Vegas: keep between α and β packets in the queue, judged once per round by how far the rate falls short.
//!
//! ```text
//! Δ = (expected − actual)·base = cwnd·(RTT − base) / RTT           packets queued
//! avoidance, once per round:  Δ < α: cwnd += 1;  Δ > β: cwnd −= 1
//! slow start:                 doubles every other round; Δ > γ ends it
//! loss:                       ssthresh = cwnd / 2
//! ```
//! Source: Brakmo, O'Malley and Peterson, SIGCOMM 1994 (`paper`); Linux 6.1 (`linux`: divides by the base RTT, so that
//! Δ comes out larger, takes the smallest RTT of a round, doubles every round, is Reno on the ACK that ends a round of fewer
//! than three samples and while a timeout is repaired, and forgets the base whenever nothing is outstanding); FreeBSD 11
//! (`freebsd`: whole ticks and whole bytes per tick, the marked round's bytes as actual rate, slow start ends at β, and its
//! toggle hands ACKs to NewReno beyond the threshold, too).

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Phase, Reaction, Round, Sent,
    Setup, Signal, StartRule, causes, exits,
};
use params::{Auto, ParamError};
use units::{Bytes, Duration, Instant};

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// The paper's.
        Paper = "paper",
        /// Linux 6.1.
        Linux = "linux",
        /// FreeBSD 11.
        FreeBsd = "freebsd",
    }
}

params::params! {
    /// α and β are 1 and 3 in the paper and FreeBSD, 2 and 4 in Linux. γ is the paper's and Linux's.
    pub struct Params {
        /// Whose rules.
        reference: Reference = Reference::Paper;
        /// Grow while fewer packets than this are queued: 1, with linux 2.
        alpha: Auto = Auto::AUTO, Auto::of(0.0) => Auto::of(1000.0);
        /// Shrink while more packets than this are queued: 3, with linux 4.
        beta: Auto = Auto::AUTO, Auto::of(0.0) => Auto::of(1000.0);
        /// More packets queued than this end slow start (paper and linux; in freebsd β ends it).
        gamma: f64 = 1.0, 0.0 => 1000.0;
        /// What part of the window is given up when slow start ends (paper; an eighth is from memory).
        exit_cut: f64 = 0.125, 0.0 => 0.5;
    }
    check |p| {
        p.need(&Params::default(), &["exit_cut"], p.reference == Reference::Paper, "reference=paper")?;
        let met = p.reference != Reference::FreeBsd;
        p.need(&Params::default(), &["gamma"], met, "a reference other than freebsd")?;
        if p.alpha() <= p.beta() { Ok(()) } else { Err(ParamError::Conflict("vegas: alpha must not exceed beta (1 and 3; 2 and 4 with reference=linux)".into())) }
    }
}

impl Params {
    fn alpha(&self) -> f64 {
        self.alpha.or(if self.reference == Reference::Linux { 2.0 } else { 1.0 })
    }
    fn beta(&self) -> f64 {
        self.beta.or(if self.reference == Reference::Linux { 4.0 } else { 3.0 })
    }
}

/// State: the base RTT, whether this round of slow start grows, and since when rounds count.
#[derive(Debug)]
pub struct Vegas {
    p: Params,
    own_start: bool,
    /// Smallest RTT of the flow, in Linux since something was outstanding.
    base: Duration,
    grows: bool,
    /// Linux judges no round that began before (`vegas_enable`).
    enabled: Instant,
    delta: f64,
}

/// Packets queued: the paper's difference of rates, times the base RTT.
pub(crate) fn delta_paper(cwnd: f64, rtt: Duration, base: Duration) -> f64 {
    cwnd * (rtt.saturating_sub(base) / rtt)
}

/// Linux': by the base RTT, in whole packets of whole microseconds.
fn delta_linux(cwnd: u64, rtt: Duration, base: Duration) -> u64 {
    let base = base.as_micros() + 1;
    u64::try_from(cwnd as u128 * (rtt.as_micros() + 1).saturating_sub(base) as u128 / base as u128).unwrap_or(u64::MAX)
}

/// FreeBSD's: whole bytes per tick of a millisecond, times ticks, in whole segments.
fn delta_freebsd(cwnd: Bytes, sent: Bytes, rtt: Duration, base: Duration, mss: Bytes) -> i64 {
    let (rtt, base) = (rtt.as_millis().max(1), base.as_millis().max(1));
    let short = (cwnd.get() / base) as i64 - (sent.get() / rtt) as i64;
    short.saturating_mul(base as i64) / mss.get() as i64
}

impl Algorithm for Vegas {
    const ABOUT: About = About {
        name: "vegas",
        title: "Vegas",
        paper: "Brakmo, O'Malley and Peterson, TCP Vegas, SIGCOMM 1994",
        family: Family::Delay,
        signal: "RTT per round",
        evidence: Evidence::Equations,
        departures: &[
            "no retransmission on the first or second duplicate ACK: loss detection is the host's",
            "halves on every loss, where the paper takes a quarter for losses it found early",
        ],
        start: StartRule::Own("vegas"),
        of_start: &["gamma", "exit_cut"],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        if p.reference == Reference::FreeBsd {
            setup.flow.follow_freebsd();
        }
        let base = setup.flow.min_rtt;
        Vegas { p: p.clone(), own_start: setup.own_start, base, grows: true, enabled: Instant::ZERO, delta: 0.0 }
    }
}

impl Vegas {
    /// Learns the base RTT, whoever decides about the window.
    pub(super) fn hear(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base = if self.base.is_zero() { rtt } else { self.base.min(rtt) };
        }
    }

    /// The base RTT; zero before the first sample.
    pub(super) fn base(&self) -> Duration {
        self.base
    }

    /// The round's RTT by the chosen rules, and Δ; `None` if the round tells nothing.
    pub(super) fn judge(&self, flow: &Flow, round: &Round) -> Option<(f64, Duration)> {
        let timed = if round.marked_rtt.is_zero() { round.min_rtt } else { round.marked_rtt };
        let rtt = if self.p.reference == Reference::Linux { round.min_rtt } else { timed };
        if rtt.is_zero() || self.base.is_zero() {
            return None;
        }
        // The kernels take the window at the round's end (h_ertt's `marked_snd_cwnd` too: it is set when the mark comes back),
        // the paper that whose data the round measured.
        let delta = match self.p.reference {
            Reference::Paper => {
                let window = if round.cwnd.is_zero() { flow.cwnd } else { round.cwnd };
                delta_paper(window.packets(flow.mss), rtt, self.base)
            }
            Reference::Linux => delta_linux(flow.cwnd.get() / flow.mss.get(), rtt, self.base) as f64,
            Reference::FreeBsd => delta_freebsd(flow.cwnd, round.sent, rtt, self.base, flow.mss) as f64,
        };
        Some((delta, rtt))
    }

    /// The window comes down to `to`, and the threshold with it, or slow start would begin anew.
    fn shrink(&self, flow: &mut Flow, to: Bytes) {
        let least = if self.p.reference == Reference::FreeBsd { flow.mss * 2 } else { flow.floor };
        flow.cwnd = to.max(least);
        flow.ssthresh = flow.ssthresh.min(flow.cwnd);
    }

    fn end_slow_start(&self, flow: &mut Flow, rtt: Duration) {
        let before = flow.windows();
        let to = match self.p.reference {
            Reference::Paper => flow.cwnd.mul_f64(1.0 - self.p.exit_cut),
            Reference::Linux => {
                let whole = flow.cwnd.mul_f64(self.base / rtt).get() / flow.mss.get() + 1;
                flow.cwnd.min(flow.mss * whole)
            }
            Reference::FreeBsd => flow.cwnd.saturating_sub(flow.mss),
        };
        self.shrink(flow, to);
        let (rtt, base_rtt) = (rtt.as_nanos() as i64, self.base.as_nanos() as i64);
        let bdp = flow.cwnd.get() as i64;
        flow.because(causes::SlowStartExit { reason: exits::QUEUED, rtt, base_rtt, bdp, ..Default::default() }, before);
    }

    fn end_of_round(&mut self, flow: &mut Flow, round: &Round) {
        let freebsd = self.p.reference == Reference::FreeBsd;
        if !freebsd {
            self.grows = !self.grows || self.p.reference == Reference::Linux;
        }
        let Some((delta, rtt)) = self.judge(flow, round) else { return };
        self.delta = delta;
        let exit = if freebsd { self.p.beta() } else { self.p.gamma };
        if freebsd {
            // Its toggle moves only while too little is queued; between α and β it stays.
            self.grows =
                if delta < self.p.alpha() { flow.in_slow_start() && !self.grows } else { self.grows && delta <= exit };
        }
        // At its threshold FreeBSD is in slow start by name, but a long queue shrinks the window as in avoidance.
        let at_threshold = freebsd && flow.cwnd == flow.ssthresh;
        if flow.in_slow_start() && !(at_threshold && delta > exit) {
            if self.own_start && delta > exit {
                self.end_slow_start(flow, rtt);
            }
        } else if delta < self.p.alpha() {
            if self.may_grow(flow) {
                flow.cwnd += flow.mss;
            }
        } else if delta > self.p.beta() {
            let before = flow.windows();
            self.shrink(flow, flow.cwnd.saturating_sub(flow.mss));
            let queue = rtt.saturating_sub(self.base).as_nanos() as i64;
            flow.because(causes::DelayBackoff { queue, ..Default::default() }, before);
        }
        if self.p.reference == Reference::Linux {
            flow.ssthresh = flow.ssthresh.max(flow.cwnd.mul_f64(0.75));
        }
    }

    /// Does Linux leave this ACK to Reno? All outside Open (`vegas_disable`), and one that ends a round of too few
    /// samples.
    fn is_renos(&self, flow: &Flow, ack: &Ack) -> bool {
        self.p.reference == Reference::Linux
            && (flow.phase != Phase::Open || ack.round.is_some_and(|round| self.counts(&round) && round.samples < 3))
    }

    /// The kernels' own steps do not ask whether the window was what held the flow back; FreeBSD's slow start is NewReno's.
    fn may_grow(&self, flow: &Flow) -> bool {
        self.p.reference != Reference::Paper || flow.may_grow()
    }

    fn counts(&self, round: &Round) -> bool {
        round.start >= self.enabled
    }

    fn enable(&mut self, flow: &Flow) {
        if self.p.reference == Reference::Linux {
            self.enabled = flow.now;
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        self.hear(ack);
        if !flow.phase.grows() {
            return;
        }
        if self.is_renos(flow, ack) {
            return flow.grow_as_reno(ack.cumulative);
        }
        let slow_start = flow.in_slow_start();
        if let Some(round) = ack.round.filter(|round| self.counts(round)) {
            self.end_of_round(flow, &round);
        }
        if self.p.reference == Reference::FreeBsd && self.grows && self.own_start {
            flow.grow_as_reno(ack.cumulative);
        } else if self.may_grow(flow) && slow_start && flow.in_slow_start() && (self.grows || !self.own_start) {
            flow.slow_start(ack.cumulative);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        if self.p.reference != Reference::FreeBsd {
            self.grows = true;
        } else if congestion.signal != Signal::Timeout {
            // A window that is not below its threshold when recovery begins (`vegas_cong_signal`).
            self.grows = false;
        }
        Reaction::Reduce(match self.p.reference {
            Reference::Paper => flow.cwnd / 2,
            Reference::Linux | Reference::FreeBsd => flow.segments(flow.cwnd / 2),
        })
    }

    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        // `tcp_event_data_sent`: what was outstanding is acknowledged or lost, and the path may be another one.
        if self.p.reference == Reference::Linux && sent.in_flight <= sent.size {
            self.base = Duration::ZERO;
            self.enable(flow);
        }
    }

    fn on_undo(&mut self, flow: &mut Flow) {
        self.enable(flow);
    }

    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        if event == Event::RecoveryEnd {
            self.enable(flow);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("delta", self.delta);
        see("base_rtt_ms", self.base.as_millis_f64());
    }
}

#[cfg(test)]
mod tests;
