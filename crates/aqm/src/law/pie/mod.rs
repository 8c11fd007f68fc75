//! PIE: drops arriving packets with a probability p that a PI controller sets from the queueing delay. RFC 8033.
//!
//! ```text
//! every tupdate:  p += α (delay − target) + β (delay − delay before)     scaled down while p is small
//! ```
//!
//! `reference` chooses whose details (`params.rs`, `rules.rs`, `departure.rs`, and below): the RFC's appendix, Linux's `sch_pie`,
//! FreeBSD's `dn_aqm_pie` (written at the HLDG thesis' laboratory), DOCSIS-PIE of RFC 8034, the first draft, which
//! mahimahi runs, or ns-2.36's `pie.cc`, whose authors are PIE's own. It also sets the defaults that belong to it.
//!
//! The RFC is of two minds on when p decays: at a delay of zero twice (section 4.2), as here and in Linux and FreeBSD, or at less
//! than half of the target (its pseudocode, as DPDK and others carry it).
//!
//! In sub-queues PIE's `reference=docsis` takes the sub-queue to leave at the rate of the whole link: where n flows take turns
//! the delay is n times what it reckons with.
//!
//! Departures: p and delays are floating point and nanoseconds (FreeBSD has 31 bits and 1 µs, Linux 56 bits). DOCSIS
//! predicts the delay from the link's rate alone: our modem has no token bucket, so peak and sustained rate are one.
//! What finds ns-2's buffer full, which counts packets of mean size, is dropped by the law.
//! mahimahi's gains in milliseconds, a thousand times too strong, are not the draft's and are left out. The timer is
//! caught up at the next event, which gives the same p and the same drops (`tests.rs`).

mod departure;
mod params;
mod rules;

pub use params::{Params, Reference};

use crate::law::Ticker;
use crate::queue::fair::{self, Overflow};
use crate::{Law, LawKind, Limit, LinkInfo, Look, Place, Verdict};
use ::params::{ParamError, Params as _};
use departure::Departure;
use rules::Rules;
use units::{Bytes, Duration, Instant, Rate, Rng};

/// Linux's first timer: HZ/2.
const LINUX_FIRST: Duration = Duration::from_millis(500);
/// Sum of p below which nothing is dropped, and at which the next packet is (RFC 8033 section 5.4).
const SURELY_NOT: f64 = 0.85;
const SURELY: f64 = 8.5;
/// DOCSIS: quiet for this long and the queue must fill to a third again.
const BURST_RESET: Duration = Duration::from_secs(1);
/// ns-2: quiet for this long and the next packet begins a burst (`BURST_RESET_TIMEOUT` of its pie.h).
const NS2_BURST_RESET: Duration = Duration::from_millis(1_500);

/// DOCSIS' and ns-2's states; the others know only awake or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// Below a third of the buffer since the start or the last reset (ns-2: no packet).
    Asleep,
    /// Awake, nothing dropped yet (ns-2: the burst is over).
    Quiescent,
    /// Dropping.
    Active,
}

/// What PIE remembers. An update that leaves it as it was will leave it so until something happens.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    p: f64,
    /// Sum of p since the last drop.
    accu: f64,
    /// The delay as known now, at the last update, and at the one before.
    delay: Duration,
    updated: Duration,
    before: Duration,
    burst: Duration,
    departure: Departure,
    last_out: Option<Instant>,
    activity: Activity,
    quiet: Duration,
}

/// PIE at work.
#[derive(Clone, Debug)]
pub struct Pie {
    params: Params,
    rules: &'static Rules,
    state: State,
    ticker: Ticker,
    /// A third of the buffer, in what FreeBSD counts that in, and in bytes elsewhere.
    third: Limit,
    /// ns-2: what its buffer holds, a packet counted as one of mean size.
    full: Bytes,
    /// `third` was set by `among` and does not follow the buffer.
    third_is_quirk: bool,
    rate: Rate,
    rng: Rng,
}

impl Pie {
    fn is(&self, reference: Reference) -> bool {
        self.params.reference == reference
    }

    fn is_a_third_full(&self, look: &Look) -> bool {
        match self.third {
            Limit::Packets(n) => look.len >= n,
            Limit::Bytes(n) => look.own_backlog >= n,
        }
    }

    fn is_calm(&self, delay: Duration) -> bool {
        delay < self.params.target / 2
    }

    fn wake(&mut self, now: Instant) {
        let s = &mut self.state;
        (s.p, s.accu, s.burst, s.activity) = (0.0, 0.0, self.params.burst, Activity::Active);
        (s.updated, s.before) = (Duration::ZERO, Duration::ZERO);
        s.departure.activate(now);
        self.ticker = Ticker::new(now, self.params.tupdate, self.params.tupdate);
    }

    /// The updates that a timer would have made until `now`, while the queue held `backlog`.
    #[cold]
    fn catch_up(&mut self, now: Instant, backlog: Bytes) {
        while self.ticker.due(now).is_some() {
            let before = self.state;
            self.update(backlog);
            if self.state == before {
                self.ticker.skip(now);
            }
        }
    }

    /// The periodic update.
    fn update(&mut self, backlog: Bytes) {
        let s = &mut self.state;
        if self.params.reference == Reference::Docsis {
            s.delay = backlog / self.rate;
        } else if self.params.rate_estimator {
            s.delay = s.departure.delay(backlog);
        } else if backlog.is_zero() {
            s.delay = Duration::ZERO;
        }
        let (q, old) = (s.delay, s.updated);
        let protected = self.params.reference.knows_bursts() && !s.burst.is_zero();
        if protected {
            s.p = 0.0;
        } else {
            // A delay of nought over a backlog is one too short to measure: Linux and mahimahi then let p be.
            let lets_be = matches!(self.params.reference, Reference::Linux | Reference::Draft);
            let may_decay = !lets_be || backlog.is_zero() || !q.is_zero();
            s.p = self.rules.step(&self.params, s.p, q, old, may_decay);
        }
        if self.params.reference != Reference::Linux {
            s.burst = s.burst.saturating_sub(self.params.tupdate);
        }
        let calm = self.is_calm(q) && self.is_calm(old) && self.state.p == 0.0;
        let s = &mut self.state;
        (s.before, s.updated) = (old, q);
        if calm && self.params.reference == Reference::Ns2 && s.departure.is_known() {
            s.departure.reset();
        }
        match self.params.reference {
            Reference::Linux | Reference::Draft if calm && (!self.params.rate_estimator || s.departure.is_known()) => {
                (s.burst, s.accu, s.last_out) = (self.params.burst, 0.0, None);
                s.departure.reset();
            }
            Reference::Docsis | Reference::Ns2 => match s.activity {
                Activity::Active if calm && s.burst.is_zero() => {
                    (s.activity, s.quiet) = (Activity::Quiescent, Duration::ZERO);
                }
                Activity::Quiescent if calm && s.burst.is_zero() => {
                    s.quiet += self.params.tupdate;
                    let docsis = self.params.reference == Reference::Docsis;
                    if s.quiet > if docsis { BURST_RESET } else { NS2_BURST_RESET } {
                        (s.activity, s.quiet) = (Activity::Asleep, Duration::ZERO);
                    }
                }
                Activity::Quiescent => s.quiet = Duration::ZERO,
                Activity::Active | Activity::Asleep => {}
            },
            _ => {}
        }
    }

    /// The delay that decides whether the queue is short enough to leave alone.
    fn guard_delay(&self) -> Duration {
        match self.params.reference {
            Reference::Linux => self.state.delay,
            // The draft compares with the delay of the update before the last.
            Reference::Draft => self.state.before,
            Reference::Rfc | Reference::FreeBsd | Reference::Docsis | Reference::Ns2 => self.state.updated,
        }
    }

    fn mean(&self, mtu: Bytes) -> Bytes {
        if self.params.mean_packet.is_zero() { mtu } else { self.params.mean_packet }
    }

    /// The likelihood of a packet of that size.
    fn p_of(&self, look: &Look) -> f64 {
        let of_its_size = || self.state.p * look.size.packets(self.mean(look.mtu));
        match self.params.reference {
            Reference::Docsis => of_its_size().min(SURELY_NOT),
            Reference::Ns2 => of_its_size(),
            _ => self.state.p,
        }
    }

    /// Do the dice fall on this packet?
    fn strikes(&mut self, look: &Look) -> bool {
        let mean = self.mean(look.mtu);
        let short = match self.params.reference {
            Reference::Linux | Reference::Draft => look.own_backlog < mean * 2,
            Reference::Rfc | Reference::FreeBsd | Reference::Docsis | Reference::Ns2 => look.own_backlog <= mean * 2,
        };
        let left_alone = (self.is_calm(self.guard_delay()) && self.state.p < 0.2) || short;
        let docsis = self.is(Reference::Docsis);
        let p = self.p_of(look);
        if left_alone && !docsis {
            return false;
        }
        let s = &mut self.state;
        if s.p == 0.0 {
            s.accu = 0.0;
        }
        if self.params.derandomise {
            s.accu += p;
            if left_alone || s.accu < SURELY_NOT {
                return false;
            }
            if s.accu >= SURELY {
                return true;
            }
        }
        let hit = !left_alone && self.rng.chance(p);
        if hit {
            s.accu = 0.0;
        }
        hit
    }

    fn may_mark(&self, look: &Look) -> bool {
        let (p, most) = (self.p_of(look), self.params.mark_threshold);
        self.params.ecn && look.markable() && (p < most || (p == most && self.is(Reference::Linux)))
    }
}

impl Law for Pie {
    #[inline]
    fn advance(&mut self, look: &Look) {
        if self.ticker.is_due(look.now) {
            self.catch_up(look.now, look.own_backlog);
        }
    }

    fn on_enqueue(&mut self, look: &Look) -> Verdict {
        if self.is(Reference::Ns2) && look.own_backlog >= self.full {
            self.state.accu = 0.0;
            return Verdict::Drop;
        }
        if self.state.activity == Activity::Asleep && (!self.params.on_off || self.is_a_third_full(look)) {
            match self.params.reference {
                Reference::Docsis if !self.is_a_third_full(look) => return Verdict::Pass,
                Reference::Docsis => self.state.activity = Activity::Quiescent,
                // Its timer runs all the while.
                Reference::Ns2 => (self.state.activity, self.state.burst) = (Activity::Active, self.params.burst),
                _ => self.wake(look.now),
            }
        }
        let awake = self.state.activity != Activity::Asleep;
        let mut verdict = Verdict::Pass;
        if awake && self.state.burst.is_zero() && self.strikes(look) {
            if self.may_mark(look) {
                verdict = Verdict::Mark;
            } else {
                verdict = Verdict::Drop;
                self.state.accu = 0.0;
            }
            if self.is(Reference::Docsis) && self.state.activity == Activity::Quiescent {
                (self.state.activity, self.state.burst) = (Activity::Active, self.params.burst);
            }
        }
        let calm = self.state.p == 0.0 && self.is_calm(self.state.delay) && self.is_calm(self.state.updated);
        if awake && calm && !self.params.reference.knows_bursts() {
            if matches!(self.params.reference, Reference::Rfc | Reference::FreeBsd) {
                self.state.burst = self.params.burst;
            }
            if self.params.on_off && look.own_backlog.is_zero() {
                (self.state.activity, self.ticker) = (Activity::Asleep, Ticker::NEVER);
            }
        }
        verdict
    }

    fn on_dequeue(&mut self, look: &Look) -> Verdict {
        let linux = self.is(Reference::Linux);
        let s = &mut self.state;
        if s.activity == Activity::Asleep {
            return Verdict::Pass;
        }
        let took = if self.params.rate_estimator {
            s.departure.on_dequeue(look.now, look.size, look.own_backlog)
        } else {
            s.delay = if linux && look.own_backlog.is_zero() { Duration::ZERO } else { look.sojourn };
            s.last_out.replace(look.now).map(|last| look.now.since(last))
        };
        // mahimahi takes the time of a measurement off as well as every tupdate.
        let spends = linux || (self.params.reference == Reference::Draft && self.params.rate_estimator);
        if let (true, Some(time)) = (spends, took) {
            s.burst = s.burst.saturating_sub(time);
        }
        Verdict::Pass
    }

    fn on_activate(&mut self, now: Instant) {
        if self.params.afresh {
            self.state.delay = Duration::ZERO;
            self.wake(now);
        }
    }

    fn on_forced_drop(&mut self, _look: &Look, _n: u32) {
        self.state.accu = 0.0;
    }

    fn on_refused(&mut self, _look: &Look) {
        self.state.accu = 0.0;
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.rate = link.rate;
        if let (Some(limit), false) = (link.limit, self.third_is_quirk) {
            self.third = match limit {
                // aqm_pie_enqueue compares slots with a third of the slots.
                Limit::Packets(n) if self.is(Reference::FreeBsd) => Limit::Packets(n / 3),
                _ => Limit::Bytes(limit.bytes(link.mtu) / 3),
            };
        }
        self.full = link.limit.map_or(Bytes::MAX, |limit| limit.bytes(self.mean(link.mtu)));
    }

    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("p", self.state.p);
        see("qdelay_ms", self.state.delay.as_millis_f64());
        see("qdelay_old_ms", self.state.updated.as_millis_f64());
        see("burst_ms", self.state.burst.as_millis_f64());
        see("accu_prob", self.state.accu);
        see("active", f64::from(self.state.activity != Activity::Asleep));
        if self.params.rate_estimator && self.state.departure.is_known() {
            let kilobyte = self.state.departure.delay(Bytes::new(1_000)).as_secs_f64();
            see("departure_mbps", 8e-3 / kilobyte);
        }
    }
}

impl LawKind for Pie {
    const PAPER: &'static str = "RFC 8033 (Pan et al., HPSR 2013)";
    const DOC: &'static str =
        "Drops arrivals at random, more often the longer the queueing delay and the faster it grows.";
    type Params = Params;

    fn defaults(asked: &Params, place: Place) -> Params {
        Params::of(asked.reference, place)
    }

    fn check_alone(params: &Params) -> Result<(), ParamError> {
        params.need(&Params::default(), &["afresh"], false, "sub-queues, as under fq_pie")
    }

    fn under_fair(asked: &Params) -> fair::Params {
        match asked.reference {
            Reference::Linux => fair::Params { overflow: Overflow::Refuse, ..fair::Params::linux() },
            Reference::FreeBsd => fair::Params::freebsd(),
            Reference::Rfc | Reference::Docsis | Reference::Draft | Reference::Ns2 => fair::Params::default(),
        }
    }

    fn new(params: &Params, link: &LinkInfo, rng: Rng) -> Self {
        // FreeBSD's PIE starts with the first packet, as does ns-2's burst; DOCSIS and on_off ones sleep until the buffer has filled up.
        // mahimahi's `burst_allowance_` is 0 until the first lull.
        let knows_bursts = params.reference.knows_bursts();
        let asleep = params.on_off || knows_bursts || params.reference == Reference::FreeBsd;
        let first = if params.reference == Reference::Linux { LINUX_FIRST } else { params.tupdate };
        let mut pie = Pie {
            params: params.clone(),
            rules: Rules::of(params.reference),
            state: State {
                p: 0.0,
                accu: 0.0,
                delay: Duration::ZERO,
                updated: Duration::ZERO,
                before: Duration::ZERO,
                burst: if knows_bursts || params.reference == Reference::Draft { Duration::ZERO } else { params.burst },
                departure: Departure::new(params.reference),
                last_out: None,
                activity: if asleep { Activity::Asleep } else { Activity::Active },
                quiet: Duration::ZERO,
            },
            ticker: Ticker::NEVER,
            third: Limit::Bytes(Bytes::ZERO),
            full: Bytes::MAX,
            third_is_quirk: false,
            rate: link.rate,
            rng,
        };
        if !asleep || knows_bursts {
            pie.ticker = Ticker::new(Instant::ZERO, first, params.tupdate);
        }
        pie.set_link(link);
        pie
    }

    fn among(mut self, limit: usize, flows: usize) -> Self {
        // dn_sched_fq_pie takes a third of a flow's part of the limit, which counts packets, and compares bytes with it: 3 by
        // default, so that with on_off a flow wakes at once.
        if self.is(Reference::FreeBsd) {
            self.third_is_quirk = true;
            self.third = Limit::Bytes(Bytes::new((limit / flows / 3) as u64));
        }
        self
    }
}

#[cfg(test)]
mod tests;
