//! What a link's transmitter passed, and what it could have passed, between two instants that may fall anywhere: within a
//! packet, before or after a change of the rate. Nothing is counted per packet beyond the bytes sent; the rest is read off
//! at the two edges, and brought up to date at changes.
//!
//! Amounts are in 10⁻⁹ bit, so that a rate in bits per second times nanoseconds needs no division.

use crate::link::{Link, Transmitter};
use units::{Instant, Rate};

/// So many of this account's units are a byte.
pub(crate) const BYTE: i128 = 8_000_000_000;

fn nanoseconds(from: Instant, to: Instant) -> u128 {
    to.since(from).as_nanos() as u128
}

/// The rate of a link so far, and its account at the edges that were asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Capacity {
    /// The last change.
    since: Instant,
    /// What it could have carried until then.
    until_then: Carried,
    /// The packet then under transmission keeps the rate at which it began, until then.
    begun: Option<(Rate, Instant)>,
    /// Begin and end of the measure window.
    pub(crate) window: [Edge; 2],
    /// Begin of the series' step.
    pub(crate) step: Edge,
}

/// What a link could have carried since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    /// At its rate.
    rate: u128,
    /// Beyond that, while a packet that began before the rate fell was still sent at the old one.
    beyond: u128,
}

impl Capacity {
    /// The rate is about to change.
    pub(crate) fn changes(&mut self, now: Instant, old: &Transmitter, free_at: Instant) {
        self.until_then = self.carried(now, old);
        self.since = now;
        if let Transmitter::Constant { rate, .. } = old
            && free_at > now
            && self.begun.is_none_or(|(_, until)| until != free_at)
        {
            self.begun = Some((*rate, free_at));
        }
    }

    fn carried(&self, now: Instant, by: &Transmitter) -> Carried {
        let Carried { rate: mut carried, mut beyond } = self.until_then;
        match by {
            Transmitter::Unlimited => {}
            Transmitter::Constant { rate, .. } => {
                carried += rate.as_bps() as u128 * nanoseconds(self.since, now);
                if let Some((old, until)) = self.begun {
                    let faster = old.as_bps().saturating_sub(rate.as_bps()) as u128;
                    beyond += faster * nanoseconds(self.since, until.min(now));
                }
            }
            Transmitter::Trace(trace) => carried += trace.offered(now) as u128 * BYTE as u128,
        }
        Carried { rate: carried, beyond }
    }
}

/// A link at an edge of a window.
#[derive(Clone, Copy, Debug, Default)]
pub struct Edge {
    at: Instant,
    carried: Carried,
    /// In 10⁻⁹ bit: what is already counted in `sent_bytes` and the transmitter has not passed yet. Negative on a
    /// ticking link: credit already earned for packets still queued.
    ahead: i128,
}

impl Link {
    /// Its account now.
    pub(crate) fn edge(&self, now: Instant) -> Edge {
        let carried = self.capacity.carried(now, &self.transmitter);
        let ahead = match (&self.transmitter, &self.tick) {
            (Transmitter::Unlimited, _) => 0,
            (_, Some(tick)) => tick.owed(now, self.queue.backlog()),
            (Transmitter::Trace(trace), None) => trace.granted(now) as i128 * BYTE,
            (Transmitter::Constant { rate, .. }, None) => {
                let begun = self.capacity.begun.filter(|(_, until)| *until == self.free_at);
                let rate = begun.map_or(*rate, |(old, _)| old);
                rate.as_bps() as i128 * nanoseconds(now, self.free_at) as i128
            }
        };
        Edge { at: now, carried, ahead }
    }
}

/// What became of a link's rate between two edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used {
    passed: i128,
    carried: Carried,
    time: u128,
}

impl Used {
    /// Between these edges the transmission of so many bytes began.
    pub(crate) fn between(from: &Edge, to: &Edge, sent_bytes: u64) -> Self {
        let carried =
            Carried { rate: to.carried.rate - from.carried.rate, beyond: to.carried.beyond - from.carried.beyond };
        let passed = sent_bytes as i128 * BYTE + from.ahead - to.ahead;
        Used { passed, carried, time: nanoseconds(from.at, to.at) }
    }

    /// Of what could have been carried, the part that was; `None` where nothing could. A packet that begins at an edge is
    /// counted for up to a nanosecond longer than its bytes take, and between ticks credit is taken to grow steadily, whatever
    /// came as a gift (`io_fast`): less than nothing was nothing.
    pub(crate) fn utilisation(&self) -> Option<f64> {
        let carried = self.carried.rate + self.carried.beyond;
        (carried > 0).then(|| self.passed.max(0) as f64 / carried as f64)
    }

    /// So many bytes over what the rate would have carried.
    pub(crate) fn load(&self, bytes: u64) -> Option<f64> {
        (self.carried.rate > 0).then(|| (bytes as i128 * BYTE) as f64 / self.carried.rate as f64)
    }

    /// Mean rate in Mbit/s; exact where it did not change.
    pub(crate) fn mean_mbps(&self) -> Option<f64> {
        let whole = self.carried.rate.checked_div(self.time)?;
        let rest = (self.carried.rate % self.time) as f64 / self.time as f64;
        Some(Rate::from_bps(whole as u64).as_mbps() + rest * 1e-6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_a_link_is_less_than_nothing() {
        let packet = 1500 * BYTE;
        for (sent, before, after, used) in [
            (0, 0, 0, 0.0),
            (1500, 0, 0, 0.5),
            (1500, 0, packet / 2, 0.25),
            (1500, packet, packet, 0.5),
            // The end of its transmission was rounded up.
            (1500, 0, packet + 5, 0.0),
            // Credit was spent at the first edge that the second has again.
            (0, -packet, 0, 0.0),
        ] {
            let at = |nanos, rate, ahead| Edge {
                at: Instant::from_nanos(nanos),
                carried: Carried { rate, beyond: 0 },
                ahead,
            };
            let between = Used::between(&at(0, 0, before), &at(1, 2 * packet as u128, after), sent);
            assert_eq!(between.utilisation(), Some(used), "{sent} {before} {after}");
        }
    }
}
