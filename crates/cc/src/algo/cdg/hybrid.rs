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
mod tests {
    use super::*;
    use crate::testing::{flow, value};

    /// The ACK at which slow start ends, of 100 that are `gap` apart with this RTT, after a smallest RTT of 40 ms.
    fn exit(detect: u32, gap: Duration, rtt: i64) -> Option<usize> {
        let mut f = flow(10, 40);
        let mut h = Hybrid::new(detect);
        h.delay_min = 40_000;
        let ended = (0..100).find(|_| {
            h.ack(&mut f, rtt);
            f.now += gap;
            f.has_events()
        });
        for e in f.drain_events() {
            let of = |name: &str| value(&e, name);
            let reason = if detect == ACK_TRAIN { exits::ACK_TRAIN } else { exits::DELAY };
            assert_eq!((of("reason"), of("rtt"), of("base_rtt")), (reason, rtt * 1000, 40_000_000));
        }
        ended
    }

    #[test]
    fn delay_ends_it_at_nine_eighths_of_the_smallest_rtt_after_eight_samples() {
        let gap = Duration::from_millis(1);
        assert_eq!((exit(2, gap, 45_000), exit(2, gap, 45_001)), (None, Some(8)));
    }

    #[test]
    fn a_train_ends_it_when_longer_than_half_the_smallest_rtt() {
        assert_eq!(exit(1, Duration::from_millis(1), 40_000), Some(21));
        assert_eq!(exit(1, Duration::from_millis(3), 40_000), None, "too far apart");
        assert_eq!(exit(0, Duration::from_millis(1), 40_000), None);
    }

    #[test]
    fn a_round_or_idleness_begins_the_count_and_the_train_anew() {
        let ended = |detect: u32, begin: fn(&mut Hybrid)| {
            let mut f = flow(10, 40);
            let mut h = Hybrid::new(detect);
            h.ack(&mut f, 40_000);
            (0..100).find(|n| {
                if n % 8 == 7 {
                    begin(&mut h);
                }
                f.now += Duration::from_millis(1);
                h.ack(&mut f, 46_000);
                f.has_events()
            })
        };
        for detect in [ACK_TRAIN, DELAY] {
            assert!(ended(detect, |_| ()).is_some());
            assert_eq!(
                ended(detect, Hybrid::round),
                None,
                "{detect}: eight ACKs are neither samples enough nor a train"
            );
            assert_eq!(ended(detect, Hybrid::restart), None, "{detect}");
        }
        // After idleness the smallest RTT is another's, too.
        let mut h = Hybrid::new(DELAY);
        h.ack(&mut flow(10, 40), 40_000);
        h.restart();
        assert_eq!((h.delay_min, h.detect), (0, DELAY));
    }

    #[test]
    fn rounds_without_a_sample_say_nothing_and_a_window_that_is_not_used_has_no_train() {
        let mut f = flow(10, 40);
        let mut h = Hybrid::new(ACK_TRAIN | DELAY);
        h.ack(&mut f, 0);
        assert_eq!(h.delay_min, 0);
        h.ack(&mut f, 40_000);
        h.ack(&mut f, 0);
        assert_eq!(h.delay_min, 40_000);
        f.cwnd_limited = false;
        for _ in 0..100 {
            f.now += Duration::from_millis(1);
            h.ack(&mut f, 40_000);
        }
        assert!(!f.has_events());
        // Trains alone do not look at delay, nor delay alone at trains.
        assert_eq!(exit(ACK_TRAIN, Duration::from_millis(3), 60_000), None);
        assert_eq!(exit(DELAY, Duration::from_millis(1), 40_000), None);
    }
}
