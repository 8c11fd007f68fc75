//! SFB: BLUE for bins that flows are hashed into several times over; a flow whose every bin is full does not listen. Feng,
//! Kandlur, Saha and Shin, INFOCOM 2001; Linux's `sch_sfb`.
//!
//! ```text
//! a flow has one bin on each of `levels` levels
//! arrival:  for each of its bins:  bin_size or more held: p += up       none held: p −= down
//!           p of the flow = the least of its bins'                      so that sharing some bins with a flood does not matter
//!           p = 1: it does not listen, and gets `penalty_rate` packets a second
//! ```
//!
//! Every `rehash` the bins are hashed anew, so that nobody suffers for ever from meeting a flood on all levels; the new bins
//! are filled for `warmup` before they count, by the packets let in of flows that do not listen. These are few (`penalty_rate`),
//! so that they hardly raise a p. The new bins begin with the p that they had when they last counted, under another hash, in Linux
//! as here: after a flood some are near 1, whoever is in them now, until packets that find them empty take it down.
//!
//! Safeguards, as Linux has them: above p = 1/2 more and more is dropped even if it could be marked; no flow holds more than
//! `bin_max` packets.
//!
//! Departures: who does not listen gets its `penalty_rate` however fast it sends. Linux counts its tokens anew at every try and
//! rounds them down, so that more than ten tries a second earn nothing.

use super::{Lane, bucket};
use crate::{Dequeued, Ecn, Limit, LinkInfo, Packet, Qdisc, QdiscKind, Reason, Sink};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;
use params::ParamError;
use units::{Bytes, Duration, Instant, Rng};

params::params! {
    /// What users may set. Defaults are Linux's.
    pub struct Params {
        /// Times a flow is hashed (the paper 2).
        levels: usize = 8, 1 => 16;
        /// Bins of a level (the paper 23).
        bins: usize = 16, 1 => 65_536;
        /// Packets in a bin from which on its probability rises.
        bin_size: u32 = 20, 1 => 1_000_000;
        /// A flow whose every bin holds this many packets gets no more in.
        bin_max: u32 = 25, 1 => 1_000_000;
        /// Step up of a bin's probability.
        up: f64 = 0.001, 0.0 => 1.0;
        /// Step down of a bin's probability; Linux's is 1/6000.
        down: f64 = 0.00016666666666666666, 0.0 => 1.0;
        /// Packets a second for flows that do not listen, all together; 0 lets none of theirs in.
        penalty_rate: f64 = 10.0, 0.0 => 1e9;
        /// Most of these packets at once, after a time without any.
        penalty_burst: f64 = 20.0, 0.0 => 1e9;
        /// Time between two hashes; 0 is never.
        rehash: Duration = Duration::from_secs(600), Duration::ZERO => Duration::from_secs(1_000_000);
        /// Time for which new bins learn before they count.
        warmup: Duration = Duration::from_secs(60), Duration::ZERO => Duration::from_secs(1_000_000);
        /// Mark packets that can be marked instead of dropping them.
        ecn: bool = true;
        /// Packets held where the experiment gives no buffer.
        limit: usize = 1_000, 1 => 1_000_000_000;
    }
    check |p| {
        if p.penalty_burst > 0.0 && p.penalty_burst < 1.0 {
            return Err(ParamError::Conflict(alloc::format!(
                "penalty_burst = {} is less than a packet, so that none would ever pass: allowed is 0 (none) or 1 and more",
                p.penalty_burst
            )));
        }
        p.need(&Params::default(), &["warmup"], !p.rehash.is_zero(), "a rehash above 0")?;
        if p.bin_size <= p.bin_max {
            return Ok(());
        }
        Err(ParamError::Conflict(alloc::format!(
            "bin_size = {} must not be above bin_max = {}: no flow would fill its bins, and no probability rise",
            p.bin_size, p.bin_max
        )))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    p: f64,
    len: u32,
}

/// All bins under one hash.
#[derive(Debug)]
struct Bank {
    salt: u64,
    /// Counts hashes: a packet is taken off bins only if it was put into them.
    life: u32,
    bins: Vec<Bin>,
}

impl Bank {
    fn place(&self, p: &Params, flow: u64, level: usize) -> usize {
        let salt = self.salt.wrapping_add(0x9e37_79b9_7f4a_7c15u64.wrapping_mul(level as u64 + 1));
        level * p.bins + bucket(flow ^ salt, p.bins)
    }

    /// Another hash. The probabilities stay where they are, as in Linux (`sfb_swap_slot`).
    fn begin(&mut self, salt: u64) {
        (self.salt, self.life) = (salt, self.life + 1);
        self.bins.iter_mut().for_each(|bin| bin.len = 0);
    }

    /// Updates p of the flow's bins. Returns the least p and the least length among them.
    fn learn(&mut self, p: &Params, flow: u64) -> (f64, u32) {
        let mut least = (1.0f64, u32::MAX);
        for level in 0..p.levels {
            let i = self.place(p, flow, level);
            let bin = &mut self.bins[i];
            if bin.len == 0 {
                bin.p = (bin.p - p.down).max(0.0);
            } else if bin.len >= p.bin_size {
                bin.p = (bin.p + p.up).min(1.0);
            }
            least = (least.0.min(bin.p), least.1.min(bin.len));
        }
        least
    }

    /// What `learn` would find.
    fn least(&self, p: &Params, flow: u64) -> (f64, u32) {
        let bins = (0..p.levels).map(|level| self.bins[self.place(p, flow, level)]);
        bins.fold((1.0, u32::MAX), |least, bin| (bin.p.min(least.0), bin.len.min(least.1)))
    }

    fn count(&mut self, p: &Params, flow: u64, by: i32) {
        for level in 0..p.levels {
            let i = self.place(p, flow, level);
            self.bins[i].len = self.bins[i].len.saturating_add_signed(by);
        }
    }
}

/// A packet and the lives of the banks that count it; 0 is none.
#[derive(Debug)]
struct Counted<P> {
    packet: P,
    lives: [u32; 2],
}

impl<P: Packet> Packet for Counted<P> {
    fn size(&self) -> Bytes {
        self.packet.size()
    }
    fn flow(&self) -> u64 {
        self.packet.flow()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn mark(&mut self) -> bool {
        self.packet.mark()
    }
}

/// One line and the bins.
#[derive(Debug)]
pub struct Sfb<P> {
    params: Params,
    lane: Lane<Counted<P>>,
    banks: [Bank; 2],
    active: usize,
    warming: bool,
    rehash_at: Instant,
    tokens: f64,
    filled: Instant,
    limit: Limit,
    rng: Rng,
}

impl<P: Packet> Sfb<P> {
    /// An empty line. `params.limit` applies where the link gives none.
    pub fn new(params: &Params, link: &LinkInfo, mut rng: Rng) -> Self {
        let bank = || Bank { salt: 0, life: 0, bins: vec![Bin::default(); params.levels * params.bins] };
        let mut banks = [bank(), bank()];
        banks[0].begin(rng.bits());
        Sfb {
            params: params.clone(),
            lane: Lane::default(),
            banks,
            active: 0,
            warming: false,
            rehash_at: if params.rehash.is_zero() { Instant::MAX } else { Instant::ZERO + params.rehash },
            tokens: params.penalty_burst,
            filled: Instant::ZERO,
            limit: link.limit_or(params.limit),
            rng,
        }
    }

    /// Begins to learn under a new hash, or changes to it.
    fn rehash(&mut self, now: Instant) {
        let other = 1 - self.active;
        if !self.warming && self.rehash_at != Instant::MAX && now + self.params.warmup >= self.rehash_at {
            self.banks[other].begin(self.rng.bits());
            self.warming = true;
        }
        if now >= self.rehash_at {
            (self.active, self.warming) = (other, false);
            self.rehash_at = now + self.params.rehash;
        }
    }

    /// May a flow that does not listen send this one?
    fn has_token(&mut self, now: Instant) -> bool {
        // sfb_rate_limit: where nothing is ever gained nothing is given, the first burst neither.
        if self.params.penalty_rate == 0.0 {
            return false;
        }
        let gained = now.since(self.filled).as_secs_f64() * self.params.penalty_rate;
        self.tokens = (self.tokens + gained).min(self.params.penalty_burst);
        self.filled = now;
        let may = self.tokens >= 1.0;
        self.tokens -= f64::from(may);
        may
    }

    /// Drop, or mark: the dice against p.
    fn strikes(&mut self, p: f64, markable: bool) -> (bool, bool) {
        let drawn = self.rng.uniform();
        if drawn >= p {
            return (false, false);
        }
        // Who is marked more often than not does not listen, or the link is overloaded.
        let drop = !markable || !self.params.ecn || drawn < (p - 0.5) * 2.0;
        (drop, !drop)
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for Sfb<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut dyn Sink<P>) -> bool {
        if self.limit.full(self.lane.len(), self.lane.backlog(), packet.size()) {
            drops.dropped(packet, Reason::Overflow);
            return false;
        }
        self.rehash(now);
        let flow = packet.flow();
        let (p, len) = self.banks[self.active].learn(&self.params, flow);
        // Only flows that do not respond warm the bins of the next hash.
        let warms = self.warming && p >= 1.0;
        if warms {
            self.banks[1 - self.active].learn(&self.params, flow);
        }
        let (mut drop, mut mark) = (len >= self.params.bin_max, false);
        if !drop && p >= 1.0 {
            drop = !self.has_token(now);
        } else if !drop {
            (drop, mark) = self.strikes(p, packet.ecn() != Ecn::NotEct);
        }
        if drop {
            drops.dropped(packet, Reason::Law);
            return false;
        }
        let marked = mark && packet.mark();
        let mut lives = [0; 2];
        for (i, bank) in self.banks.iter_mut().enumerate() {
            if i == self.active || warms {
                bank.count(&self.params, flow, 1);
                lives[i] = bank.life;
            }
        }
        self.lane.push(now, Counted { packet, lives });
        marked
    }

    fn dequeue(&mut self, now: Instant, _: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        let (since, Counted { packet, lives }) = self.lane.pop()?;
        for (bank, life) in self.banks.iter_mut().zip(lives) {
            if life != 0 && bank.life == life {
                bank.count(&self.params, packet.flow(), -1);
            }
        }
        Some(Dequeued { packet, sojourn: now.since(since), marked: false })
    }

    fn backlog(&self) -> Bytes {
        self.lane.backlog()
    }

    fn len(&self) -> usize {
        self.lane.len()
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.limit = link.limit.unwrap_or(self.limit);
    }

    /// The greatest probability and length of a bin.
    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let bins = &self.banks[self.active].bins;
        see("p", bins.iter().fold(0.0, |p, bin| p.max(bin.p)));
        see("sub_packets", bins.iter().map(|bin| bin.len).max().unwrap_or(0) as f64);
    }

    /// The least probability and length of the flow's bins.
    fn vars_of(&self, flow: u64, see: &mut dyn FnMut(&'static str, f64)) {
        let (p, len) = self.banks[self.active].least(&self.params, flow);
        see("p", p);
        see("sub_packets", len as f64);
    }
}

/// [`Sfb`] in the table of queues.
#[derive(Debug)]
pub struct Kind;

impl QdiscKind for Kind {
    const PAPER: &'static str = "Feng, Kandlur, Saha and Shin, INFOCOM 2001";
    const DOC: &'static str = "BLUE for bins of flows: finds senders that do not listen and limits their rate.";
    const SCHEDULER: &'static str = "first in, first out; flows are counted in bins";
    type Params = Params;

    fn make<P: Packet + Debug + Send + 'static>(p: &Params, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        Box::new(Sfb::<P>::new(p, link, rng))
    }
}

#[cfg(test)]
mod tests;
