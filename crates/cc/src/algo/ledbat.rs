//! LEDBAT: a scavenger that holds the queue of the way forth at a target delay and so gives way to whoever fills it.
//!
//! ```text
//! queue     = min(newest one-way delays) − min(minute minima of the last ten minutes)
//! off       = (TARGET − queue) / TARGET
//! each ACK:   cwnd += GAIN·off·acked·MSS / cwnd, to no more than in flight + ALLOWED_INCREASE·MSS
//! loss:       cwnd / 2
//! ```
//! At the target it rests; without a queue it grows as Reno; with twice the target it shrinks as fast. Whoever comes
//! late takes the queue of those before for the path's own delay: the latecomer's advantage.
//!
//! Source: RFC 6817, section 2.4.2 (`rfc`), which grows from the initial window without slow start. `libutp` is
//! BitTorrent's: up to 3000 bytes per RTT, so twice Reno's pace and more with small packets; three newest delays and
//! never more than the RTT; thirteen minutes; a slow start of a packet per RTT up to 0.9 of the target.

use crate::filter::Minima;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Reaction, Setup, StartRule, causes,
    exits,
};
use params::Auto;
use units::{Bytes, Duration};

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// RFC 6817.
        Rfc = "rfc",
        /// BitTorrent's library.
        Libutp = "libutp",
    }
}

params::params! {
    /// Values of RFC 6817, sections 2.4.2 and 2.5; where a default is `auto`, the reference decides.
    pub struct Params {
        /// Whose rules.
        reference: Reference = Reference::Rfc;
        /// Queueing delay to hold. The RFC allows no more than 100 ms; 25 and 5 ms are Apple's early and Linux' module's.
        target: Duration = Duration::from_millis(100), Duration::from_millis(1) => Duration::from_secs(1);
        /// Growth without a queue in packets per RTT; the RFC allows no more than 1. auto: 1, or libutp's 3000 bytes.
        gain: Auto = Auto::AUTO, Auto::of(0.01) => Auto::of(10.0);
        /// The window grows to no more than what is in flight and so many packets (ALLOWED_INCREASE); by less than one it
        /// could not grow at all.
        allowed_increase: f64 = 1.0, 1.0 => 100.0;
        /// Minutes whose smallest delays are remembered (BASE_HISTORY). auto: 10, or libutp's 13.
        base_history: Auto = Auto::AUTO, Auto::of(1.0) => Auto::of(100.0);
        /// Newest delays of which the smallest counts (CURRENT_FILTER). auto: 4, or libutp's 3.
        current_filter: Auto = Auto::AUTO, Auto::of(1.0) => Auto::of(64.0);
    }
}

/// Most that libutp's window grows in an RTT (`MAX_CWND_INCREASE_BYTES_PER_RTT`).
const LIBUTP_INCREASE: Bytes = Bytes::new(3000);
/// The part of the target at which libutp's slow start ends.
const LIBUTP_EXIT: f64 = 0.9;

/// State: two filters of the one-way delay, and growth (or decline) that does not make a packet yet.
#[derive(Debug)]
pub struct Ledbat {
    p: Params,
    own_start: bool,
    base: Minima<Duration>,
    current: Minima<Duration>,
    samples: u64,
    queue: Duration,
    fraction: f64,
}

impl Algorithm for Ledbat {
    const ABOUT: About = About {
        name: "ledbat",
        title: "LEDBAT",
        paper: "RFC 6817; libutp",
        family: Family::Delay,
        signal: "one-way delay",
        evidence: Evidence::Equations,
        departures: &[
            "moves by whole segments: fractions are kept until they make one",
            "starts from the host's initial window (the RFC's is initial_window=2), and grows only a window that is used",
            "the allowance over what is in flight limits growth; it does not take back a window that was not used",
            "without timestamps it has no signal and is Reno",
            "libutp: the host decides how often a loss counts (once a window; libutp once in 100 ms), windows stay at two \
             packets or above, and its corrections for drifting clocks are left out",
        ],
        start: StartRule::Own("ledbat"),
        needs_one_way: true,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        if setup.own_start && p.reference == Reference::Rfc {
            setup.flow.ssthresh = setup.flow.cwnd;
        }
        let (history, filter) = if p.reference == Reference::Rfc { (10.0, 4.0) } else { (13.0, 3.0) };
        Ledbat {
            p: p.clone(),
            own_start: setup.own_start,
            base: Minima::new(p.base_history.or(history) as usize),
            current: Minima::new(p.current_filter.or(filter) as usize),
            samples: 0,
            queue: Duration::ZERO,
            fraction: 0.0,
        }
    }
}

impl Ledbat {
    fn measure(&mut self, flow: &Flow, delay: Duration) {
        self.samples += 1;
        let base = self.base.update(flow.now.as_nanos() / Duration::from_secs(60).as_nanos(), delay);
        self.queue = self.current.update(self.samples, delay).saturating_sub(base);
        if self.p.reference == Reference::Libutp && !flow.rtt.is_zero() {
            self.queue = self.queue.min(flow.rtt);
        }
    }

    /// What an ACK adds to the window, in bytes; negative above the target.
    fn step(&self, flow: &Flow, acked: Bytes) -> f64 {
        let off = self.p.target.diff_millis(self.queue) / self.p.target.as_millis_f64();
        let (gain, part) = match self.p.reference {
            Reference::Rfc => (1.0, acked.as_f64() / flow.cwnd.as_f64()),
            Reference::Libutp => {
                let part = acked.min(flow.cwnd).as_f64() / acked.max(flow.cwnd).as_f64();
                (LIBUTP_INCREASE.packets(flow.mss), part)
            }
        };
        let (step, mss) = (self.p.gain.or(gain) * off, flow.mss.as_f64());
        mss * part * if self.is_starting(flow) && self.own_start { step.max(1.0) } else { step }
    }

    /// The RFC has no slow start, also not after a timeout.
    fn is_starting(&self, flow: &Flow) -> bool {
        flow.in_slow_start() && !(self.own_start && self.p.reference == Reference::Rfc)
    }

    /// Slow start, its own or another, ends near the target.
    fn maybe_leave_slow_start(&self, flow: &mut Flow) {
        if self.is_starting(flow) && self.queue > self.p.target.mul_f64(LIBUTP_EXIT) {
            let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
            flow.leave_slow_start(causes::SlowStartExit { reason: exits::DELAY, rtt, base_rtt, ..Default::default() });
        }
    }

    fn apply(&mut self, flow: &mut Flow, acked: Bytes) {
        let step = self.step(flow, acked);
        if step > 0.0 && !flow.may_grow() {
            return;
        }
        self.fraction += step;
        let whole = (self.fraction / flow.mss.as_f64()) as i64;
        self.fraction -= whole as f64 * flow.mss.as_f64();
        if whole > 0 {
            let allowed = flow.in_flight + acked + flow.mss.mul_f64(self.p.allowed_increase);
            flow.cwnd = flow.cwnd.max((flow.cwnd + flow.mss * whole as u64).min(allowed));
        } else if whole < 0 {
            let before = flow.windows();
            flow.cwnd = flow.cwnd.saturating_sub(flow.mss * whole.unsigned_abs()).max(flow.floor).min(flow.cwnd);
            flow.ssthresh = flow.ssthresh.min(flow.cwnd.max(flow.floor));
            flow.because(causes::DelayBackoff { queue: self.queue.as_nanos() as i64, ..Default::default() }, before);
        }
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(delay) = ack.one_way {
            self.measure(flow, delay);
        }
        if !flow.phase.grows() {
            return;
        }
        self.maybe_leave_slow_start(flow);
        let mut acked = ack.cumulative;
        let deaf = self.samples == 0;
        if (deaf || !self.own_start) && flow.in_slow_start() {
            acked = if flow.may_grow() { flow.slow_start(acked) } else { Bytes::ZERO };
        }
        if deaf && flow.may_grow() && !acked.is_zero() {
            flow.additive(flow.cwnd, acked);
        } else if !deaf && !acked.is_zero() {
            self.apply(flow, acked);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, _: &Congestion) -> Reaction {
        self.fraction = 0.0;
        Reaction::Reduce(flow.cwnd / 2)
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queue_ms", self.queue.as_millis_f64());
        see("base_ms", self.base.get().map_or(0.0, Duration::as_millis_f64));
    }
}

#[cfg(test)]
mod tests;
