//! CoDel: drops from the head when the sojourn time has stood above `target` for an `interval`, then at times that
//! draw together as interval/√count until it falls below. RFC 8289.
//!
//! `reference` chooses whose details: the RFC's text, Linux's `codel_impl.h`, FreeBSD's `dn_aqm_codel`, which is the
//! HLDG thesis author's own, or ns-2.36's `codel.cc`, Nichols' last one there, and `sfqcodel.cc` under the fair queue. They differ
//! in what counts as a queue too small to act on, in the comparison that ends the first interval, in how a new dropping
//! state remembers the last one, and in the square root.
//!
//! The count − 2 of FreeBSD and ns-2 at re-entry lets the count climb into the hundreds under lasting load, since an episode adds
//! more than two; the RFC counts from the start of the last episode for that reason. In ns-2 a queue that comes back above its
//! target soon after a drop waits only for interval/√count, as CoDel-DT does, so that it is the strictest of the four.
//!
//! Departures: nanosecond clock for all (Linux counts 1024 ns, FreeBSD 1 µs). An empty queue forgets that it was above the
//! target; up to 2026 Linux did not, and so dropped lone packets of sparse flows under its fair queue. ns-2's two cannot mark:
//! `ecn` is ours there. CoDel has no safeguard against senders that ignore marks: only the buffer's limit bounds them.

use crate::queue::fair;
use crate::{Law, LawKind, LinkInfo, Look, Place, Verdict};
use units::{Bytes, Duration, Instant, Rng, math};

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// RFC 8289: exact square root.
        Rfc = "rfc",
        /// Linux: Q0.16 Newton steps, whole-qdisc backlog, strict comparison, CE threshold.
        Linux = "linux",
        /// FreeBSD dummynet: Newton from 0.7, re-entry within 8 intervals with count − 2 (the draft of 2012).
        FreeBsd = "freebsd",
        /// ns-2.36: the same re-entry, and a first wait of interval/√count within 8 intervals of a drop.
        Ns2 = "ns-2",
    }
}

params::params! {
    /// What users may set.
    pub struct Params {
        /// Sojourn time that is acceptable as a standing queue (RFC 8289 section 4.2: 5 to 10 % of the interval).
        target: Duration = Duration::from_millis(5), Duration::from_micros(1) => Duration::from_secs(5);
        /// Time the sojourn must stay above the target before the first drop: about the longest RTT.
        interval: Duration = Duration::from_millis(100), Duration::from_micros(1) => Duration::from_secs(100);
        /// Mark packets that can be marked instead of dropping them; on by default under the fair queue (RFC 8290; ipfw(8)), but not as ns-2 has it.
        ecn: bool = false;
        /// Mark every packet that waited longer than this, whatever the law says; 0 is off. Linux's alone.
        ce_threshold: Duration = Duration::ZERO, Duration::ZERO => Duration::from_secs(10);
        /// Whose rules where implementations differ.
        reference: Reference = Reference::Rfc;
    }
    check |p| {
        p.need(&Params::default(), &["ce_threshold"], p.reference == Reference::Linux, "reference=linux")
    }
}

/// FreeBSD's `maxpkt_size` before any packet.
const FREEBSD_LEAST_PACKET: Bytes = Bytes::new(500);
/// ns-2's `maxpacket_` before any packet.
const NS2_LEAST_PACKET: Bytes = Bytes::new(256);
/// Intervals after a drop within which FreeBSD and ns-2 remember it.
const SOON: u64 = 8;

/// What the packet behind a dropped one has to expect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After {
    #[default]
    Nothing,
    /// The drop that entered the dropping state: this one passes whatever its delay.
    Entry,
    /// A scheduled drop: this one decides whether the schedule goes on.
    Drop,
}

/// CoDel's state, by the RFC's names.
#[derive(Clone, Debug)]
pub struct Codel {
    p: Params,
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    lastcount: u32,
    dropping: bool,
    /// 1/√count in 16 bits, for the two that approximate it.
    inv_sqrt: u16,
    after: After,
    /// No sub-queue: ns-2's `sfqcodel.cc` has not all that its `codel.cc` has.
    alone: bool,
}

impl Codel {
    /// ns-2's `codel.cc`, and not its `sfqcodel.cc`?
    fn is_ns2_codel(&self) -> bool {
        self.p.reference == Reference::Ns2 && self.alone
    }

    /// Is the last drop still remembered, by FreeBSD and ns-2?
    fn is_soon(&self, now: Instant) -> bool {
        now.since(self.drop_next) < self.p.interval * SOON
    }

    /// Has the sojourn stood above target for an interval? ("ok to drop")
    fn above(&mut self, look: &Look) -> bool {
        let small = match self.p.reference {
            Reference::Rfc => look.own_backlog <= look.largest,
            Reference::Linux => look.total_backlog <= look.mtu,
            Reference::FreeBsd => look.own_backlog <= look.largest.max(FREEBSD_LEAST_PACKET),
            // sfqcodel.cc has one maxpacket_ and one curq_ for all its bins.
            Reference::Ns2 => {
                look.total_backlog <= look.largest_of_all.max(NS2_LEAST_PACKET) || look.own_backlog.is_zero()
            }
        };
        if look.sojourn < self.p.target || small {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                let parole = self.is_ns2_codel() && self.count > 1 && self.is_soon(look.now);
                self.first_above = Some(if parole { self.control_law(look.now) } else { look.now + self.p.interval });
                false
            }
            Some(at) if self.p.reference == Reference::Linux => look.now > at,
            Some(at) => look.now >= at,
        }
    }

    /// Starts a dropping state, remembering the rate of the last one if that was near.
    fn enter(&mut self, now: Instant) {
        self.dropping = true;
        match self.p.reference {
            Reference::FreeBsd | Reference::Ns2 => {
                let near = self.count > 2 && self.is_soon(now);
                self.count = match self.count {
                    _ if !near => 1,
                    // "Decay tests": 126/128.
                    n if n > 128 && self.is_ns2_codel() => (f64::from(n) * 0.9844) as u32,
                    n => n - 2,
                };
            }
            Reference::Rfc | Reference::Linux => {
                let delta = self.count.wrapping_sub(self.lastcount);
                // Before the first dropping state there is no last drop to be near, though an overflow may have counted already.
                let near = delta > 1 && self.lastcount > 0 && now.since(self.drop_next) < self.p.interval * 16;
                self.count = if near { delta } else { 1 };
                self.lastcount = self.count;
                if self.p.reference == Reference::Linux {
                    if near {
                        self.inv_sqrt = newton_linux(self.inv_sqrt, self.count);
                    } else {
                        self.inv_sqrt = u16::MAX;
                    }
                }
            }
        }
        self.drop_next = self.control_law(now);
    }

    /// One more drop or mark in this dropping state.
    fn bump(&mut self) {
        self.count = self.count.wrapping_add(1);
        if self.p.reference == Reference::Linux {
            self.inv_sqrt = newton_linux(self.inv_sqrt, self.count);
        }
    }

    /// `from` + interval/√count.
    fn control_law(&mut self, from: Instant) -> Instant {
        let interval = self.p.interval;
        from + match self.p.reference {
            Reference::Rfc | Reference::Ns2 => interval.mul_f64(1.0 / math::sqrt(self.count.max(1) as f64)),
            Reference::Linux => scale(interval, self.inv_sqrt),
            Reference::FreeBsd if self.count == 1 => {
                self.inv_sqrt = FREEBSD_START;
                interval
            }
            Reference::FreeBsd => {
                self.inv_sqrt = newton_freebsd(self.inv_sqrt, self.count);
                scale(interval, self.inv_sqrt)
            }
        }
    }

    /// Does a drop count only if the dropping state goes on? (The RFC and Linux count it at once.)
    fn counts_late(&self) -> bool {
        matches!(self.p.reference, Reference::FreeBsd | Reference::Ns2)
    }

    fn decide(&mut self, look: &Look) -> Verdict {
        let ok = self.above(look);
        match core::mem::take(&mut self.after) {
            After::Nothing => {}
            After::Entry => return Verdict::Pass,
            After::Drop if ok => {
                if self.counts_late() {
                    self.bump();
                }
                self.drop_next = self.control_law(self.drop_next);
            }
            After::Drop => {}
        }
        let mark = self.p.ecn && look.markable();
        match (self.dropping, ok) {
            (_, false) => {
                self.dropping = false;
                Verdict::Pass
            }
            (true, true) if look.now < self.drop_next => Verdict::Pass,
            (true, true) if mark => {
                self.bump();
                // From the last scheduled time, not from now, or the rate would depend on packet spacing.
                self.drop_next = self.control_law(self.drop_next);
                Verdict::Mark
            }
            (true, true) => {
                if !self.counts_late() {
                    self.bump();
                }
                self.after = After::Drop;
                Verdict::Drop
            }
            (false, true) => {
                self.enter(look.now);
                if mark {
                    return Verdict::Mark;
                }
                self.after = After::Entry;
                Verdict::Drop
            }
        }
    }
}

impl Law for Codel {
    #[inline]
    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        let verdict = self.decide(look);
        let late = !self.p.ce_threshold.is_zero() && look.sojourn > self.p.ce_threshold;
        if late && verdict == Verdict::Pass && look.markable() { Verdict::Mark } else { verdict }
    }

    fn on_empty(&mut self, _now: Instant) {
        self.first_above = None;
        self.dropping = false;
        self.after = After::Nothing;
    }

    fn on_activate(&mut self, _now: Instant) {
        if self.p.reference == Reference::FreeBsd {
            self.dropping = false;
            self.first_above = None;
        }
    }

    fn on_forced_drop(&mut self, _look: &Look, n: u32) {
        // fq_codel_drop: the fattest flow's CoDel goes on from where the overflow brought it.
        if self.p.reference == Reference::Linux {
            self.count = self.count.wrapping_add(n);
        }
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("count", self.count as f64);
        see("dropping", f64::from(self.dropping));
        see("drop_next_s", self.drop_next.as_secs_f64());
        see("first_above_s", self.first_above.map_or(0.0, Instant::as_secs_f64));
    }
}

impl LawKind for Codel {
    const PAPER: &'static str = "RFC 8289 (Nichols and Jacobson, ACM Queue 10(5), 2012)";
    const DOC: &'static str = "Drops at the head while the sojourn time stands above a target, ever faster.";
    type Params = Params;

    fn defaults(asked: &Params, place: Place) -> Params {
        // FreeBSD too: ipfw(8) passes it with fq_codel and leaves it out with codel, unless told otherwise.
        Params { ecn: place == Place::Fair && asked.reference != Reference::Ns2, ..Params::default() }
    }

    fn under_fair(asked: &Params) -> fair::Params {
        match asked.reference {
            Reference::Rfc => fair::Params::default(),
            Reference::Linux => fair::Params::linux(),
            Reference::FreeBsd => fair::Params::freebsd(),
            Reference::Ns2 => fair::Params::ns2(),
        }
    }

    fn new(p: &Params, _link: &LinkInfo, _rng: Rng) -> Self {
        Codel {
            p: p.clone(),
            first_above: None,
            drop_next: Instant::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            inv_sqrt: 0,
            after: After::Nothing,
            alone: true,
        }
    }

    fn among(self, _limit: usize, _flows: usize) -> Self {
        // The constructor of sfqcodel.cc sets the time to -1, which is over: 0 would have stood for a delay below the target.
        let first_above = (self.p.reference == Reference::Ns2).then_some(Instant::ZERO);
        Codel { alone: false, first_above, ..self }
    }
}

/// 0.7 of 2^16: FreeBSD's first guess of 1/√2.
const FREEBSD_START: u16 = (65_536 * 7 / 10) as u16;

/// interval × x/2^16.
fn scale(interval: Duration, x: u16) -> Duration {
    Duration::from_nanos(((interval.as_nanos() as u128 * x as u128) >> 16) as u64)
}

/// One Newton step x(3 − count·x²)/2 towards 1/√count, x held in the upper half of a Q0.32 number.
///
/// Arithmetic wraps as the kernel's does: an overflow under FQ-CoDel adds its drops to the count without a step, so the
/// next one may start far outside the region where it converges.
fn newton_linux(x: u16, count: u32) -> u16 {
    let x = u64::from(x) << 16;
    let square = (x * x) >> 32;
    let rest = (3u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(square)) >> 2;
    ((rest.wrapping_mul(x) >> 31) as u32 >> 16) as u16
}

/// The same step in 16 bits with FreeBSD's order of shifts.
fn newton_freebsd(x: u16, count: u32) -> u16 {
    let x = u64::from(x);
    let rest = (3u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(x * x)) >> 9;
    (x.wrapping_mul(rest) >> 24) as u16
}

#[cfg(test)]
mod tests;
