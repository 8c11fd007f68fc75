//! What the smoothed gradients say about the bottleneck's queue (thesis Table 2.5).

/// Linux divides sums of gradients by this before it reads the state from their signs.
const SMALL: i64 = 64;

/// State of the queue, as inferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueState {
    /// Nothing inferred yet.
    #[default]
    Unknown = 0,
    /// The largest RTT falls while the smallest has stopped falling.
    Empty = 1,
    /// Both rise.
    Rising = 2,
    /// Both fall.
    Falling = 3,
    /// The smallest RTT still rises, the largest has stopped.
    Full = 4,
}

impl QueueState {
    /// The state after a round with these smoothed gradients, in any unit.
    ///
    /// Table 2.5 prints "0/+" for the largest RTT of a full queue, which would make "rising" unreachable; the text
    /// ("stops increasing") and FreeBSD mean "0/−". "Full" is tested before "empty".
    pub fn next(self, average_min: f64, average_max: f64) -> QueueState {
        if average_min > 0.0 && average_max <= 0.0 {
            QueueState::Full
        } else if average_min >= 0.0 && average_max < 0.0 {
            QueueState::Empty
        } else if average_min > 0.0 && average_max > 0.0 {
            QueueState::Rising
        } else if average_min < 0.0 && average_max < 0.0 {
            QueueState::Falling
        } else {
            self
        }
    }

    /// Linux': after a round with these sums of gradients in µs, of which small ones count as none. It knows only "not
    /// full"; a falling maximum is part of it.
    pub fn after_sums(self, min: i64, max: i64) -> QueueState {
        let small = |sum: i64| (sum + if sum < 0 { -SMALL / 2 } else { SMALL / 2 }) / SMALL;
        match (small(min), small(max)) {
            (min, max) if min > 0 && max <= 0 => QueueState::Full,
            (min, max) if (min > 0 && max > 0) || max < 0 => QueueState::Rising,
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::QueueState::{self, *};

    #[test]
    fn every_pair_of_signs() {
        let s = |min, max| QueueState::Unknown.next(min, max);
        assert_eq!([s(1.0, 0.0), s(1.0, -1.0), s(0.0, -1.0)], [Full, Full, Empty]);
        assert_eq!([s(1.0, 1.0), s(-1.0, -1.0)], [Rising, Falling]);
        assert_eq!([s(0.0, 0.0), s(0.0, 1.0), s(-1.0, 0.0), s(-1.0, 1.0)], [Unknown; 4]);
        assert_eq!(Full.next(0.0, 0.0), Full);
    }
}
