//! DualPI2: two lines coupled so that scalable and classic flows share a link at equal rates, the scalable ones with
//! next to no delay (L4S). RFC 9332; De Schepper et al., CoNEXT 2016.
//!
//! ```text
//! L: ECT(1) and CE (`classify=any_ect`: ECT(0), too)      C: the rest
//! every tupdate:  q = the longer wait of the two heads
//!                 p′ += α (q − target) + β (q − q before)           within 0 and 1
//! C:  drops, or marks ECT(0), with p′²
//! L:  marks with the greater of k p′ and a native probability that rises from 0 at `step` to 1 at `step + ramp`
//! ```
//!
//! A classic flow's rate goes with 1/√(drops), a scalable one's with 1/marks: k = 2 makes them equal where RTTs are.
//!
//! Safeguards: once k p′ reaches 1, marks can say no more and L is dropped from with p′² as C is (`drop_overload`), and C
//! drops what it could mark: senders that ignore marks cannot push the others out.
//!
//! `reference`: the RFC's appendix serves L first unless C has waited `shift` longer, signals at even gaps and ramps; Linux's
//! `sch_dualpi2` gives C `c_share` of the link by weighted round robin, throws dice, steps at 1 ms, and leaves queues of
//! less than two full packets alone.
//!
//! Departures: p′ in fixed point of 44 bits (Linux 32). Linux judges `step_behind` when a packet arrives, we when it leaves.
//! Linux also limits memory, a quantity our packets do not have.

mod params;

pub use params::{Classify, Params, Reference};

use super::Lane;
use crate::law::{Integrator, Ticker};
use crate::{Dequeued, Ecn, Limit, LinkInfo, Packet, Qdisc, QdiscKind, Reason, Sink};
use alloc::boxed::Box;
use core::fmt::Debug;
use units::{Bytes, Duration, Instant, Rng};

/// RFC 9332 appendix A.2: with p′² at 1/k² and above, C drops what it could mark.
fn classic_most(coupling: f64) -> f64 {
    (1.0 / (coupling * coupling)).min(1.0)
}

/// What becomes of a packet.
enum Fate {
    Pass,
    Mark,
    Drop,
}

/// One of the two lines.
#[derive(Debug)]
struct Side<P> {
    lane: Lane<P>,
    /// The RFC's even gaps: what has summed up to the next signal.
    owed: f64,
}

impl<P> Side<P> {
    /// A signal for every whole number the likelihoods sum to. (The RFC asks for more than 1, which would let the first
    /// packet of a likelihood of 1 go unmarked.)
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.owed += likelihood;
        let due = self.owed >= 1.0;
        self.owed -= f64::from(due);
        due
    }
}

/// Two lines and the controller over both.
#[derive(Debug)]
pub struct DualPi2<P> {
    params: Params,
    low: Side<P>,
    classic: Side<P>,
    /// The base probability p′ and the delay it was last set from.
    p: Integrator,
    delay: Duration,
    ticker: Ticker,
    /// Bytes times share that L is ahead of C: at 0 and below it is L's turn (Linux).
    credit: i64,
    limit: Limit,
    mtu: Bytes,
    rng: Rng,
}

impl<P: Packet> DualPi2<P> {
    /// Empty lines. `params.limit` applies where the link gives none.
    pub fn new(params: &Params, link: &LinkInfo, rng: Rng) -> Self {
        // Without drops on overload p′ stops where every packet of L is marked.
        let most = if params.drop_overload { 1.0 } else { (1.0 / params.coupling).min(1.0) };
        let side = || Side { lane: Lane::default(), owed: 0.0 };
        let mut dual = DualPi2 {
            params: params.clone(),
            low: side(),
            classic: side(),
            p: Integrator::new(most),
            delay: Duration::ZERO,
            ticker: Ticker::new(Instant::ZERO, params.tupdate, params.tupdate),
            credit: 0,
            limit: link.limit_or(params.limit),
            mtu: link.mtu,
            rng,
        };
        dual.reset_credit();
        dual
    }

    fn reset_credit(&mut self) {
        let c = i64::from(self.params.c_share);
        self.credit = self.mtu.get() as i64 * (c - (100 - c));
    }

    fn delta(&self, q: Duration) -> f64 {
        let p = &self.params;
        (p.alpha * q.diff_millis(p.target) + p.beta * q.diff_millis(self.delay)) * 1e-3
    }

    fn wait(&self, at: Instant) -> Duration {
        self.low.lane.head_age(at).max(self.classic.lane.head_age(at))
    }

    /// The updates a timer would have made until `now`.
    fn advance(&mut self, now: Instant) {
        while let Some(tick) = self.ticker.due(now) {
            let q = self.wait(tick);
            let step = self.delta(q);
            self.p.add(step, 1);
            let grown = self.p.is_most() && step >= 0.0;
            let fixed = self.params.alpha == 0.0 && self.params.beta == 0.0;
            let idle = q.is_zero() && self.delay.is_zero();
            self.delay = q;
            if grown || fixed || idle {
                // A head only ages until the next event, so p′ stays at its most; of an empty queue all steps are equal.
                let (missed, last) = self.ticker.skip(now);
                if missed > 0 {
                    self.p.add(if idle { step } else { 0.0 }, missed);
                    self.delay = self.wait(last);
                }
            }
        }
    }

    fn is_linux(&self) -> bool {
        self.params.reference == Reference::Linux
    }

    /// Does a signal of this likelihood fall on the packet?
    fn strikes(&mut self, low: bool, likelihood: f64) -> bool {
        if self.is_linux() {
            return self.rng.chance(likelihood);
        }
        let side = if low { &mut self.low } else { &mut self.classic };
        side.recurs(likelihood)
    }

    /// p′²: two throws, or the square itself.
    fn classic_strikes(&mut self, low: bool) -> bool {
        let p = self.p.get();
        if self.is_linux() { self.rng.chance(p) && self.rng.chance(p) } else { self.strikes(low, p * p) }
    }

    /// L's own probability, before the coupling: `behind` packets wait there after this one.
    fn native(&self, sojourn: Duration, behind: usize) -> f64 {
        let p = &self.params;
        if sojourn <= p.step || behind < p.step_behind {
            return 0.0;
        }
        if p.ramp.is_zero() { 1.0 } else { ((sojourn - p.step).as_secs_f64() / p.ramp.as_secs_f64()).min(1.0) }
    }

    /// What the coupled controller says to a packet, `held` being what stays behind.
    fn fate(&mut self, low: bool, ecn: Ecn, native: f64, held: Bytes) -> Fate {
        if self.is_linux() && held < self.mtu * 2 {
            return if native > 0.0 { Fate::Mark } else { Fate::Pass };
        }
        let p = self.p.get();
        let coupled = self.params.coupling * p;
        let overload = if self.is_linux() { coupled > 1.0 } else { coupled >= 1.0 };
        if low {
            if overload && self.params.drop_overload && self.classic_strikes(true) {
                return Fate::Drop;
            }
            let likelihood = if overload { 1.0 } else { native.max(coupled) };
            // Linux throws for the coupled probability and then looks at the step, which is certain.
            return if self.strikes(true, likelihood) { Fate::Mark } else { Fate::Pass };
        }
        if !self.classic_strikes(false) {
            return Fate::Pass;
        }
        let no_ecn = if self.is_linux() { overload } else { p * p >= classic_most(self.params.coupling) };
        if ecn == Ecn::NotEct || no_ecn { Fate::Drop } else { Fate::Mark }
    }

    /// Does a packet belong to L? What was marked on the way does.
    fn is_low(&self, ecn: Ecn) -> bool {
        match self.params.classify {
            Classify::L4s => matches!(ecn, Ecn::Ect1 | Ecn::Ce),
            Classify::AnyEct => ecn != Ecn::NotEct,
        }
    }

    /// Is it L's turn?
    fn low_first(&self, now: Instant) -> bool {
        let (low, classic) = (&self.low.lane, &self.classic.lane);
        match (low.is_empty(), classic.is_empty()) {
            (true, _) => false,
            (false, true) => true,
            _ if self.is_linux() => self.credit <= 0,
            _ => low.head_age(now) + self.params.shift >= classic.head_age(now),
        }
    }

    fn held(&self) -> Bytes {
        self.low.lane.backlog() + self.classic.lane.backlog()
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut dyn Sink<P>) -> bool {
        self.advance(now);
        if self.limit.full(self.len(), self.held(), packet.size()) {
            drops.dropped(packet, Reason::Overflow);
            return false;
        }
        let low = self.is_low(packet.ecn());
        let mut marked = false;
        if self.params.drop_early {
            match self.fate(low, packet.ecn(), 0.0, self.held()) {
                Fate::Pass => {}
                Fate::Mark => marked = packet.mark(),
                Fate::Drop => {
                    drops.dropped(packet, Reason::Law);
                    return false;
                }
            }
        }
        let side = if low { &mut self.low } else { &mut self.classic };
        side.lane.push(now, packet);
        marked
    }

    fn dequeue(&mut self, now: Instant, drops: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        self.advance(now);
        loop {
            let low = self.low_first(now);
            let side = if low { &mut self.low } else { &mut self.classic };
            let Some((since, mut packet)) = side.lane.pop() else {
                self.reset_credit();
                return None;
            };
            let sojourn = now.since(since);
            let native = if low { self.native(sojourn, self.low.lane.len()) } else { 0.0 };
            let fate = if !self.params.drop_early {
                self.fate(low, packet.ecn(), native, self.held())
            } else if native > 0.0 && self.strikes(true, native) {
                Fate::Mark
            } else {
                Fate::Pass
            };
            if matches!(fate, Fate::Drop) {
                drops.dropped(packet, Reason::Law);
                continue;
            }
            let (c, size) = (i64::from(self.params.c_share), packet.size().get() as i64);
            if low && !self.classic.lane.is_empty() {
                self.credit += c * size;
            } else if !low && !self.low.lane.is_empty() {
                self.credit -= (100 - c) * size;
            }
            let marked = matches!(fate, Fate::Mark) && packet.mark();
            return Some(Dequeued { packet, sojourn, marked });
        }
    }

    fn idle(&mut self, _since: Instant) {
        if self.is_empty() {
            self.reset_credit();
        }
    }

    fn backlog(&self) -> Bytes {
        self.held()
    }

    fn len(&self) -> usize {
        self.low.lane.len() + self.classic.lane.len()
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.limit = link.limit.unwrap_or(self.limit);
        self.mtu = link.mtu;
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let p = self.p.get();
        see("p", p);
        see("p_classic", p * p);
        see("p_low", (self.params.coupling * p).min(1.0));
        see("qdelay_ms", self.delay.as_millis_f64());
        see("low_packets", self.low.lane.len() as f64);
        see("classic_packets", self.classic.lane.len() as f64);
    }
}

/// [`DualPi2`] in the table of queues.
#[derive(Debug)]
pub struct Kind;

impl QdiscKind for Kind {
    const PAPER: &'static str = "RFC 9332 (De Schepper et al., CoNEXT 2016)";
    const DOC: &'static str = "Couples a queue for scalable congestion control with one for classic, at equal rates.";
    const SCHEDULER: &'static str = "two lines, the low-latency one first (RFC 9332)";
    type Params = Params;

    fn defaults(asked: &Params) -> Params {
        Params::of(asked.reference)
    }

    fn make<P: Packet + Debug + Send + 'static>(p: &Params, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        Box::new(DualPi2::<P>::new(p, link, rng))
    }
}

#[cfg(test)]
mod tests;
