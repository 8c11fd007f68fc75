//! The average interval between losses, of which the inverse is TFRC's loss event rate (RFC 5348, section 5.4).

use alloc::collections::VecDeque;

/// Weights of the intervals, newest first (RFC 5348, section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// The last eight intervals, in packets, and the open one since the last event.
#[derive(Clone, Debug, Default)]
pub struct Intervals {
    /// Newest first.
    closed: VecDeque<f64>,
    open: f64,
}

fn mean<'a>(intervals: impl Iterator<Item = &'a f64>) -> f64 {
    let (sum, weights) = intervals.zip(WEIGHTS).fold((0.0, 0.0), |(s, w), (i, weight)| (s + i * weight, w + weight));
    if weights > 0.0 { sum / weights } else { 0.0 }
}

impl Intervals {
    /// So many packets without an event.
    pub fn pass(&mut self, packets: f64) {
        self.open += packets;
    }

    /// An event: the open interval is closed.
    pub fn close(&mut self) {
        self.closed.push_front(core::mem::take(&mut self.open));
        self.closed.truncate(WEIGHTS.len());
    }

    /// Replaces the only interval there is (section 6.3.1: the first one says nothing of the path).
    pub fn begin_with(&mut self, packets: f64) {
        self.closed.clear();
        self.closed.push_front(packets);
    }

    /// No event yet?
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// The average; the open interval counts if that makes it larger. Zero before the first event.
    pub fn mean(&self) -> f64 {
        if self.closed.is_empty() {
            return 0.0;
        }
        // As many intervals with the open one as without: the oldest gives way to it.
        let with_open = core::iter::once(&self.open).chain(self.closed.iter()).take(self.closed.len());
        mean(self.closed.iter()).max(mean(with_open))
    }

    /// Events per packet; zero before the first.
    pub fn rate(&self) -> f64 {
        if self.closed.is_empty() { 0.0 } else { 1.0 / self.mean().max(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_four_count_whole_and_the_older_less_and_less() {
        let mut i = Intervals::default();
        assert_eq!((i.mean(), i.rate()), (0.0, 0.0));
        // Oldest first: the ninth falls out.
        for packets in [1e9, 60.0, 60.0, 60.0, 60.0, 120.0, 120.0, 120.0, 120.0] {
            i.pass(packets);
            i.close();
        }
        // (4·120 + 2·60) / 6.
        assert!((i.mean() - 100.0).abs() < 1e-9 && (i.rate() - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_long_open_interval_raises_the_mean_and_a_short_one_does_not_lower_it() {
        let mut i = Intervals::default();
        i.pass(50.0);
        assert!(i.is_empty(), "no event yet");
        i.close();
        assert!(!i.is_empty());
        i.pass(10.0);
        assert_eq!(i.mean(), 50.0);
        i.pass(140.0);
        assert_eq!(i.mean(), 150.0, "it stands for the only closed one, as long as there is one");
        i.close();
        i.pass(250.0);
        assert_eq!(i.mean(), 200.0, "two of three: the oldest gives way");
        i.begin_with(7.0);
        assert_eq!(i.closed.len(), 1);
    }
}
