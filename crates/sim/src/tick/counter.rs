//! How dummynet counts ticks.

use experiment::TickParams;
use units::{Duration, Instant, Rng, streams};

/// In nanoseconds.
pub(super) const SECOND: u128 = 1_000_000_000;

/// The emulator's count of ticks. All links of one run are one machine's.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    hz: u64,
    /// How long before the run's start the last tick came.
    phase: Duration,
    /// Ticks between two readings of the clock that differ: 1 is an exact counter.
    stride: u64,
    /// Share of readings that come early.
    early: f64,
    seed: u64,
}

impl Counter {
    pub(super) fn new(params: &TickParams, seed: u64) -> Self {
        let period = (SECOND / params.hz as u128) as u64;
        let phase = Duration::from_nanos(Rng::new(seed, u64::MAX, streams::EMULATOR).below(period));
        Counter { hz: params.hz, phase, stride: params.ticks_per_reading(), early: params.early, seed }
    }

    /// Ticks per second.
    pub(super) fn hz(&self) -> u64 {
        self.hz
    }

    /// Ticks between two readings of the clock that differ.
    pub(super) fn stride(&self) -> u64 {
        self.stride
    }

    /// Time from tick `count` to `now`, in 10⁻⁹ ticks.
    pub(super) fn nanoticks(&self, count: i64, now: Instant) -> i128 {
        (now + self.phase).as_nanos() as i128 * self.hz as i128 - count as i128 * SECOND as i128
    }

    /// A duration cut to whole ticks.
    pub(super) fn whole_ticks(&self, time: Duration) -> i64 {
        (time.as_nanos() as u128 * self.hz as u128 / SECOND) as i64
    }

    /// Kernel ticks until `now`.
    fn kernel(&self, now: Instant) -> u64 {
        ((now + self.phase).as_nanos() as u128 * self.hz as u128 / SECOND) as u64
    }

    /// When kernel tick `k` comes.
    fn time(&self, k: u64) -> Instant {
        let since_first = (k as u128 * SECOND).div_ceil(self.hz as u128) as u64;
        Instant::from_nanos(since_first.saturating_sub(self.phase.as_nanos()))
    }

    /// Did the reading at tick `k`, a multiple of the stride, come early? Then dummynet's sum of differences is a little
    /// short of a tick, and the last one follows with the next call.
    fn is_early(&self, k: u64) -> bool {
        k > 0 && Rng::new(self.seed, k, streams::EMULATOR).chance(self.early)
    }

    /// dummynet's `curr_time` at `now`.
    pub(super) fn read(&self, now: Instant) -> i64 {
        let k = self.kernel(now);
        if self.stride == 1 {
            return k as i64;
        }
        // Between two readings the count stands still, since dummynet takes back every tick that it adds; a reading
        // makes all of them good.
        let read = k - k % self.stride;
        read as i64 - i64::from(read == k && self.is_early(k))
    }

    /// When `curr_time` reaches `count`.
    pub(super) fn reaches(&self, count: i64) -> Instant {
        let count = count.max(0) as u64;
        if self.stride == 1 {
            return self.time(count);
        }
        let reading = count.next_multiple_of(self.stride);
        self.time(reading + u64::from(reading == count && self.is_early(reading)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(settings: &str) -> Counter {
        let spec: params::Spec = settings.parse().unwrap();
        Counter::new(&<TickParams as params::Params>::from_spec(&spec).unwrap(), 1)
    }

    #[test]
    fn an_exact_counter_counts_every_tick_at_any_rate() {
        for hz in [1, 3, 300, 1000, 1024, 10_000, 1_000_000] {
            let c = counter(&format!("tick(hz={hz})"));
            for k in [1, 2, 3, 10, 99_999] {
                let at = c.time(k);
                assert_eq!(c.read(at), k as i64, "{hz} Hz");
                assert_eq!(c.read(at - Duration::from_nanos(1)), k as i64 - 1, "{hz} Hz");
                assert_eq!(c.reaches(k as i64), at);
            }
        }
    }

    #[test]
    fn a_coarse_counter_stands_for_nine_ticks_and_makes_them_good_in_the_tenth() {
        for early in [0.0, 0.5, 1.0] {
            let c = counter(&format!("tick(hz=10000, clock=coarse, early={early})"));
            // dummynet's own bookkeeping, call by call, with readings that are 3 µs early or true.
            let (mut count, mut sum, mut before) = (0i64, 0i64, 0i64);
            let mut held_back = 0;
            for k in 1..5000u64 {
                let reading = k - k % 10;
                let late = if c.is_early(reading) { -3 } else { 0 };
                let now = reading as i64 * 100 + late;
                sum += (now - before) - 100;
                before = now;
                count += 1;
                if sum >= 100 {
                    count += sum / 100;
                    sum %= 100;
                } else if sum <= -100 {
                    count -= 1;
                    sum += 100;
                }
                assert_eq!(c.read(c.time(k)), count, "tick {k}, early {early}");
                held_back += i64::from(k % 10 == 0 && count < k as i64);
            }
            assert!((held_back as f64 / 499.0 - early).abs() < 0.07, "{held_back} of 499 at {early}");
            for count in 1..200 {
                let at = c.reaches(count);
                assert!(c.read(at) >= count && c.read(at - Duration::from_nanos(1)) < count, "{count}");
            }
        }
    }
}
