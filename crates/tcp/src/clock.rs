//! A host's tick clock: coarse, out of phase with other hosts, and a little fast or slow.

use units::{Duration, Instant};

/// Counts ticks; remembers the current one, since most packets fall into the same tick as the one before.
#[derive(Clone, Debug)]
pub(crate) struct TickClock {
    tick: u64,
    phase: u64,
    skew_ppb: i64,
    now: u32,
    from: Instant,
    until: Instant,
}

impl TickClock {
    pub fn new(tick: Duration, phase: Duration, skew_ppb: i64) -> Self {
        let tick = tick.as_nanos().max(1);
        TickClock { tick, phase: phase.as_nanos(), skew_ppb, now: 0, from: Instant::ZERO, until: Instant::ZERO }
    }

    /// The tick count at `now`.
    #[inline]
    pub fn read(&mut self, now: Instant) -> u32 {
        if now >= self.until || now < self.from {
            self.advance(now);
        }
        self.now
    }

    /// The length of a tick.
    #[inline]
    pub fn tick(&self) -> Duration {
        Duration::from_nanos(self.tick)
    }

    #[cold]
    fn advance(&mut self, now: Instant) {
        let ns = now.as_nanos();
        // A 128-bit division on every tick would be felt; most clocks do not drift.
        let drift = if self.skew_ppb == 0 { 0 } else { (ns as i128 * self.skew_ppb as i128 / 1_000_000_000) as i64 };
        let local = ns.wrapping_add_signed(drift) + self.phase;
        self.now = (local / self.tick) as u32;
        self.from = now;
        self.until = now + Duration::from_nanos(self.tick - local % self.tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_phase_and_skew() {
        let us = |n: u64| Instant::from_nanos(n * 1000);
        let mut c = TickClock::new(Duration::from_millis(1), Duration::from_micros(300), 0);
        for (at, tick) in [(0, 0), (699, 0), (700, 1), (1699, 1), (1700, 2), (10_000, 10)] {
            assert_eq!(c.read(us(at)), tick, "at {at} µs");
        }
        let mut fast = TickClock::new(Duration::from_millis(1), Duration::ZERO, 100_000);
        assert_eq!(fast.read(Instant::from_millis(10_000)), 10_001);
    }
}
