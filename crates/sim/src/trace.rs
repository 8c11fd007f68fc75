//! A link's rate as a trace: opportunities to deliver, one a line.

use units::{Duration, Instant, Rate};

/// Delivery opportunities of a mahimahi trace, repeated.
#[derive(Debug)]
pub struct Trace {
    times: Vec<Instant>,
    next: usize,
    /// Start of the present repetition.
    base: Instant,
    /// The last opportunity that somebody took, and what is left of it in bytes.
    taken: Instant,
    credit: u32,
}

const OPPORTUNITY: u32 = experiment::OPPORTUNITY.get() as u32;

impl Trace {
    pub(crate) fn new(times: Vec<Instant>) -> Self {
        Trace { times, next: 0, base: Instant::ZERO, taken: Instant::ZERO, credit: 0 }
    }

    /// Mean over one whole repetition.
    pub(crate) fn mean_rate(&self) -> Rate {
        experiment::mean_rate(&self.times)
    }

    /// When a packet of `size` bytes that waits since `now` has been sent. Opportunities before `now` are lost, and so
    /// is what is left of one that was taken in part before (mahimahi's `LinkQueue::rationalize`).
    pub(crate) fn sent_by(&mut self, now: Instant, size: u32) -> Instant {
        let period = self.period();
        let mut at = now;
        if self.taken < now {
            self.credit = 0;
        }
        while self.credit < size {
            let opportunity = self.base + self.times[self.next].since(Instant::ZERO);
            self.next += 1;
            if self.next == self.times.len() {
                self.next = 0;
                self.base += period;
            }
            if opportunity >= now {
                at = opportunity;
                self.credit += OPPORTUNITY;
            }
        }
        self.credit -= size;
        self.taken = at;
        at
    }

    fn period(&self) -> Duration {
        self.times.last().expect("a trace has a line").since(Instant::ZERO)
    }

    /// Bytes of all opportunities before `now`, used or not.
    pub(crate) fn offered(&self, now: Instant) -> u64 {
        let Some(before) = now.as_nanos().checked_sub(1) else { return 0 };
        // The last line of one repetition and time 0 of the next fall together.
        let rounds = before / self.period().as_nanos();
        let within = now - self.period() * rounds;
        let lines = self.times.partition_point(|&line| line < within) as u64;
        (rounds * self.times.len() as u64 + lines) * OPPORTUNITY as u64
    }

    /// Bytes of opportunities from `now` on that packets have been given.
    pub(crate) fn granted(&self, now: Instant) -> u64 {
        let (mut base, mut next, mut given) = (self.base, self.next, 0);
        loop {
            if next == 0 {
                if base == Instant::ZERO {
                    break;
                }
                (base, next) = (base - self.period(), self.times.len());
            }
            next -= 1;
            if base + self.times[next].since(Instant::ZERO) < now {
                break;
            }
            given += OPPORTUNITY as u64;
        }
        // Less what the last of them has left.
        given.saturating_sub(self.credit as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_gives_one_opportunity_a_line_and_repeats() {
        let times = [0, 5, 10].map(Instant::from_millis).to_vec();
        let mut t = Trace::new(times);
        let full = |t: &mut Trace, now| t.sent_by(Instant::from_millis(now), 1500).as_nanos() / 1_000_000;
        assert_eq!(full(&mut t, 0), 0);
        assert_eq!(full(&mut t, 1), 5);
        // The line at 10 ms is also the start of the next round, whose first line is at 0 + 10.
        assert_eq!(full(&mut t, 6), 10);
        assert_eq!(full(&mut t, 10), 10);
        assert_eq!(full(&mut t, 10), 15);
        // Small packets share an opportunity.
        assert_eq!(t.sent_by(Instant::from_millis(16), 100), Instant::from_millis(20));
        assert_eq!(t.sent_by(Instant::from_millis(20), 100), Instant::from_millis(20));
    }

    #[test]
    fn what_was_offered_and_given_from_a_time_on_is_told() {
        let at = Instant::from_millis;
        let mut t = Trace::new([0, 5, 5, 10].map(at).to_vec());
        let lines = |t: &Trace, ms| t.offered(at(ms)) as f64 / 1500.0;
        assert_eq!([0, 1, 5, 6, 10, 11, 16].map(|ms| lines(&t, ms)), [0.0, 1.0, 1.0, 3.0, 3.0, 5.0, 7.0]);
        t.sent_by(at(1), 2900);
        assert_eq!(t.granted(at(5)), 2900);
        assert_eq!((t.granted(at(2)), t.granted(at(6))), (2900, 0));
        // A hundred bytes are left of the second line at 5 ms; the rest is the line's at 10 ms.
        assert_eq!(t.sent_by(at(5), 1500), at(10));
        assert_eq!((t.granted(at(6)), t.granted(at(5))), (1400, 4400));
    }

    #[test]
    fn what_is_left_of_an_opportunity_is_for_those_who_wait() {
        let at = Instant::from_millis;
        for (second, sent) in [(5, 5), (6, 10)] {
            let mut t = Trace::new([5, 10].map(at).to_vec());
            assert_eq!(t.sent_by(at(1), 700), at(5));
            assert_eq!(t.sent_by(at(second), 700), at(sent), "at {second} ms");
        }
    }
}
