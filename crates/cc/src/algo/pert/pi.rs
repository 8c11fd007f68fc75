//! The proportional-integral controller in place of RED's curve (section 5 of the paper): the probability moves until the
//! queueing delay is the target.
//!
//! ```text
//! every T = 1/170 s:   sum += K·T·(q − target);   p = sum + K/m·(q − target)         both within 0 and 1
//! m = 2 / (R·w),       K = m·√(1 + (m·R)²)·4 / (R·w²)
//! ```
//! The gains are those by which Hollot, Misra, Towsley and Gong (INFOCOM 2001) design PI for a router with N flows on a link
//! of C packets a second: in their formula C and N occur as w = R·C/N only, once the queue is counted in time. w and R a
//! sender knows. (Each flow integrates for itself: of two with different ideas of RTT_min the one with the smaller gives
//! way without end.) They are taken as they would be at the target, lest a long queue make the controller slow.

use units::{Duration, Instant, math};

/// How often a router's PI is updated in the paper of Hollot et al. and in ns-2: 170 Hz.
const PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 170);
/// Steps caught up at once: a second's worth.
const MOST_STEPS: u64 = 170;

/// State: the probability and the integral in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pi {
    pub probability: f64,
    sum: f64,
    next: Instant,
}

/// K/m per second of delay, and K per second of that, for a window of so many packets and an RTT in seconds.
fn gains(w: f64, rtt: f64) -> (f64, f64) {
    let m = 2.0 / (rtt * w);
    let proportional = math::sqrt(1.0 + m * m * rtt * rtt) * 4.0 / (rtt * w * w);
    (proportional, m * proportional)
}

impl Pi {
    /// No steps until now: while a response is still to be felt no probability could do more.
    pub fn pause(&mut self, now: Instant) {
        self.next = now;
    }

    /// Takes the steps that are due, at this queueing delay.
    pub fn advance(&mut self, now: Instant, queue: Duration, target: Duration, w: f64, rtt: Duration) {
        if now < self.next || rtt.is_zero() {
            return;
        }
        let steps = (1 + now.since(self.next).as_nanos() / PERIOD.as_nanos()).min(MOST_STEPS);
        self.next = (self.next + PERIOD * steps).max(now);
        let error = queue.as_secs_f64() - target.as_secs_f64();
        let (proportional, k) = gains(w.max(2.0), rtt.as_secs_f64());
        self.sum = (self.sum + k * PERIOD.as_secs_f64() * steps as f64 * error).clamp(0.0, 1.0);
        self.probability = (self.sum + proportional * error).clamp(0.0, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ms;

    #[test]
    fn the_gains_of_the_routers_design_point() {
        // Hollot et al., section V: 60 flows of 500 bytes on 15 Mbit/s (3750 packets/s), R⁺ = 246 ms, at 160 Hz a = 1.822e-5
        // and b = 1.816e-5 per packet, from m and K of two and three digits.
        let (proportional, k) = gains(0.246 * 3750.0 / 60.0, 0.246);
        let half = k * PERIOD.as_secs_f64() / 2.0;
        // As ns-2 has it: p += a·e − b·e before.
        let (a, b) = (proportional + half, proportional - half);
        assert!((a / 3750.0 / 1.822e-5 - 1.0).abs() < 0.02, "{}", a / 3750.0);
        assert!((b / 3750.0 / 1.816e-5 - 1.0).abs() < 0.02, "{}", b / 3750.0);
    }

    #[test]
    fn the_probability_rises_above_the_target_rests_at_it_and_falls_below() {
        let mut pi = Pi::default();
        let mut seen = std::vec::Vec::new();
        for (n, q) in [(1, 13), (2, 13), (3, 3), (4, 3), (5, 0)] {
            pi.advance(Instant::from_millis(1000 * n), ms(q), ms(3), 20.0, ms(100));
            seen.push(pi.probability);
        }
        assert!(seen[1] > seen[0] && seen[0] > 0.0, "{seen:?}");
        assert!(seen[2] < seen[1], "the proportional part goes with the error: {seen:?}");
        assert!((seen[3] - seen[2]).abs() < 1e-12 && seen[4] < seen[3], "{seen:?}");
    }
}
