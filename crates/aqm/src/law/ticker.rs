//! The beat of periodic updates, kept without a timer.

use units::{Duration, Instant};

/// Tells how many updates are due. State between two events does not change, so updates made at the next event,
/// one for each period gone by, equal those a timer would have made.
#[derive(Clone, Copy, Debug)]
pub struct Ticker {
    next: Instant,
    period: Duration,
}

impl Ticker {
    /// Tells nothing.
    pub const NEVER: Ticker = Ticker { next: Instant::MAX, period: Duration::MAX };

    /// The first update falls `first` after `start`, the others `period` apart. A period of zero counts as 1 ns.
    pub fn new(start: Instant, first: Duration, period: Duration) -> Self {
        Ticker { next: start + first, period: period.max(Duration::from_nanos(1)) }
    }

    /// Has the time of the next update come?
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next && self.next != Instant::MAX
    }

    /// The time of the next update if it is due. An update due exactly `now` comes before the event of `now`.
    #[inline]
    pub fn due(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_due(now) {
            return None;
        }
        let tick = self.next;
        self.next += self.period;
        Some(tick)
    }

    /// Passes over the updates due until `now`, for a law whose updates have stopped changing anything, or change by
    /// equal steps. Keeps the beat, and tells how many they were and when the last one was due.
    pub fn skip(&mut self, now: Instant) -> (u64, Instant) {
        if !self.is_due(now) {
            return (0, now);
        }
        let missed = now.since(self.next).as_nanos() / self.period.as_nanos() + 1;
        let last = self.next + self.period * (missed - 1);
        self.next += self.period * missed;
        (missed, last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_lands_on_the_beat_that_counting_would_reach() {
        let ms = Duration::from_millis;
        for now in [0, 499, 500, 501, 514, 515, 10_000].map(Instant::from_millis) {
            let mut counted = Ticker::new(Instant::ZERO, ms(500), ms(15));
            let mut skipped = counted;
            let (mut ticks, mut last) = (0, now);
            while let Some(at) = counted.due(now) {
                assert_eq!(at, Instant::from_millis(500 + 15 * ticks));
                (ticks, last) = (ticks + 1, at);
            }
            assert_eq!(skipped.skip(now), (ticks, last), "{now:?}");
            assert_eq!(counted.next, skipped.next, "{now:?}");
        }
    }
}
