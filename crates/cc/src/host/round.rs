//! Rounds: the unit of time of most algorithms, about one RTT.
//!
//! On Linux a round ends when an ACK passes what was the highest byte sent at its beginning; on FreeBSD when the
//! segment marked by h_ertt is acknowledged (see [`EnhancedRtt`](super::EnhancedRtt)). Rounds follow one another
//! without a gap, and what is counted on the closing ACK belongs to the round it closes.

use crate::Round;
use units::{Bytes, Duration, Instant};

/// Collects one round after the other.
#[derive(Clone, Debug)]
pub struct RoundTracker {
    open: Round,
    ends_beyond: u64,
}

const EMPTY: Round = Round {
    number: 0,
    start: Instant::ZERO,
    end: Instant::ZERO,
    min_rtt: Duration::MAX,
    max_rtt: Duration::ZERO,
    min_rtt_reused: Duration::MAX,
    max_rtt_reused: Duration::ZERO,
    samples: 0,
    delivered: Bytes::ZERO,
    sent: Bytes::ZERO,
    marked_rtt: Duration::ZERO,
    cwnd: Bytes::ZERO,
};

impl RoundTracker {
    /// The first round begins.
    pub fn new(now: Instant, cwnd: Bytes, sent_to: u64) -> Self {
        RoundTracker { open: Round { start: now, cwnd, ..EMPTY }, ends_beyond: sent_to }
    }

    /// Counts an ACK: its fresh sample, or else `last` once more, and what it delivered.
    #[inline]
    pub fn see(&mut self, fresh: Option<Duration>, last: Duration, delivered: Bytes) {
        let round = &mut self.open;
        round.delivered += delivered;
        if let Some(rtt) = fresh {
            round.samples += 1;
            round.min_rtt = round.min_rtt.min(rtt);
            round.max_rtt = round.max_rtt.max(rtt);
        } else if !last.is_zero() {
            // Only the reused ones here; those of the round join them when it closes.
            round.min_rtt_reused = round.min_rtt_reused.min(last);
            round.max_rtt_reused = round.max_rtt_reused.max(last);
        }
    }

    /// Has the acknowledgement `acked` passed what had been sent when the round began?
    #[inline]
    pub fn is_passed(&self, acked: u64) -> bool {
        acked > self.ends_beyond
    }

    /// Closes the round and begins the next, which ends once `sent_to` is passed.
    pub fn close(
        &mut self,
        now: Instant,
        cwnd: Bytes,
        sent_to: u64,
        sent: Option<Bytes>,
        marked_rtt: Duration,
    ) -> Round {
        let mut done = self.open;
        done.number += 1;
        done.end = now;
        done.sent = sent.unwrap_or(done.delivered);
        done.marked_rtt = marked_rtt;
        done.min_rtt_reused = done.min_rtt_reused.min(done.min_rtt);
        done.max_rtt_reused = done.max_rtt_reused.max(done.max_rtt);
        let none = |d: Duration| if d == Duration::MAX { Duration::ZERO } else { d };
        done.min_rtt = none(done.min_rtt);
        done.min_rtt_reused = none(done.min_rtt_reused);
        self.open = Round { number: done.number, start: now, cwnd, ..EMPTY };
        self.ends_beyond = sent_to;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_tells_its_extremes_and_reused_samples_apart() {
        let ms = Duration::from_millis;
        let mut t = RoundTracker::new(Instant::ZERO, Bytes::new(10), 100);
        t.see(None, ms(50), Bytes::new(10));
        t.see(Some(ms(40)), ms(50), Bytes::new(10));
        t.see(Some(ms(45)), ms(40), Bytes::new(10));
        assert!(!t.is_passed(100) && t.is_passed(101));
        let r = t.close(Instant::from_millis(60), Bytes::new(20), 200, None, ms(45));
        assert_eq!((r.number, r.min_rtt, r.max_rtt, r.samples), (1, ms(40), ms(45), 2));
        assert_eq!((r.min_rtt_reused, r.max_rtt_reused), (ms(40), ms(50)));
        assert_eq!((r.delivered, r.sent, r.cwnd), (Bytes::new(30), Bytes::new(30), Bytes::new(10)));
        let r = t.close(Instant::from_millis(90), Bytes::new(30), 300, Some(Bytes::new(7)), ms(45));
        assert_eq!(
            (r.number, r.start, r.min_rtt, r.sent),
            (2, Instant::from_millis(60), Duration::ZERO, Bytes::new(7))
        );
    }
}
