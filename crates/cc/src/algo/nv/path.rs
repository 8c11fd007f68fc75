//! What NV knows of the path: RTT and rate of the last round trip, and the base RTT.

use super::Params;
use units::{Bytes, Duration, Instant, Rng};

/// Until the first change of the base RTT.
const FIRST_PERIOD: Duration = Duration::from_secs(2);

/// In whole microseconds and hundreds of bits per second, as the module has them.
#[derive(Debug)]
pub struct Path {
    rng: Rng,
    period: Duration,
    known: u64,
    /// Averaged; 0 before the first (`nv_last_rtt`).
    pub rtt: u64,
    /// `nv_min_rtt`, and what it will be.
    pub base: u64,
    next_base: u64,
    renews: Option<Instant>,
    /// Highest since the last judgement (`nv_rtt_max_rate`).
    pub rate: u64,
}

impl Path {
    pub fn new(p: &Params, rng: Rng) -> Self {
        let known = p.base_rtt.as_micros();
        Path { rng, period: p.reset_period, known, rtt: 0, base: u64::MAX, next_base: u64::MAX, renews: None, rate: 0 }
    }

    pub fn begin_anew(&mut self) {
        (self.rtt, self.rate) = (0, 0);
    }

    /// An RTT of what was sent then, in which so many bytes were delivered. Returns whether a period of the base RTT is over.
    pub fn hear(&mut self, now: Instant, rtt: Duration, sent: Instant, delivered: Bytes) -> bool {
        let rtt = rtt.as_micros().max(1);
        if self.rtt == 0 {
            (self.rtt, self.base) = (rtt, rtt * 2);
        } else {
            self.rtt = (rtt + self.rtt) / 2;
        }
        self.rate = self.rate.max(delivered.get() * 80_000 / self.rtt);
        let rtt = self.bounded(self.rtt);
        (self.base, self.next_base) = (self.base.min(rtt), self.next_base.min(rtt));
        let over = now >= *self.renews.get_or_insert(sent + FIRST_PERIOD);
        if over {
            (self.base, self.next_base) = (self.next_base, u64::MAX);
            self.renews = Some(now + self.period * (384 + self.rng.below(256)) / 512);
        }
        over
    }

    /// Packets of that size that the highest rate needs without a queue.
    pub fn needed(&self, mss: Bytes) -> u64 {
        self.rate.saturating_mul(self.base) / (80_000 * mss.get())
    }

    fn bounded(&self, rtt: u64) -> u64 {
        if self.known == 0 { rtt } else { rtt.clamp((self.known * 205) >> 8, self.known) }
    }
}
