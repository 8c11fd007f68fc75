//! The fair queue over a law: FQ-CoDel's scheduler, DRR++ over hashed sub-queues, each under a law of its own. RFC 8290.
//!
//! A flow that comes out of nowhere is *new* and served before the *old* ones for a quantum; each visit thereafter gives
//! it a quantum of bytes more. The hash of a flow is perturbed by the seed, so that collisions differ between repeats.
//!
//! Packets lie in one slab, threaded by index; flows likewise. Nothing is allocated once the slab has grown to the
//! longest backlog. Overflow under `batch` or `one` looks for the fattest flow in one pass over an array of `flows`
//! numbers (about 0.3 µs for 1024), which `batch` spreads over up to 64 drops.
//!
//! Departures: Linux also limits memory (32 MB of socket buffers), a quantity our packets do not have.

pub mod drr;
mod params;
pub mod sfq;
mod slab;
mod turns;

pub use params::{Emptied, Fattest, Overflow, Params, Rotate};

use crate::{Dequeued, Law, Limit, LinkInfo, Look, Packet, Qdisc, Reason, Sink, Verdict};
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;
use params::LEAST_QUANTUM;
use slab::{NONE, Slab};
use turns::{Flow, On, Turns};
use units::{Bytes, Duration, Instant, Rng};

/// RFC 8290 section 4.1.
const BATCH: u32 = 64;

/// Whose turn it is, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// DRR++: new flows before old ones, a quantum a turn (RFC 8290).
    NewFirst,
    /// DRR: a turn lasts while the packet at the head fits into the deficit.
    Deficit,
    /// SFQ: a packet a turn.
    Packets,
}

/// DRR++ over hashed flows, each under its own law.
#[derive(Debug)]
pub struct Fair<P, L> {
    params: Params,
    discipline: Discipline,
    limit: Limit,
    quantum: i64,
    mtu: Bytes,
    salt: u64,
    slab: Slab<P>,
    flows: Vec<Flow<L>>,
    // Apart from the flows, so that the search for the fattest reads nothing else.
    backlogs: Vec<Bytes>,
    lens: Vec<u32>,
    new: Turns,
    old: Turns,
    backlog: Bytes,
    largest: Bytes,
    len: usize,
}

impl<P: Packet, L: Law> Fair<P, L> {
    /// Empty sub-queues, each with the law that `law` makes for its number. `params.limit` applies where the link gives none.
    pub fn new(params: &Params, link: &LinkInfo, rng: &mut Rng, mut law: impl FnMut(u64, &mut Rng) -> L) -> Self {
        let salt = rng.bits();
        let flow =
            |law| Flow { law, head: NONE, tail: NONE, next: NONE, on: On::Neither, credit: 0, largest: Bytes::ZERO };
        let mut fair = Fair {
            params: params.clone(),
            discipline: Discipline::NewFirst,
            limit: link.limit_or(params.limit),
            quantum: 0,
            mtu: link.mtu,
            salt,
            slab: Slab::new(),
            flows: (0..params.flows as u64).map(|i| flow(law(i, rng))).collect(),
            backlogs: vec![Bytes::ZERO; params.flows],
            lens: vec![0; params.flows],
            new: Turns::EMPTY,
            old: Turns::EMPTY,
            backlog: Bytes::ZERO,
            largest: Bytes::ZERO,
            len: 0,
        };
        fair.set_quantum();
        fair
    }

    /// The same with other turns.
    pub fn taking_turns(mut self, discipline: Discipline) -> Self {
        self.discipline = discipline;
        self
    }

    fn set_quantum(&mut self) {
        let quantum = if self.params.quantum.is_zero() { self.mtu } else { self.params.quantum };
        self.quantum = quantum.max(LEAST_QUANTUM).get() as i64;
    }

    /// The sub-queue of a flow.
    pub fn index(&self, flow: u64) -> usize {
        super::bucket(flow ^ self.salt, self.flows.len())
    }

    /// The law of a sub-queue.
    pub fn law(&self, index: usize) -> &L {
        &self.flows[index].law
    }

    #[inline(always)]
    fn look(&self, i: usize, now: Instant, packet: &P, since: Instant) -> Look {
        let flow = &self.flows[i];
        Look {
            now,
            size: packet.size(),
            ecn: packet.ecn(),
            sojourn: now.since(since),
            head_age: self.slab.get(flow.head).map_or(Duration::ZERO, |(since, _)| now.since(since)),
            own_backlog: self.backlogs[i],
            total_backlog: self.backlog,
            len: self.lens[i] as usize,
            mtu: self.mtu,
            largest: flow.largest,
            largest_of_all: self.largest,
        }
    }

    #[inline(always)]
    fn push(&mut self, i: usize, now: Instant, packet: P) {
        let size = packet.size();
        let flow = &mut self.flows[i];
        let slot = self.slab.insert(now, packet);
        if flow.head == NONE {
            flow.head = slot;
        } else {
            self.slab.link(flow.tail, slot);
        }
        flow.tail = slot;
        self.backlogs[i] += size;
        self.lens[i] += 1;
        self.backlog += size;
        self.len += 1;
        if flow.on == On::Neither {
            flow.credit = self.quantum;
            if self.discipline == Discipline::NewFirst {
                flow.on = On::New;
                self.new.push(&mut self.flows, i as u32);
            } else {
                self.make_old(i as u32);
            }
        }
    }

    #[inline(always)]
    fn pop(&mut self, i: usize) -> Option<P> {
        let flow = &mut self.flows[i];
        let (packet, next) = self.slab.remove(flow.head)?;
        flow.head = next;
        self.gone(i, packet.size());
        Some(packet)
    }

    #[inline(always)]
    fn gone(&mut self, i: usize, size: Bytes) {
        self.backlogs[i] -= size;
        self.lens[i] -= 1;
        self.backlog -= size;
        self.len -= 1;
    }

    /// The newest packet of a flow. The way there is its whole backlog: packets know who comes behind them alone.
    #[cold]
    fn pop_last(&mut self, i: usize) -> Option<P> {
        let last = self.flows[i].tail;
        let mut before = self.flows[i].head;
        if before == last {
            return self.pop(i);
        }
        while self.slab.next(before) != last {
            before = self.slab.next(before);
        }
        let (packet, _) = self.slab.remove(last)?;
        self.slab.link(before, NONE);
        self.flows[i].tail = before;
        self.gone(i, packet.size());
        Some(packet)
    }

    /// The flow that an overflow costs; the first of equals.
    #[cold]
    fn fattest(&self) -> usize {
        fn greatest<T: PartialOrd>(all: &[T]) -> usize {
            (1..all.len()).fold(0, |best, i| if all[i] > all[best] { i } else { best })
        }
        match self.params.fattest {
            Fattest::Bytes => greatest(&self.backlogs),
            Fattest::Packets => greatest(&self.lens),
        }
    }

    #[cold]
    fn overflow(&mut self, now: Instant, drops: &mut dyn Sink<P>) {
        let i = self.fattest();
        let Some((since, head)) = self.slab.get(self.flows[i].head) else { return };
        let look = self.look(i, now, head, since);
        // The last event of this sub-queue may lie long ago. Its law first catches up on the updates due since then, over the
        // backlog that it has held all the while.
        self.flows[i].law.advance(&look);
        let (most, enough) = match self.params.overflow {
            Overflow::Batch => (BATCH, self.backlogs[i] / 2),
            Overflow::One | Overflow::Tail | Overflow::Refuse => (1, Bytes::MAX),
        };
        let (mut n, mut gone) = (0, Bytes::ZERO);
        while n < most && (n == 0 || gone < enough) {
            let from_the_tail = self.params.overflow == Overflow::Tail;
            let Some(packet) = (if from_the_tail { self.pop_last(i) } else { self.pop(i) }) else { break };
            gone += packet.size();
            n += 1;
            drops.dropped(packet, Reason::Overflow);
        }
        self.flows[i].law.on_forced_drop(&look, n);
    }

    /// The packet of one flow that its law lets go; `None` if it runs out of packets.
    #[inline(always)]
    fn serve(&mut self, i: usize, now: Instant, drops: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        while let Some((since, head)) = self.slab.get(self.flows[i].head) {
            let sojourn = now.since(since);
            let mut verdict = Verdict::Pass;
            if L::ACTIVE {
                let mut look = self.look(i, now, head, since);
                let law = &mut self.flows[i].law;
                law.advance(&look);
                look.leave();
                verdict = law.on_dequeue(&look);
            }
            let mut packet = self.pop(i)?;
            let marked = verdict == Verdict::Mark && packet.mark();
            if marked || verdict == Verdict::Pass {
                return Some(Dequeued { packet, sojourn, marked });
            }
            drops.dropped(packet, Reason::Law);
        }
        None
    }

    /// Is the credit of the flow at the head of its list used up?
    #[inline(always)]
    fn has_had_its_turn(&self, i: usize) -> bool {
        let flow = &self.flows[i];
        match (self.discipline, self.params.rotate) {
            (Discipline::NewFirst, Rotate::Spent) => flow.credit <= 0,
            (Discipline::NewFirst, Rotate::Overdrawn) => flow.credit < 0,
            (Discipline::NewFirst, Rotate::Packet) => false,
            (Discipline::Deficit, _) => {
                self.slab.get(flow.head).is_some_and(|(_, packet)| packet.size().get() as i64 > flow.credit)
            }
            (Discipline::Packets, _) => false,
        }
    }

    /// Takes the flow whose turn it is off its list.
    fn leave(&mut self, on: On) {
        match on {
            On::New => self.new.pop(&self.flows),
            On::Old => self.old.pop(&self.flows),
            On::Neither => {}
        }
    }

    fn make_old(&mut self, i: u32) {
        self.flows[i as usize].on = On::Old;
        self.old.push(&mut self.flows, i);
    }
}

impl<P: Packet + Debug + Send, L: Law> Qdisc<P> for Fair<P, L> {
    fn enqueue(&mut self, now: Instant, mut packet: P, drops: &mut dyn Sink<P>) -> bool {
        let i = self.index(packet.flow());
        let mut marked = false;
        if L::ACTIVE && self.flows[i].largest < packet.size() {
            self.flows[i].largest = packet.size();
            self.largest = self.largest.max(packet.size());
        }
        let look = self.look(i, now, &packet, now);
        if L::ACTIVE {
            if self.flows[i].on == On::Neither {
                self.flows[i].law.on_activate(now);
            }
            self.flows[i].law.advance(&look);
        }
        if self.params.overflow == Overflow::Refuse && self.limit.full(self.len, self.backlog, packet.size()) {
            let reason = self.flows[i].law.refuse(&look);
            drops.dropped(packet, reason);
            return false;
        }
        if L::ACTIVE {
            match self.flows[i].law.on_enqueue(&look) {
                Verdict::Pass => {}
                Verdict::Mark if packet.mark() => marked = true,
                Verdict::Mark | Verdict::Drop => {
                    drops.dropped(packet, Reason::Law);
                    return false;
                }
            }
        }
        if self.params.overflow == Overflow::Tail {
            while self.len > 0 && self.limit.full(self.len, self.backlog, packet.size()) {
                self.overflow(now, drops);
            }
        }
        self.push(i, now, packet);
        while self.limit.exceeded(self.len, self.backlog) {
            self.overflow(now, drops);
        }
        // What made room may be this very packet, whose mark nobody will see.
        marked && self.lens[i] > 0
    }

    fn dequeue(&mut self, now: Instant, drops: &mut dyn Sink<P>) -> Option<Dequeued<P>> {
        loop {
            let (on, i) = match (self.new.first, self.old.first) {
                (NONE, NONE) => return None,
                (NONE, i) => (On::Old, i),
                (i, _) => (On::New, i),
            };
            if self.has_had_its_turn(i as usize) {
                self.flows[i as usize].credit += self.quantum;
                self.leave(on);
                self.make_old(i);
                continue;
            }
            if let Some(out) = self.serve(i as usize, now, drops) {
                self.flows[i as usize].credit -= out.packet.size().get() as i64;
                if self.discipline == Discipline::Packets || self.params.rotate == Rotate::Packet {
                    self.leave(on);
                    self.make_old(i);
                } else if self.discipline == Discipline::Deficit && self.lens[i as usize] == 0 {
                    // A DRR flow without packets has no place to keep and loses its deficit.
                    self.flows[i as usize].law.on_empty(now);
                    self.leave(on);
                    self.flows[i as usize].on = On::Neither;
                }
                return Some(out);
            }
            self.flows[i as usize].law.on_empty(now);
            self.leave(on);
            if on == On::New && (self.params.emptied == Emptied::Old || self.old.len > 0) {
                self.make_old(i);
            } else {
                self.flows[i as usize].on = On::Neither;
            }
        }
    }

    fn idle(&mut self, since: Instant) {
        struct Nothing;
        impl<P> Sink<P> for Nothing {
            fn dropped(&mut self, _: P, _: Reason) {}
        }
        // With nothing held this only takes the flows off their lists.
        if self.len == 0 {
            let _ = self.dequeue(since, &mut Nothing);
        }
    }

    fn backlog(&self) -> Bytes {
        self.backlog
    }

    fn len(&self) -> usize {
        self.len
    }

    fn set_link(&mut self, link: &LinkInfo) {
        self.limit = link.limit.unwrap_or(self.limit);
        self.mtu = link.mtu;
        self.set_quantum();
        let link = LinkInfo { limit: Some(self.limit), ..*link };
        for flow in &mut self.flows {
            flow.law.set_link(&link);
        }
    }

    /// The scheduler's state, then the law's of the fattest flow.
    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let i = self.fattest();
        see("new_flows", self.new.len as f64);
        see("old_flows", self.old.len as f64);
        see("fattest_flow", i as f64);
        see("fattest_bytes", self.backlogs[i].as_f64());
        see("fattest_packets", self.lens[i] as f64);
        self.flows[i].law.vars(see);
    }

    /// The flow's sub-queue, then its law's state.
    fn vars_of(&self, flow: u64, see: &mut dyn FnMut(&'static str, f64)) {
        let i = self.index(flow);
        see("new_flows", self.new.len as f64);
        see("old_flows", self.old.len as f64);
        see("sub_queue", i as f64);
        see("sub_bytes", self.backlogs[i].as_f64());
        see("sub_packets", self.lens[i] as f64);
        see("deficit_bytes", self.flows[i].credit as f64);
        self.flows[i].law.vars(see);
    }
}

#[cfg(test)]
mod tests;
