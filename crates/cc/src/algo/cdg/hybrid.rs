//! The hybrid slow start of Linux's CDG: HyStart at any window, on a microsecond clock, with its own delay threshold.

use crate::{Flow, causes, exits};
use units::{Duration, Instant};

/// ACKs further apart than this are no train.
const TRAIN_GAP: Duration = Duration::from_millis(3);
/// Least threshold in µs, of a train's length and of the delay.
const LEAST: i64 = 125;
/// Samples in a round before delay is looked at.
const SAMPLES: u32 = 8;

/// Bits of `hystart_detect`.
const ACK_TRAIN: u32 = 1;
const DELAY: u32 = 2;

/// State, in µs where it is a time.
#[derive(Debug)]
pub(super) struct Hybrid {
    detect: u32,
    samples: u32,
    delay_min: i64,
    last_ack: Option<Instant>,
    round_start: Instant,
}

impl Hybrid {
    /// `detect`: 0 nothing, 1 ACK trains, 2 delay, 3 both.
    pub fn new(detect: u32) -> Self {
        Hybrid { detect, samples: 0, delay_min: 0, last_ack: None, round_start: Instant::ZERO }
    }

    /// A round begins.
    pub fn round(&mut self) {
        (self.samples, self.last_ack) = (0, None);
    }

    /// The connection starts again after idleness.
    pub fn restart(&mut self) {
        *self = Hybrid::new(self.detect);
    }

    /// An ACK in slow start, with the smallest RTT of the round so far (0 if none).
    pub fn ack(&mut self, flow: &mut Flow, round_min: i64) {
        if round_min > 0 {
            self.delay_min = if self.delay_min == 0 { round_min } else { self.delay_min.min(round_min) };
        }
        if self.delay_min == 0 {
            return;
        }
        let reason = if self.detect & ACK_TRAIN != 0 && self.train(flow) {
            exits::ACK_TRAIN
        } else if self.detect & DELAY != 0 && self.delayed(round_min) {
            exits::DELAY
        } else {
            return;
        };
        flow.leave_slow_start(causes::SlowStartExit {
            reason,
            rtt: round_min * 1000,
            base_rtt: self.delay_min * 1000,
            ..Default::default()
        });
    }

    /// Do ACKs keep coming for longer than half the smallest RTT?
    fn train(&mut self, flow: &Flow) -> bool {
        match self.last_ack {
            Some(last) if flow.cwnd_limited => {
                if flow.now >= last + TRAIN_GAP {
                    return false;
                }
                self.last_ack = Some(flow.now);
                flow.now.since(self.round_start).as_micros() as i64 > (self.delay_min / 2).max(LEAST)
            }
            _ => {
                self.last_ack = Some(flow.now);
                self.round_start = flow.now;
                false
            }
        }
    }

    /// Is every RTT of the round, after some samples, more than an eighth above the smallest?
    fn delayed(&mut self, round_min: i64) -> bool {
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        round_min > (self.delay_min + self.delay_min / 8).max(LEAST)
    }
}

#[cfg(test)]
mod tests;
