//! LEDBAT++: LEDBAT on round-trip times, slower than Reno, that gives way in proportion, and steps aside at intervals to see
//! the empty path, so that latecomers have no advantage.
//!
//! ```text
//! q = min(last four RTTs) − min(minute minima of ten minutes);   GAIN = 1 / min(16, ⌈2·TARGET/base⌉)
//! q ≤ TARGET:   W += GAIN / W per packet                      q > TARGET: once a round W += max(GAIN − W·(q/TARGET − 1), −W/2)
//! slow start:   W += GAIN per packet; the first ends at q > ¾·TARGET
//! slowdown:     W = 2 for two RTTs, then slow start to what it was: two RTTs after the first slow start,
//!               then nine times as long after the end of the last one as that took
//! loss:         W / 2
//! ```
//! Source: draft-irtf-iccrg-ledbat-plus-plus, sections 4 and 5.

use crate::filter::Minima;
use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Evidence, Family, Flow, Growth, How, Phase, Reaction, Round,
    Setup, Signal, StartRule, causes, exits, probes,
};
use units::{Bytes, Duration, Instant, math};

params::params! {
    /// Values of the draft.
    pub struct Params {
        /// Queueing delay to hold.
        target: Duration = Duration::from_millis(60), Duration::from_millis(1) => Duration::from_secs(1);
        /// A slowdown starts this many times the previous slowdown's length after that one's end: at 9, slowdowns take
        /// about a tenth of the time.
        slowdown_every: f64 = 9.0, 1.0 => 1000.0;
        /// Newest RTTs of which the smallest counts (the draft leaves the filter open; LEDBAT's four).
        current_filter: u32 = 4, 1 => 64;
    }
}

/// GAIN is no smaller than one in so many.
const LEAST_GAIN: f64 = 16.0;
/// The part of the target at which the first slow start ends.
const EXIT: f64 = 0.75;
/// RTTs between the first slow start and the first slowdown, and that a slowdown rests.
const RESTS: u64 = 2;
/// Minutes of base history, as LEDBAT's.
const MINUTES: usize = 10;

/// Where it is between two slowdowns.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// The first slow start.
    First,
    /// Congestion avoidance until a slowdown is due.
    Avoidance { until: Instant },
    /// Two packets until then.
    Resting { since: Instant, until: Instant },
    /// Slow start back to what it was.
    Returning { since: Instant },
}

/// State: two filters of the RTT and the stage.
#[derive(Debug)]
pub struct LedbatPp {
    p: Params,
    base: Minima<Duration>,
    current: Minima<Duration>,
    samples: u64,
    queue: Duration,
    divisor: f64,
    stage: Stage,
}

impl Algorithm for LedbatPp {
    const ABOUT: About = About {
        name: "ledbat_pp",
        title: "LEDBAT++",
        paper: "Balasubramanian, Ertugay and Havey, draft-irtf-iccrg-ledbat-plus-plus",
        family: Family::Delay,
        signal: "RTT, with periodic slowdowns",
        evidence: Evidence::Equations,
        departures: &[
            "the decrease above the target is taken once a round, the increase below it by packets",
            "a loss during a slowdown halves what it returns to as well",
        ],
        start: StartRule::Fixed,
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        setup.flow.avoid_at_ssthresh();
        LedbatPp {
            p: p.clone(),
            base: Minima::new(MINUTES),
            current: Minima::new(p.current_filter as usize),
            samples: 0,
            queue: Duration::ZERO,
            divisor: LEAST_GAIN,
            stage: Stage::First,
        }
    }
}

/// One over GAIN: a whole number.
fn divisor(target: Duration, base: Duration) -> f64 {
    if base.is_zero() { LEAST_GAIN } else { math::ceil(target / base * 2.0).clamp(1.0, LEAST_GAIN) }
}

impl LedbatPp {
    fn measure(&mut self, now: Instant, rtt: Duration) {
        self.samples += 1;
        let base = self.base.update(now.as_nanos() / Duration::from_secs(60).as_nanos(), rtt);
        self.queue = self.current.update(self.samples, rtt).saturating_sub(base);
        self.divisor = divisor(self.p.target, base);
    }

    /// What a round above the target adds, in packets: less than nothing.
    fn decrease(&self, w: f64) -> f64 {
        (1.0 / self.divisor - w * (self.queue / self.p.target - 1.0)).max(-w / 2.0)
    }

    fn end_of_round(&self, flow: &mut Flow, _: &Round) {
        let step = self.decrease(flow.cwnd.packets(flow.mss));
        if self.queue > self.p.target && step < 0.0 && flow.phase == Phase::Open {
            let queue = self.queue.as_nanos() as i64;
            let to = flow.cwnd.saturating_sub(flow.mss.mul_f64(-step));
            flow.reduce(to, How::AtOnce, causes::DelayBackoff { queue, ..Default::default() });
        }
    }

    fn begin_slowdown(&mut self, flow: &mut Flow) {
        self.stage = Stage::Resting { since: flow.now, until: flow.now + flow.srtt * RESTS };
        let before = flow.windows();
        // One that is due in slow start, after an idle time or a timeout, keeps what that returns to (Apple's `tcp_ledbat.c`).
        (flow.ssthresh, flow.cwnd) = (flow.cwnd.max(flow.ssthresh), flow.mss * 2);
        let base_rtt = self.base.get().unwrap_or(Duration::ZERO).as_nanos() as i64;
        flow.because(causes::ProbeStart { what: probes::BASE_RTT, base_rtt }, before);
    }

    fn end_slowdown(&mut self, flow: &mut Flow, since: Instant) {
        let took = flow.now.since(since);
        self.stage = Stage::Avoidance { until: flow.now + took.mul_f64(self.p.slowdown_every) };
        let base_rtt = self.base.get().unwrap_or(Duration::ZERO).as_nanos() as i64;
        let queue = self.queue.as_nanos() as i64;
        flow.note(causes::ProbeEnd { what: probes::BASE_RTT, base_rtt, queue });
    }

    /// Moves on to the next stage if it is time.
    fn advance(&mut self, flow: &mut Flow) {
        match self.stage {
            Stage::First if !flow.in_slow_start() => {
                self.stage = Stage::Avoidance { until: flow.now + flow.srtt * RESTS };
            }
            Stage::First if self.queue > self.p.target.mul_f64(EXIT) => {
                let (rtt, base_rtt) = (flow.rtt.as_nanos() as i64, flow.min_rtt.as_nanos() as i64);
                let reason = exits::DELAY;
                flow.leave_slow_start(causes::SlowStartExit { reason, rtt, base_rtt, ..Default::default() });
                self.stage = Stage::Avoidance { until: flow.now + flow.srtt * RESTS };
            }
            Stage::Avoidance { until } if flow.now >= until && flow.cwnd > flow.mss * 2 => self.begin_slowdown(flow),
            Stage::Resting { since, until } if flow.now >= until => self.stage = Stage::Returning { since },
            Stage::Returning { since } if !flow.in_slow_start() => self.end_slowdown(flow, since),
            _ => {}
        }
    }
}

impl CongestionControl for LedbatPp {
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.measure(flow.now, rtt);
        }
        if !flow.phase.grows() {
            return;
        }
        self.advance(flow);
        flow.growth = Growth { divisor: self.divisor as u32, per_ack: Bytes::MAX };
        if matches!(self.stage, Stage::Resting { .. }) {
            return;
        }
        if flow.in_slow_start() {
            if flow.may_grow() {
                flow.slow_start(ack.cumulative);
            }
        } else if self.queue <= self.p.target {
            if flow.may_grow() {
                flow.additive(flow.cwnd.mul_f64(self.divisor), ack.cumulative);
            }
        } else if let Some(round) = &ack.round {
            self.end_of_round(flow, round);
        }
    }

    fn on_congestion(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let stepped_aside = matches!(self.stage, Stage::Resting { .. } | Stage::Returning { .. });
        if !stepped_aside || !flow.in_slow_start() {
            return Reaction::Reduce(flow.cwnd / 2);
        }
        // What it has is little already; what it returns to is halved with it.
        let to = (flow.ssthresh / 2).max(flow.floor);
        if c.signal == Signal::Timeout {
            return Reaction::Reduce(to);
        }
        let before = flow.windows();
        (flow.cwnd, flow.ssthresh) = ((flow.cwnd / 2).max(flow.mss * 2).min(to), to);
        flow.because(causes::LossBackoff { lost: c.lost.get() as i64, ..Default::default() }, before);
        Reaction::Own
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("queue_ms", self.queue.as_millis_f64());
        see("gain", 1.0 / self.divisor);
        see("steps_aside", matches!(self.stage, Stage::Resting { .. } | Stage::Returning { .. }) as u8 as f64);
    }
}

#[cfg(test)]
mod tests;
