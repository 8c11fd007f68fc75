//! PIE's estimate of the departure rate: queue length over rate is the delay, without a time stamp on packets.

use super::Reference;
use units::{Bytes, Duration, Instant};

/// A measurement takes this much: 2^14 bytes.
const THRESHOLD: u64 = 16_384;
/// `dq_threshold_`, as ns-2 scripts for PIE set it.
const NS2_THRESHOLD: u64 = 10_000;

/// The rate at which the queue drains while it is long enough to tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Departure {
    kind: Kind,
    /// When the running measurement began and what has left since.
    measuring: Option<(Instant, u64)>,
    /// Seconds for `THRESHOLD` bytes, or bytes a second, by `kind`; 0 before the first measurement.
    average: f64,
}

/// Which quantity is averaged, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// RFC 8033 appendix: the time of THRESHOLD bytes, the new one weighs THRESHOLD/2^16 = ¼.
    Time,
    /// The same, but the first measurement runs on, so that the second, ever longer, sample is part of it.
    FreeBsd,
    /// Linux and the draft: the rate, the new one weighs ⅛; the packet that starts a measurement counts in it.
    Rate,
    /// ns-2: the same over less, and the new one weighs ½.
    Ns2,
}

impl Departure {
    pub(super) fn new(reference: Reference) -> Self {
        let kind = match reference {
            Reference::FreeBsd => Kind::FreeBsd,
            Reference::Linux | Reference::Draft => Kind::Rate,
            Reference::Ns2 => Kind::Ns2,
            Reference::Rfc | Reference::Docsis => Kind::Time,
        };
        Departure { kind, measuring: None, average: 0.0 }
    }

    /// FreeBSD measures from the moment PIE is switched on.
    pub(super) fn activate(&mut self, now: Instant) {
        *self = Departure { measuring: (self.kind == Kind::FreeBsd).then_some((now, 0)), average: 0.0, ..*self };
    }

    /// Forgets everything (Linux, the draft and ns-2, when congestion has gone).
    pub(super) fn reset(&mut self) {
        // ns-2 forgets what it has counted, but not since when.
        self.measuring = if self.kind == Kind::Ns2 { self.measuring.map(|(start, _)| (start, 0)) } else { None };
        self.average = 0.0;
    }

    fn threshold(&self) -> u64 {
        if self.kind == Kind::Ns2 { NS2_THRESHOLD } else { THRESHOLD }
    }

    /// Is the rate averaged, and does the packet that starts a measurement count in it?
    fn is_rate(&self) -> bool {
        matches!(self.kind, Kind::Rate | Kind::Ns2)
    }

    /// Is there an estimate?
    pub(super) fn is_known(&self) -> bool {
        self.average > 0.0
    }

    /// A packet of `size` leaves and `left` stay. Returns the time the measurement took that this packet ended.
    pub(super) fn on_dequeue(&mut self, now: Instant, size: Bytes, left: Bytes) -> Option<Duration> {
        let long = left.get() >= self.threshold();
        if self.is_rate() && long && self.measuring.is_none() {
            self.measuring = Some((now, 0));
        }
        let mut took = None;
        if let Some((start, count)) = &mut self.measuring {
            *count += size.get();
            let (start, count) = (*start, *count);
            let time = now.since(start);
            if count >= self.threshold() && !time.is_zero() {
                took = Some(time);
                self.average(time.as_secs_f64(), count as f64);
                match self.kind {
                    Kind::Rate => self.measuring = long.then_some((now, 0)),
                    Kind::Ns2 => self.measuring = (left.get() > NS2_THRESHOLD).then_some((now, 0)),
                    Kind::Time => self.measuring = None,
                    Kind::FreeBsd => {}
                }
            }
        }
        if !self.is_rate() && long && self.measuring.is_none() {
            self.measuring = Some((now, 0));
        }
        took
    }

    fn average(&mut self, seconds: f64, bytes: f64) {
        let (sample, weight) = match self.kind {
            Kind::Time | Kind::FreeBsd => (seconds, 0.25),
            Kind::Rate => (bytes / seconds, 0.125),
            Kind::Ns2 => (bytes / seconds, 0.5),
        };
        if self.is_known() {
            self.average += weight * (sample - self.average);
            if self.kind == Kind::FreeBsd {
                self.measuring = None;
            }
        } else {
            self.average = sample;
        }
    }

    /// Time to drain `backlog`; zero without an estimate.
    pub(super) fn delay(&self, backlog: Bytes) -> Duration {
        if !self.is_known() {
            return Duration::ZERO;
        }
        Duration::from_secs_f64(match self.kind {
            Kind::Time | Kind::FreeBsd => backlog.as_f64() * self.average / THRESHOLD as f64,
            Kind::Rate | Kind::Ns2 => backlog.as_f64() / self.average,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets 1024-byte packets go one by one, 625 µs apart: 16384 B in 10 ms.
    fn drain(reference: Reference, packets: u64) -> Departure {
        let mut d = Departure::new(reference);
        d.activate(Instant::ZERO);
        for i in 0..packets {
            let now = Instant::from_nanos(625_000 * (i + 1));
            d.on_dequeue(now, Bytes::new(1024), Bytes::new(100_000));
        }
        d
    }

    #[test]
    fn a_queue_of_24576_bytes_at_1_6384_bytes_a_microsecond_takes_15_ms() {
        let d = drain(Reference::Rfc, 400);
        assert_eq!(d.delay(Bytes::new(24_576)), Duration::from_millis(15));
        assert_eq!(d.delay(Bytes::ZERO), Duration::ZERO);
    }

    #[test]
    fn after_a_reset_nothing_is_known_and_a_measurement_begins_anew() {
        let mut d = drain(Reference::Linux, 400);
        assert!(d.is_known());
        d.reset();
        assert!(!d.is_known() && d.measuring.is_none());
    }

    #[test]
    fn linux_counts_the_packet_that_starts_the_clock() {
        // The first measurement has 15 gaps for 16 packets, later ones start at a departure and have 16.
        assert_eq!(drain(Reference::Linux, 16).delay(Bytes::new(16_384)), Duration::from_micros(9_375));
        let later = drain(Reference::Linux, 16 * 60).delay(Bytes::new(16_384)).as_millis_f64();
        assert!((later - 10.0).abs() < 0.001, "{later}");
    }

    #[test]
    fn freebsd_counts_on_after_its_first_measurement() {
        // First sample 10 ms; the next packet makes a second of 10.625 ms at weight ¼.
        let first = drain(Reference::FreeBsd, 16);
        assert_eq!(first.delay(Bytes::new(16_384)), Duration::from_millis(10));
        assert_eq!(drain(Reference::FreeBsd, 17).delay(Bytes::new(16_384)), Duration::from_nanos(10_156_250));
    }

    #[test]
    fn short_queues_start_no_measurement() {
        for reference in [Reference::Rfc, Reference::Linux, Reference::Draft] {
            let mut d = Departure::new(reference);
            for i in 0..1000 {
                d.on_dequeue(Instant::from_millis(i), Bytes::new(1500), Bytes::new(16_383));
            }
            assert!(!d.is_known(), "{reference:?}");
        }
    }
}
