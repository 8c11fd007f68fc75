//! CoDel-DT: CoDel's schedule, but at the tail: drops arrivals that would wait too long. CableLabs' ns-2 code for DOCSIS
//! modems (White, Padden, Hayakawa and Nichols).
//!
//! ```text
//! d = (backlog + packet) / rate       rate: half old, half new, over bursts of `measure` bytes; no rate yet: d = 0
//! d < target − allowance, or no more than one packet waits:   all is well
//! else, from interval / √n later on:  drop the arrival, n += 1, next in interval / √n
//! ```
//!
//! n is remembered: a new excess soon after the last starts with a shorter wait, and a new dropping state with n − 2 (126/128
//! of n above 128), unless eight intervals have passed.
//!
//! Drops at the tail tell of congestion a queueing delay later than CoDel's, and a link that is seldom busy long enough to
//! measure its rate has no delay at all: the bachelor's thesis finds it worst throughout. No ECN.
//!
//! Departures: the modem's own prediction from its token bucket (`expectedDelay`) is left out; our links have none.

use crate::{Law, LawKind, LinkInfo, Look, Verdict};
use units::{Bytes, Duration, Instant, Rng, math};

params::params! {
    /// What users may set.
    pub struct Params {
        /// Queueing delay that is acceptable, request and grant of the modem included.
        target: Duration = Duration::from_millis(20), Duration::from_micros(1) => Duration::from_secs(5);
        /// Part of the target that the modem's request and grant take.
        allowance: Duration = Duration::from_millis(6), Duration::ZERO => Duration::from_secs(5);
        /// Time the delay must stay above target less allowance before the first drop.
        interval: Duration = Duration::from_millis(100), Duration::from_micros(1) => Duration::from_secs(100);
        /// Bytes that must leave for a measurement of the rate (as PIE's).
        measure: Bytes = Bytes::new(16_384), Bytes::new(1) => Bytes::new(1_000_000);
    }
}

/// `maxpacket` before any packet.
const LEAST_PACKET: Bytes = Bytes::new(256);
/// Intervals after which the last drop is forgotten.
const STALE: u64 = 8;

/// CoDel-DT's state, by the code's names.
#[derive(Clone, Debug)]
pub struct CodelDt {
    p: Params,
    drop_time: Option<Instant>,
    last_drop_time: Option<Instant>,
    count: u32,
    dropping: bool,
    /// Bytes a second; 0 before the first measurement.
    rate: f64,
    /// Start and bytes of the measurement that runs. The first runs from the start of time, idle or not.
    measuring: Option<(Instant, u64)>,
    delay: f64,
}

impl CodelDt {
    fn is_stale(&self, now: Instant) -> bool {
        self.last_drop_time.is_none_or(|at| now >= at && now.since(at) >= self.p.interval * STALE)
    }

    fn control_law(&self, from: Instant, count: u32) -> Instant {
        from + self.p.interval.mul_f64(1.0 / math::sqrt(count.max(1) as f64))
    }

    fn refresh_count(&mut self, now: Instant) {
        self.count = match self.count {
            n if n <= 2 || self.is_stale(now) => 1,
            n if n <= 128 => n - 2,
            n => (n as f64 * 0.9844) as u32,
        };
    }

    fn measure(&mut self, now: Instant, size: Bytes, left: Bytes) {
        if self.measuring.is_none() && left >= self.p.measure {
            self.measuring = Some((now, 0));
        }
        let Some((start, count)) = &mut self.measuring else { return };
        *count += size.get();
        let (count, elapsed) = (*count, now.since(*start));
        if elapsed.is_zero() || count < self.p.measure.get() {
            return;
        }
        let recent = count as f64 / elapsed.as_secs_f64();
        self.rate = if self.rate == 0.0 { recent } else { 0.5 * self.rate + 0.5 * recent };
        self.measuring = (left > self.p.measure).then_some((now, 0));
    }
}

impl Law for CodelDt {
    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        self.delay = if self.rate == 0.0 { 0.0 } else { (look.own_backlog + look.size).as_f64() / self.rate };
        let target = self.p.target.saturating_sub(self.p.allowance);
        if self.delay < target.as_secs_f64() || look.own_backlog <= look.largest.max(LEAST_PACKET) {
            (self.dropping, self.drop_time) = (false, None);
            return Verdict::Pass;
        }
        let now = look.now;
        match self.drop_time {
            None => {
                let fresh = self.is_stale(now) || self.count <= 1;
                self.drop_time = Some(self.control_law(now, if fresh { 1 } else { self.count }));
                Verdict::Pass
            }
            Some(at) if now < at => Verdict::Pass,
            Some(at) => {
                let from = if self.dropping {
                    self.count += 1;
                    at
                } else {
                    self.dropping = true;
                    self.refresh_count(now);
                    now
                };
                let next = self.control_law(from, self.count);
                (self.drop_time, self.last_drop_time) = (Some(next), Some(next));
                Verdict::Drop
            }
        }
    }

    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        self.measure(look.now, look.size, look.own_backlog);
        Verdict::Pass
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("count", self.count as f64);
        see("dropping", f64::from(self.dropping));
        see("drop_next_s", self.drop_time.map_or(0.0, Instant::as_secs_f64));
        see("qdelay_ms", self.delay * 1e3);
        see("departure_mbps", self.rate * 8e-6);
    }
}

impl LawKind for CodelDt {
    const PAPER: &'static str = "CableLabs, ns-2 codeldt.cc, 2013 (White and Padden's study of DOCSIS queues)";
    const DOC: &'static str = "CoDel at the tail: drops arrivals whose predicted delay has stood above a target.";
    type Params = Params;

    fn new(p: &Params, _: &LinkInfo, _: Rng) -> Self {
        CodelDt {
            p: p.clone(),
            drop_time: None,
            last_drop_time: None,
            count: 0,
            dropping: false,
            rate: 0.0,
            measuring: Some((Instant::ZERO, 0)),
            delay: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::testing::{link, look};
    use std::vec::Vec;

    /// With a rate of a full packet a millisecond.
    fn measured() -> CodelDt {
        let mut law = CodelDt::new(&Params::default(), &link(12.0), Rng::new(1, 0, 0));
        law.rate = 1.5e6;
        law
    }

    #[test]
    fn drops_follow_codels_schedule_at_the_tail() {
        let mut law = measured();
        let at = |ms: f64| Instant::ZERO + Duration::from_millis_f64(ms);
        // 13 held and one more are 14 ms, the target less its allowance; 12 are not.
        assert_eq!(law.on_enqueue(&look(at(0.0), 12)), Verdict::Pass);
        assert_eq!(law.drop_time, None);
        let mut drops = Vec::new();
        for i in 0..4_500 {
            let ms = i as f64 * 0.1;
            if law.on_enqueue(&look(at(ms), 13)) == Verdict::Drop {
                drops.push(ms);
            }
        }
        // The first arms at 0; then as CoDel in a lasting overload.
        let want = [100.0, 200.0, 270.8, 328.5, 378.5, 423.3];
        assert!(drops.len() == want.len() && drops.iter().zip(want).all(|(a, b)| (a - b).abs() < 0.11), "{drops:?}");
    }

    #[test]
    fn an_excess_soon_after_waits_less() {
        let mut law = measured();
        (law.count, law.last_drop_time) = (9, Some(Instant::from_millis(500)));
        law.on_enqueue(&look(Instant::from_millis(600), 40));
        assert_eq!(law.drop_time, Some(Instant::from_nanos(633_333_333)), "100 ms/√9");
        law.on_enqueue(&look(Instant::from_millis(640), 40));
        assert_eq!(law.count, 7, "a new dropping state goes on with two less");
        for (count, at, want) in [(2, 640, 1), (9, 1_440, 1), (200, 640, 196)] {
            let mut law = measured();
            (law.count, law.last_drop_time) = (count, Some(Instant::from_millis(640)));
            law.refresh_count(Instant::from_millis(at));
            assert_eq!(law.count, want);
        }
    }

    #[test]
    fn a_link_without_a_measurement_has_no_delay() {
        let mut law = CodelDt::new(&Params::default(), &link(12.0), Rng::new(1, 0, 0));
        for ms in 0..400 {
            assert_eq!(law.on_enqueue(&look(Instant::from_millis(ms), 50)), Verdict::Pass);
        }
        // Eleven packets make 16384 bytes. The first measurement runs from time 0.
        for i in 1..=11 {
            law.on_dequeue(&look(Instant::from_millis(400 + i), 50));
        }
        assert!((law.rate - 16_500.0 / 0.411).abs() < 1e-6, "{}", law.rate);
        for i in 1..=11 {
            law.on_dequeue(&look(Instant::from_millis(411 + i), 50));
        }
        assert!((law.rate - (0.5 * 16_500.0 / 0.411 + 0.5 * 1.5e6)).abs() < 1e-3);
    }
}
