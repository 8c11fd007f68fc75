//! Modes, their gains, and the cycle of eight phases of PROBE_BW.

use super::Params;
use crate::{Flow, causes, modes, probes};
use units::{Bytes, Duration, Instant, Rate, Rng};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Startup = modes::STARTUP as isize,
    Drain = modes::DRAIN as isize,
    ProbeBw = modes::PROBE_BW as isize,
    ProbeRtt = modes::PROBE_RTT as isize,
}

/// Ask for more, give back what was queued, cruise.
pub(super) const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) mode: Mode,
    pub(super) index: usize,
    began: Instant,
}

impl Cycle {
    pub(super) fn new(now: Instant) -> Self {
        Cycle { mode: Mode::Startup, index: 0, began: now }
    }

    pub(super) fn pacing_gain(&self, p: &Params, policed: bool) -> f64 {
        match self.mode {
            Mode::Startup => p.startup_gain,
            Mode::Drain => p.drain_gain,
            Mode::ProbeBw if policed => 1.0,
            Mode::ProbeBw => GAINS[self.index],
            Mode::ProbeRtt => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self, p: &Params) -> f64 {
        match self.mode {
            Mode::Startup | Mode::Drain => p.startup_gain,
            Mode::ProbeBw => p.cwnd_gain,
            Mode::ProbeRtt => 1.0,
        }
    }

    pub(super) fn switch(&mut self, flow: &mut Flow, to: Mode, queue: Duration, bw: Rate) {
        let (queue, bandwidth) = (queue.as_nanos() as i64, bw.as_bps() as i64);
        flow.note(causes::ModeSwitch { from: self.mode as i64, to: to as i64, queue, bandwidth });
        self.mode = to;
    }

    /// Enters PROBE_BW in a random phase, but not the one that gives back.
    pub(super) fn probe_bandwidth(&mut self, flow: &mut Flow, rng: &mut Rng) {
        self.switch(flow, Mode::ProbeBw, Duration::ZERO, Rate::ZERO);
        self.index = GAINS.len() - 1 - rng.below(GAINS.len() as u64 - 1) as usize;
        self.next(flow);
    }

    fn next(&mut self, flow: &mut Flow) {
        let base_rtt = flow.min_rtt.as_nanos() as i64;
        if self.index == 0 {
            let queue = flow.rtt.saturating_sub(flow.min_rtt).as_nanos() as i64;
            flow.note(causes::ProbeEnd { what: probes::BANDWIDTH, base_rtt, queue });
        }
        self.index = (self.index + 1) % GAINS.len();
        self.began = flow.now;
        if self.index == 0 {
            flow.note(causes::ProbeStart { what: probes::BANDWIDTH, base_rtt });
        }
    }

    /// What this phase wants in flight, and whether that is a rise; `None` if only time ends it.
    pub(super) fn goal(&self, p: &Params, policed: bool, inflight: impl Fn(f64) -> Bytes) -> Option<(Bytes, bool)> {
        if self.mode != Mode::ProbeBw {
            return None;
        }
        let gain = self.pacing_gain(p, policed);
        if gain > 1.0 {
            Some((inflight(gain), true))
        } else if gain < 1.0 {
            Some((inflight(1.0), false))
        } else {
            None
        }
    }

    /// Goes on to the next phase when this one has had its time and reached its goal. Asking for more also ends with a
    /// loss: the path may not hold that much. Giving back ends early when the queue is gone.
    pub(super) fn advance(
        &mut self,
        flow: &mut Flow,
        goal: Option<(Bytes, bool)>,
        in_flight: Bytes,
        lost: bool,
        min_rtt: Duration,
    ) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let had_its_time = flow.now.since(self.began) > min_rtt;
        let over = match goal {
            None => had_its_time,
            Some((want, true)) => had_its_time && (lost || in_flight >= want),
            Some((want, false)) => had_its_time || in_flight <= want,
        };
        if over {
            self.next(flow);
        }
    }
}
