//! Bandwidth from a train of ACKs, for slow start (Eq 5.15, Figure 5.32).

use units::{Bytes, Instant, Rate};

/// Times of the first and the ninth ACK of a round, bytes of the first eight.
#[derive(Debug)]
pub struct Train {
    length: u32,
    acks: u32,
    bytes: Bytes,
    first: Instant,
}

impl Train {
    /// A train of so many ACKs and one more.
    pub fn new(length: u32) -> Self {
        Train { length, acks: 0, bytes: Bytes::ZERO, first: Instant::ZERO }
    }

    /// A round ended: the ACK that ended it is the first of the next train (Alg 5.3, lines 9 to 11).
    pub fn begin(&mut self) {
        (self.acks, self.bytes) = (0, Bytes::ZERO);
    }

    /// An ACK came. The ninth gives the estimate, once per round.
    pub fn ack(&mut self, now: Instant, acked: Bytes) -> Option<Rate> {
        if self.acks == 0 {
            self.first = now;
        }
        let full = self.acks == self.length && now > self.first;
        let estimate = full.then(|| self.bytes / now.since(self.first));
        self.acks += 1;
        self.bytes += acked;
        estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    #[test]
    fn nine_acks_at_twelve_megabits_tell_sixty_kilobytes_over_forty_ms() {
        // Reference, section 3.6.9: one segment of 1448 bytes per ACK, spaced by the bottleneck.
        let mss = Bytes::new(1448);
        let gap = mss / Rate::from_mbps(12.0);
        let mut train = Train::new(8);
        let mut now = Instant::from_millis(100);
        for _ in 0..8 {
            assert_eq!(train.ack(now, mss), None);
            now += gap;
        }
        let rate = train.ack(now, mss).unwrap();
        assert_eq!(gap * 8, Duration::from_nanos(7_722_672));
        let bdp = (rate * Duration::from_millis(40)).get();
        assert!((59_990..=60_000).contains(&bdp), "{bdp}");
        assert_eq!(train.ack(now + gap, mss), None, "once per round");
        train.begin();
        assert_eq!(train.ack(now, mss), None);
    }

    #[test]
    fn acks_at_one_instant_tell_nothing() {
        let mut train = Train::new(8);
        assert!((0..20).all(|_| train.ack(Instant::from_millis(1), Bytes::new(1448)).is_none()));
    }
}
