//! A host's tick clock: coarse, out of phase with other hosts, and a little fast or slow.

use units::{Duration, Instant};

/// Counts ticks. A clock that is not true remembers the current one, since what it must work out costs 128-bit
/// divisions.
#[derive(Clone, Debug)]
pub(crate) struct TickClock {
    tick: u64,
    phase: u64,
    /// 2^(64 + `shift`) over the tick, rounded up: a division costs as much as forty instructions.
    inverse: u64,
    shift: u32,
    /// Halves of one word, so that an endpoint stays small.
    skew_ppb: i32,
    drift: i32,
    now: u32,
    /// The next tick; time does not go back.
    until: Instant,
}

impl TickClock {
    /// `skew_ppb`: how much too fast it is at time zero; `drift`: by how many ppb that grows in an hour. The shortest tick is two
    /// nanoseconds.
    pub fn new(tick: Duration, phase: Duration, skew_ppb: i64, drift: i64) -> Self {
        let tick = tick.as_nanos().max(2);
        let (skew_ppb, drift) = (skew_ppb as i32, drift as i32);
        // What rounding up adds is less than the tick, which is at most 2^(shift + 1): the quotient of anything below 2^63 is
        // exact (Granlund and Montgomery, PLDI 1994, theorem 4.2).
        let shift = (tick - 1).ilog2();
        let inverse = (1u128 << (64 + shift)).div_ceil(tick as u128) as u64;
        TickClock { tick, phase: phase.as_nanos(), inverse, shift, skew_ppb, drift, now: 0, until: Instant::ZERO }
    }

    /// How far the clock is ahead at `ns`: skew times time, and half the drift times its square.
    #[cold]
    fn ahead(&self, ns: i128) -> i64 {
        const HOUR: i128 = 3_600_000_000_000;
        let skewed = ns * self.skew_ppb as i128;
        let drifted = ns * ns / 2 * self.drift as i128 / HOUR;
        ((skewed + drifted) / 1_000_000_000) as i64
    }

    /// `ns` over the tick.
    #[inline]
    fn ticks(&self, ns: u64) -> u64 {
        ((ns as u128 * self.inverse as u128) >> 64) as u64 >> self.shift
    }

    /// How long ago it showed `stamp`: one tick at least.
    pub fn since(&mut self, now: Instant, stamp: u32) -> Duration {
        Duration::from_nanos(self.tick * u64::from(self.read(now).wrapping_sub(stamp).max(1)))
    }

    /// The tick count at `now`.
    #[inline]
    pub fn read(&mut self, now: Instant) -> u32 {
        if self.skew_ppb | self.drift == 0 {
            return self.ticks(now.as_nanos() + self.phase) as u32;
        }
        if now >= self.until {
            self.advance(now);
        }
        self.now
    }

    /// Did it show more than `stamp` at `at`, which may be long ago?
    #[cold]
    pub fn is_past(&self, stamp: u32, at: Instant) -> bool {
        let ns = at.as_nanos();
        let ahead = if self.skew_ppb | self.drift == 0 { 0 } else { self.ahead(ns as i128) };
        let then = self.ticks(ns.saturating_add_signed(ahead) + self.phase) as u32;
        (stamp.wrapping_sub(then) as i32) < 0
    }

    /// When a FreeBSD kernel's callout for so long goes off that is set `now`. It counts from the last tick, and an idle
    /// processor may sleep on for a sixteenth of the time, until something else wakes it: chance, here. (`callout_when`
    /// with `C_HARDCLOCK`; `tc_precexp` is 4 by the 5 % of `kern.timecounter.alloweddeviation`, since FreeBSD 10.)
    pub fn callout(&self, now: Instant, wait: Duration) -> Instant {
        let local = now.as_nanos() + self.phase;
        let dice = u128::from(units::splitmix(now.as_nanos() ^ self.phase.rotate_left(32)));
        let late = (dice * u128::from(wait.as_nanos() >> 4)) >> 64;
        let behind = local - self.ticks(local) * self.tick;
        now + wait.saturating_sub(Duration::from_nanos(behind)) + Duration::from_nanos(late as u64)
    }

    /// The length of a tick.
    #[inline]
    pub fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick)
    }

    #[cold]
    fn advance(&mut self, now: Instant) {
        let ns = now.as_nanos();
        let local = ns.saturating_add_signed(self.ahead(ns as i128)) + self.phase;
        self.now = (local / self.tick) as u32;
        self.until = now + Duration::from_nanos(self.tick - local % self.tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_inverse_divides_exactly(tick in 2u64..1 << 40, shrink in 0u32..40, ns in 0u64..1 << 63, near in 0u64..3) {
            let tick = (tick >> shrink).max(2);
            let c = TickClock::new(Duration::from_nanos(tick), Duration::ZERO, 0, 0);
            // A multiple, the last one before it, and the next one after: where a quotient goes wrong first.
            let beside = (ns / tick * tick + near).saturating_sub(1);
            for ns in [ns, beside] {
                proptest::prop_assert_eq!(c.ticks(ns), ns / tick, "{} / {}", ns, tick);
            }
        }
    }

    #[test]
    fn callouts_count_from_the_last_tick_and_are_up_to_a_sixteenth_late() {
        let c = TickClock::new(Duration::from_millis(1), Duration::from_micros(300), 0, 0);
        let wait = Duration::from_millis(160);
        let waits: alloc::vec::Vec<f64> = (0..2000u64)
            .map(|n| {
                let now = Instant::from_nanos(n * 777_777);
                let ms = (c.callout(now, wait).since(now)
                    + Duration::from_nanos((now.as_nanos() + 300_000) % 1_000_000))
                .as_millis_f64();
                assert_eq!(c.callout(now, wait), c.callout(now, wait), "no other dice for the same time");
                ms
            })
            .collect();
        assert!(waits.iter().all(|ms| (160.0..170.0).contains(ms)));
        // Anywhere in between: every tenth has its share.
        for tenth in 0..10 {
            let from = 160.0 + tenth as f64;
            let n = waits.iter().filter(|ms| (from..from + 1.0).contains(*ms)).count();
            assert!((150..250).contains(&n), "{n} of 2000 from {from} ms on");
        }
    }

    #[test]
    fn ticks_phase_and_skew() {
        let us = |n: u64| Instant::from_nanos(n * 1000);
        let mut c = TickClock::new(Duration::from_millis(1), Duration::from_micros(300), 0, 0);
        for (at, tick) in [(0, 0), (699, 0), (700, 1), (1699, 1), (1700, 2), (10_000, 10)] {
            assert_eq!(c.read(us(at)), tick, "at {at} µs");
        }
        let mut fast = TickClock::new(Duration::from_millis(1), Duration::ZERO, 100_000, 0);
        assert_eq!(fast.read(Instant::from_millis(10_000)), 10_001);
        // 100 ppm more in an hour: half of it on average, 180 ms.
        let mut worse = TickClock::new(Duration::from_millis(1), Duration::ZERO, 0, 100_000);
        assert_eq!(worse.read(Instant::from_millis(3_600_000)), 3_600_180);
        let mut slow = TickClock::new(Duration::from_millis(1), Duration::ZERO, -100_000, 0);
        assert_eq!(slow.read(Instant::from_millis(20_000)), 19_998);
    }
}
