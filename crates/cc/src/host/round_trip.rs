//! At which rate the packets of the last round trip left and at which they arrived. The two differ while a queue on the way
//! grows or shrinks, and tell a sender that knows the link's rate what others send (Nimbus, section 4 of its paper).

use alloc::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rate};

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Instant,
    sent: Instant,
    delivered: Bytes,
}

/// The ACKs of the last round trip.
#[derive(Clone, Debug, Default)]
pub struct RoundTripRates {
    seen: VecDeque<Seen>,
}

impl RoundTripRates {
    /// An ACK came now for a segment sent then; `delivered` counts all of the flow's life.
    pub fn see(&mut self, at: Instant, sent: Instant, delivered: Bytes, rtt: Duration) {
        if self.seen.back().is_some_and(|last| sent < last.sent || delivered <= last.delivered) {
            return;
        }
        self.seen.push_back(Seen { at, sent, delivered });
        while self.seen.get(1).is_some_and(|second| at.since(second.at) >= rtt) {
            self.seen.pop_front();
        }
    }

    /// Rates of sending and of delivery, once there are two ACKs sent and come at different times.
    pub fn get(&self) -> Option<(Rate, Rate)> {
        let (first, last) = (self.seen.front()?, self.seen.back()?);
        let (sent, came) = (last.sent.since(first.sent), last.at.since(first.at));
        let bytes = last.delivered - first.delivered;
        (!sent.is_zero() && !came.is_zero()).then(|| (bytes / sent, bytes / came))
    }

    /// Forgets all (sending paused).
    pub fn clear(&mut self) {
        self.seen.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sent_at_8_and_delivered_at_4_mbit() {
        let mut r = RoundTripRates::default();
        assert_eq!(r.get(), None);
        for n in 0..200u64 {
            let (sent, came) = (Instant::from_millis(n), Instant::from_millis(40 + 2 * n));
            r.see(came, sent, Bytes::new(1000 * (n + 1)), Duration::from_millis(100));
        }
        let (sent, came) = r.get().unwrap();
        assert_eq!((sent.as_bps(), came.as_bps()), (8_000_000, 4_000_000));
        assert_eq!(r.seen.len(), 51, "a round trip of 100 ms");
    }

    #[test]
    fn what_was_sent_at_once_has_no_rate() {
        let mut r = RoundTripRates::default();
        (1..10).for_each(|n| {
            r.see(Instant::from_millis(40 + n), Instant::ZERO, Bytes::new(n), Duration::from_millis(100))
        });
        assert_eq!(r.get(), None);
    }
}
