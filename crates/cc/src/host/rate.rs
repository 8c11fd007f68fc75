//! Delivery rate per ACK (draft-cheng-iccrg-delivery-rate-estimation-02), with what BBR v3 adds to a segment's record.

use crate::RateSample;
use units::{Bytes, Duration, Instant};

/// What a segment carries from its sending to its acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateTag {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Bytes in flight when it left, itself included.
    pub tx_in_flight: u64,
    /// Bytes lost in the flow's life when it left.
    pub lost: u64,
    /// The sender lacked data when it left.
    pub app_limited: bool,
}

/// The flow's side of the estimate.
#[derive(Clone, Debug, Default)]
pub struct RateTracker {
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Lost in the flow's life.
    lost: u64,
    /// The application is the limit until this much is delivered; zero if it is not.
    app_limited_until: u64,
    /// The most recently sent of the segments this ACK delivered, when it left and where it ends.
    newest: Option<(RateTag, (Instant, u64))>,
}

impl RateTracker {
    /// A segment of `size` bytes leaves with `in_flight` bytes before it. `outstanding`: is anything unacknowledged?
    /// That is not the same: in flight is a guess, and after a timeout that takes all for lost an interval that began
    /// anew would be too short and its rate too high (Linux' `tcp_rate_skb_sent`, which asks `packets_out`).
    pub fn on_sent(&mut self, now: Instant, delivered: Bytes, outstanding: bool, in_flight: u64, size: u64) -> RateTag {
        if !outstanding {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        RateTag {
            delivered: delivered.get(),
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            tx_in_flight: in_flight + size,
            lost: self.lost,
            app_limited: self.app_limited_until > 0,
        }
    }

    /// A segment that ends at `end` was delivered. Of those that left together the highest counts (Linux' `tcp_skb_sent_after`),
    /// in whatever order the ACK tells of them: first what it acknowledges selectively.
    pub fn on_delivered(&mut self, tag: &RateTag, sent_at: Instant, end: u64) {
        if self.newest.is_none_or(|(_, best)| (sent_at, end) > best) {
            self.newest = Some((*tag, (sent_at, end)));
        }
    }

    /// A segment was lost. Returns what has been lost since it was sent, itself included.
    pub fn on_lost(&mut self, tag: &RateTag, size: u64) -> u64 {
        self.lost += size;
        self.lost - tag.lost
    }

    /// The application had nothing to send while the window was open.
    pub fn on_app_limited(&mut self, delivered: Bytes, in_flight: u64) {
        self.app_limited_until = (delivered.get() + in_flight).max(1);
    }

    /// Is a sample taken now of the application's doing?
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// The sample of the ACK whose segments were just reported; `delivered` counts them.
    pub fn sample(&mut self, now: Instant, delivered: Bytes, min_rtt: Duration) -> Option<RateSample> {
        if self.app_limited_until > 0 && delivered.get() > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let (tag, (sent_at, _)) = self.newest.take()?;
        self.delivered_at = now;
        self.first_sent_at = sent_at;
        let interval = sent_at.since(tag.first_sent_at).max(now.since(tag.delivered_at));
        // Shorter than the path itself: ACKs were lost or compressed in a way that says nothing.
        if interval.is_zero() || interval < min_rtt {
            return None;
        }
        Some(RateSample {
            delivered: Bytes::new(delivered.get() - tag.delivered),
            prior_delivered: Bytes::new(tag.delivered),
            interval,
            tx_in_flight: Bytes::new(tag.tx_in_flight),
            lost: Bytes::new(self.lost - tag.lost),
            app_limited: tag.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments leave at once and come back one per millisecond: the rate is that of the ACKs.
    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let ms = Instant::from_millis;
        let mut t = RateTracker::default();
        let mut delivered = Bytes::ZERO;
        let tags: std::vec::Vec<_> = (0..10).map(|i| t.on_sent(ms(100), delivered, i > 0, i * 1000, 1000)).collect();
        let mut last = None;
        for (i, tag) in tags.iter().enumerate() {
            delivered += Bytes::new(1000);
            t.on_delivered(tag, ms(100), 1000 * i as u64);
            last = t.sample(ms(120 + i as u64), delivered, Duration::from_millis(20));
        }
        let s = last.unwrap();
        assert_eq!((s.delivered, s.interval), (Bytes::new(10_000), Duration::from_millis(29)));
        assert_eq!(s.tx_in_flight, Bytes::new(10_000));
        assert!(!s.app_limited);
    }

    #[test]
    fn a_sample_is_of_the_segment_sent_last_in_whatever_order_an_ack_tells_of_them() {
        // `tcp_rate_skb_delivered`. (when they left in ms, delivered then, and where they end; which counts)
        let ms = Instant::from_millis;
        for (segments, counts) in [
            ([(10, 5000, 9000), (20, 6000, 2000)], 1),
            ([(20, 6000, 2000), (10, 5000, 9000)], 0),
            // Sent together.
            ([(10, 5000, 9000), (10, 5000, 2000)], 0),
            ([(10, 5000, 2000), (10, 5000, 9000)], 1),
            // Sent later, with nothing delivered in between.
            ([(20, 5000, 9000), (10, 5000, 2000)], 0),
        ] {
            let mut t = RateTracker::default();
            for (n, (at, delivered, end)) in segments.into_iter().enumerate() {
                let tag = t.on_sent(ms(at), Bytes::new(delivered), true, n as u64, 0);
                t.on_delivered(&tag, ms(at), end);
            }
            let s = t.sample(ms(40), Bytes::new(9000), Duration::ZERO).unwrap();
            assert_eq!(s.tx_in_flight, Bytes::new(counts), "{segments:?}");
        }
    }

    #[test]
    fn a_sample_is_of_what_was_delivered_and_lost_since_its_segment_left() {
        let ms = Instant::from_millis;
        let mut t = RateTracker::default();
        let old = t.on_sent(ms(0), Bytes::ZERO, false, 0, 1000);
        t.on_lost(&old, 1000);
        let tag = t.on_sent(ms(10), Bytes::new(5000), true, 3000, 1000);
        assert_eq!(t.on_lost(&old, 2000), 3000);
        t.on_delivered(&tag, ms(10), 1000);
        let s = t.sample(ms(40), Bytes::new(9000), Duration::ZERO).unwrap();
        assert_eq!((s.delivered, s.prior_delivered, s.lost), (Bytes::new(4000), Bytes::new(5000), Bytes::new(2000)));
        assert_eq!(s.tx_in_flight, Bytes::new(4000));
    }

    #[test]
    fn an_interval_begins_anew_where_nothing_is_outstanding_though_all_that_is_may_be_lost() {
        let ms = Instant::from_millis;
        for (outstanding, interval) in [(false, 40), (true, 300)] {
            let mut t = RateTracker::default();
            let first = t.on_sent(ms(0), Bytes::ZERO, false, 0, 1000);
            t.on_delivered(&first, ms(0), 1000);
            t.sample(ms(40), Bytes::new(1000), Duration::ZERO);
            let later = t.on_sent(ms(300), Bytes::new(1000), outstanding, 0, 1000);
            t.on_delivered(&later, ms(300), 2000);
            let s = t.sample(ms(340), Bytes::new(2000), Duration::ZERO).unwrap();
            assert_eq!(s.interval, Duration::from_millis(interval), "{outstanding}");
        }
    }

    #[test]
    fn an_interval_shorter_than_the_path_tells_nothing() {
        for (min_rtt, tells) in [(30, true), (31, false)] {
            let mut t = RateTracker::default();
            let tag = t.on_sent(Instant::from_millis(10), Bytes::ZERO, false, 0, 1000);
            t.on_delivered(&tag, Instant::from_millis(10), 1000);
            let s = t.sample(Instant::from_millis(40), Bytes::new(1000), Duration::from_millis(min_rtt));
            assert_eq!(s.is_some(), tells, "{min_rtt} ms");
        }
    }

    #[test]
    fn app_limited_marks_what_is_sent_until_the_bubble_is_out() {
        let ms = Instant::from_millis;
        let mut t = RateTracker::default();
        let a = t.on_sent(ms(0), Bytes::ZERO, false, 0, 1000);
        t.on_app_limited(Bytes::ZERO, 1000);
        let b = t.on_sent(ms(5), Bytes::ZERO, true, 1000, 1000);
        t.on_delivered(&a, ms(0), 1000);
        assert!(!t.sample(ms(10), Bytes::new(1000), Duration::ZERO).unwrap().app_limited);
        t.on_delivered(&b, ms(5), 2000);
        assert!(t.sample(ms(15), Bytes::new(2000), Duration::ZERO).unwrap().app_limited);
        assert!(!t.is_app_limited());
    }
}
