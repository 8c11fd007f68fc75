//! RED: drops arrivals at random while the average queue length lies between two thresholds. Floyd and Jacobson, IEEE/ACM
//! Transactions on Networking 1(4), 1993.
//!
//! ```text
//! avg ← (1 − w) avg + w q                                  (1 − w)^m avg after an idle time of m packets
//! p_b = max_p (avg − min) / (max − min)                    1 from max on; gentle: rises from max_p to 1 at 2 max
//! p_a = p_b / (1 − count p_b)                              count: packets since the last signal
//! ```
//!
//! `reference` chooses whose details. The paper's; ns-2's, which sets thresholds and weight by the link, is gentle, and keeps
//! signals further apart (`wait`); dummynet's, whose idle time is counted in ticks and which with ECN marks *every* packet
//! it finds above min; Linux's, which measures in bytes, decays by a table of shifts and marks even above max.
//!
//! Safeguard against senders that ignore marks: above max a packet is dropped even if it could be marked (RFC 3168
//! section 7); ns-2 drops from p = `mark_threshold` = 10 % on. dummynet and Linux have none.
//!
//! In sub-queues RED's automatic thresholds and weight go by rate and buffer of the whole link, and an idle time is counted in
//! packets at its rate.
//!
//! Departures: floating point (dummynet has 16 bits after the point, Linux shifts). ns-2's cautious and
//! old variants are left out.

mod average;
mod params;

pub use params::{Params, Reference};

use crate::{Averaging, Law, LawKind, LinkInfo, Look, Place, Verdict};
use average::Average;
use params::Resolved;
use units::{Bytes, Instant, Rng, math};

/// dummynet scales p by a packet's part of this.
const DUMMYNET_LARGEST: Bytes = Bytes::new(1_500);

/// RED's state, by the paper's names.
#[derive(Clone, Debug)]
pub struct Red {
    params: Params,
    is: Resolved,
    avg: Average,
    max_p: f64,
    /// p at max where it is not max_p.
    knee: Option<f64>,
    count: f64,
    /// dummynet and Linux throw once a signal, not once a packet.
    thrown: f64,
    /// The last arrival found the link idle.
    found_idle: bool,
    /// ns-2: the average has been above min since the last packet.
    crossed: bool,
    rng: Rng,
}

impl Red {
    /// The average queue length a timer would see at that time.
    pub fn average_at(&self, now: Instant) -> f64 {
        self.avg.at(now)
    }

    /// Does the average fall without an arrival?
    pub fn is_decaying(&self) -> bool {
        self.avg.is_idle()
    }

    /// The thresholds in force, in packets.
    pub fn thresholds(&self) -> (f64, f64) {
        (self.is.min, self.is.max)
    }

    /// The greatest random probability between them.
    pub fn max_p(&mut self) -> &mut f64 {
        &mut self.max_p
    }

    /// ns-2 computes the gentle band's slope once: it begins at the first max_p for good, whatever adaptation makes of it.
    pub fn keep_slope(&mut self) {
        self.knee = Some(self.max_p);
    }

    fn reference(&self) -> Reference {
        self.params.reference
    }

    /// p_b.
    fn base(&self) -> f64 {
        let (avg, Resolved { min, max, .. }) = (self.avg.value, self.is);
        if avg < min {
            0.0
        } else if avg < max {
            self.max_p * (avg - min) / (max - min)
        } else if self.params.gentle && avg < 2.0 * max {
            let knee = self.knee.unwrap_or(self.max_p);
            knee + (1.0 - knee) * (avg - max) / max
        } else {
            1.0
        }
    }

    /// p_a: gaps between signals become uniform in [1, 1/p], with `wait` in [1/p, 2/p].
    fn spread(&self, p: f64) -> f64 {
        // ns-2 counts bytes and divides whole numbers.
        let count = if self.reference() == Reference::Ns2 { math::floor(self.count + 1e-9) } else { self.count };
        let sum = count * p;
        match self.params.wait {
            true if sum < 1.0 => 0.0,
            true if sum < 2.0 => p / (2.0 - sum),
            false if sum < 1.0 => p / (1.0 - sum),
            _ => 1.0,
        }
    }

    /// Do the dice fall on a packet between the thresholds?
    fn strikes(&mut self, look: &Look, p: f64) -> bool {
        let part = if self.params.bytes || self.params.by_size { look.size.packets(self.is.mean) } else { 1.0 };
        match self.reference() {
            Reference::Paper | Reference::Ns2 => {
                if self.reference() == Reference::Ns2 && !core::mem::replace(&mut self.crossed, true) {
                    self.count = part;
                    return false;
                }
                let p = if self.reference() == Reference::Ns2 {
                    self.count += part;
                    // Certainty is not scaled: a small packet does not escape it.
                    match self.spread(p) {
                        p if p < 1.0 => p * part,
                        certain => certain,
                    }
                } else {
                    self.count += 1.0;
                    self.spread(p * part)
                };
                self.rng.chance(p.min(1.0))
            }
            Reference::Dummynet | Reference::Linux => {
                self.count += 1.0;
                if self.count == 0.0 {
                    self.thrown = self.rng.uniform();
                    return false;
                }
                let by_size = (self.params.bytes || self.params.by_size) && self.reference() == Reference::Dummynet;
                let part = if by_size { look.size.packets(DUMMYNET_LARGEST) } else { 1.0 };
                let hit = p * part * self.count > self.thrown;
                if hit {
                    self.thrown = self.rng.uniform();
                }
                hit
            }
        }
    }

    /// The signal for a packet that was hit at p_b.
    fn signal(&self, p: f64) -> Verdict {
        let may_mark = if p < 1.0 { p < self.params.mark_threshold } else { !self.params.hard_drop };
        if self.params.ecn && may_mark { Verdict::Mark } else { Verdict::Drop }
    }
}

impl Red {
    /// A packet arrives: moves the average. Does it lie above the lower threshold?
    pub fn observe(&mut self, look: &Look) -> bool {
        let q = if self.params.bytes { look.own_backlog.packets(self.is.mean) } else { look.len as f64 };
        self.found_idle = self.avg.is_idle();
        self.avg.update(look.now, q);
        // ns-2 asks for a queue of more than one packet, or byte.
        let enough = self.reference() != Reference::Ns2 || look.len > usize::from(!self.params.bytes);
        let above = self.avg.value >= self.is.min && enough;
        if !above {
            (self.count, self.crossed) = (-1.0, false);
        }
        above
    }

    /// What becomes of the packet, now that the average lies above the lower threshold.
    pub fn judge(&mut self, look: &Look) -> Verdict {
        let verdict = self.decide(look);
        if self.found_idle && (verdict == Verdict::Drop || verdict == Verdict::Mark && !look.markable()) {
            // Nothing came in, so the link stays idle; otherwise an average above max would never fall again.
            self.avg.on_idle(look.now);
        }
        verdict
    }

    fn decide(&mut self, look: &Look) -> Verdict {
        if self.reference() == Reference::Dummynet && self.params.ecn && self.avg.value > self.is.min {
            return Verdict::Mark;
        }
        let p = self.base();
        // ns-2 spreads even these, so that a packet less than the mean size after a drop passes.
        if p >= 1.0 && self.reference() != Reference::Ns2 {
            self.count = if self.reference() == Reference::Paper { 0.0 } else { -1.0 };
            return self.signal(p);
        }
        if self.strikes(look, p) {
            self.count = 0.0;
            return self.signal(p);
        }
        Verdict::Pass
    }
}

impl Law for Red {
    // ns-2, dummynet and Linux look at the limit last; without them the average would stand still while the buffer is full.
    const SEES_REFUSED: bool = true;

    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        if self.observe(look) { self.judge(look) } else { Verdict::Pass }
    }

    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        self.avg.on_dequeue(look.now, look.len);
        Verdict::Pass
    }

    fn on_empty(&mut self, now: Instant) {
        self.avg.on_idle(now);
    }

    fn on_refused(&mut self, _look: &Look) {
        // In ns-2 a forced drop counts as the signal.
        if self.reference() == Reference::Ns2 {
            self.count = 0.0;
        }
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.is = self.params.resolve(link);
        self.avg.set(self.is.weight, self.is.packet_time);
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("avg_packets", self.avg.value);
        see("p", self.base());
        see("max_p", self.max_p);
        see("count", self.count.max(0.0));
    }
}

impl LawKind for Red {
    const PAPER: &'static str = "Floyd and Jacobson, IEEE/ACM Transactions on Networking 1(4), 1993";
    const DOC: &'static str =
        "Drops arrivals at random, more often the longer the average queue between two thresholds.";
    type Params = Params;

    fn defaults(asked: &Params, _: Place) -> Params {
        Params::of(asked.reference)
    }

    fn averaging(params: &Params, link: &LinkInfo) -> Option<Averaging> {
        Some(params.averaging(link))
    }

    fn new(params: &Params, link: &LinkInfo, rng: Rng) -> Self {
        let mut red = Red {
            params: params.clone(),
            is: params.resolve(link),
            avg: Average::new(params.reference),
            max_p: params.max_p,
            knee: None,
            count: -1.0,
            thrown: 0.0,
            found_idle: false,
            crossed: false,
            rng,
        };
        red.set_link(link);
        red
    }
}

#[cfg(test)]
mod tests;
