//! Delay, loss and probe mode (section 5.3.2, Algorithms 5.1 and 5.2, Figure 5.26): when to change between them.

use super::params::{Params, ProbeRounds};
use units::{Duration, Instant};

/// What decides the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Delay gradients, and losses.
    Delay = 0,
    /// Losses only: loss-based competitors are there.
    Loss = 1,
    /// A tiny window, to see whether they still are.
    Probe = 2,
}

/// The last m rounds: was the smallest queueing delay (Eq 5.13) above the threshold? One bit a round instead of the
/// thesis' 0 and 100.
#[derive(Debug)]
struct Detection {
    size: u32,
    high: u32,
    len: u32,
}

impl Detection {
    fn push(&mut self, high: bool) {
        let mask = (1u64 << self.size) - 1;
        self.high = (((self.high as u64) << 1 | high as u64) & mask) as u32;
        self.len = (self.len + 1).min(self.size);
    }
    fn clear(&mut self) {
        (self.high, self.len) = (0, 0);
    }
    fn full(&self) -> bool {
        self.len == self.size
    }
    /// sum(detection_q) == 100 m.
    fn all_high(&self) -> bool {
        self.full() && self.high.count_ones() == self.size
    }
    /// sum(detection_q) ≤ 25 m.
    fn mostly_low(&self) -> bool {
        self.full() && 4 * self.high.count_ones() <= self.size
    }
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Stay.
    Stay,
    /// Delay → loss mode, which begins with slow start.
    EnterLoss,
    /// Probe, or loss, → delay mode: nobody there.
    EnterDelay {
        /// A probe has found it.
        probed: bool,
    },
    /// Probe → loss mode: they are still there; restore the window.
    BackToLoss,
}

/// The mode machine.
#[derive(Debug)]
pub struct Modes {
    enabled: bool,
    begun: bool,
    leave_loss: bool,
    dwell_again: bool,
    entry_delay: Duration,
    dwell: Duration,
    m: u32,
    /// The mode.
    pub mode: Mode,
    detection: Detection,
    /// When to enter loss mode, if the queue is still long then.
    entry: Instant,
    /// `t_in_mode_switching`: when loss mode was entered from delay mode.
    switched: Instant,
    /// `t_in_loss_mode`: when loss mode was last entered.
    entered: Instant,
    /// How long the last probe took.
    probe_epoch: Duration,
    probe_began: Instant,
    probe_rounds: u32,
    probe_until: Instant,
    /// The RTT under way of a probe that goes by the clock, and its smallest sample.
    elapsing: (Instant, Duration),
}

impl Modes {
    /// Delay mode.
    pub fn new(p: &Params) -> Self {
        Modes {
            enabled: p.mode_switch.or(true),
            begun: p.probe_rounds == ProbeRounds::Begun,
            leave_loss: p.leave_loss,
            dwell_again: p.dwell_again,
            entry_delay: p.loss_entry,
            dwell: p.loss_dwell,
            m: p.rounds,
            mode: Mode::Delay,
            detection: Detection { size: p.rounds, high: 0, len: 0 },
            entry: Instant::MAX,
            switched: Instant::ZERO,
            entered: Instant::ZERO,
            probe_epoch: Duration::ZERO,
            probe_began: Instant::ZERO,
            probe_rounds: 0,
            probe_until: Instant::MAX,
            elapsing: (Instant::ZERO, Duration::MAX),
        }
    }

    /// A round ended; `high` tells whether its smallest queueing delay exceeded the threshold.
    pub fn round(&mut self, now: Instant, began: Instant, high: bool) -> Turn {
        if !self.enabled || (self.begun && self.mode == Mode::Probe && began < self.probe_began) {
            // A round that began before the probe tells about the time before it.
            return Turn::Stay;
        }
        self.detection.push(high);
        match self.mode {
            Mode::Delay => {
                if self.detection.all_high() && self.entry == Instant::MAX {
                    self.entry = now + self.entry_delay;
                }
                Turn::Stay
            }
            // Line 27 of Algorithm 5.2 is not limited to the probe; the text only excepts the dwell ("does not switch
            // back during these five seconds"). So the rounds after a probe, with the window not restored yet, count.
            Mode::Loss if self.leave_loss && now.since(self.switched) > self.dwell && self.detection.mostly_low() => {
                self.mode = Mode::Delay;
                Turn::EnterDelay { probed: false }
            }
            Mode::Loss => Turn::Stay,
            Mode::Probe => {
                self.probe_rounds += 1;
                if self.detection.mostly_low() {
                    self.mode = Mode::Delay;
                    Turn::EnterDelay { probed: true }
                } else if self.probe_rounds >= self.m {
                    self.return_to_loss(now)
                } else {
                    Turn::Stay
                }
            }
        }
    }

    /// An RTT measured in a probe whose RTTs go by the clock. The smallest, once an RTT has elapsed.
    pub fn elapsed(&mut self, now: Instant, rtt: Duration) -> Option<Duration> {
        let (began, smallest) = (self.elapsing.0, self.elapsing.1.min(rtt));
        let over = now.since(began) >= rtt;
        self.elapsing = if over { (now, Duration::MAX) } else { (began, smallest) };
        over.then_some(smallest)
    }

    /// A time given by [`wake`](Self::wake) has come, or may have.
    pub fn wake_up(&mut self, now: Instant) -> Turn {
        if now >= self.entry {
            self.entry = Instant::MAX;
            // The second is there to let competitors leave slow start; look again after it.
            if self.mode == Mode::Delay && self.detection.all_high() {
                self.mode = Mode::Loss;
                (self.switched, self.entered) = (now, now);
                return Turn::EnterLoss;
            }
        }
        if self.mode == Mode::Probe && now >= self.probe_until {
            return self.return_to_loss(now);
        }
        Turn::Stay
    }

    fn return_to_loss(&mut self, now: Instant) -> Turn {
        self.mode = Mode::Loss;
        self.probe_epoch = now.since(self.probe_began);
        self.entered = now;
        if self.dwell_again {
            self.switched = now;
        }
        Turn::BackToLoss
    }

    /// Competitors are suspected: the last round's queue was long, or loss mode is about to begin. Both come from the
    /// base RTT, which must not be sought beneath their queue meanwhile.
    pub fn suspects(&self) -> bool {
        self.enabled && self.mode == Mode::Delay && (self.entry != Instant::MAX || self.detection.high & 1 == 1)
    }

    /// In loss mode, is this loss an occasion to probe? Not within the dwell after leaving delay mode (5 s in the text
    /// and in Figure 5.27, 10 s in Algorithm 5.1), and not before loss mode has lasted longer than the last probe.
    pub fn probes(&self, now: Instant) -> bool {
        self.mode == Mode::Loss && now.since(self.switched) > self.dwell && now.since(self.entered) > self.probe_epoch
    }

    /// The probe begins. It ends after m rounds, or, should RTTs stop coming, after twice the time m rounds take at
    /// the RTT of now.
    pub fn probe(&mut self, now: Instant, rtt: Duration) {
        self.mode = Mode::Probe;
        self.detection.clear();
        (self.probe_began, self.probe_rounds) = (now, 0);
        self.elapsing = (now, Duration::MAX);
        self.probe_until = now + rtt * 2 * self.m as u64;
    }

    /// When to be woken.
    pub fn wake(&self) -> Instant {
        if self.mode == Mode::Probe { self.probe_until } else { self.entry }
    }

    /// Figure 5.27's detection heuristic, 0 to 100.
    pub fn detected(&self) -> f64 {
        100.0 * self.detection.high.count_ones() as f64 / self.detection.size as f64
    }
}

#[cfg(test)]
mod tests;
